/* contactsolve: solvers for contact problems with friction. The whole public C interface.
 *
 *     xi(lambda) = A lambda + b,   A = J M^-1 J^T
 *     lambda_k   = prox_{C_k}(lambda_k - R_k xi_k(lambda))       for every block k        (1)
 *
 * A problem is built once (bodies, then constraint blocks; or a given matrix A), a solver is made
 * for it (method, scheme, order, precision: everything is packed here), and the solver is run as
 * often as wanted. tests/c/example.c is a complete program.
 *
 * Notation: K blocks of m rows, bodies of d degrees of freedom. Impulses lambda [N s], velocities
 * xi and b [m/s]. Blocks, rows and bodies are numbered in the order in which they were added. A
 * contact block has its normal in row 0 and its tangents behind; the normal points from the first
 * body of the pair to the second.
 *
 * Errors: functions that can fail return a cs_status and describe the failure in a cs_error (may be
 * NULL). Inputs are copied; nothing is ever written to them. Different objects may be used from
 * different threads at once; one solver may not. */
#ifndef CONTACTSOLVE_H
#define CONTACTSOLVE_H

#include <stdint.h>

#if defined(_WIN32) || !defined(__GNUC__)
#define CS_PUBLIC
#else
#define CS_PUBLIC __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CONTACTSOLVE_VERSION "0.1.0"

/* ---- errors ---------------------------------------------------------------------------------- */

typedef enum cs_status {
#define CS_STATUS(identifier, text) CS_##identifier,
#include "core/status.def"
#undef CS_STATUS
} cs_status;

typedef struct cs_error {
    cs_status status;
    char message[640]; /* names the argument, the index and the value */
} cs_error;

CS_PUBLIC const char *cs_status_text(cs_status status);

/* ---- problems -------------------------------------------------------------------------------- */

typedef struct cs_problem cs_problem;

/* A group of bodies with the same number of degrees of freedom. */
typedef struct cs_bodies {
    int64_t count;
    int dof;                    /* d */
    int diagonal;               /* inverse_mass holds diagonals */
    const double *inverse_mass; /* (count, d, d) or (count, d); zero for an immovable body */
} cs_bodies;

/* A group of constraint blocks with the same rows and the same kind of set. */
typedef struct cs_blocks {
    int64_t count;
    int rows;   /* m, 1 to 6 */
    int dof[2]; /* degrees of freedom of the first and the second body */
    const double
        *jacobian; /* (count, m*d_0 + m*d_1): both blocks row by row; NULL when A is given */
    const int64_t *bodies;    /* (count, 2), -1 for the fixed world; NULL when A is given */
    const double *b;          /* (count, m) */
    const char *set;          /* cs_set_name */
    const double *parameters; /* (count, cs_set_parameters(set, m)), see the set's file */
    const double *compliance; /* (count, m), Sigma added to A; NULL for none or where A is given */
    const double
        *included; /* (count, m): how much of the diagonal of a given A is Sigma; or NULL */
    const char
        *parameter_name; /* what error messages call the parameters, e.g. "mu"; may be NULL */
    int parameters_each; /* doubles in a block's parameters, for sets where that varies */
} cs_blocks;

/* A square matrix in compressed sparse rows; repeated entries are added up. */
typedef struct cs_csr {
    int64_t rows;
    const int64_t *start;  /* (rows + 1) */
    const int64_t *column; /* (start[rows]) */
    const double *value;   /* (start[rows]) */
} cs_csr;

CS_PUBLIC cs_status cs_problem_create(cs_problem **problem, cs_error *error);
CS_PUBLIC cs_status cs_problem_add_bodies(cs_problem *problem, const cs_bodies *bodies,
                                          cs_error *error);
CS_PUBLIC cs_status cs_problem_add_blocks(cs_problem *problem, const cs_blocks *blocks,
                                          cs_error *error);
/* Gives A itself, for blocks added without a Jacobian. A may be slightly unsymmetric. */
CS_PUBLIC cs_status cs_problem_set_matrix(cs_problem *problem, const cs_csr *matrix,
                                          cs_error *error);
/* Takes over the values of `with`, which must have the same structure (groups, counts, sizes,
 * bodies, sets; for a given A, its size) and is left with the old ones. Solvers of `problem` notice
 * at their next solve; none may be running. */
CS_PUBLIC cs_status cs_problem_replace(cs_problem *problem, cs_problem *with, cs_error *error);
CS_PUBLIC void cs_problem_destroy(cs_problem *problem);

CS_PUBLIC int64_t cs_problem_blocks(const cs_problem *problem);
CS_PUBLIC int64_t cs_problem_rows(const cs_problem *problem);
/* Bodies, or blocks where A is given: what a partition labels. */
CS_PUBLIC int64_t cs_problem_vertices(const cs_problem *problem);
/* Length of the velocity vector of all bodies. */
CS_PUBLIC int64_t cs_problem_velocities(const cs_problem *problem);

/* ---- names ----------------------------------------------------------------------------------- */

/* The i-th name of each list, NULL past the end; `*summary` (may be NULL) gets one line on it. */
CS_PUBLIC const char *cs_method_name(int i, const char **summary);
CS_PUBLIC const char *cs_scheme_name(int i, const char **summary);
CS_PUBLIC const char *cs_order_name(int i, const char **summary);
CS_PUBLIC const char *cs_measure_name(int i, const char **summary);
CS_PUBLIC const char *cs_set_name(int i, const char **summary);
/* Parameters per block of a set on m rows; -1 when the set does not take m rows. Where their number
 * varies (cs_set_is_variable) it is the least. */
CS_PUBLIC int cs_set_parameters(const char *set, int rows);
CS_PUBLIC int cs_set_is_variable(const char *set);
/* The instruction sets that there are kernels for, and whether this machine runs the i-th. */
CS_PUBLIC const char *cs_instructions_name(int i, const char **summary);
CS_PUBLIC int cs_instructions_run(int i);
/* Whether row 0 of the set's blocks is a normal impulse. */
CS_PUBLIC int cs_set_is_contact(const char *set);

/* ---- options --------------------------------------------------------------------------------- */

/* What an option takes. */
typedef enum cs_option_kind { CS_NUMBER, CS_COUNT, CS_FLAG, CS_WORD } cs_option_kind;

CS_PUBLIC const char *cs_option_kind_name(int i);

/* An option of every solver, or of a method's or an order's own. */
typedef struct cs_option {
    const char *name, *summary;
    cs_option_kind kind;
    double usual;       /* its default; of a word, its place among `words` */
    double least, most; /* of a number or a count */
    int above;          /* `least` itself is too small */
    int optional;       /* may be left open; `usual` says so and need not be in the range */
    /* Those known, NULL behind them. A number or a count may have words, too: the i-th stands for -i. */
    const char *const *words;
    /* Another option of the same table, NULL for none: this one is refused as having no effect unless
     * that one is `of_value`, or not a number: is given at all. */
    const char *of;
    double of_value;
} cs_option;

enum { CS_MAX_OWN_OPTIONS = 16 }; /* of one method or order */

/* A value for one of them. */
typedef struct cs_setting {
    const char *name;
    double number;    /* a number, a count, 0 or 1 of a flag */
    const char *word; /* a word, else NULL */
} cs_setting;

/* ---- methods --------------------------------------------------------------------------------- */

typedef cs_option cs_method_option;

enum { CS_MAX_METHOD_OPTIONS = CS_MAX_OWN_OPTIONS };

/* What a method asks of a problem before it starts, and the classes of problems that it is for:
 * there it reaches its tolerance, given time. */
typedef enum cs_need {
#define CS_LISTED(identifier, name, text) CS_NEEDS_##identifier,
#include "core/needs.def"
#undef CS_LISTED
} cs_need;
typedef enum cs_class {
#define CS_LISTED(identifier, name, text) CS_SOLVES_##identifier,
#include "core/classes.def"
#undef CS_LISTED
} cs_class;

/* The i-th name of each list, as cs_method_name. */
CS_PUBLIC const char *cs_need_name(int i, const char **summary);
CS_PUBLIC const char *cs_class_name(int i, const char **summary);

typedef struct cs_method_info {
    const char *name, *summary;
    const char *about;      /* how it works, a paragraph; may be NULL */
    const char *paper;      /* where it comes from */
    unsigned needs, solves; /* bit i: the i-th need, the i-th class */
    int direct;             /* it has no sweeps */
    const cs_method_option *option;
    int options;
} cs_method_info;

/* Describes the i-th method; 0 past the end. */
CS_PUBLIC int cs_method_describe(int i, cs_method_info *info);

/* Whether a method takes these values of its own options. */
CS_PUBLIC cs_status cs_method_check(const char *method, const cs_setting *settings, int count,
                                    cs_error *error);

/* ---- friction by a function ------------------------------------------------------------------ */

/* A convex set in the caller's code, for the set "support_function" and while it is registered.
 *
 * `point` gets a block's number, as its parameters say, and a direction (n) of length 1: t1 and t2, or
 * these and the spin row. It leaves the point of the set that reaches farthest in that direction, for
 * a normal impulse of 1, and returns 0; the origin must be in the set. Anything else returned is a
 * failure: the impulse becomes zero, and the control's poll is to end the solve. It is called from the
 * thread that solves. */
typedef struct cs_support {
    int (*point)(void *context, int64_t block, int n, const double *direction, double *point);
    void *context;
} cs_support;

enum { CS_MAX_SUPPORTS = 4096 };

/* The handle of a function, which is a parameter of its blocks; 0 where CS_MAX_SUPPORTS are there.
 * `support` stays the caller's and must last until it is released. */
CS_PUBLIC int cs_support_register(const cs_support *support);
CS_PUBLIC void cs_support_release(int handle);

/* ---- solving --------------------------------------------------------------------------------- */

enum { CS_MAX_COLUMNS = 32 }; /* measures that one history can record */

/* What methods that pivot take. */
typedef struct cs_mlcp_options {
    const char *rule, *engine; /* cs_rule_name; cs_engine_name or "auto": by counted operations */
    double tolerance;          /* scaled residual up to which an answer is called converged */
    int64_t block_steps;       /* bpp: steps that change many rows, at most */
    int64_t stall_steps;       /* bpp: steps without fewer infeasible rows before single ones */
    int64_t max_pivots;        /* steps at most, for each island; 0: 100 and 20 for each row */
    int refinements;           /* of one linear system, at most */
    int condition;             /* estimate condition numbers */
    int directions;            /* lemke, of contact problems: corners of the friction polygon that
                                * replaces a disc, all of friction being in one LCP; 0: box friction
                                * in an outer loop, but for polygons */
    double dictionary_bytes;   /* lemke: of the largest island's, at most; 0: no limit */
    int64_t cache_bytes;       /* engine `cached`: most bytes of the parts kept, for all islands */
    int interior; /* bpp: interior-point steps foresee an index set where block steps are too slow */
    int64_t reuse; /* steps with the factor of an earlier matrix, at most; 0: factored anew */
    int islands;   /* connected parts of A are solved apart */
    int threads;   /* 0: as many as pay; no result depends on it */
} cs_mlcp_options;

CS_PUBLIC cs_mlcp_options cs_mlcp_options_default(void);

/* What the engine `cached` did in one solve, all islands together. */
typedef struct cs_cache_counts {
    int64_t hits, misses; /* removals of tight rows that were found and that were made */
    int64_t evictions;    /* parts let go for want of room */
    int64_t entries;      /* parts there are at the end */
    int64_t bytes;        /* and what they take; */
    int64_t most_bytes;   /* the most they took */
} cs_cache_counts;

/* What factors of an earlier matrix did in one solve, all islands together. */
typedef struct cs_reuse_counts {
    int64_t solves; /* linear systems solved with one of them, */
    int64_t steps;  /* in so many steps of conjugate gradients; */
    int64_t failed; /* and not solved: a factor was made */
} cs_reuse_counts;

/* What the second level of `multilevel` did in one solve, all islands together. */
typedef struct cs_correction_counts {
    int64_t tried; /* corrections made, */
    int64_t kept;  /* and not undone */
} cs_correction_counts;

/* What begins at a visit of the order "given": CS_STAGE_BEGINS + i begins a stage of the i-th kind,
 * cs_stage_kind_name. */
enum { CS_NOTHING_BEGINS, CS_PART_BEGINS, CS_STAGE_BEGINS };

/* What orders take. */
typedef struct cs_order_options {
    uint64_t seed;              /* random */
    const int64_t *permutation; /* given: the blocks (K) as they are to be visited */
    const int64_t *begins;      /* given: what begins at each visit (K); NULL: one stage, in turn */
    const int64_t
        *labels;      /* partition: the part of each body, or of each block (K) where A is given;
                            * NULL: `parts` of them, by its option `strategy` */
    int parts;        /* into which concurrent and disjoint stages are cut */
    int64_t subtasks; /* that a part's share of a simultaneous or independent stage is cut into; 0:
                       * tasks of 512 blocks, -1: of one */
    int weighted_subtasks; /* which have about equal numbers of blocks of A */
    int threads;           /* for finding the order; 0: as many as pay. No result depends on it */
    const cs_setting *settings; /* of the order's own options; others keep their defaults */
    int setting_count;
} cs_order_options;

typedef struct cs_order_info {
    const char *name, *summary;
    const char *about; /* a paragraph; may be NULL */
    const cs_option *option;
    int options;
} cs_order_info;

/* Describes the i-th order; 0 past the end. */
CS_PUBLIC int cs_order_describe(int i, cs_order_info *info);

/* Whether an order takes these values of its own options. */
CS_PUBLIC cs_status cs_order_check(const char *order, const cs_setting *settings, int count,
                                   cs_error *error);

typedef struct cs_options {
    const char *method, *scheme, *order; /* cs_*_name, or "auto" */
    cs_order_options order_options;
    /* factorized: u after simultaneous stages: "auto", "recompute", "add", "accumulate" */
    const char *velocities;
    const char *local; /* "auto", "projected", "exact", "block", "newton", "quartic" */
    const char
        *r_factor; /* "local", "block", "global", "balanced", or NULL: r_value on every row */
    double r_value;
    const char *bound; /* friction bound from the "current" or the "previous" normal impulse */
    double relaxation; /* alpha: scales R */
    /* omega: new and old impulses are averaged; 1 for none. NaN: none, or of methods that pivot as they
     * get on. */
    double averaging;
    int averaging_adjacent; /* omega is 1 over the number of adjacent contacts instead */
    int rollback;           /* halvings of R when the residual grows; 0 for none */
    /* residual over its minimum that counts as divergence; S1: 1; 0: 3 of methods that update all blocks at
     * once, 100 of others */
    double rollback_growth;
    const char *dtype; /* "float64", "float32", "mixed": float factors, double impulses */
    const char *stop;  /* a measure's name; met at atol, or at 1 where it holds tolerances */
    double rtol, atol; /* both NaN: exactly max_iterations sweeps */
    int64_t check_every, max_iterations, record_every;
    int64_t patience; /* iterations without halving the natural map that end a solve; 0: never */
    int64_t measure_every; /* of recorded measures that cost about a sweep; 0: check_every */
    int time_checks;       /* seconds include those of judging an iterate for `stop` */
    double max_seconds;    /* of one solve, heard within long iterations, too; INFINITY: no limit */
    const char *const *record; /* names of the measures to record */
    int records;
    double quality_r; /* R_const of the measure `quality` */
    int threads;      /* 0: as many as pay */
    int islands;      /* islands iterate and stop by themselves where that is possible and pays */
    /* cs_instructions_name: contacts are visited several at a time wherever that is possible;
     * "scalar": one after another; "auto": what pays on this machine, unless the environment
     * variable CONTACTSOLVE_INSTRUCTIONS names one. */
    const char *instructions;
    int general; /* contacts of rigid bodies are not compressed to frames and lever arms */
    cs_mlcp_options pivoting;   /* of methods that pivot, whose own options are written here; their
                               * matrix is the symmetric part of A */
    const cs_setting *settings; /* of the method's own options; others keep their defaults */
    int setting_count;
} cs_options;

CS_PUBLIC cs_options cs_options_default(void);

/* Describes the i-th of the options that every solver has; 0 past the end. `words` is NULL where they
 * are names of a list: cs_options_word has these, too, the k-th of the i-th option, NULL past the end. */
CS_PUBLIC int cs_options_describe(int i, cs_option *option);
CS_PUBLIC const char *cs_options_word(int i, int k);
/* Sets one of them by its name. A word must last until a solver is made of the options. */
CS_PUBLIC cs_status cs_options_set(cs_options *options, const cs_setting *setting, cs_error *error);

/* The labels (cs_problem_vertices) that the order `partition` would use with these options: 0 for
 * what touches nothing that moves. */
CS_PUBLIC cs_status cs_partition_labels(const cs_problem *problem, const cs_order_options *options,
                                        int64_t *labels, cs_error *error);

/* label (cs_problem_blocks) <- the island of each block: the connected part of the problem, over moving
 * bodies or non-zero blocks of a given A, numbered as the blocks come to them; -1 where no impulse
 * moves anything. `islands` <- how many there are. */
CS_PUBLIC cs_status cs_problem_islands(const cs_problem *problem, int64_t *label, int64_t *islands,
                                       cs_error *error);

/* What a long loop shows, and asks, between sweeps. */
typedef struct cs_progress {
    int64_t iteration, max_iterations;
    const double *row; /* the newest row of the history: iteration, time, measures */
    int columns;
    const double *impulses; /* at this iteration; NULL unless every_iteration */
} cs_progress;

typedef struct cs_control {
    /* Returns 0 to go on, 1 to stop with the iterate at hand, -1 to abort with CS_INTERRUPTED. */
    int (*poll)(void *context, const cs_progress *progress);
    void *context;
    int every_iteration; /* otherwise a few hundred times a second at most */
} cs_control;

typedef enum cs_outcome {
    CS_CONVERGED,
    CS_MAX_ITERATIONS,
    CS_DIVERGING,
    CS_STOPPED,
    CS_STALLED,   /* the residual stays where it is */
    CS_WANDERING, /* or goes up and down in a band, and its least value is halved no more */
    CS_MAX_SECONDS,
    CS_INACCURATE, /* rounding alone may exceed the tolerance: see `floor` of the result */
    CS_INFEASIBLE, /* proven: see its `certificate` */
    CS_UNBOUNDED,  /* impulses grow along its `certificate`; with friction that is no proof */
} cs_outcome;

CS_PUBLIC const char *cs_outcome_name(cs_outcome outcome);

/* One method of a chain (method="auto"), as far as it went. */
typedef struct cs_link {
    const char *method;
    int64_t first;      /* iterations made before it */
    int64_t iterations; /* of all islands together, where they are solved by themselves, */
    double seconds;     /* and so are these */
    double reached;     /* the scaled natural map of the best iterate after it */
    cs_outcome outcome; /* how it ended; the worst of the islands' */
    const char *why;    /* and why, in words */
    int64_t islands;    /* solvers that came to it: 1, or clusters of islands */
} cs_link;

enum { CS_MAX_LINKS = 64 }; /* what comes after so many is counted to the last one */

/* Where a solve leaves its answer: the caller's buffers (each may be NULL), then figures. */
/* Figures of a result that only some methods have. */
enum { CS_FIGURE_RESTARTS = 1, CS_FIGURE_CORRECTIONS = 2, CS_FIGURE_INNER_ITERATIONS = 4 };

typedef struct cs_result {
    double *impulses;            /* (rows) lambda */
    double *residual_velocities; /* (rows) xi = A lambda + b */
    double *velocity_change;     /* (velocities) M^-1 J^T lambda; zero when A was given */
    cs_outcome outcome;
    int64_t iterations;
    int64_t best_iteration; /* whose iterate is returned: the last one, or the best */
    int rollbacks;
    int64_t
        block_products; /* of blocks of A with impulses in all sweeps; 0 where A is not formed */
    int64_t unfinished_blocks; /* given up in the last sweep by local="block" and the like */
    /* Of methods that pivot, all solves together; how the last one ended (NULL for others). */
    int64_t pivots, single_pivots, factorizations;
    const char *pivoting;
    cs_cache_counts cache; /* of these solves */
    cs_reuse_counts reuse;
    int restarts;                     /* of accelerated methods */
    cs_correction_counts corrections; /* by a second level; else 0 */
    int64_t inner_iterations; /* of the inner method, where one solves convex problems; else 0 */
    const cs_link *link;      /* (links) of a chain, the solver's until its next solve */
    int links;                /* 0 for other methods */
    /* Of stalled and wandering solves: the least, the median and the largest of the scaled natural
     * maps since the least was last halved; not numbers otherwise. */
    double band[3];
    double seconds;     /* of the sweeps and of the checks that decide */
    double natural_map; /* at the returned impulses [N s] */
    double natural_map_scaled;
    /* Of inaccurate solves: the largest scaled natural map that rounding alone may leave, and its block; not
     * a number and -1 otherwise. */
    double floor;
    int64_t floor_block;
    /* (rows), the solver's until its next solve, of infeasible and unbounded solves: impulses along which
     * nothing resists, while b drives them there; NULL otherwise. No solution has impulses up to `certified`. */
    const double *certificate;
    double certified;
    int64_t worst_block;   /* where natural_map_scaled is reached; -1 with no blocks */
    int worst_row;         /* the first row of the coupled set there, */
    double worst_velocity; /* and by how much its velocities miss its law: Delta_s / rho_s */
    const double *history; /* (history_rows, columns), the solver's until its next solve */
    int64_t history_rows;
    int columns;
} cs_result;

/* What was chosen. */
typedef struct cs_solver_info {
    const char *method, *scheme, *order, *local, *dtype;
    const char *why_order; /* order "auto": why it is this one; NULL where it was asked for */
    int threads, columns;
    int64_t stages, colors; /* of the order; no colours: 0 */
    int64_t rounds;         /* that the colouring took; none: 0 */
    const char *column[CS_MAX_COLUMNS + 2];
    int64_t matrix_blocks;    /* of A, when the scheme holds it */
    int64_t immovable_blocks; /* contacts that no impulse can change */
    int64_t singular_blocks;  /* free blocks without an inverse, solved by projection */
    double r_value;           /* the factor of all rows where there is one; not a number if not */
    double step_bound; /* lambda_max(R A), by which accelerated Jacobi's R was divided; or NaN */
    double eigenvalues[2]; /* smallest and largest of A, where the factor came from them */
    char kernel
        [64]; /* how contacts are visited, "scalar", "wide, avx2, 4 lanes", "wide rows, avx2" */
    int stop_is_ratio; /* the measure that stops holds rtol and atol itself */
    unsigned figures;  /* which figures of a result are of this method: a sum of CS_FIGURE_* */
    /* Of methods that pivot: that of the largest island, "none" for a dictionary, "polyhedral" for
     * one of the whole problem; NULL for others. */
    const char *engine;
    int64_t islands;  /* of the problem; 0 where they were not counted */
    int64_t clusters; /* that are solved by themselves: an island or several; 0: one whole */
    int64_t bytes;
    double seconds; /* of setting up */
} cs_solver_info;

typedef struct cs_solver cs_solver;

/* The problem must outlive the solver. `control` may be NULL. */
CS_PUBLIC cs_status cs_solver_create(cs_solver **solver, const cs_problem *problem,
                                     const cs_options *options, const cs_control *control,
                                     cs_error *error);
/* Solves. `initial` (rows), `b` (rows) and `parameters` (those of all groups, one after another)
 * replace zero and the problem's own for this call; each may be NULL. */
CS_PUBLIC cs_status cs_solver_solve(cs_solver *solver, const double *initial, const double *b,
                                    const double *parameters, const cs_control *control,
                                    cs_result *result, cs_error *error);
/* The following solves begin with this index set, a cs_index of each row (the caller's, for as long as
 * they use it), in place of impulses; NULL: no longer. Friction has no bounds in the first of the
 * mixed LCPs: its rows are free there, whatever the set says. CS_UNSUPPORTED but for methods that
 * begin with index sets: those that pivot, without Lemke's. */
CS_PUBLIC cs_status cs_solver_begin_with(cs_solver *solver, const signed char *index_set,
                                         cs_error *error);
/* After a solve that ended as "ray" with a polyhedral friction cone: impulses (rows) that could grow
 * for ever, the largest 1. NULL for other methods. */
CS_PUBLIC const double *cs_solver_ray(const cs_solver *solver);
CS_PUBLIC void cs_solver_describe(const cs_solver *solver, cs_solver_info *info);
CS_PUBLIC void cs_solver_destroy(cs_solver *solver);

/* ---- orders ---------------------------------------------------------------------------------- */

/* An order applied to a problem, without a solver: who sees whose values. */
typedef struct cs_ordering cs_ordering;

/* Sizes, and arrays that live as long as the ordering. The visits are cut into parts and the parts
 * into stages: part p holds the visits from part_start[p] to part_start[p + 1], stage s the parts
 * from stage_start[s] to stage_start[s + 1]. */
typedef struct cs_ordering_info {
    const char *method, *order;
    int64_t blocks, stages, parts;
    const int64_t *visit;       /* (blocks): the blocks as visited */
    const int64_t *part_start;  /* (parts + 1) into visit */
    const int64_t *stage_start; /* (stages + 1) into the parts */
    const unsigned char *kind;  /* (stages): a number for cs_stage_kind_name */
    const int64_t *row_blocks;  /* (blocks): non-zero blocks in the row of A, S1 Corollary 3.2 */
    int64_t colors;             /* that the order found; 0 when it does not colour */
    const int64_t *color_size;  /* (colors): blocks of each, before small ones are merged */
    int64_t rounds;             /* that colouring all blocks took; 0 when that is not done */
    double seconds;             /* that finding the order took */
} cs_ordering_info;

/* What a solver with these options would do: `method` and `order` are names, or "auto". Fails for
 * unknown names, fewer parts than 1 and wrong permutations. The ordering may outlive the problem. */
CS_PUBLIC cs_status cs_ordering_create(cs_ordering **ordering, const cs_problem *problem,
                                       const char *method, const char *order,
                                       const cs_order_options *options, cs_error *error);
CS_PUBLIC void cs_ordering_describe(const cs_ordering *ordering, cs_ordering_info *info);
CS_PUBLIC void cs_ordering_destroy(cs_ordering *ordering);

/* The i-th kind of stage, NULL past the end. */
CS_PUBLIC const char *cs_stage_kind_name(int i);

/* ---- judging --------------------------------------------------------------------------------- */

/* What a contact does, or where a row of another set is. */
typedef enum cs_activity { CS_OPEN, CS_STICK, CS_SLIDE, CS_FREE, CS_LOW, CS_HIGH } cs_activity;

/* Buffers of the caller. */
typedef struct cs_inspection {
    unsigned char *activity; /* (rows): a cs_activity; the same on all rows of a contact */
    double *natural_map, *natural_map_scaled; /* (blocks) */
    double *infeasibility; /* (blocks): largest distance of an impulse from its set */
    int64_t *worst_row; /* (blocks): the first row of the coupled set that misses its law most, */
    double *worst_velocity; /* (blocks): and by what velocity: Delta_s / rho_s */
} cs_inspection;

/* Looks at impulses (rows) and their residual velocities xi (rows) block by block. `b` (rows) and
 * `parameters` as in cs_solver_solve; impulses below `tolerance` times rho_s V count as none, V being the
 * speed at which the island of their set breaks its constraints without impulses. */
CS_PUBLIC cs_status cs_problem_inspect(const cs_problem *problem, const double *impulses,
                                       const double *xi, const double *b, const double *parameters,
                                       double tolerance, const cs_inspection *inspection,
                                       cs_error *error);

/* Before a fork: lets go of the worker threads, which a child process would wait for in vain. */
CS_PUBLIC void cs_release_threads(void);

/* ---- mixed linear complementarity problems --------------------------------------------------- */

/* Where a row is: w = 0, or at one of its bounds. */
typedef enum cs_index { CS_INDEX_LOW = -1, CS_INDEX_FREE = 0, CS_INDEX_HIGH = 1 } cs_index;

typedef enum cs_mlcp_outcome {
    CS_MLCP_CONVERGED,
    CS_MLCP_MAX_PIVOTS,
    CS_MLCP_CYCLING,    /* index sets came again, whatever counted as rounding */
    CS_MLCP_INACCURATE, /* the last index set is right to rounding, and that is not enough */
    CS_MLCP_RAY,        /* Lemke's method could go on for ever in one direction */
    CS_MLCP_STOPPED,
} cs_mlcp_outcome;

CS_PUBLIC const char *cs_mlcp_outcome_name(cs_mlcp_outcome outcome);

/* The i-th name of each list, as cs_method_name. */
CS_PUBLIC const char *cs_rule_name(int i, const char **summary);
CS_PUBLIC const char *cs_engine_name(int i, const char **summary);

typedef struct cs_mlcp_result {
    double *x, *w;          /* (rows), the caller's; each may be NULL. w = A x + b */
    signed char *index_set; /* (rows), the caller's or NULL: a cs_index of each row */
    cs_mlcp_outcome outcome;
    /* From outside, with A as given: the largest |x - clamp(x - rho w)|, rho = 1 / A_ii; the largest
     * of them over rho V, V being the largest of them over rho at x = clamp(0) in the row's island, and its
     * row (-1 with no rows); the largest |w| times distance to the bound that it holds x to. */
    double residual, residual_scaled, complementarity;
    int64_t worst_row;
    int64_t pivots, single_pivots, factorizations, refinements; /* of all islands */
    cs_cache_counts cache;
    cs_reuse_counts reuse;
    int64_t interior_steps;
    double condition; /* estimated; not a number where not asked for */
    double seconds;
    /* (history_rows, history_columns): step, island, infeasible rows, tight rows, changed rows;
     * the solver's until its next solve */
    const double *history;
    int64_t history_rows;
    int history_columns;
} cs_mlcp_result;

typedef struct cs_mlcp_info {
    const char *rule;
    const char *engine; /* of the largest island */
    const char *kernel; /* the instruction set of its inner loops */
    int64_t islands, largest_island;
    int threads;
    double asymmetry; /* max |A - A^T| / max |A|: (A + A^T)/2 is factored */
    int64_t bytes;
    double seconds; /* of setting up */
} cs_mlcp_info;

/* A solver of mixed linear complementarity problems with one matrix:
 *
 *     A x + b = w+ - w-,   0 <= w+  _|_  x - lo >= 0,   0 <= w-  _|_  hi - x >= 0
 *
 * A is symmetric positive definite; of a slightly unsymmetric one the symmetric part is factored, and
 * the answer is judged with A as it was given. Bounds may be infinite.  S3 eq. 1.20 with b negated */
typedef struct cs_mlcp cs_mlcp;

CS_PUBLIC cs_status cs_mlcp_create(cs_mlcp **mlcp, const cs_csr *matrix,
                                   const cs_mlcp_options *options, cs_error *error);
/* Other values of A, of as many rows. Where it has no entry that was zero before, orders and patterns
 * are kept, and with options.reuse so are factors, for conjugate gradients; else all is made anew.
 * Nothing has changed where this fails. */
CS_PUBLIC cs_status cs_mlcp_update(cs_mlcp *mlcp, const cs_csr *matrix, cs_error *error);
/* `initial` (rows) is the index set to begin with, a cs_index each; NULL: all free. Fails with
 * CS_UNSUPPORTED where A proves not to be positive definite, naming the row and its cure. */
CS_PUBLIC cs_status cs_mlcp_solve(cs_mlcp *mlcp, const double *b, const double *lo,
                                  const double *hi, const signed char *initial,
                                  const cs_control *control, cs_mlcp_result *result,
                                  cs_error *error);
CS_PUBLIC void cs_mlcp_describe(const cs_mlcp *mlcp, cs_mlcp_info *info);
CS_PUBLIC void cs_mlcp_destroy(cs_mlcp *mlcp);

/* ---- for tests ------------------------------------------------------------------------------- */

CS_PUBLIC int64_t cs_memory_live(void);                 /* blocks allocated and not released */
CS_PUBLIC void cs_memory_fail_after(int64_t successes); /* then one allocation fails; -1: never */

#ifdef __cplusplus
}
#endif

#endif

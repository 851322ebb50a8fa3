/* contactsolve: solvers for contact problems with friction. The whole public C interface.
 *
 *     xi(lambda) = A lambda + b,   A = J M^-1 J^T
 *     lambda_k   = prox_{C_k}(lambda_k - R_k xi_k(lambda))       for every block k        (1)
 *
 * A problem is built once (bodies, then constraint blocks; or a given matrix A), a solver is made
 * for it (method, scheme, order, precision; this packs all data), and the solver is run any number
 * of times. tests/c/example.c and pile.c are complete programs.
 *
 * Notation: K blocks of m rows, bodies of d degrees of freedom. Impulses lambda [N s], velocities
 * xi and b [m/s]. Blocks, rows and bodies are numbered in the order in which they were added. A
 * contact block has its normal in row 0 and its tangents in the next rows; the normal points from the first
 * body of the pair to the second.
 *
 * Errors: functions that can fail return a cs_status and describe the failure in a cs_error (may be
 * NULL). Inputs are copied and never written to. Different threads may use different objects at the
 * same time, but not the same solver. */
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
    int rows;     /* m, 1 to 6 */
    int partners; /* p, the bodies that each block acts on, 1 to 4; 0: two */
    int dof[4];   /* degrees of freedom of each of them */
    const double *
        jacobian; /* (count, m*d_0 + ... + m*d_(p-1)): the part of each partner row by row; NULL with frames or
                               a given A */
    const double *
        frame; /* (count, 12): contacts between bodies in space in place of J; or NULL. Normal n from the first
                  body to the second, tangent t, both of length 1 and perpendicular, and lever arms r from both
                  centres of mass to the contact; the rows are n, t, n x t, then spin (m = 4) or rolling about t and n x t (m = 5).  S1 eq. 2.55 */
    const int64_t *bodies;    /* (count, p), -1 for the fixed world; NULL when A is given */
    const double *b;          /* (count, m) */
    const char *set;          /* cs_set_name */
    const double *parameters; /* (count, cs_set_parameters(set, m)), see the set's file */
    const double *compliance; /* (count, m), Sigma added to A; NULL for none or where A is given */
    const double
        *included; /* (count, m): the part of the diagonal of a given A that is Sigma; or NULL */
    int parameters_each; /* doubles per block, for sets with a variable number of parameters */
} cs_blocks;

/* A square matrix in compressed sparse rows; repeated entries are summed. */
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
/* Sets A itself, for blocks added without a Jacobian. A may be slightly unsymmetric. */
CS_PUBLIC cs_status cs_problem_set_matrix(cs_problem *problem, const cs_csr *matrix,
                                          cs_error *error);
/* New values of a problem, in the shapes of the old ones: for each group of bodies or of blocks an array, or NULL to
 * keep the values there are. A list that is NULL keeps those of all groups. */
typedef struct cs_values {
    const double *const *inverse_mass; /* (groups of bodies) */
    const double *const *jacobian;     /* (groups of blocks); NULL where A is given */
    const double *const *frame;        /* (groups of blocks); NULL without frames */
    const double *const *b;            /* (groups of blocks) */
    const double *const *parameters;   /* (groups of blocks) */
} cs_values;

/* Replaces values. All are checked first: a failure leaves the problem unchanged. An update copies what is given into
 * a second array of the problem, which the first update allocates, and exchanges the two. Solvers use the new values
 * from their next solve; none may be running. */
CS_PUBLIC cs_status cs_problem_update(cs_problem *problem, const cs_values *values,
                                      cs_error *error);
/* Exchanges the values of `problem` and `with`, which must have the same structure (groups, counts,
 * sizes, bodies, sets; for a given A, its size). Solvers of `problem` use the new values from their
 * next solve; none may be running. */
CS_PUBLIC cs_status cs_problem_replace(cs_problem *problem, cs_problem *with, cs_error *error);
CS_PUBLIC void cs_problem_destroy(cs_problem *problem);

CS_PUBLIC int64_t cs_problem_blocks(const cs_problem *problem);
CS_PUBLIC int64_t cs_problem_rows(const cs_problem *problem);
/* The vertices that a partition labels: bodies, or blocks if A is given. */
CS_PUBLIC int64_t cs_problem_vertices(const cs_problem *problem);
/* Length of the velocity vector of all bodies. */
CS_PUBLIC int64_t cs_problem_velocities(const cs_problem *problem);

/* ---- names ----------------------------------------------------------------------------------- */

/* The i-th name of each list, NULL past the end. `*summary` receives one line on it, unless `summary`
 * is NULL. */
CS_PUBLIC const char *cs_method_name(int i, const char **summary);
CS_PUBLIC const char *cs_scheme_name(int i, const char **summary);
CS_PUBLIC const char *cs_order_name(int i, const char **summary);
CS_PUBLIC const char *cs_measure_name(int i, const char **summary);
CS_PUBLIC const char *cs_set_name(int i, const char **summary);
/* What one parameter of a set has numbers for. */
typedef enum cs_parameter_kind {
    CS_OF_BLOCK, /* one for each block */
    CS_OF_ROW,   /* one for each row of each block */
    CS_OF_SHAPE, /* all further ones of each block, which only the set itself can check */
} cs_parameter_kind;

/* A parameter of a set. */
typedef struct cs_parameter {
    const char *name, *summary;
    const char *noun; /* what error messages say that a number is: "a friction coefficient" */
    cs_parameter_kind kind;
    double least, most; /* the range of each number */
    int optional;       /* may be left out, */
    double usual;       /* and is then this; NAN: blocks of few rows do not have it */
} cs_parameter;

typedef struct cs_set_info {
    const char *name, *summary;
    const char *about;             /* a paragraph; may be NULL */
    const cs_parameter *parameter; /* in the sequence of the numbers of a block */
    int parameters;
} cs_set_info;

/* Describes the i-th set; 0 past the end. */
CS_PUBLIC int cs_set_describe(int i, cs_set_info *info);
CS_PUBLIC const char *cs_parameter_kind_name(int i);

/* Parameters per block of a set on m rows; -1 if the set does not take m rows. For a set with a
 * variable number of them (cs_set_is_variable) it is the minimum. */
CS_PUBLIC int cs_set_parameters(const char *set, int rows);
CS_PUBLIC int cs_set_is_variable(const char *set);
/* The instruction sets with kernels, and whether this machine supports the i-th. */
CS_PUBLIC const char *cs_instructions_name(int i, const char **summary);
CS_PUBLIC int cs_instructions_run(int i);

/* The properties of a set on blocks of m rows. */
typedef struct cs_set_properties {
    int contact;    /* row 0 is a normal impulse */
    int frictional; /* a friction coefficient bounds the other rows by the normal impulse */
    int balls;    /* each coupled set of friction rows lies in a ball; parameter 0 times the normal
                         * impulse is the radius for the tangents */
    int circular; /* the friction cone is a circular one */
    int coupled_set[6]; /* (m) number of the coupled set that each row belongs to */
} cs_set_properties;

/* Returns 0, and leaves `properties` unset, if there is no such set or it does not take m rows. */
CS_PUBLIC int cs_set_properties_of(const char *set, int rows, cs_set_properties *properties);

/* ---- options --------------------------------------------------------------------------------- */

/* The type of an option's value. */
typedef enum cs_option_kind { CS_NUMBER, CS_COUNT, CS_FLAG, CS_WORD } cs_option_kind;

CS_PUBLIC const char *cs_option_kind_name(int i);

/* An option of every solver, or of one method, order or scheme. */
typedef struct cs_option {
    const char *name, *summary;
    cs_option_kind kind;
    double usual;       /* its default; for a word, its index in `words` */
    double least, most; /* the range of a number or a count */
    int above;          /* the range excludes `least` */
    int optional;       /* may be unset; `usual` is then that value, and may be outside the range */
    /* The known words, then NULL. A number or a count may also have words: the i-th stands for -i. */
    const char *const *words;
    /* Another option of the same table on which this one depends, or NULL. Unless that option equals
     * `of_value` (NaN: has any value given), this one has no effect and is refused. */
    const char *of;
    double of_value;
} cs_option;

enum { CS_MAX_OWN_OPTIONS = 16 }; /* of one method, order or scheme */

/* A value of one option. */
typedef struct cs_setting {
    const char *name;
    double number;    /* a number, a count, or 0 or 1 for a flag */
    const char *word; /* a word, otherwise NULL */
} cs_setting;

/* ---- methods --------------------------------------------------------------------------------- */

typedef cs_option cs_method_option;

/* A figure that the results of a method have beside those of every method. */
typedef struct cs_figure {
    const char *name, *summary;
    const char *group;   /* the name of the figures that this one is listed with, or NULL */
    cs_option_kind kind; /* CS_COUNT or CS_NUMBER */
    int largest;         /* over islands the figure is the largest one, not the sum */
} cs_figure;

enum { CS_MAX_FIGURES = 16 }; /* of one method */

enum { CS_MAX_METHOD_OPTIONS = CS_MAX_OWN_OPTIONS };

/* The requirements of a method, which it checks before it starts, and the classes of problems that it
 * solves: there it reaches its tolerance, given enough time. */
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
    const char *paper;      /* its source */
    unsigned needs, solves; /* bit i: the i-th need, the i-th class */
    int direct;             /* it has no sweeps */
    int experimental;       /* its options and its defaults may change between releases */
    const cs_method_option *option;
    int options;
    const cs_figure *figure; /* of its results */
    int figures;
} cs_method_info;

/* Describes the i-th method; 0 past the end. */
CS_PUBLIC int cs_method_describe(int i, cs_method_info *info);

/* Whether a method takes these values of its own options. */
CS_PUBLIC cs_status cs_method_check(const char *method, const cs_setting *settings, int count,
                                    cs_error *error);

/* ---- friction by a function ------------------------------------------------------------------ */

/* A convex set in the caller's code, for the set "support_function", while it is registered.
 *
 * `point` receives the block's number from its parameters and a unit direction (n): t1 and t2, or
 * these and the spin row. It writes the point of the set that is farthest in that direction, for a
 * normal impulse of 1, and returns 0. The set must contain the origin. Any other return value is a
 * failure: the impulse becomes zero, and the control's poll must end the solve. The thread that solves
 * calls it. */
typedef struct cs_support {
    int (*point)(void *context, int64_t block, int n, const double *direction, double *point);
    void *context;
} cs_support;

enum { CS_MAX_SUPPORTS = 4096 };

/* Returns the handle of a function, which is a parameter of its blocks; 0 if CS_MAX_SUPPORTS functions
 * are registered. `support` remains the caller's and must exist until it is released. */
CS_PUBLIC int cs_support_register(const cs_support *support);
CS_PUBLIC void cs_support_release(int handle);

/* ---- solving --------------------------------------------------------------------------------- */

enum { CS_MAX_COLUMNS = 32 }; /* measures that one history can record */

/* The options of methods that pivot. */
typedef struct cs_mlcp_options {
    const char *rule, *engine; /* cs_rule_name; cs_engine_name or "auto": fewest operations */
    double tolerance;          /* scaled residual at which an answer has converged */
    int64_t block_steps;       /* bpp: maximum block steps, which change many rows at once */
    int64_t stall_steps;       /* bpp: block steps without improvement before single pivots */
    int64_t max_pivots;        /* maximum pivots per island; 0: 100 + 20 x rows */
    int refinements;           /* maximum refinement steps per linear system */
    int condition;             /* estimate condition numbers */
    int directions;            /* lemke, contact problems: corners of the friction polygon that
                                * replaces a disc, with all friction in one LCP; 0: box friction in
                                * an outer loop, except for polygons */
    double dictionary_bytes;   /* lemke: memory limit of one island's dictionary; 0: no limit */
    int64_t cache_bytes;       /* engine `cached`: memory limit of the cache, for all islands */
    int interior;  /* bpp: interior-point steps predict the index set where block steps are slow */
    int64_t reuse; /* maximum steps with a factor of an earlier matrix; 0: factors are not reused */
    int islands;   /* solve the connected parts of A separately */
    int threads;   /* most threads; 0: chosen automatically. No result depends on it */
    int exact_threads; /* as many as `threads`, even for few rows */
} cs_mlcp_options;

CS_PUBLIC cs_mlcp_options cs_mlcp_options_default(void);

/* Describe and set the options of an MLCP solver by name, as cs_options_describe, cs_options_word and
 * cs_options_set do those of other solvers; `rule` is called "method". */
CS_PUBLIC int cs_mlcp_options_describe(int i, cs_option *option);
CS_PUBLIC const char *cs_mlcp_options_word(int i, int k);
CS_PUBLIC cs_status cs_mlcp_options_set(cs_mlcp_options *options, const cs_setting *setting,
                                        cs_error *error);

/* Counts of the engine `cached` in one solve, over all islands. */
typedef struct cs_cache_counts {
    int64_t hits, misses; /* removals of tight rows that were found in the cache, and made */
    int64_t evictions;    /* entries evicted because the cache was full */
    int64_t entries;      /* entries at the end, */
    int64_t bytes;        /* and their memory */
    int64_t most_bytes;   /* peak memory of the entries */
} cs_cache_counts;

/* Counts of the use of factors of an earlier matrix in one solve, over all islands. */
typedef struct cs_reuse_counts {
    int64_t solves; /* linear systems solved with such a factor */
    int64_t steps;  /* steps of conjugate gradients for these */
    int64_t failed; /* linear systems that needed a new factor */
} cs_reuse_counts;

/* What starts at a visit of the order "given": nothing, a part, or a stage. CS_STAGE_BEGINS + i starts
 * a stage of the i-th kind, cs_stage_kind_name. */
enum { CS_NOTHING_BEGINS, CS_PART_BEGINS, CS_STAGE_BEGINS };

/* The options of orders. */
typedef struct cs_order_options {
    uint64_t seed;              /* random */
    const int64_t *permutation; /* given: the blocks (K) in the order of their visits */
    const int64_t *begins; /* given: what starts at each visit (K); NULL: one sequential stage */
    const int64_t
        *labels; /* partition, regions: the part of each body, or of each block (K) if A is given;
                            * NULL: its option `strategy` makes `parts` parts */
    int parts; /* number of parts of concurrent and disjoint stages; 0: 8, or for the orders `cache` and
                * `partition` cs_problem_parts */
    int64_t subtasks;      /* tasks per part of a simultaneous or independent stage; 0: tasks of 512
                       * blocks, -1: tasks of one block */
    int weighted_subtasks; /* tasks have about equal numbers of blocks of A, not of blocks */
    int threads; /* most for finding the order; 0: chosen automatically. No result depends on it */
    int exact_threads;          /* as many as `threads`, even where fewer take less time */
    const cs_setting *settings; /* the order's own options; others have their defaults */
    int setting_count;
} cs_order_options;

typedef struct cs_order_info {
    const char *name, *summary;
    const char *about; /* a paragraph; may be NULL */
    const cs_option *option;
    int options;
    int draws; /* it depends on the seed */
} cs_order_info;

/* Describes the i-th order; 0 past the end. */
CS_PUBLIC int cs_order_describe(int i, cs_order_info *info);

/* Whether an order takes these values of its own options. */
CS_PUBLIC cs_status cs_order_check(const char *order, const cs_setting *settings, int count,
                                   cs_error *error);

/* ---- schemes --------------------------------------------------------------------------------- */

typedef struct cs_scheme_info {
    const char *name, *summary;
    const char *about; /* a paragraph; may be NULL */
    const cs_option *option;
    int options;
} cs_scheme_info;

/* Describes the i-th scheme; 0 past the end. */
CS_PUBLIC int cs_scheme_describe(int i, cs_scheme_info *info);

/* Whether a scheme takes these values of its own options. */
CS_PUBLIC cs_status cs_scheme_check(const char *scheme, const cs_setting *settings, int count,
                                    cs_error *error);

/* ---- networks -------------------------------------------------------------------------------- */

/* A network of processes, which makes sweeps in S1's parallel designs (its chapters 6 and 7). */
typedef struct cs_network_info {
    const char *name, *summary;
    const char *about; /* a paragraph; may be NULL */
    const cs_option *option;
    int options;
} cs_network_info;

/* Describes the i-th network; 0 past the end. */
CS_PUBLIC int cs_network_describe(int i, cs_network_info *info);

/* Whether a network takes these values of its own options. */
CS_PUBLIC cs_status cs_network_check(const char *network, const cs_setting *settings, int count,
                                     cs_error *error);

/* What has passed through the channels of a network. */
typedef struct cs_network_counts {
    int64_t processes; /* of one run */
    int64_t runs;      /* calls in which the processes have begun and ended */
    int64_t sweeps, messages, bytes;
    int64_t sleeps; /* waits that outlasted a bounded number of looks; 0 on ranks */
    int64_t messages_away, bytes_away; /* those between ranks; 0 without ranks */
} cs_network_counts;

typedef struct cs_options {
    const char *method, *scheme, *order; /* cs_*_name, or "auto" */
    cs_order_options order_options;
    const cs_setting *scheme_settings; /* the scheme's own options; others have their defaults */
    int scheme_setting_count;
    const char *local;    /* "auto", "projected", "exact", "block", "newton", "quartic" */
    const char *r_factor; /* "local", "diagonal", "block", "global", "balanced", or NULL: r_value */
    double r_value;
    const char *bound; /* friction bound from the "current" or the "previous" normal impulse */
    double relaxation; /* alpha, scales R */
    /* omega: the weight of the new impulses in their average with the old ones; 1: no averaging. NaN: no
     * averaging, or in methods that pivot an adaptive weight. */
    double averaging;
    int averaging_adjacent; /* omega is 1 over the number of adjacent contacts instead */
    int rollback;           /* maximum halvings of R when the residual grows */
    /* Growth of the residual, over its minimum, that halves R; S1: 1. 0: 3 for methods that update all
     * blocks at once, 100 for others. */
    double rollback_growth;
    const char *dtype; /* "float64", "float32", "mixed": float factors, double impulses */
    const char
        *stop; /* name of a measure, compared with atol, or with 1 if it contains rtol and atol */
    double rtol, atol; /* both NaN: exactly max_iterations sweeps */
    int64_t check_every, max_iterations, record_every;
    int64_t patience; /* iterations without halving the natural map that end a solve; 0: never */
    int64_t measure_every; /* for recorded measures that cost about a sweep; 0: check_every */
    int time_checks;       /* `seconds` of results include the evaluation of the stopping rule */
    double max_seconds; /* of one solve, also checked within long iterations; INFINITY: no limit */
    const char *const *record; /* names of the measures to record */
    int records;
    double quality_r; /* R_const of the measure `quality` */
    int threads; /* most threads; 0: chosen automatically. Fewer run where they take less time */
    int exact_threads; /* exactly `threads` run wherever they can, for benchmarks and tests */
    int islands; /* islands iterate and stop separately where that is possible and saves time */
    /* cs_instructions_name: several contacts are visited at a time wherever that is possible;
     * "scalar": one after another; "auto": the fastest on this machine, unless the environment
     * variable CONTACTSOLVE_INSTRUCTIONS names one. */
    const char *instructions;
    /* What runs the sweeps: "cpu", or the name of a device whose module is loaded. */
    const char *device;
    const char *
        device_sweeps; /* how a device makes sweeps: "auto", "dataflow", "counter", "on_chip", "regions", "graph", "launches" */
    const char *device_prox; /* how a device projects in float32: "double", "single" */
    int general;             /* do not compress contacts of rigid bodies to frames and lever arms */
    cs_mlcp_options pivoting;   /* set from the own options of methods that pivot; their matrix is
                               * the symmetric part of A */
    const cs_setting *settings; /* the method's own options; others have their defaults */
    int setting_count;
} cs_options;

CS_PUBLIC cs_options cs_options_default(void);

/* Describes the i-th option of every solver; returns 0 past the end. `words` is NULL if the words are
 * the names of a list. cs_options_word returns the k-th word of the i-th option in either case, NULL
 * past the end. */
CS_PUBLIC int cs_options_describe(int i, cs_option *option);
CS_PUBLIC const char *cs_options_word(int i, int k);
/* Sets one of these options by its name. A word must exist until a solver is made from the options. */
CS_PUBLIC cs_status cs_options_set(cs_options *options, const cs_setting *setting, cs_error *error);

/* The number of parts into which the orders `cache` and `partition` divide the problem unless told
 * another one: it depends on the number of blocks alone. */
CS_PUBLIC int cs_problem_parts(const cs_problem *problem);

/* The labels (cs_problem_vertices) that the order `partition` would use with these options: 0 for
 * what touches nothing that moves. */
CS_PUBLIC cs_status cs_partition_labels(const cs_problem *problem, const cs_order_options *options,
                                        int64_t *labels, cs_error *error);

/* label (cs_problem_blocks) <- the island of each block: the connected part of the problem, over moving
 * bodies or non-zero blocks of a given A, numbered by first occurrence; -1 for blocks whose impulses
 * move nothing. `islands` <- their number. */
CS_PUBLIC cs_status cs_problem_islands(const cs_problem *problem, int64_t *label, int64_t *islands,
                                       cs_error *error);

/* What a solve reports to the control between sweeps. */
typedef struct cs_progress {
    int64_t iteration, max_iterations;
    const double *row; /* the newest row of the history: iteration, time, measures */
    int columns;
    const double *impulses; /* at this iteration; NULL unless every_iteration */
} cs_progress;

typedef struct cs_control {
    /* Returns 0 to continue, 1 to stop with the current iterate, -1 to abort with CS_INTERRUPTED. */
    int (*poll)(void *context, const cs_progress *progress);
    void *context;
    int every_iteration; /* poll after each iteration, otherwise at most a few hundred times a second */
} cs_control;

typedef enum cs_outcome {
    CS_CONVERGED,
    CS_MAX_ITERATIONS,
    CS_DIVERGING,
    CS_STOPPED,
    CS_STALLED,   /* the residual stagnates, */
    CS_WANDERING, /* or oscillates in a band, and its minimum is no longer halved */
    CS_MAX_SECONDS,
    CS_INACCURATE, /* rounding alone may exceed the tolerance, see `floor` of the result */
    CS_INFEASIBLE, /* there is no solution, see the `certificate` of the result */
    CS_UNBOUNDED,  /* impulses grow along the `certificate`; with friction that is no proof */
} cs_outcome;

CS_PUBLIC const char *cs_outcome_name(cs_outcome outcome);

/* One run of a method in a chain (method="auto"). */
typedef struct cs_link {
    const char *method;
    int64_t first;      /* iterations made before it */
    int64_t iterations; /* total over islands that are solved separately */
    double seconds;     /* from the end of the previous link; summed over islands, as iterations */
    double reached;     /* the natural map of the best iterate after it, scaled unless rtol is 0 */
    cs_outcome outcome; /* how it ended; over islands, the worst outcome */
    const char *why;    /* the reason, in words */
    int64_t islands;    /* solvers that ran it: 1, or clusters of islands */
} cs_link;

enum { CS_MAX_LINKS = 64 }; /* further runs are added to the last link */

/* The answer of a solve: the caller's buffers (each may be NULL), then figures. */
typedef struct cs_result {
    /* The caller's buffers, each of which may be NULL. A solve without a tolerance evaluates its impulses only if
     * residual velocities are asked for, or if the last row of the history needs it; otherwise cs_solver_evaluate
     * does. */
    double *impulses;            /* (rows) lambda */
    double *residual_velocities; /* (rows) xi = A lambda + b */
    double *velocity_change;     /* (velocities) M^-1 J^T lambda; zero when A was given */
    int evaluated; /* whether the impulses were evaluated: the natural maps and the worst block are known */
    cs_outcome outcome;
    int64_t iterations;
    int64_t best_iteration; /* the iteration of the returned iterate: the last one, or the best */
    int rollbacks;
    int64_t
        block_products; /* products of blocks of A with impulses, all sweeps; 0 if A is not formed */
    int64_t unfinished_blocks; /* local solves that did not converge in the last sweep */
    const char *pivoting; /* methods that pivot: how the last mixed LCP ended; NULL for others */
    /* (figures) what the method reports beside that, and the values; NaN: this solve has none. */
    const cs_figure *figure;
    int figures;
    double figure_value[CS_MAX_FIGURES];
    const cs_link *link; /* (links) of a chain; the solver owns them until its next solve */
    int links;           /* 0 for other methods */
    /* Stalled and wandering solves: the minimum, the median and the maximum of the scaled natural maps
     * since the minimum was last halved; otherwise NaN. */
    double band[3];
    /* The solve, without set-up, recording and the caller's functions; without the evaluation of the
     * stopping rule if time_checks is 0. */
    double seconds;
    /* Of these the sweeps, or the iterations of methods that make none. */
    double sweep_seconds;
    /* The call of cs_solver_solve: with recording, the caller's functions, and the set-up if the
     * problem's values have changed. */
    double wall_seconds;
    double natural_map; /* at the returned impulses [N s]; NaN if they were not evaluated */
    double natural_map_scaled;
    /* Inaccurate solves: the largest scaled natural map that rounding alone may leave, and its block;
     * otherwise NaN and -1. */
    double floor;
    int64_t floor_block;
    /* Infeasible and unbounded solves: impulses (rows) that move nothing while b makes them grow; the
     * solver owns them until its next solve. Otherwise NULL. No solution has impulses up to `certified`. */
    const double *certificate;
    double certified;
    /* The block with the largest scaled natural map; -1 without blocks, and if nothing was evaluated. */
    int64_t worst_block;
    int worst_row;         /* the first row of its worst coupled set, */
    double worst_velocity; /* and the error of that set as a velocity, Delta_s / rho_s */
    const double *history; /* (history_rows, columns), owned by the solver until its next solve */
    int64_t history_rows;
    int columns;
} cs_result;

/* The choices of a solver. */
typedef struct cs_solver_info {
    const char *method, *scheme, *order, *local, *dtype;
    const char *why_order; /* order "auto": the reason for the choice; otherwise NULL */
    int threads, columns;
    int64_t stages, colors; /* of the order; 0 without colours */
    int64_t rounds;         /* of the colouring; 0 without colours */
    int64_t parts;          /* into which the order divides the problem; 0: it does not */
    const char *column[CS_MAX_COLUMNS + 2];
    int64_t matrix_blocks;    /* of A, if the scheme stores it */
    int64_t immovable_blocks; /* contacts whose impulses move nothing */
    int64_t singular_blocks;  /* free blocks without an inverse, solved by projection */
    double r_value;           /* the common factor R of all rows, otherwise NaN */
    double step_bound; /* lambda_max(R A), by which accelerated Jacobi's R was divided; or NaN */
    double eigenvalues[2]; /* the smallest and the largest of A, if they determine R; or NaN */
    /* How contacts are visited, "scalar", "wide, avx2, 4 lanes", "wide rows, avx2"; on a device after its name, and
     * before the way of its launches. */
    char kernel[128];
    int stop_is_ratio; /* the stopping measure contains rtol and atol and is compared with 1 */
    /* Methods that pivot: the engine of the largest island, "none" for a dictionary, "polyhedral" for a
     * dictionary of the whole problem; NULL for others. */
    const char *engine;
    int64_t islands; /* of the problem; 0 if they were not counted */
    int64_t
        clusters; /* groups of islands that are solved separately; 0: the whole problem at once */
    int64_t bytes;
    double seconds; /* of the set-up */
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
/* Has a network of processes make the sweeps of all solves that follow: one more process than there are workers, or a
 * few more. settings (count): the network's options. Fails with CS_UNKNOWN_NAME, with CS_INVALID for options and
 * workers out of range, for sweeps that the network does not make and if the solver has a network already, and with
 * CS_UNSUPPORTED for methods other than "jacobi" and "gauss_seidel", islands that are solved apart, devices, and sets
 * with functions of the caller. A solve fails with CS_UNSUPPORTED where there are too few threads. */
CS_PUBLIC cs_status cs_solver_connect(cs_solver *solver, const char *network, int workers,
                                      const cs_setting *settings, int count, cs_error *error);
/* counts <- what has passed through the channels of its network so far. Returns 0 if it has none. */
CS_PUBLIC int cs_solver_network_counts(const cs_solver *solver, cs_network_counts *counts);
/* Whether every solve evaluates its impulses: the solver has a tolerance, or records measures of the iterates.
 * Without a tolerance, a solve makes exactly max_iterations iterations. */
CS_PUBLIC int cs_solver_evaluates(const cs_solver *solver);
/* Evaluates result->impulses (rows), which some solve with these `b` and `parameters` returned: fills the buffers
 * `residual_velocities` and `velocity_change` where they are given, and the natural maps and the worst block. The
 * problem must have the values of that solve. */
CS_PUBLIC cs_status cs_solver_evaluate(cs_solver *solver, const double *b, const double *parameters,
                                       cs_result *result, cs_error *error);
/* velocity (velocities) <- M^-1 J^T impulses, with the solver's threads */
CS_PUBLIC void cs_solver_velocity_change(const cs_solver *solver, const double *impulses,
                                         double *velocity);
/* Lets the following solves start from this index set, a cs_index for each row; NULL ends this. The caller owns the
 * index set and keeps it while it is in use. Fails with CS_UNSUPPORTED unless the method takes index sets: methods that
 * pivot do, except Lemke's.
 * Without initial impulses, friction has no bounds in the first mixed LCP: its rows are free there, whatever the index
 * set says. With them, normal impulses bound friction. Where the index set is CS_INDEX_UNKNOWN, it is guessed from the
 * impulses: a row is tight if its impulse is at a bound. */
CS_PUBLIC cs_status cs_solver_begin_with(cs_solver *solver, const signed char *index_set,
                                         cs_error *error);
/* The index set of the last mixed LCP: (rows), a cs_index each; CS_INDEX_UNKNOWN where both bounds are equal. If the
 * solve ended before it, that with which the solve began; without one, CS_INDEX_UNKNOWN. The solver owns it until its next solve. NULL for methods that take no index sets. */
CS_PUBLIC const signed char *cs_solver_index_set(const cs_solver *solver);
/* After a solve that ended as "ray" with a polyhedral friction cone: impulses (rows) that could grow
 * without bound, scaled to a maximum of 1. NULL for other methods. */
CS_PUBLIC const double *cs_solver_ray(const cs_solver *solver);
CS_PUBLIC void cs_solver_describe(const cs_solver *solver, cs_solver_info *info);
CS_PUBLIC void cs_solver_destroy(cs_solver *solver);

/* ---- orders ---------------------------------------------------------------------------------- */

/* The schedule of an order for a problem, without a solver. */
typedef struct cs_ordering cs_ordering;

/* Sizes, and arrays that exist as long as the ordering. The visits are divided into parts, and the
 * parts into stages: part p holds the visits from part_start[p] to part_start[p + 1], stage s the parts
 * from stage_start[s] to stage_start[s + 1]. */
typedef struct cs_ordering_info {
    const char *method, *order;
    int64_t blocks, stages, parts;
    const int64_t *visit;       /* (blocks): the blocks as visited */
    const int64_t *part_start;  /* (parts + 1) into visit */
    const int64_t *stage_start; /* (stages + 1) into the parts */
    const unsigned char *kind;  /* (stages): a number for cs_stage_kind_name */
    const int64_t *row_blocks;  /* (blocks): non-zero blocks in the row of A, S1 Corollary 3.2 */
    int64_t colors;             /* number of colours; 0 without colouring */
    const int64_t *color_size;  /* (colors): blocks of each, before small ones are merged */
    int64_t rounds;             /* of the colouring of all blocks; 0 without it */
    double seconds;             /* of finding the order */
} cs_ordering_info;

/* The schedule of a solver with these options: `method` and `order` are names, or "auto". Fails for
 * unknown names, negative numbers and wrong permutations. The ordering may outlive the problem. */
CS_PUBLIC cs_status cs_ordering_create(cs_ordering **ordering, const cs_problem *problem,
                                       const char *method, const char *order,
                                       const cs_order_options *options, cs_error *error);
CS_PUBLIC void cs_ordering_describe(const cs_ordering *ordering, cs_ordering_info *info);
CS_PUBLIC void cs_ordering_destroy(cs_ordering *ordering);

/* The i-th kind of stage, NULL past the end. */
CS_PUBLIC const char *cs_stage_kind_name(int i);

/* ---- judging --------------------------------------------------------------------------------- */

/* The state of a contact, or of a row of another set. */
typedef enum cs_activity { CS_OPEN, CS_STICK, CS_SLIDE, CS_FREE, CS_LOW, CS_HIGH } cs_activity;

/* Buffers of the caller. */
typedef struct cs_inspection {
    unsigned char *activity; /* (rows): a cs_activity; the same on all rows of a contact */
    double *natural_map, *natural_map_scaled; /* (blocks) */
    double *infeasibility;  /* (blocks): largest distance of an impulse from its set */
    int64_t *worst_row;     /* (blocks): the first row of the coupled set with the largest error, */
    double *worst_velocity; /* (blocks): and that error as a velocity, Delta_s / rho_s */
} cs_inspection;

/* Evaluates impulses (rows) and their residual velocities xi (rows) block by block. `b` (rows) and
 * `parameters` as in cs_solver_solve; impulses below `tolerance` times rho_s V count as zero, V being the
 * speed at which the island of their set breaks its constraints without impulses. */
CS_PUBLIC cs_status cs_problem_inspect(const cs_problem *problem, const double *impulses,
                                       const double *xi, const double *b, const double *parameters,
                                       double tolerance, const cs_inspection *inspection,
                                       cs_error *error);

/* Ends the worker threads. Call it before a fork: a child process has none and would wait for them. */
CS_PUBLIC void cs_release_threads(void);

/* Gives to the system what the process keeps of the memory of destroyed problems and solvers, 128 MB at most and as much
 * as the last step of each world took, for those that are made next. */
CS_PUBLIC void cs_memory_trim(void);

/* ---- mixed linear complementarity problems --------------------------------------------------- */

/* The state of a row: free with w = 0, or at one of its bounds. */
typedef enum cs_index {
    CS_INDEX_LOW = -1,
    CS_INDEX_FREE = 0,
    CS_INDEX_HIGH = 1,
    CS_INDEX_UNKNOWN = 2, /* only where a contact problem starts from an index set */
} cs_index;

typedef enum cs_mlcp_outcome {
    CS_MLCP_CONVERGED,
    CS_MLCP_MAX_PIVOTS,
    CS_MLCP_CYCLING,    /* index sets repeated, for every threshold of rounding */
    CS_MLCP_INACCURATE, /* the last index set is right, but rounding exceeds the tolerance */
    CS_MLCP_RAY,        /* Lemke's method found an unbounded ray */
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
    /* Evaluated from x with the given A: the largest |x - clamp(x - rho w)|, rho = 1 / A_ii; the largest
     * of them over rho V, V being the largest of them over rho at x = clamp(0) in the row's island, and its
     * row (-1 with no rows); the largest |w| times distance to the bound that it holds x to. */
    double residual, residual_scaled, complementarity;
    int64_t worst_row;
    int64_t pivots, single_pivots, factorizations, refinements; /* of all islands */
    cs_cache_counts cache;
    cs_reuse_counts reuse;
    int64_t interior_steps;
    double condition; /* estimate of the condition number; NaN unless requested */
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
 * A is symmetric positive definite. If it is slightly unsymmetric, its symmetric part is factored and
 * the answer is judged with the given A. Bounds may be infinite.  S3 eq. 1.20 with b negated */
typedef struct cs_mlcp cs_mlcp;

CS_PUBLIC cs_status cs_mlcp_create(cs_mlcp **mlcp, const cs_csr *matrix,
                                   const cs_mlcp_options *options, cs_error *error);
/* Replaces the values of A; the number of rows stays. If no entry becomes nonzero that was zero, orders
 * and patterns are kept, and with options.reuse also factors, for conjugate gradients; otherwise the
 * whole set-up is repeated. A failure changes nothing. */
CS_PUBLIC cs_status cs_mlcp_update(cs_mlcp *mlcp, const cs_csr *matrix, cs_error *error);
/* `initial` (rows) is the initial index set, a cs_index for each row; NULL: all rows are free. Fails
 * with CS_UNSUPPORTED if A is not positive definite; the message names the row and a remedy. */
CS_PUBLIC cs_status cs_mlcp_solve(cs_mlcp *mlcp, const double *b, const double *lo,
                                  const double *hi, const signed char *initial,
                                  const cs_control *control, cs_mlcp_result *result,
                                  cs_error *error);
CS_PUBLIC void cs_mlcp_describe(const cs_mlcp *mlcp, cs_mlcp_info *info);
CS_PUBLIC void cs_mlcp_destroy(cs_mlcp *mlcp);

/* ---- for tests ------------------------------------------------------------------------------- */

CS_PUBLIC int64_t cs_memory_live(void);                 /* blocks allocated and not released */
CS_PUBLIC void cs_memory_fail_after(int64_t successes); /* then one allocation fails; -1: never */

/* ---- shapes ----------------------------------------------------------------------------------- */

typedef enum cs_shape_kind {
#define CS_SHAPE(identifier, name, dimension, numbers, names) CS_SHAPE_##identifier,
#include "core/shapes.def"
#undef CS_SHAPE
    CS_SHAPE_KINDS
} cs_shape_kind;

enum { CS_SHAPE_NUMBERS = 4, CS_MOST_VERTICES = 64 };

/* A convex shape, in a frame of its own. Capsules and cylinders lie along z, segments along x; a segment is the capsule
 * of the plane, whose radius may be zero. half_length of a capsule or segment: from the centre to the centre of an end.
 * A half-space is solid where normal . x <= offset. */
typedef struct cs_shape {
    cs_shape_kind kind;
    double number[CS_SHAPE_NUMBERS]; /* radius, half extents, ...: see shapes.def */
    const double *vertices; /* (vertex_count, dimension) of a hull or polygon, in any order */
    int64_t vertex_count;
    int64_t body;          /* -1: the fixed world */
    double position[3];    /* of the shape's frame in the body's */
    double orientation[4]; /* w, x, y, z; in the plane: the angle */
} cs_shape;

/* The name of a kind, NULL past the last; and the kind of a name, -1 for none. */
CS_PUBLIC const char *cs_shape_name(int kind);
CS_PUBLIC int cs_shape_find(const char *name);

/* Mass properties of a shape with density 1, in its own frame; in the plane, volume is area, and the moment of inertia
 * is inertia[8]. */
typedef struct cs_shape_mass {
    double volume, center[3];
    double inertia[9];      /* about the centre of mass */
    double bounding_radius; /* of a sphere about the centre of mass that holds the shape */
} cs_shape_mass;

/* Checks a shape and computes its mass properties. A half-space has none: an error. */
CS_PUBLIC cs_status cs_shape_measure(const cs_shape *shape, int dimension, cs_shape_mass *mass,
                                     cs_error *error);

/* Contacts, sorted by (shape[0], shape[1], feature), which is their id: shape[0] < shape[1]. A feature stays the same
 * from step to step while the same vertices, edges and faces touch. The arrays belong to the collider and are valid
 * until its next call. */
typedef struct cs_contacts {
    int64_t count;
    const int64_t *shape;   /* (count, 2) */
    const int32_t *feature; /* (count) */
    const int64_t *body;    /* (count, 2): of the two shapes */
    const double *point;    /* (count, dimension): midway between the two surfaces */
    const double *normal;   /* (count, dimension): unit length, from the first body to the second */
    const double *gap;      /* (count): negative: penetration */
} cs_contacts;

/* ---- scenes in motion ------------------------------------------------------------------------ */

typedef struct cs_world cs_world;

typedef struct cs_world_options {
    int dimension;             /* 3, or 2: the plane */
    double gravity[3];         /* [m/s^2] */
    double time_step;          /* [s] */
    double activation;         /* contacts with at most this gap are closed [m] */
    double contact_compliance; /* of all rows of contacts [m/N] */
    const char *stepper;       /* cs_stepper_name */
    const char *gyroscopic;    /* "explicit", "implicit" or "none" */
    const char *tension;       /* of joints: "explicit" or "implicit" */
    cs_options solver; /* of each step's problem; what it points to exists as long as the world */
} cs_world_options;

CS_PUBLIC cs_world_options cs_world_options_default(void);

/* The i-th time-stepping scheme, as cs_method_name. */
CS_PUBLIC const char *cs_stepper_name(int i, const char **summary);

CS_PUBLIC cs_status cs_world_create(cs_world **world, const cs_world_options *options,
                                    cs_error *error);
CS_PUBLIC void cs_world_destroy(cs_world *world);

/* A material: what holds where two shapes of it touch. Between two different materials with the same set, the
 * parameters are geometric means and the restitution the larger one, unless cs_world_set_pair says another. */
typedef struct cs_material {
    const char *set;         /* cs_set_name */
    int rows;                /* 1: no friction; 3 to 5 in space, 2 in the plane */
    const double *parameter; /* (parameters), see the set's file */
    int parameters;
    double restitution[2]; /* normal and tangential, 0 to 1 */
} cs_material;

CS_PUBLIC cs_status cs_world_add_material(cs_world *world, const cs_material *material, int *index,
                                          cs_error *error);
CS_PUBLIC cs_status cs_world_set_pair(cs_world *world, int first, int second,
                                      const cs_material *material, cs_error *error);

/* Bodies to add: D = 3 or 2 coordinates, d = 6 or 3 velocities. */
typedef struct cs_world_bodies {
    int64_t count;
    const double *mass; /* (count) [kg] */
    const double
        *inertia; /* (count, 3, 3) about the centre of mass, in the body's frame; (count) */
    const double *position;    /* (count, D): centres of mass [m] */
    const double *orientation; /* (count, 4): w, x, y, z; (count): angles; NULL: none is turned */
    const double
        *velocity; /* (count, d): linear before angular, in the world frame; NULL: at rest */
    const unsigned char
        *driven; /* (count): whatever acts on it, it keeps its velocity; NULL: none */
} cs_world_bodies;

CS_PUBLIC cs_status cs_world_add_bodies(cs_world *world, const cs_world_bodies *bodies,
                                        int64_t *first, cs_error *error);

/* Adds shapes with a material each (count) to bodies, or to the fixed world. */
CS_PUBLIC cs_status cs_world_add_shapes(cs_world *world, const cs_shape *shapes,
                                        const int *material, int64_t count, int64_t *first,
                                        cs_error *error);

/* Removes a body with its shapes. Other bodies keep their numbers. */
CS_PUBLIC cs_status cs_world_remove(cs_world *world, int64_t body, cs_error *error);

/* Moves `count` bodies of these numbers, or gives them other velocities. Arrays are as in cs_world_bodies; what is NULL
 * stays as it is. A failure changes nothing. */
CS_PUBLIC cs_status cs_world_place(cs_world *world, const int64_t *body, int64_t count,
                                   const double *position, const double *orientation,
                                   const double *velocity, cs_error *error);

/* ---- joints ---------------------------------------------------------------------------------- */

typedef enum cs_joint_kind {
    CS_JOINT_BALL,     /* holds two points together */
    CS_JOINT_HINGE,    /* ... and leaves the rotation about an axis */
    CS_JOINT_SLIDER,   /* leaves the translation along an axis */
    CS_JOINT_FIXED,    /* leaves nothing */
    CS_JOINT_DISTANCE, /* keeps the distance of two points */
    CS_JOINT_GEAR,     /* couples the speeds of two shafts */
    CS_JOINT_ANGULAR,  /* holds nothing: for a motor or limits about an axis, */
    CS_JOINT_LINEAR,   /* ... along an axis, */
    CS_JOINT_RAM,      /* ... or between two points */
    CS_JOINT_MESH,     /* lets two wheels roll on each other */
    CS_JOINT_KINDS,
} cs_joint_kind;

/* The name of a kind, NULL past the last; and the kind of a name, -1 for none. */
CS_PUBLIC const char *cs_joint_name(int kind);
CS_PUBLIC int cs_joint_find(const char *name);

/* The drive of a joint: its columns in cs_world_view.drive. */
enum {
    CS_DRIVE_SPEED,  /* that a motor keeps [rad/s, m/s] */
    CS_DRIVE_TARGET, /* coordinate that a spring pulls to [rad, m] */
    CS_DRIVE_LOWER,  /* bounds of its moment or force [N m, N] */
    CS_DRIVE_UPPER,
    CS_DRIVE_NUMBERS,
};

/* Rows of a joint: those that are held, at most 6, then the limit and the drive. */
enum { CS_JOINT_LIMIT = 6, CS_JOINT_DRIVE, CS_JOINT_ROWS };

/* A joint between two bodies in space. Its coordinate is what a motor drives and limits bound: the angle of a hinge, the
 * travel of a slider, the distance of two points; of a ball the angle between the axes of both bodies, which has an
 * upper limit only. Points and axes are in the frames of the bodies, which are about their centres of mass. */
typedef struct cs_joint {
    cs_joint_kind kind;
    int64_t body[2];    /* -1: the fixed world */
    double point[2][3]; /* [m] */
    double axis[2][3];  /* unit vectors */
    double turn
        [4]; /* w, x, y, z: the second body's frame in the first one's, where the angle is zero */
    double length; /* that a distance keeps; of a mesh: its pitch point along the first axis [m] */
    double ratio;  /* of a gear: the second shaft turns so many times as fast as the first; of a
                    * mesh: its pitch point away from the first axis, towards the second point [m] */
    double limits[2];               /* of the coordinate; infinite: none */
    double compliance[6];           /* of the rows that are held [m/N, rad/(N m)] */
    double stiffness;               /* of the drive: its spring [N m/rad, N/m], */
    double damping;                 /* and its damper; both zero: a motor that keeps its speed */
    double drive[CS_DRIVE_NUMBERS]; /* at the beginning */
    int has_drive;
    int touches; /* contacts between the two bodies are not left out */
} cs_joint;

/* Adds joints, whose numbers are *first, *first + 1, ... Either all are added or, if one is wrong, none. */
CS_PUBLIC cs_status cs_world_add_joints(cs_world *world, const cs_joint *joints, int64_t count,
                                        int64_t *first, cs_error *error);

/* Removes a joint. Others keep their numbers. A joint whose body is removed holds nothing. */
CS_PUBLIC cs_status cs_world_remove_joint(cs_world *world, int64_t joint, cs_error *error);

/* What joints have at present; zero for those that were removed. */
typedef struct cs_joint_measures {
    double *coordinate; /* (count) [rad, m]; angles count full turns */
    double *rate;       /* (count) [rad/s, m/s] */
    double *error;      /* (count, 2): how far the rows that are held are off [m, rad] */
} cs_joint_measures;
CS_PUBLIC void cs_world_measure_joints(const cs_world *world, const cs_joint_measures *to);

/* What a step did. */
typedef struct cs_step_report {
    int64_t contacts, iterations;
    int64_t pivots;     /* of methods that pivot; 0 for others */
    cs_outcome outcome; /* of the solve; CS_CONVERGED without contacts */
    double natural_map, natural_map_scaled;
    int new_solver; /* the closed contacts are others than in the step before */
    double collide_seconds, setup_seconds, solve_seconds, seconds;
} cs_step_report;

/* Makes one step. A failure leaves the world as it was. A solve that does not converge is no failure: its best
 * impulses are used. */
CS_PUBLIC cs_status cs_world_step(cs_world *world, const cs_control *control, cs_error *error);

/* The state of a world, and the contacts of its last step: n bodies, K contacts. Arrays are valid until the next call
 * that changes the world. */
typedef struct cs_world_view {
    int64_t bodies;
    const double *position, *orientation, *velocity; /* as in cs_world_bodies */
    double
        *force; /* (n, d): forces and moments of the following steps, which the caller may write */
    const double *mass, *inertia;
    const unsigned char *driven, *removed;
    int64_t contacts;
    cs_contacts contact;
    const double
        *impulse; /* (K, 6) [N s]: normal, tangents, ...; zero beyond the rows of its material */
    int64_t joints;
    double *drive; /* (joints, CS_DRIVE_NUMBERS), which the caller may write between steps */
    const double *joint_impulse;        /* (joints, CS_JOINT_ROWS) [N s, N m s]: of the last step */
    const unsigned char *joint_removed; /* (joints) */
    cs_step_report report;
    int64_t steps;
    double time;
    const cs_problem *problem; /* of the last step; NULL without contacts and joints */
} cs_world_view;

CS_PUBLIC void cs_world_look(const cs_world *world, cs_world_view *view);

/* The contacts at which bodies penetrate each other at present. The arrays are valid until the next call that changes
 * the world. */
CS_PUBLIC cs_status cs_world_overlaps(cs_world *world, cs_contacts *contacts, cs_error *error);

/* The state of a world: what a step takes from those before it, as arrays with names. A world of the same options, to
 * which the same materials, bodies, shapes and joints were added in the same order, goes on from it with the same bits. */
typedef enum cs_number_kind { CS_FLOAT64, CS_INT64, CS_INT32, CS_UINT8 } cs_number_kind;

typedef struct cs_state_array {
    const char *name;
    cs_number_kind kind;
    int64_t rows;
    int columns;
    void *data; /* (rows, columns) */
} cs_state_array;

enum { CS_MOST_STATE_ARRAYS = 24 };

typedef struct cs_world_state {
    int count;
    cs_state_array array[CS_MOST_STATE_ARRAYS];
} cs_world_state;

/* The arrays are the world's own: they are to be read before the next call that changes the world. */
CS_PUBLIC cs_status cs_world_save(cs_world *world, cs_world_state *state, cs_error *error);

/* Takes the state of another world. Arrays are found by their names; without "force" there are no forces. A failure
 * changes nothing. Shapes of bodies that the state has as removed must not have been added: see cs_world_skip_shapes. */
CS_PUBLIC cs_status cs_world_restore(cs_world *world, const cs_world_state *state, cs_error *error);

/* Gives the next `count` numbers of shapes to none: those of shapes that were removed. */
CS_PUBLIC cs_status cs_world_skip_shapes(cs_world *world, int64_t count, cs_error *error);

/* Energies of all bodies that are not driven [J]: kinetic, and of gravity, which is zero at the origin. */
CS_PUBLIC void cs_world_energy(const cs_world *world, double *kinetic, double *potential);
/* Momenta of these bodies: linear (D) [N s], and angular about the origin (3, or 1 in the plane) [N m s]. */
CS_PUBLIC void cs_world_momentum(const cs_world *world, double *linear, double *angular);

#ifdef __cplusplus
}
#endif

#endif

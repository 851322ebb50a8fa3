/* A scheme computes A lambda + b in the inner loop of a sweep. It packs the data that its visits read, and runs the
 * stages of the schedule over them:
 *
 *     problem x schedule  --pack-->  cs_packed  --run stage-->  lambda updated, residual measured */
#ifndef CS_SCHEME_H
#define CS_SCHEME_H

#include "core/option.h"
#include "core/phases.h"
#include "scheme/packed.h"

/* One phase of one stage. */
typedef struct cs_stage_phase {
    const cs_stage *stage;
    int number;          /* of the phase within the stage */
    int64_t tasks;       /* number of tasks */
    const int64_t *task; /* (tasks): which of the stage's tasks, on ranks; NULL: all of them */
    int inner; /* on ranks: no visit of these tasks is at the border (cs_ranks_at_border) */
} cs_stage_phase;

/* How the blocks of a group are updated. */
typedef enum cs_local {
    CS_PROJECTED,     /* a projected step with a diagonal R_k */
    CS_EXACT,         /* a projected step with a full R_k */
    CS_BLOCK,         /* the local problem is solved by the fastest method for its set */
    CS_BLOCK_NEWTON,  /* the local problem is solved by Newton's method */
    CS_BLOCK_QUARTIC, /* the local problem is solved by the roots of a quartic */
} cs_local;

/* Whether the local problem of each block is solved, instead of a projected step. */
static inline int cs_solves_block(cs_local local) { return local >= CS_BLOCK; }

typedef struct cs_scheme {
    const char *name, *summary;
    const char *about; /* a paragraph of documentation; may be NULL */
    /* The scheme's own options, whose values its functions read with cs_scheme_value. */
    const cs_option *option;
    int options;
    int needs_jacobian;
    int needs_steps;     /* its data contain R, so that local problems cannot be solved instead */
    int needs_symmetric; /* only for methods that alternate forward and backward sweeps */

    /* Chooses which groups are visited in batches or vectors. */
    cs_status (*lay_out)(cs_packed *packed, const cs_local *local, cs_arena *arena,
                         cs_error *error);

    /* Packs the scheme's own data into the groups. */
    cs_status (*pack)(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error);

    /* Writes the problem's new J, and M^-1 if `roots`, into the packed groups. Returns 0 if the scheme has to pack
     * anew, because its layout would be another one. NULL: it always has to. */
    int (*refill)(cs_packed *packed, int roots);

    /* Recomputes the data that depend on lambda (u = G^T lambda) after lambda was written from outside. */
    void (*refresh[CS_DTYPES])(cs_packed *packed);

    /* Called before each sweep. Returns the number of blocks that the sweep will multiply. NULL: all blocks of A. */
    int64_t (*begin)(cs_packed *packed);

    /* For schemes that compute data from R or b, otherwise NULL. Called after all R, or all b, were written. */
    void (*steps_written[CS_DTYPES])(cs_packed *packed);
    void (*data_written[CS_DTYPES])(cs_packed *packed);

    /* The same for R_k of one visit, which was multiplied by `factor` (a rollback), or rewritten if `factor` is NULL
     * (adaptive steps). Several threads may call it at once, for different visits. May be NULL. */
    void (*step_changed[CS_DTYPES])(cs_packed *packed, int group, int64_t visit,
                                    const double *factor);

    /* For schemes that sweep in mixed precision: b -= A lambda of every visit, with A as it is stored. Called after
     * `refresh`. */
    void (*subtract_products)(cs_packed *packed);

    /* Whether the changes of the parts of a concurrent stage may have a weight, and such parts see split masses. */
    int weighs, splits_masses;

    /* The phase that visits contacts, with a task for each part, in schemes that ranks use; and the one that adds up the
     * changes of the parts of a concurrent stage; 0 if there is none. */
    int visit, merge;

    /* A stage runs in phases, one after another. Returns the number of tasks of a phase; -1 behind the last one. */
    int64_t (*tasks)(const cs_packed *packed, const cs_stage *stage, int phase);

    /* Runs one task of a phase. Threads, which flush denormals, may run tasks of one phase at once. NULL: the scheme
     * has no sweeps in that precision. */
    void (*run[CS_DTYPES])(cs_packed *packed, const cs_stage *stage, int phase, int64_t task);
} cs_scheme;

/* The scheme of that name, or NULL. */
const cs_scheme *cs_scheme_find(const char *name);

/* own (CS_MAX_OWN_OPTIONS) <- one setting for each of the scheme's options, in the sequence of its table, with
 * default values for those that the user did not set. `scheme` NULL: the scheme "auto", which has none. */
cs_status cs_scheme_settle(const cs_scheme *scheme, const cs_setting *settings, int count,
                           cs_setting *own, cs_error *error);

/* The value of the scheme's i-th option; for a word, its index in the list of words. */
static inline double cs_scheme_value(const cs_packed *packed, int i)
{
    return packed->setting[i].number;
}

/* scheme <- the scheme whose sweeps take less time (scheme/choice.c). `wanted` is filled as for cs_pack_common,
 * except for its scheme. */
cs_status cs_scheme_choose(const cs_packed *wanted, const cs_local *local, const cs_scheme **scheme,
                           cs_error *error);

/* Takes the groups of `packed`, with their sizes and sets, as if no group were in batches. */
cs_status cs_describe_groups(cs_packed *packed, cs_arena *arena, cs_error *error);

/* The lane of a slot. The number of lanes is a power of two. */
static inline int64_t cs_lane_of(const cs_packed_group *group, int64_t slot)
{
    return slot & (group->lanes - 1);
}

/* The index of number i of a visit in an array of its group that holds `width` numbers per visit. */
static inline int64_t cs_packed_place(const cs_packed_group *group, int64_t visit, int64_t width,
                                      int64_t i)
{
    if (group->lanes == 1) return visit * width + i;
    int64_t lane = cs_lane_of(group, group->slot[visit]);
    return (group->slot[visit] - lane) * width + i * group->lanes + lane;
}

/* cs_real: the precision of impulses, velocities and b. cs_stored: the precision of factors, rows of A and R. */
static inline cs_dtype cs_real(cs_dtype dtype) { return dtype == CS_MIXED ? CS_F64 : dtype; }
static inline cs_dtype cs_stored(cs_dtype dtype) { return dtype == CS_MIXED ? CS_F32 : dtype; }

/* Bytes of one `real`, and of one `stored`. */
static inline size_t cs_real_size(cs_dtype dtype)
{
    return dtype == CS_F32 ? sizeof(float) : sizeof(double);
}

static inline size_t cs_stored_size(cs_dtype dtype)
{
    return dtype == CS_F64 ? sizeof(double) : sizeof(float);
}

/* Whether the scheme has sweeps in that precision. */
static inline int cs_scheme_takes(const cs_scheme *scheme, cs_dtype dtype)
{
    return scheme->run[dtype] != NULL;
}

/* to[at + i] = from[i], where `to` has float (CS_F32) or double (CS_F64). */
void cs_convert(cs_dtype precision, void *to, int64_t at, const double *from, int64_t count);

/* The first row of a visited block in the user's order. */
int64_t cs_visited_row(const cs_packed *packed, int group, int64_t visit);

/* Prepares the data that every scheme reads. `weighted`: each block has its own omega. */
cs_status cs_pack_common(cs_packed *packed, const cs_local *local, int weighted, cs_arena *arena,
                         cs_error *error);

/* Allocates an array of `width` numbers per visit, of float or double; NULL if memory runs out. The unused lanes of
 * batches are zero, all other numbers are not set. */
void *cs_take_visits(cs_dtype precision, const cs_packed_group *group, int64_t width,
                     cs_arena *arena);

/* Writes the `width` numbers of a visit to an array of its group, of float or double. */
void cs_put_visit(cs_dtype precision, const cs_packed_group *group, void *array, int64_t visit,
                  const double *from, int64_t width);

/* text <- how contacts are visited: "scalar", or for example "wide, avx2, 4 lanes". */
void cs_packed_kernel(const cs_packed *packed, char *text, size_t size);

/* Lists the phases of a sweep. Called after the scheme's `pack`. */
cs_status cs_pack_phases(cs_packed *packed, cs_arena *arena, cs_error *error);

/* How many threads share a loop over the visits: as many as the next sweep. */
int cs_packed_threads(const cs_packed *packed);

/* Writes b (rows) and the sets' parameters (parameters), both in the user's order. NULL: these remain. */
void cs_pack_data(cs_packed *packed, const double *b, const double *parameters);

/* Writes R: its diagonal `r` (rows), and for each group g step[g] (count, m, m), which is R_k if it is full, or A_kk
 * if local problems are solved. Undoes cs_scale_steps. */
void cs_pack_steps(cs_packed *packed, const double *r, double *const *step);

/* R <- factor R; blocks whose local problems are solved scale omega instead. cs_pack_steps undoes it. */
void cs_scale_steps(cs_packed *packed, double factor);

/* R_k <- factor R_k for one visited block, unless its local problem is solved; cs_pack_steps undoes it. */
void cs_scale_step(cs_packed *packed, int group, int64_t visit, double factor);

/* Writes the diagonal of R_k (m) of one visited block, whose R_k is diagonal; cs_pack_steps undoes it. */
void cs_set_steps(cs_packed *packed, int group, int64_t visit, const double *r);

/* The same for all blocks k with changed[k] != 0 (blocks), from the diagonals `r` (rows) in the user's order. */
void cs_replace_steps(cs_packed *packed, const double *r, const unsigned char *changed);

/* Calls the scheme's `step_changed`, if it has one. */
void cs_step_changed(cs_packed *packed, int group, int64_t visit, const double *factor);

/* Writes omega of each block (blocks), in the user's order. */
void cs_pack_weights(cs_packed *packed, const double *weight);

/* Pack numbers of group g in double precision: of every row, from (rows) of the problem; of every block, from (count)
 * of the group. */
void cs_pack_row_numbers(const cs_packed *packed, int g, const double *from, double *to);
void cs_pack_block_numbers(const cs_packed *packed, int g, const double *from, double *to);

/* b (rows) <- the b that the visits read. */
void cs_get_data(const cs_packed *packed, double *b);

/* Copy lambda (rows) into and out of the packed problem, and convert it to and from the precision of the solve; set it
 * to zero. */
void cs_put_impulses(cs_packed *packed, const double *lambda);
void cs_zero_impulses(cs_packed *packed);
void cs_get_impulses(const cs_packed *packed, double *lambda);

/* The walk over begin, ..., end - 1 in the direction of the sweep. */
static inline cs_walk cs_walk_over(const cs_packed *packed, int64_t begin, int64_t end)
{
    if (packed->backwards) return (cs_walk){end - 1, -1, end - begin};
    return (cs_walk){begin, 1, end - begin};
}

/* The number of chunks of CS_CHUNK items that `count` items fill. */
static inline int64_t cs_chunks(int64_t count) { return (count + CS_CHUNK - 1) / CS_CHUNK; }

/* Leaves the rest of packing to one thread if the processors are busy (cs_threads_for_now). */
void cs_watch_packing(cs_packed *packed);

/* Calls `work` for every part of every stage, several at once, on packed->setup_threads threads. `part`: counted
 * through all stages. */
void cs_share_parts(const cs_packed *packed,
                    void (*work)(void *context, const cs_stage *stage, int64_t part),
                    void *context);

/* Calls `work` for each visit of a stage. `part` is the part of the stage that makes the visit. */
void cs_each_visit(const cs_schedule *schedule, const cs_stage *stage,
                   void (*work)(void *context, int group, int64_t visit, int64_t part),
                   void *context);

#endif

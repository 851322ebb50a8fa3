/* How A lambda + b is had, and the sweep's inner loop.
 *
 *     problem x schedule  --pack-->  cs_packed  --stage-->  lambda updated, residual measured */
#ifndef CS_SCHEME_H
#define CS_SCHEME_H

#include "core/option.h"
#include "scheme/packed.h"

#include <stdatomic.h>

/* One phase of one stage: its tasks, and how many have been begun and ended in this sweep. */
typedef struct cs_phase {
    const cs_stage *stage;
    int number; /* within the stage */
    int64_t tasks;
    _Alignas(64) atomic_llong begun; /* apart: every thread counts here */
    atomic_llong ended;
} cs_phase;

/* How the blocks of a group are updated. */
typedef enum cs_local {
    CS_PROJECTED,     /* a projected step with the factors r */
    CS_EXACT,         /* one with a full R_k */
    CS_BLOCK,         /* the block's own problem is solved in the best way for its set, */
    CS_BLOCK_NEWTON,  /* by Newton's method */
    CS_BLOCK_QUARTIC, /* or by the roots of a polynomial */
} cs_local;

static inline int cs_solves_block(cs_local local) { return local >= CS_BLOCK; }

typedef struct cs_scheme {
    const char *name, *summary;
    const char *about; /* a paragraph of documentation; may be NULL */
    /* The scheme's own options, whose values its functions read with cs_scheme_value. */
    const cs_option *option;
    int options;
    int needs_jacobian;
    int needs_steps;     /* R is part of what it holds: blocks cannot be solved without one */
    int needs_symmetric; /* for methods alone that sweep forwards and backwards in turn */
    /* Chooses which groups are visited in batches; NULL for none. */
    cs_status (*lay_out)(cs_packed *packed, const cs_local *local, cs_arena *arena,
                         cs_error *error);
    /* Adds what this scheme reads to the groups. */
    cs_status (*pack)(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error);
    /* Makes what depends on lambda (u = G^T lambda) agree with it. */
    void (*refresh[CS_DTYPES])(cs_packed *packed);
    /* The next four may be NULL. The first is called before each sweep; returns how many products
     * of blocks it will take, which are all those of A where there is no such function. */
    int64_t (*begin)(cs_packed *packed);
    /* For what a scheme makes of R and b. Called when all R and when all b have been written... */
    void (*take_steps[CS_DTYPES])(cs_packed *packed);
    void (*take_data[CS_DTYPES])(cs_packed *packed);
    /* ... and when R_k of one visited block has been multiplied by `factor`, as rollbacks do to all
     * of them, or rewritten (NULL), as adaptive factors may. Visits may be told of at once. */
    void (*take_step[CS_DTYPES])(cs_packed *packed, int group, int64_t visit, const double *factor);
    /* Schemes that sweep in mixed precision: b -= A lambda of every visit, with A as it is stored.
     * Called when what depends on lambda agrees with it. */
    void (*subtract_products)(cs_packed *packed);
    /* A stage is worked off in phases, one after another; the tasks of a phase may run at once, on
     * threads that have flushed denormals. Returns how many tasks a phase has; -1 past the last. */
    int64_t (*tasks)(const cs_packed *packed, const cs_stage *stage, int phase);
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

/* The scheme whose sweeps take less time (scheme/choice.c). `wanted`: what cs_pack_common is given,
 * but for the scheme. */
cs_status cs_scheme_choose(const cs_packed *wanted, const cs_local *local, const cs_scheme **scheme,
                           cs_error *error);

/* What a group's visits are by themselves, not in batches. */
void cs_describe_groups(cs_packed *packed);

/* The lane of a slot; there is always a power of two of them. */
static inline int64_t cs_lane_of(const cs_packed_group *group, int64_t slot)
{
    return slot & (group->lanes - 1);
}

/* Where number i of `width` of a visit is in an array of its group. */
static inline int64_t cs_packed_place(const cs_packed_group *group, int64_t visit, int64_t width,
                                      int64_t i)
{
    if (group->lanes == 1) return visit * width + i;
    int64_t lane = cs_lane_of(group, group->slot[visit]);
    return (group->slot[visit] - lane) * width + i * group->lanes + lane;
}

/* The precision of impulses, velocities and b, and that of what is stored in bulk. */
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

/* The scheme's sweeps in that precision: whether there are any. */
static inline int cs_scheme_takes(const cs_scheme *scheme, cs_dtype dtype)
{
    return scheme->run[dtype] != NULL;
}

/* to[at + i] = from[i], where `to` has float (CS_F32) or double (CS_F64). */
void cs_convert(cs_dtype precision, void *to, int64_t at, const double *from, int64_t count);

/* The first row of a visited block in the user's order. */
int64_t cs_visited_row(const cs_packed *packed, int group, int64_t visit);

/* Prepares what every scheme reads. `weighted`: each block has its own omega. */
cs_status cs_pack_common(cs_packed *packed, const cs_local *local, int weighted, cs_arena *arena,
                         cs_error *error);

/* An array of `width` numbers a visit, of float or double, unset but in the lanes to spare, which are
 * zero; or NULL. */
void *cs_take_visits(cs_dtype precision, const cs_packed_group *group, int64_t width,
                     cs_arena *arena);

/* Writes the `width` numbers of a visit to an array of its group, of float or double. */
void cs_put_visit(cs_dtype precision, const cs_packed_group *group, void *array, int64_t visit,
                  const double *from, int64_t width);

/* How contacts are visited: "scalar", "wide, avx2, 4 lanes". */
void cs_packed_kernel(const cs_packed *packed, char *text, size_t size);

/* Lists what a sweep of the scheme does; after the scheme's own packing. */
cs_status cs_pack_phases(cs_packed *packed, cs_arena *arena, cs_error *error);

/* Writes b (rows) and the sets' parameters (parameters), both in the user's order. */
void cs_pack_data(cs_packed *packed, const double *b, const double *parameters);

/* Writes R: `r` (rows), and `step` of group g (count, m, m): R_k where it is full, A_kk where the
 * block's own problem is solved. Undoes cs_scale_steps. */
void cs_pack_steps(cs_packed *packed, const double *r, double *const *step);
void cs_scale_steps(cs_packed *packed, double factor);

/* R_k <- factor R_k for one visited block that has one; cs_pack_steps undoes it. */
void cs_scale_step(cs_packed *packed, int group, int64_t visit, double factor);

/* Writes the diagonal R (m) of one visited block, which has no other; cs_pack_steps undoes it. */
void cs_set_steps(cs_packed *packed, int group, int64_t visit, const double *r);

/* Tells the scheme of a visited block whose R_k has been written by others: see take_step. */
void cs_step_changed(cs_packed *packed, int group, int64_t visit, const double *factor);

/* Writes omega of each block (blocks), in the user's order. */
void cs_pack_weights(cs_packed *packed, const double *weight);

/* b as the visits have it now (rows). */
void cs_get_data(const cs_packed *packed, double *b);

/* lambda in and out of the precision of the solve. */
void cs_put_impulses(cs_packed *packed, const double *lambda);
void cs_get_impulses(const cs_packed *packed, double *lambda);

/* Through begin, begin + 1, ..., end - 1, or the other way round. */
static inline cs_walk cs_walk_over(const cs_packed *packed, int64_t begin, int64_t end)
{
    if (packed->backwards) return (cs_walk){end - 1, -1, end - begin};
    return (cs_walk){begin, 1, end - begin};
}

/* Cuts a loop over `count` things into pieces of CS_CHUNK. */
static inline int64_t cs_chunks(int64_t count) { return (count + CS_CHUNK - 1) / CS_CHUNK; }

/* Calls `work` for each block that a stage visits, with the part of the stage that visits it. */
void cs_each_visit(const cs_schedule *schedule, const cs_stage *stage,
                   void (*work)(void *context, int group, int64_t visit, int64_t part),
                   void *context);

#endif

/* Who sees whose values: the order of a sweep.
 *
 *     schedule = stage | stage | ...          one after another
 *     stage    = range | range | ...          of one kind
 *     range    = consecutive visits to the blocks of one group
 *
 * Jacobi is one simultaneous stage, Gauss-Seidel one sequential stage, a colouring one independent
 * stage for each colour, S1's naive parallel scheme one stage of concurrent parts, a partition a
 * disjoint stage of interiors and the border behind it.
 *
 * An order writes a plan: the blocks in the order of their visits, cut into stages and parts. The
 * plan is then laid out by groups. */
#ifndef CS_SCHEDULE_H
#define CS_SCHEDULE_H

#include "core/option.h"
#include "problem/problem.h"

typedef enum cs_stage_kind {
    CS_SEQUENTIAL,   /* every block sees the ones before it */
    CS_SIMULTANEOUS, /* every block sees the values from before the stage */
    CS_INDEPENDENT,  /* no two blocks share a moving body: both of the above at once */
    CS_CONCURRENT,   /* parts, sequential inside, each seeing the others as before the stage */
    CS_DISJOINT,     /* parts, sequential inside, no two sharing a moving body: nothing to hide */
} cs_stage_kind;

/* The number of a block's group. */
static inline int cs_group_number(const cs_problem *problem, int64_t block)
{
    return (int)(cs_block_group_of(problem, block) - problem->block_group);
}

/* Whether a visit sees what another one of its stage writes only after the stage: `same_part` tells
 * whether one part makes both. Any other kind of stage shows all that has been done. */
static inline int cs_visit_is_hidden(cs_stage_kind kind, int same_part)
{
    return kind == CS_SIMULTANEOUS || (kind == CS_CONCURRENT && !same_part);
}

/* Whether a stage hides anything, so that values from before it are needed. */
static inline int cs_stage_hides(cs_stage_kind kind) { return cs_visit_is_hidden(kind, 0); }

typedef struct cs_range {
    int group;
    int64_t first, count; /* visits to the group: places in visit[group] */
} cs_range;

/* A stage is worked off in parts: at once where its kind allows it. Simultaneous and independent
 * stages are cut into parts of at most CS_CHUNK blocks, or as order/subtasks.c does, whatever the
 * number of threads, so that sums over parts, in order, do not depend on it. */
enum { CS_CHUNK = 512 };

typedef struct cs_stage {
    cs_stage_kind kind;
    int64_t first_part, parts;
    int64_t blocks; /* visited in this stage */
} cs_stage;

typedef struct cs_schedule {
    cs_stage *stage;
    cs_range *range;
    int64_t *part; /* (parts + 1) into range: where each part of each stage begins */
    int64_t stages, parts, ranges;
    int64_t most_parts;            /* of one stage */
    int64_t *visit[CS_MAX_GROUPS]; /* (group's count): blocks of the group, as visited */
    int natural;                   /* every group is visited in its own order */
    int colors;                    /* that the order found; 0 when it does not colour */
    int64_t rounds;                /* that the colouring took */
    const char *order, *why;       /* as in cs_plan */
} cs_schedule;

typedef struct cs_plan {
    int64_t *block; /* (blocks), as visited */
    int64_t stages;
    int64_t *start;      /* (stages + 1) into block */
    cs_stage_kind *kind; /* (stages) */
    unsigned char *cut;  /* (blocks): a concurrent or disjoint part begins here */
    int divided;         /* cuts hold for simultaneous and independent stages, too */
    int colors;
    int64_t *color_size; /* (colors): blocks of each */
    int64_t rounds;      /* that the colouring took */
    const char *order;   /* name of the order that made it */
    const char *why;     /* that one, where "auto" chose it; or NULL */
} cs_plan;

typedef struct cs_order {
    const char *name, *summary;
    const char *about; /* a paragraph; may be NULL */
    /* Its own options; `plan` and `by_islands` find their values with cs_order_value. */
    const cs_option *option;
    int options;
    /* Whether it visits the blocks of an island the same way whatever stands beside it. NULL: no. */
    int (*by_islands)(const cs_order_options *options);
    /* Fills the plan, whose arrays have room for one stage a block. `scratch` is the order's. */
    cs_status (*plan)(const cs_problem *problem, const cs_order_options *options, cs_arena *scratch,
                      cs_plan *plan, cs_error *error);
} cs_order;

/* What "auto" stands for: the order for speed, or the natural one where there is nothing to gain. It is
 * none of the list. */
extern const cs_order cs_order_auto;

/* Contacts below which threads cost more than they gain. */
enum { CS_WORTH_THREADS = 4096 };

/* The order of that name, or NULL. */
const cs_order *cs_order_find(const char *name);

/* Replaces options->settings by one setting for each of the order's options, in the order of its
 * table; `own` (CS_MAX_OWN_OPTIONS) holds them, and lasts as long as they are used. */
cs_status cs_order_settle(const cs_order *order, cs_order_options *options, cs_setting *own,
                          cs_error *error);

/* The value of the i-th option of the order that settled them; of a word its place in the list. */
static inline double cs_order_value(const cs_order_options *options, int i)
{
    return options->settings[i].number;
}

/* by_islands of orders that always do. */
int cs_order_is_by_islands(const cs_order_options *options);

/* A plan with room for every block, or NULL. */
cs_plan *cs_plan_new(const cs_problem *problem, cs_arena *arena);

/* Ends a stage of `kind` with the visits so far, `end` of them. Nothing for an empty stage. */
void cs_plan_close(cs_plan *plan, cs_stage_kind kind, int64_t end);

/* Counts blocks of a colour, of which there are no more than blocks. */
void cs_plan_add_to_color(cs_plan *plan, int64_t color, int64_t blocks);

/* Empties a plan: as it was new. */
void cs_plan_clear(cs_plan *plan, int64_t blocks);

/* Makes one simultaneous stage of all: what Jacobi needs of any order. */
void cs_plan_flatten(cs_plan *plan, int64_t blocks);

/* Begins a part of a concurrent or disjoint stage at each of `parts` near-equal cuts of the visits from
 * `first` to `end`. */
void cs_plan_cut(cs_plan *plan, int64_t first, int64_t end, int64_t parts);

/* The same with near-equal sums of `weight` (blocks of the problem); no part is empty, so that there
 * may be fewer.  S1 section 3.7.3 */
void cs_plan_cut_weighted(cs_plan *plan, int64_t first, int64_t end, int64_t parts,
                          const int64_t *weight);

/* Cuts the visits from `first` to `end` into `parts` parts: of about equal numbers of blocks of A if
 * `weighted`, else of contacts. */
cs_status cs_plan_cut_parts(const cs_problem *problem, int64_t parts, int weighted,
                            cs_arena *scratch, cs_plan *plan, int64_t first, int64_t end,
                            cs_error *error);

/* Cuts simultaneous and independent stages into subtasks, where the options ask for them. */
cs_status cs_plan_divide(const cs_problem *problem, const cs_order_options *options,
                         cs_arena *scratch, cs_plan *plan, cs_error *error);

/* A whole plan: the order's, as one simultaneous stage if `flat`, and divided. */
cs_status cs_plan_make(const cs_problem *problem, const cs_order *order, int flat,
                       const cs_order_options *options, cs_arena *scratch, cs_plan **plan,
                       cs_error *error);

/* Lays a plan out by groups. */
cs_status cs_schedule_lay(const cs_problem *problem, const cs_plan *plan, cs_arena *arena,
                          cs_schedule *schedule, cs_error *error);

#endif

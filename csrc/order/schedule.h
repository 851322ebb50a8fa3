/* The order of a sweep: which block is visited when, by which task, and which updates it sees.
 *
 *     schedule = stage | stage | ...          one stage after another, with a barrier between them
 *     stage    = part  | part  | ...          threads take the parts; the stage's kind tells what they see
 *     part     = range | range | ...          one thread runs the ranges of a part in turn
 *     range    = consecutive visits to blocks of one group
 *
 * Jacobi is one simultaneous stage and Gauss-Seidel one sequential stage. A colouring has one independent
 * stage per colour, S1's naive parallel scheme one stage of concurrent parts. A partition has a disjoint
 * stage for the interiors of its parts, followed by the stages of the border.
 *
 * An order (cs_order) writes a plan: the blocks in the order of their visits, and where stages and parts
 * begin. cs_schedule_lay then converts the plan into a schedule, which lists the visits group by group. */
#ifndef CS_SCHEDULE_H
#define CS_SCHEDULE_H

#include "core/option.h"
#include "problem/problem.h"

typedef enum cs_stage_kind {
    CS_SEQUENTIAL,   /* each block sees the updates of all blocks before it */
    CS_SIMULTANEOUS, /* each block sees the values from before the stage only */
    CS_INDEPENDENT,  /* no two blocks share a movable body, so that the two rules above agree */
    CS_CONCURRENT, /* sequential inside a part; a part sees the others' values from before the stage */
    CS_DISJOINT, /* sequential inside a part; no two parts share a movable body */
} cs_stage_kind;

/* The number of a block's group. */
static inline int cs_group_number(const cs_problem *problem, int64_t block)
{
    return (int)(cs_block_group_of(problem, block) - problem->block_group);
}

/* Whether the updates of one visit stay hidden from another visit of the same stage until the stage ends.
 * `same_part`: whether both visits belong to one part. */
static inline int cs_visit_is_hidden(cs_stage_kind kind, int same_part)
{
    return kind == CS_SIMULTANEOUS || (kind == CS_CONCURRENT && !same_part);
}

/* Whether a stage hides any updates, so that the sweep has to keep the values from before the stage. */
static inline int cs_stage_hides(cs_stage_kind kind) { return cs_visit_is_hidden(kind, 0); }

typedef struct cs_range {
    int group;
    int64_t first, count; /* the visits visit[group][first] ... visit[group][first + count - 1] */
} cs_range;

/* Simultaneous and independent stages are cut into parts of at most CS_CHUNK blocks, or into subtasks
 * (order/subtasks.c). The cuts do not depend on the number of threads, and neither do sums that are taken
 * over the parts in their order. */
enum { CS_CHUNK = 512 };

typedef struct cs_stage {
    cs_stage_kind kind;
    int64_t first_part, parts;
    int64_t blocks; /* number of blocks visited in this stage */
} cs_stage;

typedef struct cs_schedule {
    cs_stage *stage;
    cs_range *range;
    int64_t *part; /* (parts + 1) into range: where each part of each stage begins */
    int64_t stages, parts, ranges;
    int64_t most_parts; /* most parts of one stage */
    int64_t *
        visit[CS_MAX_GROUPS]; /* (group's count): the group's blocks in the order of their visits */
    int natural;              /* whether every group is visited in its natural order */
    int colors;               /* number of colours; 0 if the order does not colour */
    int64_t divided_into;     /* as in cs_plan */
    int64_t rounds;           /* rounds that the colouring took */
    int64_t inner_stages;     /* as in cs_plan */
    int64_t *
        region; /* (parts): the region of each part of the inner stages, -1 for other parts; NULL: none */
    int64_t *
        owner; /* (parts): the part of the problem that each part of a stage belongs to; or NULL: none */
    int64_t owners;    /* parts of the problem; 0 without `owner` */
    double weight;     /* as in cs_plan */
    int splits_masses; /* as in cs_plan */
    double *
        touching_parts; /* (bodies): parts of concurrent stages that visit the body, at least 1; NULL without
                             * split masses (cs_schedule_count_parts) */
    const char *order, *why; /* as in cs_plan */
} cs_schedule;

typedef struct cs_plan {
    int64_t *block; /* (blocks), in the order of their visits */
    int64_t stages;
    int64_t *start;      /* (stages + 1) into block */
    cs_stage_kind *kind; /* (stages) */
    unsigned char *cut; /* (blocks): whether a part of a concurrent or disjoint stage begins here */
    int divided;        /* whether `cut` holds for simultaneous and independent stages as well */
    int64_t divided_into; /* the parts into which the order divides the problem; 0: it does not */
    int colors;
    int64_t *color_size; /* (colors): number of blocks of each colour */
    int64_t rounds;      /* rounds that the colouring took */
    int64_t
        inner_stages; /* the first stages, each part of which is the whole share of one region; 0: none */
    int64_t *region; /* (blocks): the region of each block of these stages; NULL: none */
    int64_t *
        visitor; /* (blocks): in a checkerboard, the part that visits each block of the border; or NULL */
    const int64_t *labels; /* (bodies): the parts over which sums are taken; NULL: none */
    int64_t *owner; /* (blocks): the part of the problem that each block belongs to; NULL: none */
    int64_t owners; /* their number */
    double
        weight; /* in (0, 1]: changes of the parts of a concurrent stage are multiplied by it before they are added */
    int splits_masses; /* whether a concurrent stage divides the mass of a body among the parts that visit it */
    const char *order; /* name of the order that made the plan */
    const char *why;   /* why "auto" chose that order; NULL if the user chose it */
} cs_plan;

typedef struct cs_order {
    const char *name, *summary;
    const char *about; /* a paragraph of documentation; may be NULL */
    /* The order's own options; `plan` and `by_islands` read their values with cs_order_value. */
    const cs_option *option;
    int options;
    int draws;       /* it is random: the plan depends on cs_order_options.seed */
    int fills_lanes; /* it makes stages whose visits run in vectors, which small problems do not fill */
    int sums_by_labels; /* the caller's labels, or else those of the plan, are parts of the problem, over which sums are
                         * taken (cs_plan_own) */
    int parts_by_size; /* unless the caller says how many parts, their number depends on the problem's size */
    /* Whether the order of an island's blocks is independent of all other islands. NULL: it is not. */
    int (*by_islands)(const cs_order_options *options);
    /* Fills the plan, whose arrays have room for one stage per block. The order may take any memory from
     * `scratch`. */
    cs_status (*plan)(const cs_problem *problem, const cs_order_options *options, cs_arena *scratch,
                      cs_plan *plan, cs_error *error);
} cs_order;

/* The order "auto", which runs "cache", or "natural" if "cache" gains nothing. It is not in orders.def. */
extern const cs_order cs_order_auto;

/* The order of that name, or NULL. */
const cs_order *cs_order_find(const char *name);

/* Replaces options->settings by one setting for each of the order's options, in the sequence of its table,
 * with default values for those that the user did not set. `own` (CS_MAX_OWN_OPTIONS) stores the settings
 * and has to exist as long as `options` is used. */
cs_status cs_order_settle(const cs_order *order, cs_order_options *options, cs_setting *own,
                          cs_error *error);

/* The value of the order's i-th option, after cs_order_settle; for a word, its index in the list of words. */
static inline double cs_order_value(const cs_order_options *options, int i)
{
    return options->settings[i].number;
}

/* `by_islands` of orders for which it is always true. */
int cs_order_is_by_islands(const cs_order_options *options);

/* An empty plan with room for every block; NULL if memory runs out. */
cs_plan *cs_plan_new(const cs_problem *problem, cs_arena *arena);

/* Ends the current stage, of kind `kind`, before visit `end`. Does nothing if the stage is empty. */
void cs_plan_close(cs_plan *plan, cs_stage_kind kind, int64_t end);

/* Adds `blocks` to the size of a colour. */
void cs_plan_add_to_color(cs_plan *plan, int64_t color, int64_t blocks);

/* Makes the plan empty again. */
void cs_plan_clear(cs_plan *plan, int64_t blocks);

/* Replaces all stages by one simultaneous stage: Jacobi uses the sequence of any order and no stages. */
void cs_plan_flatten(cs_plan *plan, int64_t blocks);

/* Cuts the visits from `first` to `end` into `parts` parts with nearly equal numbers of blocks; fewer parts
 * if there are fewer blocks. */
void cs_plan_cut(cs_plan *plan, int64_t first, int64_t end, int64_t parts);

/* Cuts the visits from `first` to `end` into `parts` parts with nearly equal sums of `weight` (blocks of the
 * problem). No part is empty, so that there may be fewer parts.  S1 section 3.7.3 */
void cs_plan_cut_weighted(cs_plan *plan, int64_t first, int64_t end, int64_t parts,
                          const int64_t *weight);

/* Cuts the visits from `first` to `end` into `parts` parts with nearly equal numbers of blocks of A if
 * `weighted`, otherwise of contacts. They are those into which the order divides the problem. */
cs_status cs_plan_cut_parts(const cs_problem *problem, int64_t parts, int weighted,
                            cs_arena *scratch, cs_plan *plan, int64_t first, int64_t end,
                            cs_error *error);

/* Cuts simultaneous and independent stages into subtasks if the options ask for them. */
cs_status cs_plan_divide(const cs_problem *problem, const cs_order_options *options,
                         cs_arena *scratch, cs_plan *plan, cs_error *error);

/* Gives each block to a part of the problem, by labels of bodies: the lowest label of its movable bodies; that
 * of the part that visits it, in a checkerboard; its number modulo the number of parts, without movable bodies. Sorts the
 * visits of simultaneous and independent stages by these parts and by number, and cuts the stages between parts: sums that
 * are taken part by part do not depend on how many processes share the parts (distributed/ranks.h). Does nothing where A is
 * given. */
cs_status cs_plan_own(const cs_problem *problem, const int64_t *labels, cs_arena *scratch,
                      cs_plan *plan, cs_error *error);

/* The same for a plan whose `owner` is known. */
cs_status cs_plan_sort_by_owner(const cs_problem *problem, cs_arena *scratch, cs_plan *plan,
                                cs_error *error);

/* The number of parts that the order makes of the problem if the options leave it open (0). */
int64_t cs_parts_of(const cs_order *order, const cs_order_options *options,
                    const cs_problem *problem);

/* plan <- the plan of `order`, flattened to one simultaneous stage if `flat`, and cut into subtasks. Refuses a weight
 * or split masses of a plan that is flattened, where they have no effect. */
cs_status cs_plan_make(const cs_problem *problem, const cs_order *order, int flat,
                       const cs_order_options *options, cs_arena *scratch, cs_plan **plan,
                       cs_error *error);

/* schedule->touching_parts <- how many parts of concurrent stages visit each body, in `arena`; 1 for a body without
 * such visits. */
cs_status cs_schedule_count_parts(const cs_problem *problem, cs_schedule *schedule, cs_arena *arena,
                                  cs_error *error);

/* schedule <- the plan, with its visits listed group by group. */
cs_status cs_schedule_lay(const cs_problem *problem, const cs_plan *plan, cs_arena *arena,
                          cs_schedule *schedule, cs_error *error);

#endif

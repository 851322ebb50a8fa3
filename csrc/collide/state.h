/* What a collider holds, for the files of this folder. Shapes have slots, 0 ... count - 1, in the order of their ids. */
#ifndef CS_COLLIDER_STATE_H
#define CS_COLLIDER_STATE_H

#include "core/buffer.h"
#include "collide/solid.h"
#include "core/loop.h"

#include <math.h>

/* What each step reads of a shape, in one cache line: pairs meet shapes in no order. */
typedef struct cs_instance {
    double center[3]; /* of the bounding sphere in the world */
    double bound;     /* its radius; of a ball, the ball's */
    int64_t id, body;
    int16_t kind;       /* cs_shape_kind */
    int16_t off_center; /* the centre is not the origin of the body */
    int32_t owner;      /* the body, in this step; -1 if it does not move */
    int64_t unused;
} cs_instance;

/* A shape in the order of its cell: what the search for pairs reads. */
typedef struct cs_record {
    double center[3], bound;
} cs_record;
typedef struct cs_tag {
    int32_t slot;
    int32_t owner; /* the body; -1 if it does not move */
} cs_tag;

/* Shapes of similar size: their bounding spheres differ by a factor of two at most. A level of few shapes has no grid:
 * finer levels compare with each of its shapes. */
typedef struct cs_level {
    int64_t first, count; /* members: in the collider's `member` */
    double bound;         /* of the largest one */
    int has_grid;
    /* The grid of this step. Its cells fold: cells that are dims apart are one, so that a far shape costs no cells. */
    double low[3], inverse_cell;
    int64_t dims[3];
    int64_t first_cell; /* in `start` */
} cs_level;

enum { CS_MOST_LEVELS = 64, CS_FEW_SHAPES = 8 };

typedef struct cs_pair_slots {
    int32_t slot[2];
} cs_pair_slots;

struct cs_collider {
    int dimension;
    int64_t count, next_id; /* shapes, and the id of the next one */
    int64_t preemptions;    /* of cs_threads_for_now */
    int has_changed;        /* shapes since the levels were made */
    int64_t last_body;      /* with a shape */
    int only_round; /* all shapes are spheres, discs or half-spaces: a pair has at most one contact */

    /* By slots. */
    cs_buffer instance; /* cs_instance */
    cs_buffer solid;    /* cs_solid */
    cs_buffer turn;     /* (9) double: rotations in the world; of balls unset */
    cs_buffer box;      /* (2, 3) double: in the world; of balls unset */

    /* Levels, from fine to coarse, without half-spaces. */
    int64_t levels;
    cs_level level[CS_MOST_LEVELS];
    cs_buffer member;     /* int32_t: slots of all levels, one level after another */
    cs_buffer half_space; /* int32_t: slots of half-spaces */
    int64_t half_spaces;
    cs_buffer loose;       /* half-spaces and the shapes of levels without a grid, in this step */
    cs_buffer cell, order; /* int32_t: of members: their cells, and members in the order of cells */
    cs_buffer start;       /* int32_t: of the cells of all levels: their first record */
    cs_buffer record, tag; /* cs_record, cs_tag: in the order of cells */

    /* Pairs. */
    cs_buffer found[CS_LOOP_PIECES]; /* cs_pair_slots of each piece */
    int64_t found_count[CS_LOOP_PIECES];
    cs_buffer first, second, sorted,
        row;          /* int32_t: of unsorted pairs, and sorted by the first slot */
    cs_buffer counts; /* of cs_sort_run */
    cs_buffer pair;   /* cs_pair_slots, sorted */
    int64_t pairs;

    /* The table. */
    cs_buffer shape_out, body_out, feature_out, point_out, normal_out, gap_out, pair_out;
};

/* Whether a shape is a sphere or disc, which has neither rotation nor box. */
static inline int cs_is_ball(int kind) { return kind == CS_SHAPE_SPHERE || kind == CS_SHAPE_DISC; }

static inline cs_instance *cs_instance_at(const cs_collider *collider, int64_t slot)
{
    return (cs_instance *)collider->instance.data + slot;
}

static inline const cs_solid *cs_solid_at(const cs_collider *collider, int64_t slot)
{
    return (const cs_solid *)collider->solid.data + slot;
}

/* at (3) <- the cell of a point in the grid of a level, folded. */
static inline void cs_cell_of(const cs_level *level, const double *x, int64_t *at)
{
    for (int i = 0; i < 3; i++) {
        int64_t place = (int64_t)floor((x[i] - level->low[i]) * level->inverse_cell);
        int64_t dims = level->dims[i];
        if (place < 0 || place >= dims) place %= dims;
        at[i] = place < 0 ? place + dims : place;
    }
}

/* Divides the shapes into levels. Returns -1 if memory is too small. */
int cs_levels_make(cs_collider *collider);

/* Places all shapes in the world; then their grids; then pair <- the sorted pairs that may touch. */
cs_status cs_place_shapes(cs_collider *collider, const cs_poses *poses, int threads,
                          cs_error *error);
cs_status cs_grid_make(cs_collider *collider, double margin, int threads, cs_error *error);
cs_status cs_grid_find_pairs(cs_collider *collider, double margin, int threads, cs_error *error);

/* contacts <- those of the pairs. */
cs_status cs_contacts_find(cs_collider *collider, double margin, int threads, cs_contacts *contacts,
                           cs_error *error);

#endif

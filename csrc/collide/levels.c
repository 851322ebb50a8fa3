/* Divides the shapes by size into levels, each with a grid of its own. */
#include "collide/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASSES = 128
}; /* of sizes around the median; all smaller and larger ones are in the last */

typedef struct classes {
    double median;
    int64_t count[CLASSES];
    int level[CLASSES];
} classes;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The class of a bounding sphere: factors of two around the median. */
static int class_of(const classes *c, double bound)
{
    double place = floor(log2(bound / c->median) + 0.5) + CLASSES / 2.0;
    return (int)fmin(fmax(place, 0), CLASSES - 1);
}

static int is_finite_shape(const cs_collider *collider, int64_t slot)
{
    return cs_instance_at(collider, slot)->kind != CS_SHAPE_HALF_SPACE;
}

/* The median radius of the bounding spheres; `sizes` is scratch. */
static double median_of(const cs_collider *collider, double *sizes)
{
    int64_t count = 0;
    for (int64_t slot = 0; slot < collider->count; slot++)
        if (is_finite_shape(collider, slot)) sizes[count++] = cs_instance_at(collider, slot)->bound;
    if (!count) return 1;
    qsort(sizes, (size_t)count, sizeof *sizes, by_size);
    return sizes[count / 2];
}

/* Makes levels of the classes. A class of few shapes joins the next coarser one, whose cells get hardly fuller, unless
 * that is coarser by more than a factor of two. */
static void choose_levels(cs_collider *collider, classes *c)
{
    int64_t first = 0, few = collider->count / 64;
    int level = -1, previous = -2;
    collider->levels = 0;
    for (int k = 0; k < CLASSES; k++) {
        if (!c->count[k]) continue;
        int joins = level >= 0 && previous == k - 1 && collider->level[level].count <= few &&
                    collider->level[level].count > 0;
        if (!joins && level + 1 < CS_MOST_LEVELS)
            collider->level[++level] = (cs_level){.first = first};
        c->level[k] = level;
        collider->level[level].count += c->count[k];
        first += c->count[k];
        previous = k;
    }
    collider->levels = level + 1;
}

/* Lists the members of each level, in the order of slots. */
static void fill_levels(cs_collider *collider, const classes *c)
{
    int64_t filled[CS_MOST_LEVELS] = {0};
    int32_t *member = collider->member.data, *half_space = collider->half_space.data;
    collider->half_spaces = 0;
    for (int64_t slot = 0; slot < collider->count; slot++) {
        if (!is_finite_shape(collider, slot)) {
            half_space[collider->half_spaces++] = (int32_t)slot;
            continue;
        }
        double bound = cs_instance_at(collider, slot)->bound;
        int at = c->level[class_of(c, bound)];
        cs_level *level = &collider->level[at];
        member[level->first + filled[at]++] = (int32_t)slot;
        level->bound = fmax(level->bound, bound);
    }
    for (int64_t i = 0; i < collider->levels; i++)
        collider->level[i].has_grid = collider->level[i].count > CS_FEW_SHAPES;
}

int cs_levels_make(cs_collider *collider)
{
    if (!collider->has_changed) return 0;
    int64_t count = collider->count;
    if (cs_buffer_reserve(&collider->member, count, 0, sizeof(int32_t)) < 0 ||
        cs_buffer_reserve(&collider->half_space, count, 0, sizeof(int32_t)) < 0 ||
        cs_buffer_reserve(&collider->record, count, 0, sizeof(cs_record)) < 0)
        return -1;

    collider->only_round = 1;
    collider->last_body = -1;
    for (int64_t slot = 0; slot < count; slot++) {
        const cs_instance *instance = cs_instance_at(collider, slot);
        if (instance->body > collider->last_body) collider->last_body = instance->body;
        if (is_finite_shape(collider, slot) && !cs_is_ball(instance->kind))
            collider->only_round = 0;
    }

    /* The records of the step are not in use yet: scratch for the sizes. */
    classes c = {.median = median_of(collider, collider->record.data)};
    for (int64_t slot = 0; slot < count; slot++)
        if (is_finite_shape(collider, slot))
            c.count[class_of(&c, cs_instance_at(collider, slot)->bound)]++;
    choose_levels(collider, &c);
    fill_levels(collider, &c);
    collider->has_changed = 0;
    return 0;
}

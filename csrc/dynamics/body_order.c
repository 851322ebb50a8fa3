/* The order of bodies in the problem of a step: bodies that are close in space have close numbers, so that a sweep finds
 * their velocities in the cache, and the parts of a sweep are contiguous. They are cut into layers along the longest
 * axis with as many bodies in each, layers into columns, and columns are sorted along the last axis. Leutenegger et al.,
 * STR: a simple and efficient algorithm for R-tree packing, 1997 */
#include "core/error.h"
#include "dynamics/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps after which bodies are ordered anew. */
enum { STEPS_OF_AN_ORDER = 32 };

typedef struct placed {
    double at; /* along the axis by which bodies are sorted */
    int64_t body;
} placed;

static int compare(const void *first, const void *second)
{
    const placed *a = first, *b = second;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return (a->body > b->body) - (a->body < b->body);
}

/* What sorting needs to know. */
typedef struct sorting {
    const double *position;
    int axes, axis[3]; /* the longest axis first */
    double layers[3];  /* along each of these */
    placed *bodies;
} sorting;

/* Sorts bodies first .. end - 1 along the axis of this level, then each of its layers along the next one. */
static void sort_level(const sorting *s, int level, int64_t first, int64_t end)
{
    placed *bodies = s->bodies;
    for (int64_t i = first; i < end; i++)
        bodies[i].at = s->position[bodies[i].body * s->axes + s->axis[level]];
    qsort(bodies + first, (size_t)(end - first), sizeof *bodies, compare);
    if (level + 1 >= s->axes || level + 1 >= 3) return;
    int64_t count = end - first, layers = (int64_t)ceil(s->layers[level]);
    if (layers > count) layers = count;
    for (int64_t k = 0; k < layers; k++)
        sort_level(s, level + 1, first + count * k / layers, first + count * (k + 1) / layers);
}

/* The standard deviation of the positions along an axis. */
static double spread(const sorting *s, int64_t count, int axis)
{
    double mean = 0, square = 0;
    for (int64_t i = 0; i < count; i++) mean += s->position[s->bodies[i].body * s->axes + axis];
    mean /= (double)count;
    for (int64_t i = 0; i < count; i++) {
        double distance = s->position[s->bodies[i].body * s->axes + axis] - mean;
        square += distance * distance;
    }
    return sqrt(square / (double)count);
}

/* The axes by spread, and the layers along each, if bodies filled a box of these proportions evenly. */
static void choose_axes(sorting *s, int64_t count)
{
    double length[3], volume = 1;
    for (int k = 0; k < s->axes; k++) {
        int at = k;
        double own = spread(s, count, k);
        for (; at > 0 && length[at - 1] < own; at--) {
            length[at] = length[at - 1];
            s->axis[at] = s->axis[at - 1];
        }
        length[at] = own;
        s->axis[at] = k;
    }
    for (int k = 0; k < s->axes; k++) {
        length[k] = fmax(length[k], length[0] / (double)count);
        volume *= length[k];
    }
    double distance = pow(volume / (double)count, 1.0 / s->axes);
    for (int k = 0; k < s->axes; k++) s->layers[k] = distance > 0 ? length[k] / distance : 1;
}

int cs_order_is_due(const cs_world *world)
{
    const cs_step_problem *step = &world->step;
    return world->steps - step->ordered >= STEPS_OF_AN_ORDER;
}

cs_status cs_order_bodies(cs_world *world, cs_error *error)
{
    /* The bodies that move. */
    const cs_rigid *rigid = &world->rigid;
    cs_step_problem *step = &world->step;
    cs_arena scratch = {0};
    int64_t *number = cs_buffer_room(&step->number, rigid->count, sizeof *number);
    int64_t *body = cs_buffer_room(&step->body, rigid->count, sizeof *body), count = 0;
    placed *bodies = cs_arena_take_unset(&scratch, rigid->count, sizeof *bodies);
    if (!number || !body || !bodies) {
        cs_arena_clear(&scratch);
        return cs_no_memory(error, "%lld bodies", (long long)rigid->count);
    }
    for (int64_t i = 0; i < rigid->count; i++) {
        number[i] = -1;
        if (rigid->movable[i]) bodies[count++] = (placed){0, i};
    }

    /* Sort them. */
    sorting s = {
        .position = rigid->next.position, .axes = world->space.dimension, .bodies = bodies};
    if (count) choose_axes(&s, count);
    if (count) sort_level(&s, 0, 0, count);
    for (int64_t i = 0; i < count; i++) {
        body[i] = bodies[i].body;
        number[body[i]] = i;
    }
    step->bodies = count;
    step->of = rigid->count;
    step->ordered = world->steps;
    cs_arena_clear(&scratch);
    return CS_OK;
}

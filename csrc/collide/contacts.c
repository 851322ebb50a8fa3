/* The table of contacts: the pairs in their order, which is that of the ids. A piece of the pairs writes to its own part
 * of the table, which has room for the most contacts that they can have; the parts are then moved together. */
#include "collide/pair.h"
#include "collide/state.h"
#include "core/vector.h"
#include "core/compiler.h"
#include "core/error.h"

#include <string.h>

static cs_pair_test *const tests[CS_SHAPE_KINDS][CS_SHAPE_KINDS] = {
#define CS_PAIR(first, second, function) [CS_SHAPE_##first][CS_SHAPE_##second] = cs_pair_##function,
#include "collide/pairs.def"
#undef CS_PAIR
};

enum {
    AHEAD = 12
}; /* pairs whose second shape is fetched in advance: the first ones are in order */

typedef struct table {
    const cs_collider *collider;
    double margin;
    int dimension, most; /* contacts of a pair, at most */
    int64_t *shape, *body;
    int32_t *feature;
    double *point, *normal, *gap;
    int64_t written[CS_LOOP_PIECES];
} table;

/* ---- one pair ------------------------------------------------------------------------------------ */

static cs_placed placed_at(const cs_collider *collider, int64_t slot)
{
    const cs_instance *instance = cs_instance_at(collider, slot);
    return (cs_placed){
        .solid = cs_solid_at(collider, slot),
        .center = instance->center,
        .rotation = (const double *)collider->turn.data + 9 * slot,
        .bound = instance->bound,
    };
}

/* Contacts of a pair are few: sorted by insertion. */
static void sort_by_feature(cs_manifold *manifold)
{
    for (int i = 1; i < manifold->count; i++) {
        cs_manifold_point moved = manifold->at[i];
        int at = i;
        for (; at > 0 && manifold->at[at - 1].feature > moved.feature; at--)
            manifold->at[at] = manifold->at[at - 1];
        manifold->at[at] = moved;
    }
}

/* Computes the contacts of two slots. Returns the centre to which their points are relative. */
static const double *test_pair(const table *t, const int32_t *slot, cs_manifold *manifold)
{
    cs_placed a = placed_at(t->collider, slot[0]), b = placed_at(t->collider, slot[1]);
    int kind[2] = {cs_instance_at(t->collider, slot[0])->kind,
                   cs_instance_at(t->collider, slot[1])->kind};
    cs_pair_test *test = tests[kind[0]][kind[1]];
    manifold->count = 0;
    if (test) {
        test(&a, &b, t->margin, manifold);
        sort_by_feature(manifold);
        return a.center;
    }

    /* Listed the other way round. */
    test = tests[kind[1]][kind[0]];
    if (!test) return a.center;
    test(&b, &a, t->margin, manifold);
    sort_by_feature(manifold);
    for (int i = 0; i < 3; i++) manifold->normal[i] = -manifold->normal[i];
    return b.center;
}

/* ---- all pairs ------------------------------------------------------------------------------------ */

static void write_row(const table *t, int64_t row, const int32_t *slot, const double *center,
                      const cs_manifold *manifold, int which)
{
    const cs_manifold_point *point = &manifold->at[which];
    for (int i = 0; i < 2; i++) {
        const cs_instance *instance = cs_instance_at(t->collider, slot[i]);
        t->shape[2 * row + i] = instance->id;
        t->body[2 * row + i] = instance->body;
    }
    for (int i = 0; i < t->dimension; i++) {
        t->point[row * t->dimension + i] = center[i] + point->point[i];
        t->normal[row * t->dimension + i] = manifold->normal[i];
    }
    t->gap[row] = point->gap;
    t->feature[row] = point->feature;
}

static void contacts_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    table *t = context;
    const cs_pair_slots *pair = t->collider->pair.data;
    int64_t row = begin * t->most;
    for (int64_t p = begin; p < end; p++) {
        cs_manifold manifold;
        if (p + AHEAD < end)
            cs_prefetch(cs_instance_at(t->collider, pair[p + AHEAD].slot[1])->center, 1);
        const double *center = test_pair(t, pair[p].slot, &manifold);
        for (int i = 0; i < manifold.count; i++)
            write_row(t, row++, pair[p].slot, center, &manifold, i);
    }
    t->written[piece] = row - begin * t->most;
}

static void move_rows(const table *t, int64_t to, int64_t from, int64_t count)
{
    if (to == from || !count) return;
    size_t n = (size_t)count, d = (size_t)t->dimension;
    int64_t width = t->dimension;
    memmove(t->shape + 2 * to, t->shape + 2 * from, 2 * n * sizeof(int64_t));
    memmove(t->body + 2 * to, t->body + 2 * from, 2 * n * sizeof(int64_t));
    memmove(t->feature + to, t->feature + from, n * sizeof(int32_t));
    memmove(t->point + width * to, t->point + width * from, d * n * sizeof(double));
    memmove(t->normal + width * to, t->normal + width * from, d * n * sizeof(double));
    memmove(t->gap + to, t->gap + from, n * sizeof(double));
}

/* Moves the parts of all pieces together. Returns the number of contacts. */
static int64_t close_gaps(const table *t, int64_t pairs)
{
    int64_t pieces = cs_loop_pieces(pairs), count = 0;
    for (int64_t p = 0; p < pieces; p++) {
        move_rows(t, count, pairs * p / pieces * t->most, t->written[p]);
        count += t->written[p];
    }
    return count;
}

static int reserve_table(cs_collider *collider, int64_t rows)
{
    size_t point = sizeof(double) * (size_t)collider->dimension;
    return cs_buffer_reserve(&collider->shape_out, rows, 0, 2 * sizeof(int64_t)) < 0 ||
                   cs_buffer_reserve(&collider->body_out, rows, 0, 2 * sizeof(int64_t)) < 0 ||
                   cs_buffer_reserve(&collider->feature_out, rows, 0, sizeof(int32_t)) < 0 ||
                   cs_buffer_reserve(&collider->point_out, rows, 0, point) < 0 ||
                   cs_buffer_reserve(&collider->normal_out, rows, 0, point) < 0 ||
                   cs_buffer_reserve(&collider->gap_out, rows, 0, sizeof(double)) < 0
               ? -1
               : 0;
}

cs_status cs_contacts_find(cs_collider *collider, double margin, int threads, cs_contacts *contacts,
                           cs_error *error)
{
    int most = collider->only_round ? 1 : collider->dimension == 2 ? 2 : CS_MOST_POINTS;
    if (reserve_table(collider, collider->pairs * most) < 0)
        return cs_no_memory(error, "the contacts of %lld pairs", (long long)collider->pairs);
    table t = {
        .collider = collider,
        .margin = margin,
        .dimension = collider->dimension,
        .most = most,
        .shape = collider->shape_out.data,
        .body = collider->body_out.data,
        .feature = collider->feature_out.data,
        .point = collider->point_out.data,
        .normal = collider->normal_out.data,
        .gap = collider->gap_out.data,
    };
    if (collider->pairs) cs_loop(threads, collider->pairs, contacts_piece, &t);
    int64_t count = collider->pairs ? close_gaps(&t, collider->pairs) : 0;
    *contacts = (cs_contacts){count, t.shape, t.feature, t.body, t.point, t.normal, t.gap};
    return CS_OK;
}

/* The collider: shapes come and go, poses are turned into contacts. */
#include "collide/state.h"
#include "core/vector.h"
#include "core/error.h"
#include "core/parallel.h"

#include <string.h>

/* ---- life ---------------------------------------------------------------------------------------- */

cs_status cs_collider_create(cs_collider **collider, int dimension, cs_error *error)
{
    *collider = NULL;
    if (dimension != 2 && dimension != 3)
        return cs_fail(error, CS_INVALID, "dimension is %d, but it has to be 2 or 3", dimension);
    *collider = cs_allocate(1, sizeof **collider);
    if (!*collider) return cs_no_memory(error, "a collider");
    (*collider)->dimension = dimension;
    (*collider)->preemptions = -1;
    return CS_OK;
}

static cs_solid *solid_at(const cs_collider *collider, int64_t slot)
{
    return (cs_solid *)collider->solid.data + slot;
}

void cs_collider_destroy(cs_collider *collider)
{
    if (!collider) return;
    for (int64_t slot = 0; slot < collider->count; slot++)
        cs_arena_clear(&solid_at(collider, slot)->memory);
    cs_buffer *const buffers[] = {
        &collider->instance,    &collider->solid,      &collider->turn,       &collider->box,
        &collider->member,      &collider->half_space, &collider->loose,      &collider->cell,
        &collider->order,       &collider->start,      &collider->record,     &collider->tag,
        &collider->first,       &collider->second,     &collider->sorted,     &collider->row,
        &collider->counts,      &collider->pair,       &collider->shape_out,  &collider->body_out,
        &collider->feature_out, &collider->point_out,  &collider->normal_out, &collider->gap_out,
        &collider->pair_out,
    };
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) cs_buffer_clear(buffers[i]);
    for (int p = 0; p < CS_LOOP_PIECES; p++) cs_buffer_clear(&collider->found[p]);
    cs_release(collider);
}

int64_t cs_collider_shapes(const cs_collider *collider) { return collider->count; }

/* ---- shapes -------------------------------------------------------------------------------------- */

/* Room for `count` shapes. */
static cs_status reserve_shapes(cs_collider *collider, int64_t count, cs_error *error)
{
    struct {
        cs_buffer *buffer;
        size_t size;
    } arrays[] = {
        {&collider->instance, sizeof(cs_instance)},
        {&collider->solid, sizeof(cs_solid)},
        {&collider->turn, sizeof(double[9])},
        {&collider->box, sizeof(double[2][3])},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (cs_buffer_reserve(arrays[i].buffer, count, collider->count, arrays[i].size) < 0)
            return cs_no_memory(error, "%lld shapes", (long long)count);
    return CS_OK;
}

cs_status cs_collider_add(cs_collider *collider, const cs_shape *shapes, int64_t count,
                          int64_t *first, cs_error *error)
{
    if (count < 0 || collider->count + count > INT32_MAX)
        return cs_fail(error, CS_INVALID, "count is %lld: a collider has at most %d shapes",
                       (long long)count, INT32_MAX);
    cs_status status = reserve_shapes(collider, collider->count + count, error);
    int64_t made = 0;
    for (; !status && made < count; made++)
        status = cs_solid_make(solid_at(collider, collider->count + made), &shapes[made],
                               collider->dimension, made, error);
    if (status) {
        for (int64_t i = 0; i < made; i++)
            cs_arena_clear(&solid_at(collider, collider->count + i)->memory);
        return status;
    }

    /* From here on nothing fails. */
    *first = collider->next_id;
    for (int64_t i = 0; i < count; i++) {
        const cs_solid *solid = solid_at(collider, collider->count + i);
        *cs_instance_at(collider, collider->count + i) = (cs_instance){
            .bound = solid->bound,
            .id = collider->next_id++,
            .body = shapes[i].body,
            .kind = (int16_t)solid->kind,
            .off_center = cs_dot(solid->position, solid->position) > 0,
        };
    }
    collider->count += count;
    collider->has_changed = 1;
    return CS_OK;
}

/* The slot of an id, or -1. */
static int64_t slot_of(const cs_collider *collider, int64_t id)
{
    int64_t low = 0, high = collider->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (cs_instance_at(collider, middle)->id < id) low = middle + 1;
        else high = middle;
    }
    return low < collider->count && cs_instance_at(collider, low)->id == id ? low : -1;
}

cs_status cs_collider_remove(cs_collider *collider, int64_t shape, cs_error *error)
{
    int64_t slot = slot_of(collider, shape);
    if (slot < 0)
        return cs_fail(error, CS_INVALID, "shape is %lld: no shape has this id", (long long)shape);
    cs_arena_clear(&solid_at(collider, slot)->memory);

    /* Later shapes move up by a slot. */
    size_t after = (size_t)(collider->count - slot - 1);
    memmove(solid_at(collider, slot), solid_at(collider, slot + 1), after * sizeof(cs_solid));
    memmove(cs_instance_at(collider, slot), cs_instance_at(collider, slot + 1),
            after * sizeof(cs_instance));
    collider->count--;
    collider->has_changed = 1;
    return CS_OK;
}

void cs_collider_skip(cs_collider *collider, int64_t count) { collider->next_id += count; }

/* ---- steps --------------------------------------------------------------------------------------- */

static cs_status check_call(const cs_poses *poses, double margin, cs_error *error)
{
    if (!isfinite(margin))
        return cs_fail(error, CS_INVALID, "margin is %s, but it has to be finite",
                       cs_number(margin).text);
    if (poses->bodies < 0 || poses->bodies > INT32_MAX)
        return cs_fail(error, CS_INVALID, "position has %lld bodies, but at most %d are possible",
                       (long long)poses->bodies, INT32_MAX);
    return CS_OK;
}

/* The sorted pairs, in `pair`. */
static cs_status find_slots(cs_collider *collider, const cs_poses *poses, double margin,
                            int threads, cs_error *error)
{
    cs_status status = check_call(poses, margin, error);
    collider->pairs = 0;
    if (status || !collider->count) return status;
    if (cs_levels_make(collider) < 0) return cs_no_memory(error, "levels of shapes");
    status = cs_place_shapes(collider, poses, threads, error);
    if (!status) status = cs_grid_make(collider, margin, threads, error);
    if (!status) status = cs_grid_find_pairs(collider, margin, threads, error);
    return status;
}

static int threads_of(cs_collider *collider, int asked)
{
    if (asked > 0) return cs_threads_exactly(asked, CS_LOOP_PIECES);
    int threads = cs_threads_for(0, collider->count, CS_WORTH_THREADS_SETUP, CS_LOOP_PIECES);
    return cs_threads_for_now(threads, &collider->preemptions);
}

cs_status cs_collider_find(cs_collider *collider, const cs_poses *poses, double margin, int threads,
                           cs_contacts *contacts, cs_error *error)
{
    int number = threads_of(collider, threads);
    *contacts = (cs_contacts){0};
    cs_status status = find_slots(collider, poses, margin, number, error);
    if (!status) status = cs_contacts_find(collider, margin, number, contacts, error);
    return status;
}

typedef struct pair_ids {
    const cs_collider *collider;
    const cs_pair_slots *pair;
    int64_t *shape;
} pair_ids;

static void ids_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const pair_ids *p = context;
    (void)piece;
    for (int64_t i = begin; i < end; i++)
        for (int k = 0; k < 2; k++)
            p->shape[2 * i + k] = cs_instance_at(p->collider, p->pair[i].slot[k])->id;
}

cs_status cs_collider_find_pairs(cs_collider *collider, const cs_poses *poses, double margin,
                                 int threads, cs_shape_pairs *pairs, cs_error *error)
{
    int number = threads_of(collider, threads);
    *pairs = (cs_shape_pairs){0};
    cs_status status = find_slots(collider, poses, margin, number, error);
    if (status) return status;
    if (cs_buffer_reserve(&collider->pair_out, collider->pairs, 0, 2 * sizeof(int64_t)) < 0)
        return cs_no_memory(error, "%lld pairs", (long long)collider->pairs);
    pair_ids p = {collider, collider->pair.data, collider->pair_out.data};
    if (collider->pairs) cs_loop(number, collider->pairs, ids_piece, &p);
    *pairs = (cs_shape_pairs){collider->pairs, p.shape};
    return CS_OK;
}

#include "cloth/collisions.h"

#include "core/error.h"
#include "core/parallel.h"
#include "core/vector.h"

#include <string.h>

/* ---- making them ----------------------------------------------------------------------------------- */

static cs_status need(int holds, const char *name, double value, const char *needed,
                      cs_error *error)
{
    if (holds) return CS_OK;
    return cs_fail(error, CS_INVALID, "%s is %s: %s is needed", name, cs_number(value).text,
                   needed);
}

static cs_status check_options(const cs_collision_options *o, cs_error *error)
{
    cs_status status = need(o->thickness > 0 && isfinite(o->thickness), "thickness", o->thickness,
                            "a positive number of metres", error);
    if (!status)
        status = need(o->mu >= 0 && isfinite(o->mu), "mu", o->mu, "a number of at least 0", error);
    if (!status)
        status = need(o->push >= 0 && o->push <= 1, "push", o->push, "a number from 0 to 1", error);
    return status;
}

/* Room that grows by at least its half: all that was taken is at most four times what is needed. */
static int64_t grown(int64_t room, int64_t needed)
{
    int64_t more = room + room / 2;
    return needed > more ? needed : more;
}

/* Takes the arrays over all vertices where they are too short, and keeps what is in the first `used`. */
static cs_status take_arrays(cs_collisions *c, int64_t needed, int64_t used, cs_error *error)
{
    if (needed <= c->room) return CS_OK;
    int64_t vertices = used ? grown(c->room, needed) : needed;
    double **vector[] = {&c->start, &c->end, &c->velocity, &c->shift};
    for (int i = 0; i < 4; i++) {
        double *now = cs_arena_take(&c->arena, 3 * vertices, sizeof *now);
        if (now && used) memcpy(now, *vector[i], sizeof *now * (size_t)(3 * used));
        *vector[i] = now;
    }
    c->inverse_mass = cs_arena_take(&c->arena, vertices, sizeof *c->inverse_mass);
    c->stamp = cs_arena_take(&c->arena, vertices, sizeof *c->stamp);
    c->visits.used = cs_arena_take(&c->arena, vertices, sizeof *c->visits.used);
    c->is_moved = cs_arena_take(&c->arena, vertices, 1);
    c->room = vertices;
    return cs_arena_status(&c->arena, error, "collisions of %lld vertices", (long long)vertices);
}

/* Keys have so many bits. */
static cs_status check_size(const cs_tree *tree, cs_error *error)
{
    int64_t most = INT64_C(1) << CS_KEY_BITS;
    if (tree->edges < most && tree->faces < most && tree->vertices < most) return CS_OK;
    return cs_fail(error, CS_UNSUPPORTED, "a mesh of %lld edges: fewer than %lld can collide",
                   (long long)tree->edges, (long long)most);
}

cs_status cs_collisions_make(cs_collisions *c, const cs_collision_options *options, int64_t cloth,
                             const double *x, const double *rest, const double *mass,
                             const int64_t *face, int64_t faces, cs_error *error)
{
    *c = (cs_collisions){.options = *options,
                         .cloth = cloth,
                         .vertices = cloth,
                         .mass = mass,
                         .rest = rest,
                         .report.is_free = 1};
    cs_status status = check_options(options, error);
    if (status) return status;
    c->zone = cs_arena_take(&c->arena, cloth, sizeof *c->zone);
    status = take_arrays(c, cloth, 0, error);
    if (!status)
        status = cs_tree_make(&c->tree, options->k, CS_MOST_ARITY, 1, cloth, x, face, faces, error);
    if (!status) status = check_size(&c->tree, error);
    if (!status) status = cs_find_opposites(&c->tree, &c->arena, &c->opposite, error);
    if (!status) status = cs_find_parts(&c->tree, &c->arena, &c->part, error);
    return status;
}

void cs_collisions_clear(cs_collisions *c)
{
    cs_tree_clear(&c->tree);
    cs_query_clear(&c->query);
    for (int64_t n = 0; n < c->obstacles; n++) {
        cs_tree_clear(&c->obstacle[n].tree);
        cs_query_clear(&c->obstacle[n].query);
    }
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        cs_buffer_clear(&c->pairs[kind].index);
        cs_buffer_clear(&c->pairs[kind].key);
        cs_buffer_clear(&c->former[kind]);
        cs_buffer_clear(&c->pairs[kind].state);
        cs_buffer_clear(&c->pairs[kind].near);
    }
    cs_buffer_clear(&c->contact);
    cs_buffer_clear(&c->last_contact);
    cs_clear_visits(&c->visits);
    cs_buffer_clear(&c->leader);
    cs_buffer_clear(&c->scratch);
    cs_arena_clear(&c->arena);
    *c = (cs_collisions){0};
}

/* ---- obstacles -------------------------------------------------------------------------------------- */

/* Of keys. */
enum { MOST_OBSTACLES = (1 << 15) - 1 };

/* Takes room for one more. */
static cs_status take_obstacles(cs_collisions *c, cs_error *error)
{
    if (c->obstacles < c->obstacle_room) return CS_OK;
    int64_t room = grown(c->obstacle_room, c->obstacles + 1);
    cs_obstacle *all = cs_arena_take(&c->arena, room, sizeof *all);
    cs_status status = cs_arena_status(&c->arena, error, "%lld obstacles", (long long)room);
    if (status) return status;
    if (c->obstacles) memcpy(all, c->obstacle, sizeof *all * (size_t)c->obstacles);
    c->obstacle = all;
    c->obstacle_room = room;
    return CS_OK;
}

/* A vertex of no face would pass through the cloth. */
static cs_status check_used(const cs_tree *tree, cs_error *error)
{
    cs_arena scratch = {0};
    unsigned char *is_used = cs_arena_take(&scratch, tree->vertices, 1);
    cs_status status = cs_arena_status(&scratch, error, "%lld vertices", (long long)tree->vertices);
    for (int64_t i = 0; !status && i < 3 * tree->faces; i++) is_used[tree->face[i]] = 1;
    for (int64_t i = 0; !status && i < tree->vertices; i++)
        if (!is_used[i])
            status = cs_fail(error, CS_INVALID, "vertices[%lld] is of no face: leave it out",
                             (long long)i);
    cs_arena_clear(&scratch);
    return status;
}

cs_status cs_collisions_add(cs_collisions *c, int64_t vertices, const double *x,
                            const int64_t *face, int64_t faces, cs_error *error)
{
    if (c->obstacles == MOST_OBSTACLES)
        return cs_fail(error, CS_UNSUPPORTED, "more than %d obstacles", MOST_OBSTACLES);
    if (vertices > INT32_MAX - c->vertices) /* visits have numbers of 32 bits */
        return cs_fail(error, CS_UNSUPPORTED, "more than %d vertices of obstacles and cloth",
                       INT32_MAX);
    int64_t first = c->vertices;
    cs_status status = take_obstacles(c, error);
    if (!status) status = take_arrays(c, first + vertices, first, error);
    if (status) return status;

    cs_obstacle *new = &c->obstacle[c->obstacles];
    *new = (cs_obstacle){.first = first, .vertices = vertices};
    status =
        cs_tree_make(&new->tree, c->options.k, CS_MOST_ARITY, 1, vertices, x, face, faces, error);
    if (status) return status;
    c->obstacles++;
    status = check_size(&new->tree, error);
    if (!status) status = check_used(&new->tree, error);
    if (!status) status = cs_find_opposites(&new->tree, &c->arena, &new->opposite, error);
    if (status) return status;
    c->vertices += vertices;
    cs_collisions_place(c, c->obstacles - 1, x);
    return CS_OK;
}

void cs_collisions_move(cs_collisions *c, int64_t n, const double *x)
{
    cs_obstacle *o = &c->obstacle[n];
    size_t size = sizeof *x * (size_t)(3 * o->vertices);
    o->moves = memcmp(c->start + 3 * o->first, x, size) != 0;
    memcpy(c->end + 3 * o->first, x, size);
}

void cs_collisions_place(cs_collisions *c, int64_t n, const double *x)
{
    cs_obstacle *o = &c->obstacle[n];
    size_t size = sizeof *x * (size_t)(3 * o->vertices);
    memcpy(c->start + 3 * o->first, x, size);
    memcpy(c->end + 3 * o->first, x, size);
    o->moves = o->is_fitted = 0;
}

/* What is told of the last step is that of this one. */
static void keep_report(cs_collisions *c)
{
    cs_contact *contact = c->contact.data;
    for (int64_t n = 0; n < c->contacts; n++) cs_contact_rate(c, &contact[n], contact[n].rate);
    cs_buffer before = c->last_contact;
    c->last_contact = c->contact;
    c->contact = before;
    c->last = c->contacts;
    c->contacts = 0;
    for (int64_t n = 0; n < c->obstacles; n++)
        cs_assign(c->obstacle[n].given, c->obstacle[n].impulse);
    c->report = c->present;
}

cs_status cs_collisions_finish(cs_collisions *c, cs_error *error)
{
    cs_status status = cs_keep_formers(c, error);
    if (status) return status;
    keep_report(c);
    size_t size = sizeof *c->start * (size_t)(3 * (c->vertices - c->cloth));
    memcpy(c->start + 3 * c->cloth, c->end + 3 * c->cloth, size);
    for (int64_t n = 0; n < c->obstacles; n++) {
        c->obstacle[n].is_fitted &= !c->obstacle[n].moves;
        c->obstacle[n].moves = 0;
    }
    return CS_OK;
}

cs_obstacle *cs_obstacle_of(const cs_collisions *c, int64_t vertex)
{
    if (vertex < c->cloth) return NULL;
    int64_t n = c->obstacles - 1;
    while (c->obstacle[n].first > vertex) n--;
    return &c->obstacle[n];
}

/* ---- a step ----------------------------------------------------------------------------------------- */

/* Velocities of obstacles, and the longest way of a vertex. */
static void load_obstacles(cs_collisions *c)
{
    double most = 0;
    for (int64_t i = c->cloth; i < c->vertices; i++) {
        double way[3];
        cs_subtract(c->end + 3 * i, c->start + 3 * i, way);
        for (int k = 0; k < 3; k++) c->velocity[3 * i + k] = way[k] / c->h;
        double square = cs_dot(way, way);
        if (square > most) most = square;
        c->inverse_mass[i] = 0;
    }
    c->present.moved = sqrt(most);
}

cs_status cs_collisions_begin(cs_collisions *c, const double *x0, const double *x1, const double *v,
                              const unsigned char *is_fixed, const cs_response_call *call,
                              cs_error *error)
{
    size_t size = sizeof *x0 * (size_t)(3 * c->cloth);
    c->h = call->h;
    c->present = (cs_collision_report){0};
    c->contacts = 0;
    c->clock = 0;
    c->is_solved = 0;
    memcpy(c->start, x0, size);
    memcpy(c->end, x1, size);
    memcpy(c->velocity, v, size);
    for (int64_t i = 0; i < c->cloth; i++) c->inverse_mass[i] = is_fixed[i] ? 0 : 1 / c->mass[i];
    memset(c->shift, 0, sizeof *c->shift * (size_t)(3 * c->vertices));
    memset(c->stamp, 0, sizeof *c->stamp * (size_t)c->vertices);
    memset(c->is_moved, 0, (size_t)c->vertices);
    cs_reset_visits(c);
    load_obstacles(c);
    for (int64_t n = 0; n < c->obstacles; n++) cs_set_vector(c->obstacle[n].impulse, 0, 0, 0);
    const double *to = c->options.is_problem ? c->end : c->start;
    cs_status status = cs_find_candidates(c, to, CS_REACH * c->options.thickness / 2, call, error);
    if (!status) status = cs_find_near_contacts(c, call, error);
    if (!status && c->options.is_problem) cs_apply_impulses(c);
    return status;
}

void cs_collisions_take_motion(cs_collisions *c, const double *x1, const double *v)
{
    size_t size = sizeof *x1 * (size_t)(3 * c->cloth);
    memcpy(c->end, x1, size);
    memcpy(c->velocity, v, size);
}

int cs_threads_for_pairs(const cs_response_call *call, int64_t count)
{
    return cs_threads_for(call->threads, count, CS_WORTH_THREADS_STENCILS, count);
}

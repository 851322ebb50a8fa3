#include "cloth/cloth.h"

#include "core/error.h"
#include "core/loop.h"
#include "core/vector.h"

#include <math.h>
#include <string.h>

/* ---- making one ------------------------------------------------------------------------------------ */

static cs_status need(int holds, const char *name, double value, const char *needed,
                      cs_error *error)
{
    if (holds) return CS_OK;
    return cs_fail(error, CS_INVALID, "%s is %s: %s is needed", name, cs_number(value).text,
                   needed);
}

static cs_status check_options(const cs_cloth_options *o, cs_error *error)
{
    static const char positive[] = "a positive number", natural[] = "a number of at least 0";
    cs_status status =
        need(o->density > 0 && isfinite(o->density), "density", o->density, positive, error);
    if (!status)
        status = need(o->young > 0 && isfinite(o->young), "young", o->young, positive, error);
    if (!status)
        status = need(o->poisson > -1 && o->poisson < 1, "poisson", o->poisson,
                      "a number between -1 and 1", error);
    if (!status)
        status =
            need(o->bending >= 0 && isfinite(o->bending), "bending", o->bending, natural, error);
    if (!status)
        status =
            need(o->damping >= 0 && isfinite(o->damping), "damping", o->damping, natural, error);
    if (!status)
        status = need(o->rtol >= 0 && o->rtol < 1, "rtol", o->rtol,
                      "a number of at least 0 and below 1", error);
    return status;
}

/* Lame's constants of plane stress, and k of the hinges. */
static void set_laws(cs_cloth *cloth)
{
    const cs_cloth_options *o = &cloth->options;
    double nu = o->poisson;
    cloth->membrane.lambda = o->young * nu / ((1 - nu) * (1 + nu));
    cloth->membrane.mu = o->young / (2 * (1 + nu));
    cloth->bending.model = o->model;
    cloth->bending.stiffness = o->model == CS_BENDING_QUADRATIC ? 4 * o->bending : o->bending;
    cloth->hinges = o->bending > 0 ? cloth->mesh.hinges : 0;
}

/* Takes all arrays but those of the system. */
static cs_status take_arrays(cs_cloth *cloth, cs_error *error)
{
    cs_arena *arena = &cloth->arena;
    int64_t n = cloth->mesh.vertices;
    double **vector[] = {&cloth->position,        &cloth->velocity,        &cloth->target,
                         &cloth->force,           &cloth->next_position,   &cloth->next_velocity,
                         &cloth->shift,           &cloth->right,           &cloth->change,
                         &cloth->origin_position, &cloth->origin_velocity, &cloth->rest};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        *vector[i] = cs_arena_take(arena, 3 * n, sizeof(double));
    cloth->mass = cs_arena_take(arena, n, sizeof *cloth->mass);
    cloth->is_attached = cs_arena_take(arena, n, 1);
    cloth->triangle_rest = cs_arena_take(arena, cloth->mesh.faces, sizeof *cloth->triangle_rest);
    cloth->triangle = cs_arena_take(arena, cloth->mesh.faces, sizeof *cloth->triangle);
    cloth->hinge_rest = cs_arena_take(arena, cloth->hinges, sizeof *cloth->hinge_rest);
    cloth->hinge = cs_arena_take(arena, cloth->hinges, sizeof *cloth->hinge);
    return cs_arena_status(arena, error, "a cloth of %lld vertices", (long long)n);
}

/* The rest shapes of all elements, and a third of each face's mass on its vertices. */
static cs_status measure_rest(cs_cloth *cloth, const double *rest, cs_error *error)
{
    for (int64_t t = 0; t < cloth->mesh.faces; t++) {
        cs_triangle_rest *triangle = &cloth->triangle_rest[t];
        const double *corner[3];
        for (int k = 0; k < 3; k++) {
            triangle->vertex[k] = cloth->mesh.face[3 * t + k];
            corner[k] = rest + 3 * triangle->vertex[k];
        }
        cs_status status = cs_triangle_measure(triangle, corner, t, error);
        if (status) return status;
        for (int k = 0; k < 3; k++)
            cloth->mass[triangle->vertex[k]] += cloth->options.density * triangle->area / 3;
    }
    for (int64_t t = 0; t < cloth->hinges; t++)
        cs_hinge_measure(&cloth->hinge_rest[t], &cloth->mesh.hinge[t], rest);
    return CS_OK;
}

/* The quadratic model has no other rest shape than a flat one. */
static cs_status check_flat(const cs_cloth *cloth, cs_error *error)
{
    static const double flat = 1e-6;
    for (int64_t t = 0; cloth->bending.model == CS_BENDING_QUADRATIC && t < cloth->hinges; t++) {
        const cs_hinge_rest *rest = &cloth->hinge_rest[t];
        if (fabs(rest->angle) > flat)
            return cs_fail(
                error, CS_INVALID,
                "bending_model='quadratic' needs a flat rest shape, but it has the angle "
                "%s at the edge of vertices %lld and %lld: 'hinge' has none such limit",
                cs_number(rest->angle).text, (long long)rest->vertex[0],
                (long long)rest->vertex[1]);
    }
    return CS_OK;
}

/* Lays out the matrix with these labels, in one precision or in both. */
static cs_status lay_with(cs_cloth *cloth, const int64_t *label, cs_error *error)
{
    const cs_cloth_options *o = &cloth->options;
    cs_status status = cs_block_system_make(&cloth->system, &cloth->graph, o->parts, label,
                                            o->precision == CS_CLOTH_F32, &cloth->arena, error);
    if (!status && o->precision == CS_CLOTH_MIXED)
        status = cs_block_system_make(&cloth->half, &cloth->graph, o->parts, label, 1,
                                      &cloth->arena, error);
    return status;
}

/* Lays out the matrix in the parts of the caller, or in slices. */
static cs_status lay_system(cs_cloth *cloth, cs_error *error)
{
    cs_arena scratch = {0};
    const int64_t *label = cloth->options.label;
    cs_status status =
        cs_mesh_graph(&cloth->mesh, cloth->hinges > 0, &cloth->graph, &cloth->arena, error);
    if (!status && !label) {
        int64_t *slices = cs_arena_take(&scratch, cloth->graph.count, sizeof *slices);
        label = slices;
        status = cs_arena_status(&scratch, error, "the parts");
        if (!status) status = cs_block_slices(&cloth->graph, cloth->options.parts, slices, error);
    }
    if (!status) status = lay_with(cloth, label, error);
    if (!status) status = cs_cloth_list_shares(cloth, error);
    cs_arena_clear(&scratch);
    return status;
}

cs_status cs_cloth_make(cs_cloth *cloth, const cs_cloth_options *options, int64_t vertices,
                        const double *x, const double *rest, const int64_t *face, int64_t faces,
                        cs_error *error)
{
    *cloth = (cs_cloth){.options = *options};
    cs_status status = check_options(options, error);
    if (!status) status = cs_mesh_make(&cloth->mesh, vertices, face, faces, &cloth->arena, error);
    if (status) return status;
    set_laws(cloth);
    status = take_arrays(cloth, error);
    if (!status) status = measure_rest(cloth, rest, error);
    if (!status) status = check_flat(cloth, error);
    if (status) return status;
    memcpy(cloth->position, x, sizeof *x * (size_t)(3 * vertices));
    memcpy(cloth->rest, rest, sizeof *rest * (size_t)(3 * vertices));
    status = lay_system(cloth, error);
    if (!status) status = cs_cloth_name_kind(cloth, options->preconditioner, error);

    /* These are the caller's. */
    cloth->options.label = NULL;
    cloth->options.preconditioner = NULL;
    return status;
}

void cs_cloth_clear(cs_cloth *cloth)
{
    cs_cloth_forget(cloth);
    cs_collisions_clear(&cloth->collisions);
    cs_arena_clear(&cloth->arena);
}

cs_status cs_cloth_collide(cs_cloth *cloth, const cs_collision_options *options, cs_error *error)
{
    cloth->has_collisions = 1;
    return cs_collisions_make(&cloth->collisions, options, cloth->mesh.vertices, cloth->position,
                              cloth->rest, cloth->mass, cloth->mesh.face, cloth->mesh.faces, error);
}

cs_status cs_cloth_attach(cs_cloth *cloth, const int64_t *vertex, int64_t count, cs_error *error)
{
    int64_t n = cloth->mesh.vertices;
    memset(cloth->is_attached, 0, (size_t)n);
    for (int64_t i = 0; i < count; i++) {
        if (vertex[i] < 0 || vertex[i] >= n)
            return cs_fail(error, CS_INVALID, "attach[%lld] is %lld: there are vertices 0 to %lld",
                           (long long)i, (long long)vertex[i], (long long)(n - 1));
        if (cloth->is_attached[vertex[i]])
            return cs_fail(error, CS_INVALID, "attach[%lld] is %lld, which was listed before",
                           (long long)i, (long long)vertex[i]);
        cloth->is_attached[vertex[i]] = 1;
    }
    return CS_OK;
}

/* ---- a step ----------------------------------------------------------------------------------------- */

/* shift <- the velocity of the whole step as far as it is known: of free vertices the present one. */
static void find_shift(cs_cloth *cloth)
{
    for (int64_t i = 0; i < cloth->mesh.vertices; i++)
        for (int64_t k = 3 * i; k < 3 * i + 3; k++)
            cloth->shift[k] = cloth->is_attached[i]
                                  ? (cloth->target[k] - cloth->position[k]) / cloth->h
                                  : cloth->velocity[k];
}

cs_status cs_cloth_begin(cs_cloth *cloth, double h, const double *target, const double *force,
                         cs_error *error)
{
    size_t size = sizeof *target * (size_t)(3 * cloth->mesh.vertices);
    cs_status status = need(h > 0 && isfinite(h), "h", h, "a positive number of seconds", error);
    if (status) return status;
    cloth->h = h;
    cloth->iterate = 0;
    memcpy(cloth->target, target ? target : cloth->position, size);
    if (force) memcpy(cloth->force, force, size);
    else memset(cloth->force, 0, size);
    memcpy(cloth->next_position, cloth->position, size);
    memset(cloth->next_velocity, 0, size);
    find_shift(cloth);
    return CS_OK;
}

/* What a correction reads. */
typedef struct correction {
    cs_cloth *cloth;
    const double *change;
} correction;

/* The first solution is the change of the velocity, later ones are corrections of the iterate. */
static void correct_vertices(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const correction *c = context;
    cs_cloth *cloth = c->cloth;
    (void)piece;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 3 * i; k < 3 * i + 3; k++) {
            const double *from = cloth->iterate ? cloth->next_velocity : cloth->velocity;
            cloth->next_velocity[k] =
                cloth->is_attached[i] && !cloth->iterate ? cloth->shift[k] : from[k] + c->change[k];
            cloth->next_position[k] = cloth->is_attached[i]
                                          ? cloth->target[k]
                                          : cloth->position[k] + cloth->h * cloth->next_velocity[k];
        }
}

void cs_cloth_correct(cs_cloth *cloth, const double *change, int threads)
{
    correction c = {cloth, change};
    cs_loop(threads, cloth->mesh.vertices, correct_vertices, &c);
    if (!cloth->iterate++)
        memset(cloth->shift, 0, sizeof *cloth->shift * (size_t)(3 * cloth->mesh.vertices));
}

cs_status cs_cloth_check(const cs_cloth *cloth, cs_error *error)
{
    for (int64_t k = 0; k < 3 * cloth->mesh.vertices; k++)
        if (!isfinite(cloth->next_position[k]) || !isfinite(cloth->next_velocity[k]))
            return cs_fail(error, CS_INVALID,
                           "the step of %s s from t = %s s takes vertex %lld out of all numbers: a "
                           "shorter step is needed",
                           cs_number(cloth->h).text, cs_number(cloth->time).text,
                           (long long)(k / 3));
    return CS_OK;
}

void cs_cloth_finish(cs_cloth *cloth)
{
    size_t size = sizeof(double) * (size_t)(3 * cloth->mesh.vertices);
    memcpy(cloth->position, cloth->next_position, size);
    memcpy(cloth->velocity, cloth->next_velocity, size);
    cloth->time += cloth->h;
}

/* ---- figures ------------------------------------------------------------------------------------------ */

cs_cloth_energy cs_cloth_find_energy(const cs_cloth *cloth)
{
    cs_cloth_energy energy = {0};
    for (int64_t i = 0; i < cloth->mesh.vertices; i++) {
        const double *x = cloth->position + 3 * i, *v = cloth->velocity + 3 * i;
        energy.kinetic += cloth->mass[i] / 2 * cs_dot(v, v);
        energy.gravity -= cloth->mass[i] * cs_dot(cloth->options.gravity, x);
    }
    for (int64_t t = 0; t < cloth->mesh.faces; t++)
        energy.membrane +=
            cs_triangle_energy(&cloth->triangle_rest[t], &cloth->membrane, cloth->position);
    for (int64_t t = 0; t < cloth->hinges; t++)
        energy.bending += cs_hinge_energy(&cloth->hinge_rest[t], &cloth->bending, cloth->position);
    return energy;
}

void cs_cloth_momentum(const cs_cloth *cloth, double *linear, double *angular)
{
    cs_set_vector(linear, 0, 0, 0);
    cs_set_vector(angular, 0, 0, 0);
    for (int64_t i = 0; i < cloth->mesh.vertices; i++) {
        double turn[3];
        const double *v = cloth->velocity + 3 * i;
        cs_cross(cloth->position + 3 * i, v, turn);
        cs_add_scaled(linear, cloth->mass[i], v, linear);
        cs_add_scaled(angular, cloth->mass[i], turn, angular);
    }
}

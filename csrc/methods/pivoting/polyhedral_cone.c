#include "methods/pivoting/polyhedral_cone.h"

#include "core/clock.h"
#include "core/disjoint_sets.h"
#include "core/error.h"
#include "problem/friction.h"
#include "mlcp/lemke.h"

#include <math.h>
#include <string.h>

#define POLL_SECONDS 0.005 /* between two calls of the caller's poll */
enum { LOAD_WORK = 8 };    /* per entry of the dictionary, in multiplications */

/* ---- friction polygons ----------------------------------------------------------------------- */

static int has_polygon(const cs_block_group *group) { return group->set->corners != NULL; }

int cs_cone_takes(const cs_block_group *group)
{
    const cs_set *set = group->set;
    return has_polygon(group) || set->bilateral || set->bounds || cs_has_no_friction(group);
}

/* The number of corners of the friction polygon of a block. */
static int64_t corners_of(const cs_cone *cone, const cs_block_group *group,
                          const double *parameters)
{
    int64_t own = group->set->corners(group->rows, parameters);
    return own ? own : cone->directions;
}

/* ---- islands --------------------------------------------------------------------------------- */

/* Finds the islands: the sets of blocks that A connects, ordered by their first blocks. Also stores the
 * diagonal of A. parent (blocks), block_of (rows + blocks): scratch. */
static void find_islands(cs_cone *cone, int64_t *parent, int64_t *block_of)
{
    const cs_problem *problem = cone->problem;
    const cs_csr *A = &cone->matrix;

    /* At first each block is an island. */
    for (int64_t k = 0; k < problem->blocks; k++) {
        parent[k] = k;
        for (int64_t i = cs_block_row(problem, k); i < cs_block_end(problem, k); i++)
            block_of[i] = k;
    }

    /* Join the blocks that an entry of A connects, under the smaller root. */
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->start[i]; e < A->start[i + 1]; e++) {
            if (A->column[e] == i) cone->diagonal[i] += A->value[e];
            if (A->value[e] == 0) continue;
            cs_disjoint_unite(parent, block_of[i], block_of[A->column[e]]);
        }

    /* Number the islands by their roots. */
    int64_t *number = block_of;
    for (int64_t k = 0; k < problem->blocks; k++)
        if (cs_disjoint_root(parent, k) == k) number[k] = cone->islands++;

    /* Sort the blocks by island: count, add up, distribute. The last loop moves each end back to a start. */
    for (int64_t k = 0; k < problem->blocks; k++)
        cone->first[number[cs_disjoint_root(parent, k)] + 1]++;
    for (int64_t p = 0; p < cone->islands; p++) cone->first[p + 1] += cone->first[p];
    for (int64_t k = 0; k < problem->blocks; k++)
        cone->block[cone->first[number[cs_disjoint_root(parent, k)]]++] = k;
    for (int64_t p = cone->islands; p > 0; p--) cone->first[p] = cone->first[p - 1];
    cone->first[0] = 0;
}

cs_cone *cs_cone_take(const cs_problem *problem, const cs_csr *matrix, int directions,
                      cs_arena *arena)
{
    cs_arena scratch = {0};
    int64_t rows = problem->rows, blocks = problem->blocks;
    cs_cone *cone = cs_arena_take(arena, 1, sizeof *cone);
    int64_t *parent = cs_arena_take(&scratch, blocks, sizeof(int64_t));
    int64_t *block_of = cs_arena_take(&scratch, rows + blocks, sizeof(int64_t));
    int ready = 0;
    if (cs_arena_failed(arena) || cs_arena_failed(&scratch)) goto out;

    /* Allocate the arrays of the result, and fill them. */
    *cone = (cs_cone){.problem = problem, .matrix = *matrix, .directions = directions};
    cone->diagonal = cs_arena_take(arena, rows, sizeof(double));
    cone->first = cs_arena_take(arena, blocks + 1, sizeof(int64_t));
    cone->block = cs_arena_take(arena, blocks, sizeof(int64_t));
    cone->place = cs_arena_take(arena, rows, sizeof(int64_t));
    cone->count = cs_arena_take(arena, rows, sizeof(int64_t));
    cone->ray = cs_arena_take(arena, rows, sizeof(double));
    ready = !cs_arena_failed(arena);
    if (ready) find_islands(cone, parent, block_of);
out:
    cs_arena_clear(&scratch);
    return ready ? cone : NULL;
}

/* ---- unknowns -------------------------------------------------------------------------------- */

/* One unknown of the LCP, z >= 0 or without a sign. If it is an impulse, it adds part[j] z to lambda in
 * row[j]. If it is a multiplier, row[0] is -1, and its complement is w = room + friction z_normal - sum of
 * the `count` unknowns from `first` on. */
typedef struct unknown {
    int64_t row[2];
    double part[2];
    int64_t first, count, normal;
    double friction, room;
} unknown;

/* The LCP of one island while it is written and solved. */
typedef struct translation {
    cs_cone *cone;
    cs_cone_solve *solve;
    unknown *z;          /* (size) */
    unsigned char *free; /* (size): unknowns without a sign */
    int64_t size;        /* unknowns so far */
    cs_lemke lemke;
} translation;

/* The unit of impulses of a row: with it the diagonal entry of the LCP is 1. */
static double unit_of(double diagonal) { return diagonal > 0 ? 1 / sqrt(diagonal) : 1; }

/* Appends an unknown without rows and without a normal. */
static unknown *add(translation *t)
{
    t->z[t->size] = (unknown){.row = {-1, -1}, .normal = -1};
    return &t->z[t->size++];
}

/* Adds the unknowns of a row by itself, with bounds lo <= lambda <= hi: lambda = origin + unit z. The
 * origin, stored in lambda, is a finite bound or 0. If both bounds are finite, a multiplier keeps z <=
 * room. */
static void add_row(translation *t, int64_t row, double lo, double hi)
{
    double *lambda = t->solve->lambda, unit = unit_of(t->cone->diagonal[row]);
    int low = isfinite(lo), high = isfinite(hi);
    t->cone->place[row] = t->size;
    t->cone->count[row] = 0;

    /* Rows that no impulse moves, and rows between equal bounds, have no unknowns. */
    if (t->solve->rho[row] == 0) return;
    lambda[row] = low ? lo : high ? hi : 0;
    if (lo == hi) return;

    /* One unknown, counted from the finite bound. */
    t->cone->count[row] = 1;
    t->free[t->size] = !low && !high;
    unknown *z = add(t);
    z->row[0] = row;
    z->part[0] = low || !high ? unit : -unit;
    if (!low || !high) return;

    /* Both bounds are finite: the multiplier of the other one. */
    unknown *multiplier = add(t);
    multiplier->first = t->size - 2;
    multiplier->count = 1;
    multiplier->room = (hi - lo) / unit;
}

/* Adds the unknowns of the tangents of one contact: beta of each corner, and their multiplier gamma.
 * `normal`: the unknown of the normal impulse, or -1 if it is fixed. */
static void add_friction(translation *t, const cs_block_group *group, const double *parameters,
                         int64_t row, int64_t normal)
{
    double *lambda = t->solve->lambda, friction = group->set->multiplier(parameters), largest = 0;
    int64_t corners = friction > 0 ? corners_of(t->cone, group, parameters) : 0, first = t->size;
    int moves = 0;

    /* Tangents that no impulse moves have no unknowns. */
    for (int i = 1; i < group->rows; i++) {
        t->cone->place[row + i] = first;
        t->cone->count[row + i] = 0;
        moves |= t->solve->rho[row + i] != 0;
        largest = fmax(largest, t->cone->diagonal[row + i]);
    }
    if (!moves) return;

    /* All tangents are made up of the same corners. */
    double unit = unit_of(largest);
    for (int i = 1; i < group->rows; i++) {
        lambda[row + i] = 0;
        t->cone->count[row + i] = corners;
    }

    /* lambda_t = D beta, in units of impulse. */
    for (int64_t c = 0; c < corners; c++) {
        double d[2];
        unknown *beta = add(t);
        group->set->corner(group->rows, parameters, c, corners, d);
        for (int i = 0; i < group->rows - 1; i++) {
            beta->row[i] = row + 1 + i;
            beta->part[i] = unit * d[i];
        }
    }
    if (!corners) return;

    /* mu lambda_n - e^T beta >= 0; without an unknown lambda_n, its fixed value bounds friction. */
    unknown *gamma = add(t);
    gamma->first = first;
    gamma->count = corners;
    gamma->normal = normal;
    if (normal >= 0) gamma->friction = friction * t->z[normal].part[0] / unit;
    else gamma->room = friction * fmax(lambda[row], 0) / unit;
}

/* Adds the unknowns of one block. */
static void add_block(translation *t, int64_t block)
{
    const cs_block_group *group = cs_block_group_of(t->cone->problem, block);
    int64_t index = block - group->first_block, row = cs_group_row(group, index);
    const double *parameters =
        t->solve->parameters + group->first_parameter + index * group->parameters;

    /* Rows by themselves: all rows but the tangents of a contact with a friction polygon. */
    int box = group->set->bounds, contact = !box && !group->set->bilateral;
    int64_t normal = t->size;
    for (int i = 0; i < group->rows; i++) {
        if (contact && i > 0 && has_polygon(group)) break;
        double lo = box ? parameters[i] : contact ? 0 : -INFINITY;
        double hi = box ? parameters[group->rows + i] : contact && i > 0 ? 0 : INFINITY;
        add_row(t, row + i, lo, hi);
    }

    /* The tangents, bounded by the normal impulse. */
    if (t->size == normal) normal = -1;
    if (contact && has_polygon(group)) add_friction(t, group, parameters, row, normal);
}

/* The maximum number of unknowns of a block with these parameters. */
static int64_t most_unknowns(const cs_cone *cone, const cs_block_group *group,
                             const double *parameters)
{
    return has_polygon(group) ? corners_of(cone, group, parameters) + 2 : 2 * group->rows;
}

/* The same for a block with the parameters of this solve. */
static int64_t most_unknowns_of(const cs_cone_solve *solve, const cs_cone *cone, int64_t block)
{
    const cs_block_group *group = cs_block_group_of(cone->problem, block);
    int64_t index = block - group->first_block;
    return most_unknowns(cone, group,
                         solve->parameters + group->first_parameter + index * group->parameters);
}

double cs_cone_bytes(const cs_cone *cone, int64_t *unknowns)
{
    *unknowns = 0;
    for (int64_t p = 0; p < cone->islands; p++) {
        int64_t sum = 0;
        for (int64_t k = cone->first[p]; k < cone->first[p + 1]; k++) {
            const cs_block_group *group = cs_block_group_of(cone->problem, cone->block[k]);
            int64_t index = cone->block[k] - group->first_block;
            sum += most_unknowns(cone, group, group->parameter + index * group->parameters);
        }
        if (sum > *unknowns) *unknowns = sum;
    }
    return cs_lemke_bytes(*unknowns);
}

/* ---- the LCP --------------------------------------------------------------------------------- */

/* The impulse in `row` per unit of z. */
static double part_of(const unknown *z, int64_t row)
{
    return z->row[0] == row ? z->part[0] : z->part[1];
}

/* Adds row i of A to the LCP: to the rows of the unknowns that make up row i, and to their constants q. */
static void load_row(translation *t, int64_t i)
{
    const cs_cone *cone = t->cone;
    const cs_csr *A = &cone->matrix;
    int64_t n = t->lemke.rows, first = cone->place[i], end = first + cone->count[i];
    double xi = t->solve->b[i];
    for (int64_t e = A->start[i]; e < A->start[i + 1]; e++) {
        /* The constant is the velocity at the origin; the matrix entries are part_u A_ij part_v. */
        int64_t j = A->column[e], begin = cone->place[j];
        xi += A->value[e] * t->solve->lambda[j];
        for (int64_t u = first; u < end; u++) {
            double left = part_of(&t->z[u], i) * A->value[e], *row = t->lemke.matrix + u * n;
            for (int64_t v = begin; v < begin + cone->count[j]; v++)
                row[v] += left * part_of(&t->z[v], j);
        }
    }
    for (int64_t u = first; u < end; u++) t->lemke.q[u] += part_of(&t->z[u], i) * xi;
}

/* Writes the rows and columns of the multipliers. */
static void load_multipliers(translation *t)
{
    int64_t n = t->lemke.rows;
    double *matrix = t->lemke.matrix;
    for (int64_t u = 0; u < n; u++) {
        const unknown *z = &t->z[u];

        /* The multiplier acts on its unknowns, and they reduce its room. */
        for (int64_t v = z->first; v < z->first + z->count; v++) {
            matrix[v * n + u] = 1;
            matrix[u * n + v] = -1;
        }

        /* The normal impulse increases the room. */
        if (z->normal >= 0) matrix[u * n + z->normal] = z->friction;
        if (z->row[0] < 0) t->lemke.q[u] = z->room;
    }
}

/* to (rows) += the impulses of the unknowns lemke.z. */
static void add_impulses(const translation *t, double *to)
{
    for (int64_t u = 0; u < t->size; u++)
        for (int j = 0; j < 2; j++)
            if (t->z[u].row[j] >= 0) to[t->z[u].row[j]] += t->z[u].part[j] * t->lemke.z[u];
}

/* Stores the direction of the ray that Lemke's method has found, as impulses. */
static void keep_ray(translation *t)
{
    double *ray = t->cone->ray, largest = 0;
    int64_t rows = t->cone->problem->rows;
    memset(ray, 0, sizeof(double) * (size_t)rows);
    cs_lemke_ray(&t->lemke);
    add_impulses(t, ray);
    for (int64_t i = 0; i < rows; i++) largest = fmax(largest, fabs(ray[i]));
    for (int64_t i = 0; i < rows && largest > 0; i++) ray[i] /= largest;
}

/* Projects the impulses of contacts on their sets: rounding, or an unfinished solve, may leave them
 * outside. */
static void project(const translation *t, const int64_t *block, int64_t blocks)
{
    for (int64_t k = 0; k < blocks; k++) {
        const cs_block_group *group = cs_block_group_of(t->cone->problem, block[k]);
        int64_t index = block[k] - group->first_block;
        int64_t row = cs_group_row(group, index);
        if (!group->set->contact || t->solve->rho[row] == 0) continue;
        group->set->prox_f64(
            group->rows, t->solve->lambda + row,
            t->solve->parameters + group->first_parameter + index * group->parameters, NULL);
    }
}

/* The function of the cancellation: polls the caller at most every POLL_SECONDS. Non-zero: the solve must
 * end. */
static int is_cancelled(void *context)
{
    cs_cone_solve *solve = context;
    const cs_control *control = solve->control;
    double now = cs_clock();
    int stopped = solve->aborted || solve->outcome == CS_MLCP_STOPPED;
    if (stopped || !control || !control->poll || now - solve->last_poll < POLL_SECONDS)
        return stopped;

    /* Poll: a negative answer aborts the solve, a positive one stops it. */
    solve->last_poll = now;
    int answer = control->poll(control->context, NULL);
    if (answer < 0) solve->aborted = 1;
    if (answer > 0) solve->outcome = CS_MLCP_STOPPED;
    return answer != 0;
}

/* Returns CS_INTERRUPTED if the caller aborted the solve, because an exception raised by the caller must
 * not be lost. */
static cs_status report_abort(const cs_cone_solve *solve, cs_error *error)
{
    if (!solve->aborted) return CS_OK;
    return cs_fail(error, CS_INTERRUPTED, "interrupted at pivot %lld", (long long)solve->pivots);
}

/* One attempt of Lemke's method on the LCP; `end` <- how it ended. */
static cs_status pivot(translation *t, int attempt, cs_lemke_end *end, cs_error *error)
{
    cs_cone_solve *solve = t->solve;
    int64_t limit = solve->max_pivots ? solve->max_pivots : 100 + 20 * t->size;
    cs_lemke_begin(&t->lemke, attempt);
    while (!cs_lemke_pivot(&t->lemke, end)) {
        solve->pivots++;
        if (t->lemke.pivots >= limit) *end = CS_LEMKE_MAX_PIVOTS;
        else if (!is_cancelled(solve)) continue;
        break;
    }
    return report_abort(solve, error);
}

/* Writes and solves the LCP of island p; memory of this solve is in `arena`. */
static cs_status run_island(cs_cone *cone, cs_cone_solve *solve, int64_t p, cs_arena *arena,
                            cs_error *error)
{
    const int64_t *block = cone->block + cone->first[p];
    int64_t blocks = cone->first[p + 1] - cone->first[p], most = 0;
    translation t = {.cone = cone, .solve = solve};
    cs_lemke_end end = CS_LEMKE_SOLVED;

    /* Collect the unknowns. */
    for (int64_t k = 0; k < blocks; k++) most += most_unknowns_of(solve, cone, block[k]);
    t.z = cs_arena_take(arena, most, sizeof *t.z);
    t.free = cs_arena_take(arena, most, 1);
    if (cs_arena_failed(arena)) goto no_memory;
    for (int64_t k = 0; k < blocks; k++) add_block(&t, block[k]);

    /* Write the LCP. */
    t.lemke.free = t.free;
    t.lemke.cancellation = &solve->cancellation;
    if (cs_lemke_take(&t.lemke, t.size, arena)) goto no_memory;
    for (int64_t k = 0; k < blocks; k++)
        for (int64_t i = cs_block_row(cone->problem, block[k]);
             i < cs_block_end(cone->problem, block[k]); i++) {
            load_row(&t, i);
            double written = (double)(cone->count[i] * t.size);
            if (cs_is_cancelled(&solve->cancellation, LOAD_WORK * written))
                return report_abort(solve, error);
        }
    load_multipliers(&t);
    /* A is positive semidefinite and the friction part copositive: a ray is due to rounding errors, or
     * there is no solution. Try other starts. */
    cs_status status = CS_OK;
    for (int attempt = 0; attempt < CS_LEMKE_ATTEMPTS; attempt++) {
        status = pivot(&t, attempt, &end, error);
        if (status) return status;
        if (end != CS_LEMKE_RAY && end != CS_LEMKE_LOST) break;
    }

    /* If all attempts end in a ray, keep it and try once more from the basis of all z. */
    if (end == CS_LEMKE_RAY) {
        cs_lemke_end other;
        keep_ray(&t);
        status = pivot(&t, CS_LEMKE_FROM_ALL, &other, error);
        if (status) return status;
        if (other == CS_LEMKE_SOLVED) end = other;
    }

    /* Take the impulses, and report how the island ended. */
    cs_lemke_finish(&t.lemke);
    add_impulses(&t, solve->lambda);
    project(&t, block, blocks);
    if (solve->outcome == CS_MLCP_STOPPED) return CS_OK;
    if (end == CS_LEMKE_RAY) solve->outcome = CS_MLCP_RAY;
    if (end == CS_LEMKE_MAX_PIVOTS) solve->outcome = CS_MLCP_MAX_PIVOTS;
    if (end == CS_LEMKE_LOST) solve->outcome = CS_MLCP_INACCURATE;
    return report_abort(solve, error);
no_memory:
    if (cs_was_cancelled(&solve->cancellation)) return report_abort(solve, error);
    return cs_no_memory(error, "a dictionary of %lld unknowns",
                        (long long)(t.size ? t.size : most));
}

cs_status cs_cone_run(cs_cone *cone, cs_cone_solve *solve, cs_error *error)
{
    cs_status status = CS_OK;
    solve->cancellation = (cs_cancellation){.is_cancelled = is_cancelled, .context = solve};
    solve->last_poll = cs_clock();
    solve->aborted = 0;
    solve->outcome = CS_MLCP_CONVERGED;
    solve->pivots = 0;

    /* Solve island after island; the memory of one is freed before the next. */
    for (int64_t p = 0; p < cone->islands && !status; p++) {
        cs_arena arena = {0};
        status = run_island(cone, solve, p, &arena, error);
        cs_arena_clear(&arena);
        if (solve->outcome == CS_MLCP_STOPPED) break;
    }
    return status;
}

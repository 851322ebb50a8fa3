/* Multigrid by smoothed aggregation: one cycle.  Vanek, Mandel and Brezina 1996; levels: sparse/multigrid/grid.h
 *
 *     level 0   before, down                                   up, after        phases of tasks, one for each part
 *     level 1                before, down          up, after
 *     level 2                            solve
 *
 * `before` and `after` hold all that needs no other part, so that a part is read from a near cache the second time; `down`
 * and `up` are about the vertices that are coupled with other parts.
 *
 * The first update makes the levels, whose aggregates depend on the values; later ones keep them and all patterns. */
#include "core/error.h"
#include "sparse/multigrid/coarsest.h"
#include "sparse/preconditioner.h"

/* The coarsest level has so many rows at most, unless aggregates no longer get fewer by this factor. */
enum { COARSEST_ROWS = 480, MOST_LEVELS = 24 };
#define LEAST_COARSENING 0.8

/* A level with fewer vertices is left to one thread. */
enum { BRIEF_VERTICES = 1024 };

typedef enum step_kind { BEFORE, DOWN, SOLVE, UP, AFTER } step_kind;

typedef struct step {
    step_kind kind;
    int64_t level;
} step;

typedef struct multigrid {
    cs_grid grid[MOST_LEVELS];
    int64_t levels; /* 0 before the first update */
    cs_coarsest coarsest;
    step step[4 * MOST_LEVELS]; /* of the phases */
    cs_phase phase[4 * MOST_LEVELS];
} multigrid;

static cs_status make(cs_preconditioner *p, cs_error *error)
{
    multigrid *own = cs_arena_take(&p->arena, 1, sizeof *own);
    cs_status status = cs_arena_status(&p->arena, error, "levels");
    if (status) return status;
    p->state = own;
    p->phase = own->phase;
    return cs_grid_begin(&own->grid[0], p->system, p->options.exact, p->options.position, &p->arena,
                         error);
}

/* ---- values of all levels ----------------------------------------------------------------------------------- */

/* The vertex of the finest level that is the root of a vertex of level `level`. */
static int64_t root_of(const multigrid *own, int64_t level, int64_t vertex)
{
    while (level-- > 0) {
        const cs_grid *grid = &own->grid[level];
        vertex = grid->group * grid->root[vertex / grid->width];
    }
    return vertex;
}

/* Whether this level shall be the last; its aggregates are known. */
static int is_last(const cs_grid *grid, int64_t level)
{
    return level + 1 == MOST_LEVELS ||
           (double)grid->aggregates > LEAST_COARSENING * (double)grid->nodes;
}

/* Everything of a level but its values, and of the next one. has_next <- whether there is one. */
static cs_status lay_out(cs_preconditioner *p, int64_t level, int *has_next, cs_error *error)
{
    multigrid *own = p->state;
    cs_grid *grid = &own->grid[level];
    cs_status status = CS_OK;
    *has_next = CS_BLOCK_ROWS * grid->system->vertices > COARSEST_ROWS;
    if (*has_next) {
        status = cs_grid_take_rows(grid, &p->arena, error);
        if (!status) status = cs_grid_aggregate(grid, grid + 1, &p->arena, error);
        *has_next = !status && !is_last(grid, level);
    }
    if (status) return status;
    status = cs_grid_take(grid, *has_next, &p->arena, error);
    if (!*has_next) {
        own->levels = level + 1;
        return status ? status
                      : cs_coarsest_take(&own->coarsest, grid->values, grid->system->single,
                                         &p->arena, error);
    }
    if (!status) status = cs_grid_lay_out(grid, &p->arena, error);
    if (!status) status = cs_grid_lay_out_next(grid, grid + 1, &p->arena, error);
    if (!status) status = cs_grid_take_room(grid, level ? grid - 1 : NULL, &p->arena, error);
    return status;
}

static cs_status interrupted(cs_error *error)
{
    return cs_fail(error, CS_INTERRUPTED, "interrupted while the levels are computed");
}

/* The values of a level's smoother, and of the next level's matrix. */
static cs_status compute(cs_preconditioner *p, int64_t level, double *weight, int threads,
                         cs_cancellation *cancellation, cs_error *error)
{
    multigrid *own = p->state;
    cs_grid *grid = &own->grid[level];
    int64_t indefinite = cs_grid_scale(grid, weight, threads);
    if (indefinite >= 0)
        return cs_preconditioner_indefinite(p, root_of(own, level, indefinite), error);
    if (cs_is_cancelled(cancellation, grid->products)) return interrupted(error);
    return cs_grid_multiply(grid, grid + 1, weight, threads, error);
}

static cs_status factor_coarsest(cs_preconditioner *p, cs_cancellation *cancellation,
                                 cs_error *error)
{
    multigrid *own = p->state;
    int64_t indefinite = cs_coarsest_factor(&own->coarsest, cancellation);
    if (cs_was_cancelled(cancellation)) return interrupted(error);
    if (indefinite < 0) return CS_OK;
    return cs_preconditioner_indefinite(p, root_of(own, own->levels - 1, indefinite), error);
}

/* Makes the levels if there are none yet, and computes their values. */
static cs_status compute_all(cs_preconditioner *p, double *weight, int threads,
                             cs_cancellation *cancellation, cs_error *error)
{
    multigrid *own = p->state;
    int is_new = own->levels == 0, has_next = 1;
    cs_status status = CS_OK;
    for (int64_t level = 0; !status; level++) {
        if (is_new) status = lay_out(p, level, &has_next, error);
        else has_next = level + 1 < own->levels;
        if (status || !has_next) break;
        status = compute(p, level, weight, threads, cancellation, error);
    }
    return status ? status : factor_coarsest(p, cancellation, error);
}

/* ---- what is told ----------------------------------------------------------------------------------------------- */

static double blocks_of(const cs_block_system *s)
{
    return (double)(2 * s->local.blocks - s->vertices + s->outer.blocks);
}

/* Multiplications, and bytes read. */
static void count_work(cs_preconditioner *p)
{
    const multigrid *own = p->state;
    int64_t number = (int64_t)cs_number_size(p->system->single);
    double blocks = 0, bytes = cs_coarsest_work(&own->coarsest) * sizeof(double);
    p->work = cs_coarsest_work(&own->coarsest);
    p->set_up = cs_coarsest_set_up(&own->coarsest);
    for (int64_t l = 0; l < own->levels; l++) {
        const cs_grid *grid = &own->grid[l];
        const cs_block_system *s = grid->system;
        blocks += blocks_of(s);
        if (l + 1 == own->levels) break;
        double smoother = 4 * (double)(s->local.blocks - s->vertices) + 2 * (double)s->outer.blocks;
        double prolongator = 2 * (double)(grid->start[s->vertices] * grid->width);
        double all = smoother + prolongator + 2 * (double)s->vertices;
        p->work += CS_BLOCK_SIZE * all;
        bytes += all * (double)(CS_BLOCK_SIZE * number + (int64_t)sizeof(int32_t));
        p->set_up += grid->products;
        p->set_up += 6.0 * CS_BLOCK_SIZE * (double)(s->local.blocks + s->outer.blocks);
    }
    p->bytes = (int64_t)bytes;
    cs_preconditioner_tell(p, "levels", (double)own->levels);
    cs_preconditioner_tell(p, "complexity", blocks / blocks_of(p->system));
    cs_preconditioner_tell(p, "coarsest", (double)(CS_BLOCK_ROWS * own->coarsest.system->vertices));
}

static void add_phase(cs_preconditioner *p, step_kind kind, int64_t level)
{
    multigrid *own = p->state;
    const cs_block_system *s = own->grid[level].system;
    own->step[p->phases] = (step){kind, level};
    own->phase[p->phases++] = (cs_phase){
        .tasks = kind == SOLVE ? 1 : s->parts,
        .brief = s->vertices < BRIEF_VERTICES,
    };
}

static void list_phases(cs_preconditioner *p)
{
    const multigrid *own = p->state;
    int64_t last = own->levels - 1;
    p->phases = 0;
    for (int64_t l = 0; l < last; l++) {
        add_phase(p, BEFORE, l);
        if (own->grid[l].system->outer.blocks) add_phase(p, DOWN, l);
    }
    add_phase(p, SOLVE, last);
    for (int64_t l = last; l-- > 0;) {
        if (own->grid[l].system->outer.blocks) add_phase(p, UP, l);
        add_phase(p, AFTER, l);
    }
}

static cs_status update(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                        cs_error *error)
{
    multigrid *own = p->state;
    int is_new = own->levels == 0;
    cs_arena scratch = {0};
    cs_arena_mark mark = cs_arena_position(&p->arena);
    double *weight = cs_arena_take(&scratch, p->system->vertices, sizeof *weight);
    cs_status status =
        cs_arena_status(&scratch, error, "%lld weights", (long long)p->system->vertices);
    if (!status) status = compute_all(p, weight, threads, cancellation, error);
    cs_arena_clear(&scratch);

    /* Levels that are not complete are made again. */
    if (status && is_new) {
        own->levels = 0;
        cs_arena_rewind(&p->arena, mark);
        return status;
    }
    if (is_new) {
        count_work(p);
        list_phases(p);
    }
    return status;
}

/* ---- an application ----------------------------------------------------------------------------------------------- */

/* The coarsest level, which may be the only one. */
static void solve(const cs_preconditioner *p)
{
    const multigrid *own = p->state;
    int64_t last = own->levels - 1;
    const cs_grid *grid = &own->grid[last];
    for (int64_t q = 0; last > 0 && q < grid->system->parts; q++)
        cs_grid_kernels_here()->collect[p->system->single](grid - 1, grid, q);
    cs_coarsest_solve(&own->coarsest, last ? grid->right : p->r, last ? grid->right : p->z);
}

static void run(const cs_preconditioner *p, int64_t phase, int64_t part)
{
    const multigrid *own = p->state;
    const step *now = &own->step[phase];
    const cs_grid *grid = &own->grid[now->level];
    const cs_grid_kernels *kernels = cs_grid_kernels_here();
    int single = p->system->single, is_finest = now->level == 0;
    switch (now->kind) {
    case BEFORE:
        if (!is_finest) kernels->collect[single](grid - 1, grid, part);
        cs_block_kernels_here()->reduce[cs_block_form(grid->system, single)](
            &grid->scaled, part, is_finest ? p->r : grid->right, grid->x);
        kernels->copy[single](grid, part);
        kernels->restricts[single](grid, part, 0);
        return;
    case DOWN: kernels->restricts[single](grid, part, 1); return;
    case SOLVE: solve(p); return;
    case UP: kernels->prolong[single](grid, (grid + 1)->right, part, 1); return;
    case AFTER:
        kernels->prolong[single](grid, (grid + 1)->right, part, 0);
        kernels->backward[single](grid, part, is_finest ? p->z : grid->right);
        return;
    }
}

const cs_preconditioner_kind cs_preconditioner_multigrid = {
    .name = "multigrid",
    .summary = "a cycle of smoothed aggregation",
    .make = make,
    .update = update,
    .run = run,
};

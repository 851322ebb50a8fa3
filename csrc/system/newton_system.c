/* Builds the systems of Newton's method, and predicts what a factor costs. */
#include "core/costs.h"
#include "system/newton_system.h"

#include "core/error.h"

/* Fails for whichever reason a pattern was not found, or the blocks not placed. */
static cs_status fail(const cs_cancellation *cancellation, cs_error *error)
{
    if (cs_was_cancelled(cancellation))
        return cs_fail(error, CS_INTERRUPTED, "interrupted while laying out a factor");
    return cs_no_memory(error, "the factor of Newton's method");
}

/* The pattern of H, and the first column of each of its rows. Non-zero: no memory, or cancelled. */
static int find_envelope(const cs_problem *problem, cs_cancellation *cancellation,
                         cs_arena *scratch, cs_pattern *pattern, int64_t **first)
{
    if (cs_pattern_find(pattern, problem, problem->matrix, CS_FILL_RCM, cancellation, scratch))
        return -1;
    *first = cs_pattern_envelope(pattern, scratch);
    return *first ? 0 : -1;
}

/* Whether L U of H with S costs less than GMRES with a factor of the symmetric part (core/costs.h). */
static int eliminates(const cs_problem *problem, const cs_profile *profile, const int64_t *first)
{
    double entries = 0;
    for (int64_t i = 0; i < profile->rows; i++) entries += (double)(i + 1 - first[i]);
    double products = CS_COST_GMRES_STEPS * (CS_COST_GMRES_CONTACT * (double)problem->blocks +
                                             CS_COST_GMRES_ENTRY * entries);
    return !problem->matrix && CS_COST_ELIMINATE_MULTIPLY * cs_profile_work(profile) < products;
}

cs_status cs_newton_size_of(const cs_problem *problem, cs_cancellation *cancellation,
                            cs_newton_size *size, cs_error *error)
{
    cs_arena scratch = {0};
    cs_pattern pattern;
    cs_profile profile = {0};
    int64_t *first = NULL;
    cs_status status = CS_OK;
    *size = (cs_newton_size){0};
    if (find_envelope(problem, cancellation, &scratch, &pattern, &first) ||
        cs_profile_shape(&profile, pattern.unknowns, first, &scratch)) {
        status = fail(cancellation, error);
        goto out;
    }

    /* L U, where it pays, and Cholesky's factor. */
    if (eliminates(problem, &profile, first)) size->elimination = cs_profile_work(&profile);
    for (int64_t i = 0; i < pattern.unknowns; i++) {
        double width = (double)(i + 1 - first[i]);
        size->entries += width;
        size->multiplications += width * width / 2;
    }
out:
    cs_arena_clear(&scratch);
    return status;
}

/* S, T and L of all blocks, and vectors. Non-zero: no memory. */
static int take_arrays(cs_newton_system *system, cs_arena *arena)
{
    const cs_problem *problem = system->problem;
    int64_t squares = system->blocks.squares, rows = problem->rows;
    system->slope = cs_arena_take(arena, squares, sizeof(double));
    system->symmetric = cs_arena_take(arena, squares, sizeof(double));
    if (problem->matrix) system->root = cs_arena_take(arena, squares, sizeof(double));
    if (system->blocks.compliant) system->inverse = cs_arena_take(arena, squares, sizeof(double));
    system->y = cs_arena_take(arena, system->blocks.unknowns, sizeof(double));
    system->work = cs_arena_take(arena, rows, sizeof(double));
    system->right = cs_arena_take(arena, rows, sizeof(double));
    system->basis = cs_arena_take(arena, (CS_KRYLOV + 1) * rows, sizeof(double));
    return cs_arena_failed(arena);
}

/* H in panels; and its profile, with room for L U where that pays. Non-zero: no memory. */
static int take_factors(cs_newton_system *system, const int64_t *first, cs_arena *arena)
{
    int64_t unknowns = system->blocks.unknowns;
    if (cs_panels_take(&system->panels, unknowns, first, arena) ||
        cs_profile_shape(&system->profile, unknowns, first, arena))
        return -1;
    cs_panels_shape(&system->panels, unknowns, first);
    return eliminates(system->problem, &system->profile, first) &&
           cs_profile_take(&system->profile, arena);
}

cs_status cs_newton_system_build(cs_newton_system *system, const cs_problem *problem,
                                 const double *scale, double bytes, cs_cancellation *cancellation,
                                 cs_arena *arena, cs_error *error)
{
    *system = (cs_newton_system){.problem = problem, .scale = scale};
    cs_arena scratch = {0};
    cs_pattern pattern;
    int64_t *first = NULL;
    cs_status status = CS_OK;
    if (find_envelope(problem, cancellation, &scratch, &pattern, &first)) {
        status = fail(cancellation, error);
        goto out;
    }

    /* Refuse a factor that is too large before anything is allocated for it. */
    double needed = 8.0 * (double)cs_panels_size(pattern.unknowns, first);
    if (needed > bytes) {
        status = cs_fail(error, CS_UNSUPPORTED,
                         "method='newton' needs a factor of %.3g bytes, and factor_bytes is %.3g: "
                         "increase it, or use a method that sweeps",
                         needed, bytes);
        goto out;
    }

    if (cs_system_blocks_take(&system->blocks, &pattern, cancellation, arena) ||
        take_arrays(system, arena) || take_factors(system, first, arena))
        status = fail(cancellation, error);
out:
    cs_arena_clear(&scratch);
    return status;
}

/* The factors R: how far a step moves the impulses of a block along its residual velocity.
 *
 *     local     rho_s = 1 / max diag(A_ss) in each coupled set s (S2 eqs. 4.42, 4.43), divided by
 *               max(1, lambda_max(R^1/2 A_kk R^1/2)) so that a single block never overshoots
 *     diagonal  rho_s itself: S2's R
 *     block     1 / lambda_max(A_kk) in every row of the block
 *     balanced  local, and then adapted to the residuals (solver/steps/balance.c)
 *     global    one number for all rows, from the eigenvalues of A (solver/steps/global_factor.c)
 *     number    one number for all rows, given by the user
 *     exact     A_kk^-1, for free blocks
 *     inner     1 / lambda_max(A_ss) in each coupled set, for blocks whose local problem is solved set by set
 *
 * The rows of one coupled set must have equal factors: otherwise the iteration converges to a wrong solution. In this
 * file, `diagonal` (m, m) is A_kk, and `rho` and `r` (m) are those of one block. */
#include "core/error.h"
#include "core/parallel.h"
#include "linalg/small.h"
#include "problem/block_lanes.h"
#include "solver/solver.h"

#include <math.h>
#include <string.h>

/* lambda_max(R^1/2 A_kk R^1/2): above 2, the iteration of this block alone diverges; above 1, it overshoots. */
static double overshoot(int rows, const double *diagonal, const double *r)
{
    double scaled[CS_MAX_ROWS * CS_MAX_ROWS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            scaled[i * rows + j] = sqrt(r[i]) * sqrt(r[j]) * diagonal[i * rows + j];
    return cs_largest_eigenvalue(rows, scaled);
}

/* r_factor="local" */
static void local_factors(int rows, const double *diagonal, const double *rho, double *r)
{
    double scale = fmax(1, overshoot(rows, diagonal, rho));
    for (int i = 0; i < rows; i++) r[i] = rho[i] / scale;
}

/* r_factor="block" */
static void block_factors(int rows, const double *diagonal, const double *rho, double *r)
{
    double largest = cs_largest_eigenvalue(rows, diagonal);
    for (int i = 0; i < rows; i++) r[i] = rho[i] > 0 && largest > 0 ? 1 / largest : 0;
}

/* 1 / lambda_max(A_ss) in every row of each coupled set s: the steps inside a local problem. */
static void inner_factors(const cs_block_group *group, const double *diagonal, const double *rho,
                          double *r)
{
    double part[CS_MAX_ROWS * CS_MAX_ROWS];
    for (int s = 0; s <= group->coupled_set[group->rows - 1]; s++) {
        /* part <- A_ss */
        int row[CS_MAX_ROWS], count = 0;
        for (int i = 0; i < group->rows; i++)
            if (group->coupled_set[i] == s) row[count++] = i;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < count; j++)
                part[i * count + j] = diagonal[row[i] * group->rows + row[j]];

        /* The factor of its rows. */
        double largest = cs_largest_eigenvalue(count, part);
        for (int i = 0; i < count; i++) r[row[i]] = rho[row[i]] > 0 ? 1 / largest : 0;
    }
}

/* r_factor is a number. */
static void number_factors(int rows, double value, const double *rho, double *r)
{
    for (int i = 0; i < rows; i++) r[i] = rho[i] > 0 ? value : 0;
}

/* step (m, m) <- A_kk^-1, or the diagonal matrix of `r` if A_kk is singular. Returns whether it is singular. */
static int exact_step(int rows, const double *diagonal, const double *r, double *step)
{
    if (cs_invert(rows, diagonal, step) == 0) return 0;
    memset(step, 0, sizeof(double) * (size_t)(rows * rows));
    for (int i = 0; i < rows; i++) step[i * rows + i] = r[i];
    return 1;
}

static int is_zero(int count, const double *values)
{
    for (int i = 0; i < count; i++)
        if (values[i] != 0) return 0;
    return 1;
}

/* r <- the factors of one block, with relaxation. With r_factor="global", they are replaced later. */
static void choose_factors(const cs_options *options, const cs_block_group *group, cs_local local,
                           const double *diagonal, const double *rho, double *r)
{
    int rows = group->rows;
    if (cs_solves_block(local)) inner_factors(group, diagonal, rho, r);
    else if (!options->r_factor) number_factors(rows, options->r_value, rho, r);
    else if (strcmp(options->r_factor, "block") == 0) block_factors(rows, diagonal, rho, r);
    else if (strcmp(options->r_factor, "diagonal") == 0) memcpy(r, rho, sizeof *r * (size_t)rows);
    else local_factors(rows, diagonal, rho, r);
    for (int i = 0; i < rows; i++) r[i] *= options->relaxation;
}

/* Whether the sweeps' precision can represent `value` and 1 / value: neither is infinite or flushed to zero. */
static int is_invertible(cs_dtype dtype, double value)
{
    if (cs_stored(dtype) == CS_F64) return isnormal(value) && isnormal(1 / value);
    return isnormal((float)value) && isnormal((float)(1 / value));
}

/* Fails if the largest diagonal entry of a coupled set overflows or nearly vanishes. The set would otherwise be
 * treated as immovable. */
static cs_status check_diagonal(const cs_solver *solver, const cs_block_group *group, int64_t index,
                                const double *diagonal, cs_error *error)
{
    /* The row of the largest diagonal entry of each coupled set. */
    int rows = group->rows, narrow = cs_stored(solver->packing.dtype) == CS_F32,
        largest[CS_MAX_ROWS];
    for (int i = rows - 1; i >= 0; i--) largest[group->coupled_set[i]] = i;
    for (int i = 0; i < rows; i++) {
        int *row = &largest[group->coupled_set[i]];
        double entry = diagonal[i * rows + i];
        if (!(entry <= diagonal[*row * rows + *row])) *row = i; /* a NaN counts as largest */
    }

    /* Test these entries; zero is allowed. */
    for (int i = 0; i < rows; i++) {
        double entry = diagonal[i * rows + i];
        if (largest[group->coupled_set[i]] != i || entry == 0) continue;
        if (is_invertible(solver->packing.dtype, entry)) continue;
        long long row = (long long)(cs_group_row(group, index) + i);
        return cs_fail(error, CS_INVALID, "A[%lld, %lld] of contact %lld is %s, too %s for %s%s",
                       row, row, (long long)(group->first_block + index), cs_number(entry).text,
                       entry < 1 ? "small" : "large", narrow ? "float32" : "float64",
                       narrow ? ": use dtype='float64'" : ": use other units");
    }
    return CS_OK;
}

/* The blocks `first` ... `end` - 1 of group g, whose factors one thread computes. */
typedef struct choosing {
    cs_solver *solver;
    int g;
    cs_local local;
    int64_t first, end;
    int64_t immovable, singular; /* numbers of such blocks */
    cs_error error;
} choosing;

/* Computes rho and R of block k from its A_kk. */
static cs_status choose_block(choosing *c, int64_t k, const double *diagonal)
{
    /* rho, from A_kk. */
    cs_solver *solver = c->solver;
    const cs_options *options = &solver->options;
    const cs_block_group *group = &solver->problem->block_group[c->g];
    int rows = group->rows;
    double *rho = solver->factors.rho + cs_group_row(group, k);
    double *r = solver->factors.r + cs_group_row(group, k);
    double *step = solver->factors.step[c->g] ? solver->factors.step[c->g] + k * rows * rows : NULL;
    cs_status status = check_diagonal(solver, group, k, diagonal, &c->error);
    if (status) return status;
    cs_set_scales(group, diagonal, rho);

    /* R, from A_kk or, if masses are split, from the A_kk of the divided masses. */
    double split[CS_MAX_ROWS * CS_MAX_ROWS], scales[CS_MAX_ROWS];
    memcpy(scales, rho, sizeof(double) * (size_t)rows);
    if (cs_sees_split_masses(solver, group->first_block + k)) {
        cs_split_diagonal(solver, group, k, split);
        cs_set_scales(group, split, scales);
        diagonal = split;
    }
    choose_factors(options, group, c->local, diagonal, scales, r);

    /* The matrix of the block: A_kk for a local problem, the full R_k for an exact step. */
    int immovable = is_zero(rows, rho);
    c->immovable += immovable;
    if (cs_solves_block(c->local)) memcpy(step, diagonal, sizeof(double) * (size_t)(rows * rows));
    if (c->local != CS_EXACT) return CS_OK;
    if (exact_step(rows, diagonal, r, step)) c->singular += !immovable;
    else
        for (int i = 0; i < rows * rows; i++) step[i] *= options->relaxation;
    return CS_OK;
}

/* How many blocks ahead the Jacobians are prefetched. */
enum { AHEAD = 2 * CS_BLOCK_LANES };

/* ---- CS_BLOCK_LANES blocks at once, one in each lane (problem/block_lanes.h) --------------------- */

/* Writes the local factors of blocks k, k + 1, ... block by block. */
CS_INLINE void put_lanes(const choosing *c, int rows, int64_t k, const double *rho, const double *r)
{
    const cs_solver *solver = c->solver;
    const cs_block_group *group = &solver->problem->block_group[c->g];
    double *to_rho = solver->factors.rho + cs_group_row(group, k);
    double *to_r = solver->factors.r + cs_group_row(group, k);
    for (int l = 0; l < CS_BLOCK_LANES; l++) CS_UNROLL for (int i = 0; i < rows; i++)
        {
            to_rho[l * rows + i] = rho[i * CS_BLOCK_LANES + l];
            to_r[l * rows + i] = r[i * CS_BLOCK_LANES + l];
        }
}

/* choose_block for the local factors of blocks k, k + 1, ... if their diagonals are plain. Returns whether they are.
 * Loops over a constant number of rows unroll. */
static int choose_lanes(const choosing *c, int64_t k, const double *diagonal)
{
    _Alignas(64) double rho[CS_MAX_ROWS * CS_BLOCK_LANES], r[CS_MAX_ROWS * CS_BLOCK_LANES];
    const cs_block_group *group = &c->solver->problem->block_group[c->g];
    if (!cs_block_lanes_widest()->local(group->rows, group->coupled_set, diagonal,
                                        c->solver->options.relaxation, rho, r))
        return 0;
    if (group->rows == 2) put_lanes(c, 2, k, rho, r);
    else if (group->rows == 3) put_lanes(c, 3, k, rho, r);
    else put_lanes(c, 4, k, rho, r);
    return 1;
}

/* Whether the blocks have a projected step with local factors; r_factor="global" and "balanced" begin with these. */
static int are_local(const choosing *c)
{
    const char *factor = c->solver->options.r_factor;
    return c->local == CS_PROJECTED && !c->solver->factors.touching && factor &&
           strcmp(factor, "block") != 0 && strcmp(factor, "diagonal") != 0;
}

/* Computes rho and R of the blocks k ... k + CS_BLOCK_LANES - 1. */
static cs_status choose_by_lanes(choosing *c, int64_t k)
{
    /* A_kk of all lanes, with compliance. */
    const cs_problem *problem = c->solver->problem;
    const cs_block_group *group = &problem->block_group[c->g];
    int size = group->rows * group->rows;
    cs_block_lanes lanes;
    _Alignas(64) double diagonal[CS_MAX_ROWS * CS_MAX_ROWS * CS_BLOCK_LANES];
    double own[CS_MAX_ROWS * CS_MAX_ROWS];
    int64_t index[CS_BLOCK_LANES];
    for (int l = 0; l < CS_BLOCK_LANES; l++) index[l] = k + l;
    cs_block_lanes_find(problem, group, index, &lanes);
    cs_block_lanes_widest()->diagonals(&lanes, diagonal);
    for (int l = 0; l < CS_BLOCK_LANES && group->compliance; l++)
        for (int i = 0; i < group->rows; i++)
            diagonal[i * (group->rows + 1) * CS_BLOCK_LANES + l] +=
                group->compliance[(k + l) * group->rows + i];

    /* The usual case: all lanes at once. */
    if (!lanes.twofold && are_local(c) && choose_lanes(c, k, diagonal)) return CS_OK;

    /* Otherwise: lane after lane. */
    for (int l = 0; l < CS_BLOCK_LANES; l++) {
        for (int i = 0; i < size; i++) own[i] = diagonal[i * CS_BLOCK_LANES + l];
        if (lanes.twofold) cs_diagonal_block(problem, group, k + l, own);
        cs_status status = choose_block(c, k + l, own);
        if (status) return status;
    }
    return CS_OK;
}

/* Computes rho and R of all blocks of a piece. */
static cs_status choose_piece(choosing *c)
{
    /* As many as fill lanes, if the group fits. */
    const cs_problem *problem = c->solver->problem;
    const cs_block_group *group = &problem->block_group[c->g];
    int64_t k = c->first, size = cs_jacobian_numbers(group);
    cs_status status = CS_OK;
    if (cs_block_lanes_fit(problem, group))
        for (; k + CS_BLOCK_LANES <= c->end && !status; k += CS_BLOCK_LANES) {
            if (k + AHEAD + CS_BLOCK_LANES <= group->count)
                cs_prefetch(cs_stored_jacobian(group, k + AHEAD), CS_BLOCK_LANES * size);
            status = choose_by_lanes(c, k);
        }

    /* The others, one by one. */
    for (; k < c->end && !status; k++) {
        double diagonal[CS_MAX_ROWS * CS_MAX_ROWS];
        cs_diagonal_block(problem, group, k, diagonal);
        status = choose_block(c, k, diagonal);
    }
    return status;
}

/* ---- all groups ------------------------------------------------------------------------------ */

/* The work of one thread. Failures go to the piece's error. */
static void work(void *context, int thread)
{
    choosing *c = (choosing *)context + thread;
    choose_piece(c);
}

/* Computes rho and R of a group. Threads share its blocks, because the factors of a block depend on that block only.
 * If several blocks fail, the error is that of the first one. */
static cs_status choose_group(cs_solver *solver, int g, cs_local local, cs_error *error)
{
    /* Divide the group into pieces, and compute them. */
    choosing piece[CS_MOST_PIECES];
    int64_t count = solver->problem->block_group[g].count;
    int pieces = cs_pieces(solver->setup_threads, count);
    for (int p = 0; p < pieces; p++)
        piece[p] = (choosing){.solver = solver,
                              .g = g,
                              .local = local,
                              .first = count * p / pieces,
                              .end = count * (p + 1) / pieces};
    if (pieces == 1) work(piece, 0);
    else cs_parallel(pieces, work, piece);

    /* Collect errors and counts, piece by piece. */
    for (int p = 0; p < pieces; p++) {
        cs_status status = piece[p].error.status;
        if (status && error) *error = piece[p].error;
        if (status) return status;
        solver->judge.immovable_blocks += piece[p].immovable;
        solver->factors.singular_blocks += piece[p].singular;
    }
    return CS_OK;
}

/* How the blocks of a set are updated, from the option `local`. */
static cs_local choose_local(const cs_options *options, const cs_set *set)
{
    if (strcmp(options->local, "projected") == 0) return CS_PROJECTED;
    if (set->bilateral) return CS_EXACT;
    static const char *const word[] = {"block", "newton", "quartic"};
    for (int i = 0; i < 3; i++)
        if (strcmp(options->local, word[i]) == 0) return (cs_local)(CS_BLOCK + i);
    return CS_PROJECTED;
}

int cs_solves_blocks(const cs_options *options)
{
    static const cs_set any = {0};
    return cs_solves_block(choose_local(options, &any));
}

int cs_is_global(const cs_options *options)
{
    return options->r_factor && strcmp(options->r_factor, "global") == 0 &&
           !cs_solves_blocks(options);
}

/* Writes the global factor to R_k of free blocks whose A_kk is singular: they have diagonal factors, and the global
 * one was not known when these were computed. */
static void update_singular(cs_solver *solver, int g)
{
    const cs_block_group *group = &solver->problem->block_group[g];
    int rows = group->rows, size = rows * rows;
    for (int64_t k = 0; k < group->count; k++) {
        double diagonal[CS_MAX_ROWS * CS_MAX_ROWS], inverse[CS_MAX_ROWS * CS_MAX_ROWS];
        cs_diagonal_block(solver->problem, group, k, diagonal);
        if (cs_invert(rows, diagonal, inverse) == 0) continue;
        double *step = solver->factors.step[g] + k * size;
        for (int i = 0; i < rows; i++)
            step[i * rows + i] = solver->factors.r[cs_group_row(group, k) + i];
    }
}

cs_status cs_choose_steps(cs_solver *solver, cs_local *local, cs_error *error)
{
    /* For split masses: among how many blocks or parts. */
    const cs_problem *problem = solver->problem;
    int by_parts = !solver->method->without_sweeps && solver->schedule.touching_parts;
    if (solver->method->splits || by_parts) {
        cs_status status =
            by_parts ? cs_take_border(solver, error) : cs_count_touching(solver, error);
        if (status) return status;
    }

    /* The factors of each group. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        local[g] = choose_local(&solver->options, group->set);
        if (local[g] != CS_PROJECTED) {
            int64_t entries = group->count * group->rows * group->rows;
            solver->factors.step[g] = cs_arena_take(&solver->arena, entries, sizeof(double));
            if (!solver->factors.step[g]) return cs_no_memory(error, "local solves");
        }
        cs_status status = choose_group(solver, g, local[g], error);
        if (status) return status;
    }

    /* The global factor, which needs rho of all rows. */
    if (!cs_is_global(&solver->options)) return CS_OK;
    cs_status status = cs_global_factor(solver, error);
    for (int g = 0; g < problem->block_groups && !status; g++)
        if (local[g] == CS_EXACT) update_singular(solver, g);
    return status;
}

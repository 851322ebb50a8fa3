/* r_factor="balanced": the factor of each coupled set adapts to the set's own residuals.
 *
 * Let e and e' be the residuals of a set in two successive sweeps (S1 eq. 3.29). If the set and the responses of its
 * neighbours act like a single number a, a step with factor r leaves e' = (1 - r a) e. With
 *
 *     rho = e.e' / e.e = 1 - r a,     the factor     r / (1 - rho) = 1 / a
 *
 * would have left no residual. After each sweep, the factor is multiplied by the square root of 1 / (1 - rho), which is
 * half of the way in the logarithm: sets that overshoot (rho < 0) take shorter steps, slow sets (rho > 0) longer
 * ones. This is the local update of R that S1 section 3.6 asks for; it computes the factors nu of section 3.5 during
 * the solve. */
#include "core/error.h"
#include "solver/solver.h"

#include <math.h>
#include <string.h>

/* Bounds of a set's factor, as multiples of the local factor. 1 / 32 corresponds to the five halvings that S1 allows;
 * with a multiple above 2, not even a single block converges. */
#define SHORTEST (1.0 / 32)
#define LONGEST 1.5
/* rho is restricted to these bounds, so that one sweep changes a factor by at most sqrt(2). */
#define LEAST_RHO (-1.0)
#define LARGEST_RHO 0.5

int cs_is_balanced(const cs_options *options)
{
    return options->r_factor && strcmp(options->r_factor, "balanced") == 0;
}

cs_status cs_balance_take(cs_solver *solver, cs_error *error)
{
    cs_balance *balance = &solver->factors.balance;
    int64_t rows = solver->problem->rows;
    *balance = (cs_balance){0};
    if (!cs_is_balanced(&solver->options)) return CS_OK;
    balance->factor = cs_arena_take(&solver->arena, rows, sizeof(double));
    balance->before = cs_arena_take(&solver->arena, rows, sizeof(double));
    balance->change = cs_arena_take(&solver->arena, rows, sizeof(double));
    balance->r = cs_arena_take(&solver->arena, rows, sizeof(double));
    balance->moved = cs_arena_take(&solver->arena, solver->problem->blocks, 1);
    return cs_arena_status(&solver->arena, error, "balancing r-factors");
}

void cs_balance_forget(cs_solver *solver)
{
    cs_balance *balance = &solver->factors.balance;
    if (!balance->factor) return;
    cs_packing_get(&solver->packing, balance->before);
    memset(balance->change, 0, sizeof(double) * (size_t)solver->problem->rows);
}

void cs_balance_begin(cs_solver *solver)
{
    cs_balance *balance = &solver->factors.balance;
    if (!balance->factor) return;
    for (int64_t i = 0; i < solver->problem->rows; i++) balance->factor[i] = 1;
    balance->changed = 0;
    cs_balance_forget(solver);
}

/* The data of one block (m): its change in the sweep before the last one, its change in the last sweep, and its
 * impulses after that. A change below noise x the largest impulse may be a rounding error. */
typedef struct pair {
    const double *change, *latest, *impulse;
    double noise;
} pair;

/* The number by which the factor of coupled set `s` is multiplied; 1 if the last but one change is unknown or may be
 * a rounding error. */
static double correction(const cs_block_group *group, int s, const pair *residuals)
{
    /* e.e and e.e' of the set. */
    double square = 0, product = 0, largest = 0;
    for (int i = 0; i < group->rows; i++) {
        if (group->coupled_set[i] != s) continue;
        double change = residuals->change[i], latest = residuals->latest[i];
        square += change * change;
        product += change * latest;
        largest = fmax(largest, fmax(fabs(latest), fabs(residuals->impulse[i])));
    }

    /* The factor. */
    if (!(sqrt(square) > residuals->noise * largest) || product == 0) return 1;
    double rho = product / square;
    if (!(rho > LEAST_RHO)) rho = LEAST_RHO;
    return 1 / sqrt(1 - fmin(rho, LARGEST_RHO));
}

/* Updates the factors (m) of one block after a sweep. Returns whether one of them changed. */
static int balance_block(const cs_block_group *group, const pair *residuals, double *factor)
{
    /* The number of coupled sets, less one. */
    int changed = 0, last = 0;
    for (int i = 0; i < group->rows; i++)
        if (group->coupled_set[i] > last) last = group->coupled_set[i];

    /* Multiply the factors of each set, within the bounds. */
    for (int s = 0; s <= last; s++) {
        double multiple = correction(group, s, residuals);
        for (int i = 0; i < group->rows; i++) {
            if (group->coupled_set[i] != s) continue;
            double next = fmin(fmax(factor[i] * multiple, SHORTEST), LONGEST);
            changed |= next != factor[i];
            factor[i] = next;
        }
    }
    return changed;
}

/* Updates the factors of all blocks of a group, and R from them. Blocks with a full R_k have no factors. */
static void balance_group(cs_solver *solver, int g)
{
    cs_balance *balance = &solver->factors.balance;
    const cs_block_group *group = &solver->problem->block_group[g];
    unsigned char *moved = balance->moved + group->first_block;
    if (solver->factors.step[g]) return;
    double noise = cs_rounding_noise(solver->packing.dtype);
    for (int64_t k = 0; k < group->count; k++) {
        /* The last two changes of the block, and its new factors. */
        int64_t row = cs_group_row(group, k);
        double *before = balance->before + row, *factor = balance->factor + row;
        double *change = balance->change + row, *r = balance->r + row;
        double latest[CS_MAX_ROWS];
        for (int i = 0; i < group->rows; i++) latest[i] = solver->lambda[row + i] - before[i];
        pair residuals = {change, latest, solver->lambda + row, noise};
        moved[k] = (unsigned char)balance_block(group, &residuals, factor);

        /* Keep them for the next sweep, and compute R. */
        for (int i = 0; i < group->rows; i++) {
            before[i] = solver->lambda[row + i];
            change[i] = latest[i];
            r[i] = solver->factors.r[row + i] * solver->factors.scale * factor[i];
        }
        balance->changed |= moved[k];
    }
}

void cs_balance_steps(cs_solver *solver)
{
    cs_balance *balance = &solver->factors.balance;
    cs_packing *packing = &solver->packing;
    if (!balance->factor) return;
    cs_packing_get(packing, solver->lambda);
    for (int g = 0; g < solver->problem->block_groups; g++) balance_group(solver, g);
    packing->backend->replace_steps(packing->state, balance->r, balance->moved);
}

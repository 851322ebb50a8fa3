/* Sums over the parts of the problem, where the schedule has them (solver/steps/part_sums.h). */
#include "solver/steps/part_sums.h"

#include "core/error.h"
#include "core/splitmix.h"

/* x.y over the rows of one block. */
static double product(const cs_block_group *group, int64_t index, const double *x, const double *y)
{
    double sum = 0;
    int64_t row = cs_group_row(group, index);
    for (int i = 0; i < group->rows; i++) sum += x[row + i] * y[row + i];
    return sum;
}

double cs_part_dot(void *context, const double *x, const double *y)
{
    const cs_solver_sums *sums = context;
    const cs_schedule *schedule = &sums->solver->schedule;
    const cs_problem *problem = sums->solver->problem;
    double *of_owner = sums->of_owner;
    for (int64_t p = 0; p < schedule->owners; p++) of_owner[p] = 0;
    for (int64_t p = 0; p < schedule->parts; p++)
        for (int64_t r = schedule->part[p]; r < schedule->part[p + 1]; r++) {
            const cs_range *range = &schedule->range[r];
            const int64_t *visit = schedule->visit[range->group];
            for (int64_t v = range->first; v < range->first + range->count; v++)
                of_owner[schedule->owner[p]] +=
                    product(&problem->block_group[range->group], visit[v], x, y);
        }
    return cs_ranks_sum(sums->solver->ranks, of_owner, schedule->owners);
}

void cs_part_of_blocks(const cs_solver *solver, int64_t *part)
{
    /* On ranks, the share knows those of other ranks' visits, too. */
    const cs_schedule *schedule = &solver->schedule;
    if (solver->ranks) {
        memcpy(part, cs_ranks_share(solver->ranks)->part,
               sizeof *part * (size_t)solver->problem->blocks);
        return;
    }
    for (int64_t p = 0; p < schedule->parts; p++)
        for (int64_t r = schedule->part[p]; r < schedule->part[p + 1]; r++) {
            const cs_range *range = &schedule->range[r];
            int64_t first_block = solver->problem->block_group[range->group].first_block;
            const int64_t *visit = schedule->visit[range->group] + range->first;
            for (int64_t v = 0; v < range->count; v++)
                part[first_block + visit[v]] = schedule->owner[p];
        }
}

/* A number from -1/2 to 1/2 that depends on a contact and a row only: of the sequence that begins with state 0, one for each
 * row of the problem. */
static double number_of(int64_t contact, int row)
{
    uint64_t state = ((uint64_t)contact * CS_MAX_ROWS + (uint64_t)row) * CS_SPLITMIX_STEP;
    return (double)(cs_splitmix(&state) >> 11) / 9007199254740992.0 - 0.5;
}

/* start <- such numbers in rows that move something. */
static void begin(const cs_solver *solver, double *start)
{
    for (int64_t k = 0; k < solver->problem->blocks; k++) {
        int64_t row = cs_block_row(solver->problem, k), end = cs_block_end(solver->problem, k);
        int64_t contact = cs_ranks_contact(solver->ranks, k);
        for (int64_t i = row; i < end; i++)
            start[i] = solver->factors.rho[i] > 0 ? number_of(contact, (int)(i - row)) : 0;
    }
}

int cs_solver_lanczos(const cs_solver *solver, cs_product multiply, void *context, double *start,
                      cs_spectrum *spectrum)
{
    /* Without parts. */
    int64_t rows = solver->problem->rows;
    int threads = cs_products_threads(&solver->products);
    if (!solver->schedule.owner) {
        cs_lanczos_start(solver->problem, solver->factors.rho, start);
        return cs_lanczos(rows, threads, multiply, context, start, spectrum);
    }

    /* By parts. */
    cs_solver_sums own = {solver, cs_allocate(solver->schedule.owners, sizeof(double))};
    if (!own.of_owner) return -1;
    begin(solver, start);
    int64_t all = solver->ranks ? cs_ranks_rows(solver->ranks) : rows;
    cs_vector_sums sums = {all, cs_part_dot, &own};
    int failed = cs_lanczos_with(rows, threads, &sums, multiply, context, start, spectrum);
    cs_release(own.of_owner);
    return failed;
}

/* Sums over the parts of the problem (cs_sum_over_parts). Threads compute the numbers of blocks, one adds them. */
#include "measure/measure.h"

/* What threads compute. */
typedef struct numbers {
    const cs_state *state;
    cs_block_number number;
    const void *context;
} numbers;

static void compute_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const numbers *all = context;
    const cs_problem *problem = all->state->problem;
    (void)piece;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        double *of_block = all->state->sums->of_block + group->first_block;
        int64_t k, last;
        if (!cs_group_part(group, begin, end, &k, &last)) continue;
        for (; k < last; k++) of_block[k] = all->number(all->state, all->context, group, k);
    }
}

double cs_sum_over_parts(const cs_state *state, cs_block_number number, const void *context)
{
    const cs_schedule *schedule = state->sums->schedule;
    double *of_owner = state->sums->of_owner;
    numbers all = {state, number, context};
    cs_loop(state->threads, state->problem->blocks, compute_piece, &all);

    /* Over each part of the problem. Of a part of another rank only some contacts are here, and that sum is not used. */
    for (int64_t p = 0; p < schedule->owners; p++) of_owner[p] = 0;
    for (int64_t p = 0; p < schedule->parts; p++)
        for (int64_t r = schedule->part[p]; r < schedule->part[p + 1]; r++) {
            const cs_range *range = &schedule->range[r];
            const int64_t *visit = schedule->visit[range->group];
            const double *of_block =
                state->sums->of_block + state->problem->block_group[range->group].first_block;
            for (int64_t v = range->first; v < range->first + range->count; v++)
                of_owner[schedule->owner[p]] += of_block[visit[v]];
        }
    return cs_ranks_sum(state->ranks, of_owner, schedule->owners);
}

/* Two vectors, of which the second may be missing. */
typedef struct two {
    const double *x, *y;
} two;

static double square_of_block(const cs_state *state, const void *context,
                              const cs_block_group *group, int64_t index)
{
    (void)state;
    const two *vectors = context;
    double square = 0;
    int64_t row = cs_group_row(group, index);
    for (int i = 0; i < group->rows; i++) {
        double value = vectors->x[row + i] - (vectors->y ? vectors->y[row + i] : 0);
        square += value * value;
    }
    return square;
}

double cs_square_over_parts(const cs_state *state, const double *x, const double *y)
{
    return cs_sum_over_parts(state, square_of_block, &(two){x, y});
}

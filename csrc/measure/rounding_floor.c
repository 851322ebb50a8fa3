/* The rounding floor: the largest natural map that rounding errors alone may cause.
 *
 *     phi_s = 4 eps max(rho_s (|A| |lambda| + |b|)_s + |lambda_s|)
 *
 * Where A is not formed, the upper bound |J| |M^-1| |J^T| |lambda| + Sigma |lambda| replaces |A| |lambda|.
 * Whether an iterate meets a tolerance below phi_s is a matter of chance. */
#include "measure/measure.h"

#include <float.h>
#include <math.h>

/* The floors of the pieces of a loop over all blocks. */
typedef struct floors {
    const cs_state *state;
    const double *magnitude; /* (rows) */
    double units;
    cs_floor piece[CS_LOOP_PIECES];
} floors;

/* Adds the sets of one block. */
static void add_block(const floors *all, const cs_block_group *group, int64_t index,
                      cs_floor *found)
{
    const cs_state *state = all->state;
    int64_t block = group->first_block + index, row = cs_group_row(group, index);
    cs_set_defect sets[CS_MAX_ROWS];
    double phi[CS_MAX_ROWS];
    cs_set_bounds bounds = cs_bounds_of(state, block);
    bounds.units = all->units;
    int count = cs_floors_of_block(group->rows, group->coupled_set, state->lambda + row,
                                   state->rho + row, all->magnitude + row, phi);
    cs_block_defects(state, group, index, sets);
    for (int s = 0; s < count; s++) cs_add_floor(&bounds, &sets[s], block, phi[s], found);
}

static void find_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    floors *all = context;
    const cs_problem *problem = all->state->problem;
    cs_floor found = cs_no_floor();
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int64_t k, last;
        if (!cs_group_part(group, begin, end, &k, &last)) continue;
        for (; k < last; k++) add_block(all, group, k, &found);
    }
    all->piece[piece] = found;
}

/* What ranks tell each other of their floors. */
enum { SCALED, BLOCK, MISSED, MISSED_BLOCK, REACHABLE, ONLY_FLOOR, NUMBERS };

/* Whether number `at` of rank a is larger than that of b, or equal and of a lower block. */
static int is_first(const double *a, const double *b, int at)
{
    if (a[at] != b[at]) return a[at] > b[at];
    return a[at + 1] >= 0 && (b[at + 1] < 0 || a[at + 1] < b[at + 1]);
}

/* found <- the floor of all ranks, with blocks by their numbers in the whole problem. Collective. */
static void join_ranks(cs_ranks *ranks, cs_floor *found)
{
    if (!ranks) return;
    found->block = cs_ranks_contact(ranks, found->block);
    found->missed_block = cs_ranks_contact(ranks, found->missed_block);
    const double own[NUMBERS] = {
        [SCALED] = found->scaled,       [BLOCK] = (double)found->block,
        [MISSED] = found->missed,       [MISSED_BLOCK] = (double)found->missed_block,
        [REACHABLE] = found->reachable, [ONLY_FLOOR] = found->only_floor,
    };
    const double *all = cs_ranks_gather(ranks, own, NUMBERS), *highest = all, *missed = all;
    for (int r = 0; all && r < cs_ranks_count(ranks); r++) {
        const double *rank = all + r * CS_RANKS_NUMBERS;
        if (is_first(rank, highest, SCALED)) highest = rank;
        if (is_first(rank, missed, MISSED)) missed = rank;
        found->reachable = found->reachable && rank[REACHABLE] != 0;
        found->only_floor = found->only_floor && rank[ONLY_FLOOR] != 0;
    }
    if (!all) return;
    found->scaled = highest[SCALED];
    found->block = (int64_t)highest[BLOCK];
    found->missed = missed[MISSED];
    found->missed_block = (int64_t)missed[MISSED_BLOCK];
}

cs_floor cs_find_floor(const cs_state *state, const cs_shared_products *shared, double unit,
                       double *magnitude, double *velocity)
{
    int64_t blocks = state->problem->blocks;
    floors all;
    all.state = state;
    all.magnitude = magnitude;
    all.units = unit / DBL_EPSILON;
    cs_magnitude(shared, state->problem, state->lambda, state->b, velocity, magnitude);
    cs_loop(state->threads, blocks, find_piece, &all);
    cs_floor found = cs_no_floor();
    for (int64_t p = 0; p < cs_loop_pieces(blocks); p++) cs_follow_floor(&found, &all.piece[p]);
    join_ranks(state->ranks, &found);
    return found;
}

/* The natural map of each coupled set: how far one prox step, with a step length rho_s of the set's own, moves
 * its impulse.
 *
 *     Delta_s = |lambda_s - prox(lambda_s - rho_s xi_s)|_inf,   rho_s = 1 / max diag(A_ss)
 *
 * It is zero exactly at the solutions. An absolute tolerance for all impulses would let a light body fall
 * through the floor beside a heavy one, and a tolerance relative to the impulses would accept a light body
 * crushed under a heavy one. Therefore each set is compared with the speed of its island. */
#include "measure/measure.h"

#include <math.h>

int cs_block_defects(const cs_state *state, const cs_block_group *group, int64_t index,
                     cs_set_defect *sets)
{
    int rows = group->rows;
    int64_t row = cs_group_row(group, index);
    const double *lambda = state->lambda + row, *xi = state->xi + row, *rho = state->rho + row;

    /* Take the prox step z = prox(lambda - rho xi). */
    double step[CS_MAX_ROWS], z[CS_MAX_ROWS];
    for (int i = 0; i < rows; i++) step[i] = z[i] = lambda[i] - rho[i] * xi[i];
    group->set->prox_f64(rows, z, cs_state_parameters(state, group, index), NULL);

    /* Take the largest change of each set. */
    return cs_defects_of_step(rows, group->coupled_set, lambda, xi, rho, step, z, sets);
}

/* What ranks tell each other of their maps. */
enum { IMPULSE, VELOCITY, SCALED, MET, BLOCK, WORST_IMPULSE, WORST_RHO, WORST_ROW, NUMBERS };

/* Whether the worst set of `a` comes before that of `b`: it is worse, or equally bad and of a lower block. A NaN is the
 * worst. */
static int is_worse(const double *a, const double *b)
{
    if (a[BLOCK] < 0 || b[BLOCK] < 0) return b[BLOCK] < 0;
    if (isnan(a[IMPULSE]) != isnan(b[IMPULSE])) return isnan(a[IMPULSE]);
    if (!isnan(a[IMPULSE]) && a[SCALED] != b[SCALED]) return a[SCALED] > b[SCALED];
    int nothing = a[SCALED] == 0 && a[WORST_IMPULSE] != b[WORST_IMPULSE];
    return nothing ? a[WORST_IMPULSE] > b[WORST_IMPULSE] : a[BLOCK] < b[BLOCK];
}

void cs_join_natural_maps(cs_ranks *ranks, cs_natural_map *map)
{
    /* The maps of all ranks. */
    if (!ranks) return;
    map->worst_block = cs_ranks_contact(ranks, map->worst_block);
    const double own[NUMBERS] = {
        [IMPULSE] = map->impulse,
        [VELOCITY] = map->velocity,
        [SCALED] = map->scaled,
        [MET] = map->met,
        [BLOCK] = (double)map->worst_block,
        [WORST_IMPULSE] = map->worst.impulse,
        [WORST_RHO] = map->worst.rho,
        [WORST_ROW] = map->worst.row,
    };
    const double *all = cs_ranks_gather(ranks, own, NUMBERS), *worst = all;
    if (!all) return;

    /* The maxima, where a NaN stays, and the worst set. */
    *map = cs_no_defect();
    for (int r = 0; r < cs_ranks_count(ranks); r++) {
        const double *rank = all + r * CS_RANKS_NUMBERS;
        int nan = isnan(map->impulse) || isnan(rank[IMPULSE]);
        map->impulse = nan ? NAN : fmax(map->impulse, rank[IMPULSE]);
        map->velocity = nan ? NAN : fmax(map->velocity, rank[VELOCITY]);
        map->scaled = nan ? NAN : fmax(map->scaled, rank[SCALED]);
        map->met = map->met && rank[MET] != 0;
        if (is_worse(rank, worst)) worst = rank;
    }
    map->worst_block = (int64_t)worst[BLOCK];
    map->worst = (cs_set_defect){worst[WORST_IMPULSE], worst[WORST_RHO], (int)worst[WORST_ROW]};
}

/* The natural maps of the pieces of a loop over all blocks. */
typedef struct pieces {
    const cs_state *state;
    cs_natural_map map[CS_LOOP_PIECES];
} pieces;

static void map_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    pieces *all = context;
    const cs_problem *problem = all->state->problem;
    cs_natural_map map = cs_no_defect();
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int64_t k, last;
        if (!cs_group_part(group, begin, end, &k, &last)) continue;
        for (; k < last; k++) {
            cs_set_defect sets[CS_MAX_ROWS];
            int64_t block = group->first_block + k;
            cs_set_bounds bounds = cs_bounds_of(all->state, block);
            int count = cs_block_defects(all->state, group, k, sets);
            for (int s = 0; s < count; s++) cs_add_set(&bounds, &sets[s], block, &map);
        }
    }
    all->map[piece] = map;
}

const cs_natural_map *cs_natural_map_of(cs_state *state)
{
    if (state->have_natural_map) return &state->natural_map;
    int64_t blocks = state->problem->blocks;
    pieces all;
    all.state = state;
    cs_loop(state->threads, blocks, map_piece, &all);
    state->natural_map = cs_no_defect();
    for (int64_t p = 0; p < cs_loop_pieces(blocks); p++)
        cs_follow_map(&state->natural_map, &all.map[p]);
    cs_join_natural_maps(state->ranks, &state->natural_map);
    state->have_natural_map = 1;
    return &state->natural_map;
}

static double evaluate(cs_state *state) { return cs_natural_map_of(state)->impulse; }
static double evaluate_velocity(cs_state *state) { return cs_natural_map_of(state)->velocity; }
static double evaluate_scaled(cs_state *state) { return cs_natural_map_of(state)->scaled; }

int cs_measure_is_natural_map(const cs_measure *measure)
{
    return measure->evaluate == evaluate || measure->evaluate == evaluate_velocity ||
           measure->evaluate == evaluate_scaled;
}

const cs_measure cs_measure_natural_map = {
    .name = "natural_map",
    .summary = "largest difference between an impulse and its prox step [N s]; zero at a solution",
    .across = CS_LARGEST,
    .evaluate = evaluate,
};

const cs_measure cs_measure_natural_map_velocity = {
    .name = "natural_map_velocity",
    .summary = "natural map as a velocity, each set divided by its rho [m/s]",
    .across = CS_LARGEST,
    .evaluate = evaluate_velocity,
};

const cs_measure cs_measure_natural_map_scaled = {
    .name = "natural_map_scaled",
    .summary = "natural map over rho V, where V is the speed at which the set's island violates "
               "its constraints without impulses; rtol bounds it [1]",
    .across = CS_LARGEST,
    .evaluate = evaluate_scaled,
};

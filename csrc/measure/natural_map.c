/* The natural map of each coupled set: how far one prox step, with a step length rho_s of the set's own, moves
 * its impulse.
 *
 *     Delta_s = |lambda_s - prox(lambda_s - rho_s xi_s)|_inf,   rho_s = 1 / max diag(A_ss)
 *
 * It is zero exactly at the solutions. An absolute tolerance for all impulses would let a light body fall
 * through the floor beside a heavy one, and a tolerance relative to the impulses would accept a light body
 * crushed under a heavy one. Therefore each set is compared with the speed of its island. */
#include "measure/measure.h"

#include "prox/prox.h"

#include <math.h>

/* cs_block_defects, for rows, sets (rows) and a prox that the compiler may know. */
CS_INLINE int block_defects(const cs_state *state, const cs_block_group *group, int64_t index,
                            int rows, const int *coupled_set,
                            void (*prox)(int, double *, const double *, const double *),
                            cs_set_defect *sets)
{
    int64_t row = cs_group_row(group, index);
    const double *lambda = state->lambda + row, *xi = state->xi + row, *rho = state->rho + row;

    /* Take the prox step z = prox(lambda - rho xi). */
    double step[CS_MAX_ROWS], z[CS_MAX_ROWS];
    for (int i = 0; i < rows; i++) step[i] = z[i] = lambda[i] - rho[i] * xi[i];
    prox(rows, z, cs_state_parameters(state, group, index), NULL);

    /* Take the largest change of each set. */
    return cs_defects_of_step(rows, coupled_set, lambda, xi, rho, step, z, sets);
}

int cs_block_defects(const cs_state *state, const cs_block_group *group, int64_t index,
                     cs_set_defect *sets)
{
    return block_defects(state, group, index, group->rows, group->coupled_set, group->set->prox_f64,
                         sets);
}

/* For the most frequent set, discs in space. */
CS_INLINE int disc_defects(const cs_state *state, const cs_block_group *group, int64_t index,
                           cs_set_defect *sets)
{
    static const int coupled_set[] = {0, 1, 1};
    return block_defects(state, group, index, 3, coupled_set, cs_prox_disc_f64, sets);
}

/* Whether cs_add_set certainly changes nothing: a set below the maxima, by a margin for their rounding. Most sets are:
 * this saves their divisions. Where some number is a NaN, or zero, the answer is no. */
static inline int is_below(const cs_set_bounds *bounds, const cs_set_defect *set,
                           const cs_natural_map *map)
{
    const double margin = 0.75;
    double scale = set->rho * bounds->scale;
    return set->impulse <= map->impulse && isfinite(scale) &&
           set->impulse < margin * map->scaled * scale &&
           set->impulse < margin * map->velocity * set->rho &&
           (!map->met || set->impulse <= cs_bounds_tolerance(bounds, set->rho));
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

/* The natural maps of the pieces of a loop over all blocks; and, with `velocity`, xi before. */
typedef struct pieces {
    const cs_state *state;
    const double *velocity; /* M^-1 J^T lambda; NULL: xi is known */
    double *xi;             /* (rows): what the state has as xi */
    cs_natural_map map[CS_LOOP_PIECES];
} pieces;

/* Adds the sets of one block to the map. */
CS_INLINE void add_sets(const cs_state *state, const cs_set_defect *sets, int count, int64_t block,
                        cs_natural_map *map)
{
    cs_set_bounds bounds = cs_bounds_of(state, block);
    for (int s = 0; s < count; s++)
        if (!is_below(&bounds, &sets[s], map)) cs_add_set(&bounds, &sets[s], block, map);
}

/* Adds the blocks first .. last - 1 of a group to the map. */
static void add_blocks(const cs_state *state, const cs_block_group *group, int64_t first,
                       int64_t last, cs_natural_map *map)
{
    cs_set_defect sets[CS_MAX_ROWS];
    int discs = cs_prox_is_short((cs_set_kind)group->set->kind) && group->rows == 3;
    for (int64_t k = first; k < last && discs; k++)
        add_sets(state, sets, disc_defects(state, group, k, sets), group->first_block + k, map);
    for (int64_t k = first; k < last && !discs; k++)
        add_sets(state, sets, cs_block_defects(state, group, k, sets), group->first_block + k, map);
}

void cs_add_defects(const cs_state *state, int64_t begin, int64_t end, cs_natural_map *map)
{
    const cs_problem *problem = state->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        int64_t first, last;
        if (cs_group_part(&problem->block_group[g], begin, end, &first, &last))
            add_blocks(state, &problem->block_group[g], first, last, map);
    }
}

static void map_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    /* A few blocks at a time, whose xi the cache still has. */
    pieces *all = context;
    const cs_state *state = all->state;
    cs_natural_map map = cs_no_defect();
    for (int64_t from = begin; from < end; from += CS_PRODUCT_PIECE) {
        int64_t to = end - from < CS_PRODUCT_PIECE ? end : from + CS_PRODUCT_PIECE;
        if (all->velocity)
            cs_residual_of_blocks(state->problem, state->lambda, state->b, all->velocity, from, to,
                                  all->xi);
        cs_add_defects(state, from, to, &map);
    }
    all->map[piece] = map;
}

void cs_join_map_pieces(cs_state *state, const cs_natural_map *map, int64_t count)
{
    state->natural_map = cs_no_defect();
    for (int64_t p = 0; p < count; p++) cs_follow_map(&state->natural_map, &map[p]);
    cs_join_natural_maps(state->ranks, &state->natural_map);
    state->have_natural_map = 1;
}

/* state->natural_map <- that of all pieces, and of all ranks. */
static const cs_natural_map *map_pieces(cs_state *state, pieces *all)
{
    int64_t blocks = state->problem->blocks;
    all->state = state;
    cs_loop(state->threads, blocks, map_piece, all);
    cs_join_map_pieces(state, all->map, cs_loop_pieces(blocks));
    return &state->natural_map;
}

const cs_natural_map *cs_natural_map_of(cs_state *state)
{
    if (state->have_natural_map) return &state->natural_map;
    pieces all;
    all.velocity = NULL;
    all.xi = NULL;
    return map_pieces(state, &all);
}

const cs_natural_map *cs_natural_map_and_residual(cs_state *state, const double *velocity,
                                                  double *xi)
{
    pieces all;
    all.velocity = velocity;
    all.xi = xi;
    return map_pieces(state, &all);
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

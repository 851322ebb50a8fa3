/* The scales of the natural map: the step length rho of each coupled set and the speed V of each island. */
#include "measure/measure.h"

#include "core/loop.h"

#include <float.h>
#include <math.h>
#include <string.h>

void cs_set_scales(const cs_block_group *group, const double *diagonal, double *rho)
{
    double largest[CS_MAX_ROWS] = {0};

    /* The largest diagonal entry of each set. */
    for (int i = 0; i < group->rows; i++) {
        double entry = diagonal[i * group->rows + i];
        int set = group->coupled_set[i];
        if (entry > largest[set]) largest[set] = entry;
    }

    /* Its inverse, or 0 if nothing moves or the inverse overflows. */
    for (int i = 0; i < group->rows; i++) {
        double inverse = 1 / largest[group->coupled_set[i]];
        rho[i] = isfinite(inverse) ? inverse : 0;
    }
}

/* Updates the largest |A| of a row and of a column by one entry. */
static void take_entry(void *context, int64_t row, int64_t column, double entry)
{
    double *coupling = context;
    coupling[row] = fmax(coupling[row], fabs(entry));
    coupling[column] = fmax(coupling[column], fabs(entry));
}

/* coupling (rows) <- the largest |A| in each row and column of a given A */
static void largest_couplings(const cs_problem *problem, double *coupling)
{
    for (int64_t i = 0; i < problem->rows; i++) coupling[i] = 0;
    cs_each_entry(problem, 0, problem->blocks, take_entry, coupling);
}

/* Sets rho of those sets of one block that have none, from the couplings. Returns the first row of these sets,
 * or -1. */
static int64_t take_couplings(const cs_block_group *group, int64_t row, const double *coupling,
                              double *rho)
{
    double largest[CS_MAX_ROWS] = {0};
    int64_t first = -1;
    for (int i = 0; i < group->rows; i++) {
        double *most = &largest[group->coupled_set[i]];
        *most = fmax(*most, coupling[row + i]);
    }
    for (int i = 0; i < group->rows; i++) {
        double most = largest[group->coupled_set[i]];
        if (rho[row + i] > 0 || !(most > 0)) continue;
        rho[row + i] = 1 / most;
        if (first < 0) first = row + i;
    }
    return first;
}

int64_t cs_find_couplings(const cs_problem *problem, double *rho, double *coupling)
{
    /* Only sets of a given A with zero diagonal entries need this. */
    int64_t first = -1, zeros = 0;
    for (int64_t i = 0; i < problem->rows && problem->matrix; i++) zeros += rho[i] == 0;
    if (zeros == 0) return -1;

    largest_couplings(problem, coupling);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t row = cs_group_row(group, k);
            int64_t found = take_couplings(group, row, coupling, rho);
            if (first < 0) first = found;
        }
    }
    return first;
}

/* Which pieces of the rows have an immovable one. */
typedef struct row_scan {
    const double *rho;
    int immovable[CS_LOOP_PIECES];
} row_scan;

static void scan_rows(void *context, int64_t piece, int64_t first, int64_t end)
{
    row_scan *scan = context;
    int immovable = 0;
    for (int64_t i = first; i < end; i++) immovable |= scan->rho[i] == 0;
    scan->immovable[piece] = immovable;
}

int cs_has_immovable_rows(const cs_problem *problem, int threads, const double *rho)
{
    row_scan scan;
    int immovable = 0;
    scan.rho = rho;
    cs_loop(threads, problem->rows, scan_rows, &scan);
    for (int64_t p = 0; p < cs_loop_pieces(problem->rows); p++) immovable |= scan.immovable[p];
    return immovable;
}

/* What each piece of the blocks has of islands. */
typedef struct island_scan {
    const int64_t *island;
    int64_t most[CS_LOOP_PIECES];    /* the highest number, -1 if there is none */
    int64_t without[CS_LOOP_PIECES]; /* blocks without an island */
} island_scan;

static void scan_islands(void *context, int64_t piece, int64_t first, int64_t end)
{
    island_scan *scan = context;
    int64_t most = -1, without = 0;
    for (int64_t k = first; k < end; k++) {
        if (scan->island[k] > most) most = scan->island[k];
        without += scan->island[k] < 0;
    }
    scan->most[piece] = most;
    scan->without[piece] = without;
}

int64_t cs_number_all_islands(const cs_problem *problem, int threads, int64_t *island)
{
    int64_t islands = 0, without = 0;
    island_scan scan;
    scan.island = island;
    cs_loop(threads, problem->blocks, scan_islands, &scan);
    for (int64_t p = 0; p < cs_loop_pieces(problem->blocks); p++) {
        if (scan.most[p] >= islands) islands = scan.most[p] + 1;
        without += scan.without[p];
    }
    for (int64_t k = 0; k < problem->blocks && without; k++)
        if (island[k] < 0) {
            island[k] = islands++;
            without--;
        }
    return islands;
}

/* response <- a_s of one block's sets, from the diagonal of J M^-1 J^T. Where that is zero, only compliance
 * acts on the set, and 1 / rho stays. */
static void block_responses(const cs_problem *problem, const cs_block_group *group, int64_t index,
                            double *response)
{
    double diagonal[CS_MAX_ROWS * CS_MAX_ROWS], inverse[CS_MAX_ROWS];
    cs_mass_diagonal(problem, group, index, diagonal);
    cs_set_scales(group, diagonal, inverse);
    for (int i = 0; i < group->rows; i++)
        if (inverse[i] > 0) response[i] = 1 / inverse[i];
}

/* 1 / rho, or 0 where rho is. */
typedef struct inverses {
    const double *rho;
    double *response;
} inverses;

static void invert(void *context, int64_t piece, int64_t first, int64_t end)
{
    (void)piece;
    const inverses *all = context;
    for (int64_t i = first; i < end; i++) {
        double rho = all->rho[i];
        all->response[i] = rho > 0 ? 1 / rho : 0;
    }
}

void cs_find_responses(const cs_problem *problem, const double *rho, int threads, double *response)
{
    cs_loop(threads, problem->rows, invert, &(inverses){rho, response});
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int soft = group->compliance || group->included;
        for (int64_t k = 0; soft && k < group->count; k++)
            block_responses(problem, group, k, response + cs_group_row(group, k));
    }
}

/* ---- the speed V of each island ------------------------------------------------------------------ */

/* The computation of all V. Pieces are those of a loop over all blocks. */
typedef struct speeds {
    const cs_scale_data *data;
    cs_state state;                 /* P_C(0), with its residual velocities */
    int moved;                      /* whether P_C(0) has an entry that is not zero */
    int moves[CS_LOOP_PIECES];      /* the same for the blocks of one piece */
    double speed[CS_LOOP_PIECES];   /* max a_s Delta_s of a piece */
    double largest[CS_LOOP_PIECES]; /* max |b| of a piece */
} speeds;

/* lambda <- P_C(0) in the blocks of a piece. */
static void project_zero(void *context, int64_t piece, int64_t begin, int64_t end)
{
    speeds *all = context;
    const cs_scale_data *data = all->data;
    all->moves[piece] = 0;
    for (int g = 0; g < data->problem->block_groups; g++) {
        const cs_block_group *group = &data->problem->block_group[g];
        int64_t k, last;
        if (!cs_group_part(group, begin, end, &k, &last)) continue;
        for (; k < last; k++) {
            double *z = data->lambda + cs_group_row(group, k);
            for (int i = 0; i < group->rows; i++) z[i] = 0;
            group->set->prox_f64(group->rows, z, cs_state_parameters(&all->state, group, k), NULL);
            for (int i = 0; i < group->rows; i++) all->moves[piece] |= z[i] != 0;
        }
    }
}

/* P_C(0) and its residual velocities, which are b where P_C(0) is zero; and a bound of their rounding errors. */
static void evaluate_zero(speeds *all)
{
    const cs_scale_data *data = all->data;
    cs_loop(data->threads, data->problem->blocks, project_zero, all);
    for (int64_t p = 0; p < cs_loop_pieces(data->problem->blocks); p++) all->moved |= all->moves[p];
    all->moved = cs_ranks_any(data->ranks, all->moved);
    if (!all->moved) return;
    cs_shared_residual_velocity(data->shared, data->problem, data->lambda, data->b, data->velocity,
                                data->xi);
    cs_magnitude(data->shared, data->problem, data->lambda, data->b, data->velocity,
                 data->magnitude);
    all->state.xi = data->xi;
}

/* Whether the velocities at P_C(0) in all rows of row i's coupled set are only rounding errors. */
static int is_rounding(const cs_state *state, const cs_block_group *group, int64_t row, int i,
                       const double *magnitude)
{
    for (int j = 0; j < group->rows; j++)
        if (group->coupled_set[j] == group->coupled_set[i] &&
            !(fabs(state->xi[row + j]) <= CS_FLOOR_UNITS * DBL_EPSILON * magnitude[row + j]))
            return 0;
    return 1;
}

/* max of a_s Delta_s(P_C(0)) over the sets of one block, without sets whose velocities are rounding errors. */
static double speed_of_block(const speeds *all, const cs_block_group *group, int64_t index)
{
    cs_set_defect sets[CS_MAX_ROWS];
    double speed = 0;
    int64_t row = cs_group_row(group, index);
    cs_block_defects(&all->state, group, index, sets);
    for (int i = 0; i < group->rows; i++) {
        if (all->moved && is_rounding(&all->state, group, row, i, all->data->magnitude)) continue;
        speed = fmax(speed, all->data->response[row + i] * sets[group->coupled_set[i]].impulse);
    }
    return speed;
}

/* max |b| over the rows of one block with rho > 0 */
static double largest_velocity(const cs_scale_data *data, const cs_block_group *group,
                               int64_t index)
{
    double largest = 0;
    int64_t row = cs_group_row(group, index);
    for (int i = 0; i < group->rows; i++)
        if (data->rho[row + i] > 0) largest = fmax(largest, fabs(data->b[row + i]));
    return largest;
}

/* The speeds and the largest |b| of the blocks of a piece, and the largest of all of them. */
static void measure_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    speeds *all = context;
    const cs_scale_data *data = all->data;
    double speed = 0, largest = 0;
    for (int g = 0; g < data->problem->block_groups; g++) {
        const cs_block_group *group = &data->problem->block_group[g];
        int64_t k, last;
        if (!cs_group_part(group, begin, end, &k, &last)) continue;
        for (; k < last; k++) {
            int64_t block = group->first_block + k;
            data->scale[block] = speed_of_block(all, group, k);
            data->largest[block] = largest_velocity(data, group, k);
            speed = fmax(speed, data->scale[block]);
            largest = fmax(largest, data->largest[block]);
        }
    }
    all->speed[piece] = speed;
    all->largest[piece] = largest;
}

double cs_speed_beyond_rounding(double speed, double largest)
{
    return speed <= CS_B_UNITS * DBL_EPSILON * largest ? 0 : speed;
}

/* Copies V of the only island to the blocks of a piece. */
static void fill_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    speeds *all = context;
    (void)piece;
    for (int64_t k = begin; k < end; k++) all->data->scale[k] = all->speed[0];
}

/* V of several islands, from the values of their blocks. */
static void combine_islands(const cs_scale_data *data)
{
    int64_t blocks = data->problem->blocks;
    const int64_t *island = data->island;
    double *speed = data->speed, *of_block = data->largest, *largest = data->reach;

    /* The largest values of each island. */
    for (int64_t i = 0; i < data->islands; i++) speed[i] = largest[i] = 0;
    for (int64_t k = 0; k < blocks; k++) {
        speed[island[k]] = fmax(speed[island[k]], data->scale[k]);
        largest[island[k]] = fmax(largest[island[k]], of_block[k]);
    }

    /* Those of islands on several ranks. */
    int64_t shared = data->ranks ? cs_ranks_share(data->ranks)->shared_islands : 0;
    cs_ranks_largest(data->ranks, speed, shared);
    cs_ranks_largest(data->ranks, largest, shared);

    /* Copy V from the islands to their blocks. */
    for (int64_t i = 0; i < data->islands; i++)
        speed[i] = cs_speed_beyond_rounding(speed[i], largest[i]);
    for (int64_t k = 0; k < blocks; k++) data->scale[k] = speed[island[k]];
}

/* The same for a single island, by several threads. */
static void combine_pieces(speeds *all)
{
    const cs_scale_data *data = all->data;
    double speed = 0, largest = 0;
    for (int64_t p = 0; p < cs_loop_pieces(data->problem->blocks); p++) {
        speed = fmax(speed, all->speed[p]);
        largest = fmax(largest, all->largest[p]);
    }
    all->speed[0] = cs_speed_beyond_rounding(speed, largest);
    cs_loop(data->threads, data->problem->blocks, fill_piece, all);
}

void cs_find_scales(const cs_scale_data *data)
{
    speeds all;
    all.data = data;
    all.moved = 0;
    all.state = (cs_state){
        .problem = data->problem,
        .b = data->b,
        .parameters = data->parameters,
        .rho = data->rho,
        .lambda = data->lambda,
        .xi = data->b,
    };
    evaluate_zero(&all);
    cs_loop(data->threads, data->problem->blocks, measure_piece, &all);
    if (data->islands == 1 && !data->ranks) combine_pieces(&all);
    else combine_islands(data);
}

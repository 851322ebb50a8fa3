/* The rows of a level, and its smoother. */
#include "sparse/multigrid/grid.h"

#include "core/error.h"
#include "core/instructions.h"
#include "core/loop.h"

#include <math.h>

#define CS_INSTRUCTIONS(name, summary) extern const cs_grid_kernels cs_grid_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_grid_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_grid_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

const cs_grid_kernels *cs_grid_kernels_here(void) { return builds[cs_instructions_widest()]; }

/* ---- the finest level ------------------------------------------------------------------------------- */

/* Translations, and rotations about the middle of the vertices: columns e_k, and e_k x (position).  */
static void set_modes(cs_grid *grid, const double *position)
{
    const cs_block_system *s = grid->system;
    double middle[CS_BLOCK_ROWS] = {0};
    int64_t modes = CS_BLOCK_ROWS * grid->width;
    for (int64_t i = 0; position && i < CS_BLOCK_ROWS * s->vertices; i++)
        middle[i % CS_BLOCK_ROWS] += position[i] / (double)s->vertices;
    for (int64_t i = 0; i < s->vertices; i++) {
        double *row = grid->mode + CS_BLOCK_ROWS * modes * i;
        for (int k = 0; k < CS_BLOCK_ROWS; k++) row[k * modes + k] = 1;
        if (!position) continue;
        const double *at = position + CS_BLOCK_ROWS * s->old[i];
        double x = at[0] - middle[0], y = at[1] - middle[1], z = at[2] - middle[2];
        row[modes + 3] = -z, row[2 * modes + 3] = y;
        row[4] = z, row[2 * modes + 4] = -x;
        row[5] = -y, row[modes + 5] = x;
    }
}

cs_status cs_grid_begin(cs_grid *grid, const cs_block_system *system, const cs_block_system *exact,
                        const double *position, cs_arena *arena, cs_error *error)
{
    *grid = (cs_grid){.system = system, .nodes = system->vertices, .group = 1};
    grid->values = exact;
    grid->width = position ? 2 : 1;
    grid->mode = cs_arena_take(arena, CS_BLOCK_SIZE * grid->width * grid->nodes, sizeof(double));
    cs_status status =
        cs_arena_status(arena, error, "motions of %lld vertices", (long long)grid->nodes);
    if (!status) set_modes(grid, position);
    return status;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Where the entries of A_loc and of A_ext go: those below the diagonal come first, by ascending columns. */
static void fill_rows(const cs_block_system *s, cs_grid_rows *rows, int64_t *end)
{
    for (int64_t p = 0; p < s->parts; p++)
        for (int64_t i = s->first[p]; i < s->first[p + 1]; i++) {
            for (int64_t e = s->local.start[i]; e < s->local.start[i + 1]; e++) {
                int64_t j = s->local.column[e];
                rows->column[end[i]] = (int32_t)j;
                rows->source[end[i]++] = (int32_t)(2 * e);
                if (j == i) continue;
                rows->column[end[j]] = (int32_t)i;
                rows->source[end[j]++] = (int32_t)(2 * e + 1);
            }
            for (int64_t e = s->outer.start[i]; e < s->outer.start[i + 1]; e++) {
                int64_t at = s->outer_first[p] + s->outer.column[e];
                rows->column[end[i]] = (int32_t)s->outer_vertex[at];
                rows->source[end[i]++] = (int32_t)(-1 - e);
            }
        }
}

static void count_rows(const cs_block_system *s, int64_t *start)
{
    for (int64_t i = 0; i < s->vertices; i++) {
        start[i + 1] += s->local.start[i + 1] - s->local.start[i];
        start[i + 1] += s->outer.start[i + 1] - s->outer.start[i];
        for (int64_t e = s->local.start[i] + 1; e < s->local.start[i + 1]; e++)
            start[s->local.column[e] + 1]++;
    }
    for (int64_t i = 0; i < s->vertices; i++) start[i + 1] += start[i];
}

cs_status cs_grid_take_rows(cs_grid *grid, cs_arena *arena, cs_error *error)
{
    /* Count. */
    const cs_block_system *s = grid->system;
    if (s->local.blocks + s->outer.blocks >= INT32_MAX / 2)
        return cs_fail(error, CS_UNSUPPORTED, "A has too many blocks for levels in 32-bit numbers");
    cs_arena scratch = {0};
    cs_grid_rows rows = {.start = cs_arena_take(arena, s->vertices + 1, sizeof *rows.start)};
    int64_t *end = cs_arena_take(&scratch, s->vertices, sizeof *end), entries = 0;
    if (rows.start) {
        count_rows(s, rows.start);
        entries = rows.start[s->vertices];
    }

    /* Fill. */
    rows.column = cs_arena_take_unset(arena, entries, sizeof *rows.column);
    rows.source = cs_arena_take_unset(arena, entries, sizeof *rows.source);
    cs_status status = cs_arena_status(arena, error, "rows of %lld blocks", (long long)entries);
    if (!status) status = cs_arena_status(&scratch, error, "%lld rows", (long long)s->vertices);
    if (!status) {
        for (int64_t i = 0; i < s->vertices; i++) end[i] = rows.start[i];
        fill_rows(s, &rows, end);
        grid->rows = rows;
    }
    cs_arena_clear(&scratch);
    return status;
}

/* ---- the smoother ---------------------------------------------------------------------------------------- */

/* Lists the vertices that are coupled with other parts. */
static void list_shared(cs_grid *grid)
{
    const cs_block_system *s = grid->system;
    int64_t count = 0;
    for (int64_t p = 0; p < s->parts; p++) {
        for (int64_t i = s->first[p]; i < s->first[p + 1]; i++)
            if (s->outer.start[i] < s->outer.start[i + 1]) grid->shared[count++] = (int32_t)i;
        grid->shared_start[p + 1] = count;
    }
}

cs_status cs_grid_take(cs_grid *grid, int is_smoothed, cs_arena *arena, cs_error *error)
{
    const cs_block_system *s = grid->system;
    size_t number = cs_number_size(s->single);
    int64_t numbers = CS_BLOCK_STRIDE * s->vertices;
    grid->right = cs_arena_take(arena, numbers, number);
    if (is_smoothed) {
        cs_scaled_blocks_take(&grid->scaled, s, 1, arena);
        grid->scaled.values = grid->values;
        grid->slack = cs_arena_take(arena, s->vertices, number);
        grid->shared_start = cs_arena_take(arena, s->parts + 1, sizeof *grid->shared_start);
        grid->shared = cs_arena_take(arena, s->vertices, sizeof *grid->shared);
        grid->x = cs_arena_take(arena, numbers, number);
        grid->w = cs_arena_take(arena, numbers, number);
        grid->beside = cs_arena_take(arena, CS_BLOCK_STRIDE * s->outer_first[s->parts], number);
    }
    cs_status status =
        cs_arena_status(arena, error, "a level of %lld vertices", (long long)s->vertices);
    if (!status && is_smoothed) list_shared(grid);
    return status;
}

/* Couplings with other parts are bounded if their norms in a row sum up to this. */
#define FREE_COUPLING 0.5

/* The sum of the norms of C^-1 A_ij C^-T in a row of A_ext. */
static double coupling_of(const cs_grid *grid, int64_t part, int64_t i)
{
    const cs_block_system *s = grid->system;
    double sum = 0;
    for (int64_t e = s->outer.start[i]; e < s->outer.start[i + 1]; e++) {
        double own[CS_BLOCK_SIZE], other[CS_BLOCK_SIZE], block[CS_BLOCK_SIZE],
            scaled[CS_BLOCK_SIZE];
        double square = 0;
        int64_t j = s->outer_vertex[s->outer_first[part] + s->outer.column[e]];
        cs_block_load(grid->scaled.factor, s->single, i, own);
        cs_block_load(grid->scaled.factor, s->single, j, other);
        cs_block_system_get(grid->values, &grid->values->outer, e, block);
        cs_block_scale(own, block, other, scaled);
        for (int k = 0; k < CS_BLOCK_SIZE; k++) square += scaled[k] * scaled[k];
        sum += sqrt(square);
    }
    return sum;
}

/* C C^T = (1 + delta) D, with 2 (1 + delta) - 1 - E positive definite: S^-1 + S^-T - A of the smoother S.
 * Baker, Falgout, Kolev and Yang 2011, section 4 */
static void weigh_vertices(cs_grid *grid, double *weight)
{
    const cs_block_system *s = grid->system;
    for (int64_t p = 0; p < s->parts; p++)
        for (int64_t i = s->first[p]; i < s->first[p + 1]; i++)
            weight[i] = 1 + fmax(0, coupling_of(grid, p, i) - FREE_COUPLING) / 2;
    for (int64_t i = 0; i < s->vertices; i++) {
        double slack = 1 - 1 / weight[i], block[CS_BLOCK_SIZE];
        if (s->single) ((float *)grid->slack)[i] = (float)slack;
        else ((double *)grid->slack)[i] = slack;
        if (weight[i] == 1) continue;
        cs_block_load(grid->scaled.factor, s->single, i, block);
        for (int k = 0; k < CS_BLOCK_SIZE; k++) block[k] /= sqrt(weight[i]);
        cs_block_store(grid->scaled.factor, s->single, i, block);
    }
}

int64_t cs_grid_scale(cs_grid *grid, double *weight, int threads)
{
    int64_t indefinite = cs_scaled_blocks_factor(&grid->scaled, threads);
    if (indefinite >= 0) return indefinite;
    weigh_vertices(grid, weight);
    cs_scaled_blocks_scale(&grid->scaled, threads);
    return -1;
}

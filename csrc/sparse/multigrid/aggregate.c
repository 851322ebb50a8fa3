/* The nodes of a level: which are strongly coupled, which go together, and the motions of each aggregate. */
#include "core/error.h"
#include "sparse/multigrid/grid.h"

#include <math.h>
#include <string.h>

/* Nodes i, j are strongly coupled if |A_ij| > THETA sqrt(|A_ii| |A_jj|), in Frobenius' norm. Weaker blocks, such as zeros in
 * the pattern, make no aggregates. Aggregates are smaller with a larger THETA, which ignores the bending between neighbours
 * of neighbours: fewer iterations, but more work in each. */
#define THETA 0.001

/* A mode is absent from an aggregate if so little of it is left beside those before it. */
#define LEAST_MODE 1e-9

/* ---- strength ----------------------------------------------------------------------------------------- */

/* Squares of the norms of the blocks between nodes: of diagonal ones, and of those in the rows of a node. */
typedef struct strength {
    double *diagonal; /* (nodes) */
    double *norm;     /* (nodes), of the present node's neighbours */
    int64_t *start;   /* the graph of strong couplings */
    int64_t *column;
} strength;

static double square_of(const cs_grid *grid, int64_t entry)
{
    int64_t source = grid->rows.source[entry];
    const cs_block_rows *rows = source < 0 ? &grid->system->outer : &grid->system->local;
    double block[CS_BLOCK_SIZE], sum = 0;
    cs_block_load(rows->value, grid->system->single, source < 0 ? -1 - source : source >> 1, block);
    for (int k = 0; k < CS_BLOCK_SIZE; k++) sum += block[k] * block[k];
    return sum;
}

/* norm <- of all blocks of a node; the others are zero before and after. */
static void add_norms(const cs_grid *grid, int64_t node, double *norm)
{
    for (int64_t i = grid->group * node; i < grid->group * (node + 1); i++)
        for (int64_t e = grid->rows.start[i]; e < grid->rows.start[i + 1]; e++)
            norm[grid->rows.column[e] / grid->group] += square_of(grid, e);
}

static double diagonal_square(const cs_grid *grid, int64_t node)
{
    double sum = 0;
    for (int64_t i = grid->group * node; i < grid->group * (node + 1); i++)
        for (int64_t e = grid->rows.start[i]; e < grid->rows.start[i + 1]; e++)
            if (grid->rows.column[e] / grid->group == node) sum += square_of(grid, e);
    return sum;
}

static void find_strong(const cs_grid *grid, strength *s)
{
    int64_t end = 0;
    for (int64_t a = 0; a < grid->nodes; a++) s->diagonal[a] = diagonal_square(grid, a);
    for (int64_t a = 0; a < grid->nodes; a++) {
        add_norms(grid, a, s->norm);
        for (int64_t e = grid->rows.start[grid->group * a];
             e < grid->rows.start[grid->group * a + 1]; e++) {
            int64_t b = grid->rows.column[e] / grid->group;
            double least = THETA * THETA * sqrt(s->diagonal[a] * s->diagonal[b]);
            if (a != b && s->norm[b] > least) s->column[end++] = b;
            s->norm[b] = 0;
        }
        s->start[a + 1] = end;
    }
}

/* ---- aggregates ------------------------------------------------------------------------------------------ */

/* Whether a node and its neighbours are free. */
static int is_free(const strength *s, const int32_t *aggregate, int64_t node)
{
    if (aggregate[node] >= 0) return 0;
    for (int64_t e = s->start[node]; e < s->start[node + 1]; e++)
        if (aggregate[s->column[e]] >= 0) return 0;
    return 1;
}

/* A new aggregate of a node and its free neighbours. */
static void make_aggregate(const strength *s, int32_t *aggregate, int64_t node, int32_t number)
{
    aggregate[node] = number;
    for (int64_t e = s->start[node]; e < s->start[node + 1]; e++)
        if (aggregate[s->column[e]] < 0) aggregate[s->column[e]] = number;
}

/* Joins free nodes to an aggregate of the first pass: that of the first neighbour which has one. */
static void join(const strength *s, int32_t *aggregate, int64_t nodes)
{
    for (int64_t a = 0; a < nodes; a++)
        for (int64_t e = s->start[a]; e < s->start[a + 1] && aggregate[a] == -1; e++)
            if (aggregate[s->column[e]] >= 0) aggregate[a] = -2 - aggregate[s->column[e]];
    for (int64_t a = 0; a < nodes; a++)
        if (aggregate[a] < -1) aggregate[a] = -2 - aggregate[a];
}

/* Numbers the aggregates by their roots, so that those of a part come one after another. number (aggregates) <- the new
 * number of each. Returns how many there are. */
static int64_t number_by_root(int32_t *aggregate, int64_t nodes, int32_t *at_root, int32_t *number)
{
    int64_t count = 0;
    for (int64_t a = 0; a < nodes; a++)
        if (at_root[a] >= 0) number[at_root[a]] = (int32_t)count++;
    for (int64_t a = 0; a < nodes; a++) aggregate[a] = number[aggregate[a]];
    return count;
}

/* Vanek, Mandel and Brezina 1996, algorithm 5.1. at_root (nodes) <- the aggregate of a root; -1: the node is none. */
static void make_aggregates(cs_grid *grid, const strength *s, int32_t *at_root, int32_t *number)
{
    int32_t *aggregate = grid->aggregate, count = 0;
    for (int64_t a = 0; a < grid->nodes; a++) aggregate[a] = at_root[a] = -1;
    for (int64_t a = 0; a < grid->nodes; a++)
        if (is_free(s, aggregate, a)) make_aggregate(s, aggregate, a, at_root[a] = count++);
    join(s, aggregate, grid->nodes);
    for (int64_t a = 0; a < grid->nodes; a++)
        if (aggregate[a] < 0) make_aggregate(s, aggregate, a, at_root[a] = count++);
    grid->aggregates = number_by_root(aggregate, grid->nodes, at_root, number);
    for (int64_t a = grid->nodes; a-- > 0;)
        if (at_root[a] >= 0) grid->root[number[at_root[a]]] = (int32_t)a;
}

/* ---- the motions of an aggregate --------------------------------------------------------------------------- */

enum { MOST_MODES = 6 };

/* The modes of an aggregate: rows of its nodes, of each `modes` numbers. */
typedef struct motion {
    double *row; /* (rows, modes) */
    int64_t rows;
    int modes;
} motion;

static double product(const motion *m, int first, int second)
{
    double sum = 0;
    for (int64_t i = 0; i < m->rows; i++)
        sum += m->row[i * m->modes + first] * m->row[i * m->modes + second];
    return sum;
}

/* row <- Q with Q r = row, r upper triangular (modes, modes), by Gram and Schmidt, twice for each mode. Returns a bit for
 * each mode that is a combination of those before it: its column of Q and its row of r are zero. */
static unsigned make_orthonormal(const motion *m, double *r)
{
    unsigned dead = 0;
    memset(r, 0, sizeof *r * (size_t)(m->modes * m->modes));
    for (int k = 0; k < m->modes; k++) {
        double before = sqrt(product(m, k, k));
        for (int pass = 0; pass < 2; pass++)
            for (int j = 0; j < k; j++) {
                double along = product(m, j, k);
                r[j * m->modes + k] += along;
                for (int64_t i = 0; i < m->rows; i++)
                    m->row[i * m->modes + k] -= along * m->row[i * m->modes + j];
            }
        double after = sqrt(product(m, k, k)), scale = 0;
        if (after > LEAST_MODE * before) {
            scale = 1 / after;
            r[k * m->modes + k] = after;
        } else dead |= 1u << k;
        for (int64_t i = 0; i < m->rows; i++) m->row[i * m->modes + k] *= scale;
    }
    return dead;
}

/* The nodes of each aggregate: member[start[a]] ... member[start[a + 1] - 1], ascending. */
static void list_members(const cs_grid *grid, int64_t *start, int64_t *member)
{
    for (int64_t n = 0; n < grid->nodes; n++) start[grid->aggregate[n] + 1]++;
    for (int64_t a = 0; a < grid->aggregates; a++) start[a + 1] += start[a];
    for (int64_t n = 0; n < grid->nodes; n++) member[start[grid->aggregate[n]]++] = n;
    for (int64_t a = grid->aggregates; a > 0; a--) start[a] = start[a - 1];
    start[0] = 0;
}

/* T of one aggregate; r <- the next level's modes. `room`: for its rows. */
static void make_tentative(cs_grid *grid, const int64_t *member, int64_t count, double *r,
                           double *room, unsigned char *dead)
{
    int modes = (int)(CS_BLOCK_ROWS * grid->width), rows = (int)(CS_BLOCK_ROWS * grid->group);
    const motion m = {room, count * rows, modes};
    for (int64_t n = 0; n < count; n++)
        memcpy(room + n * rows * modes, grid->mode + member[n] * rows * modes,
               sizeof *room * (size_t)(rows * modes));
    *dead = (unsigned char)make_orthonormal(&m, r);

    for (int64_t n = 0; n < count; n++)
        for (int i = 0; i < rows; i++) {
            int64_t row = rows * member[n] + i, pitch = CS_BLOCK_STRIDE * grid->width;
            for (int k = 0; k < modes; k++) {
                int at = CS_BLOCK_STRIDE * (k / CS_BLOCK_ROWS) + k % CS_BLOCK_ROWS;
                grid->tentative[pitch * row + at] = room[(n * rows + i) * modes + k];
            }
        }
}

/* ---- all of it --------------------------------------------------------------------------------------------- */

static cs_status find_aggregates(cs_grid *grid, cs_arena *scratch, cs_error *error)
{
    strength s = {0};
    int64_t entries = grid->rows.start[grid->system->vertices];
    s.diagonal = cs_arena_take(scratch, grid->nodes, sizeof *s.diagonal);
    s.norm = cs_arena_take(scratch, grid->nodes, sizeof *s.norm);
    s.start = cs_arena_take(scratch, grid->nodes + 1, sizeof *s.start);
    s.column = cs_arena_take_unset(scratch, entries, sizeof *s.column);
    int32_t *at_root = cs_arena_take(scratch, grid->nodes, sizeof *at_root);
    int32_t *number = cs_arena_take(scratch, grid->nodes, sizeof *number);
    cs_status status =
        cs_arena_status(scratch, error, "the graph of %lld nodes", (long long)grid->nodes);
    if (status) return status;
    find_strong(grid, &s);
    make_aggregates(grid, &s, at_root, number);
    return CS_OK;
}

static cs_status find_motions(cs_grid *grid, double *next_mode, cs_arena *scratch, cs_error *error)
{
    /* Room for the largest aggregate. */
    int64_t *start = cs_arena_take(scratch, grid->aggregates + 1, sizeof *start), most = 0;
    int64_t *member = cs_arena_take(scratch, grid->nodes, sizeof *member);
    cs_status status = cs_arena_status(scratch, error, "aggregates");
    if (status) return status;
    list_members(grid, start, member);
    for (int64_t a = 0; a < grid->aggregates; a++)
        if (start[a + 1] - start[a] > most) most = start[a + 1] - start[a];
    int64_t modes = CS_BLOCK_ROWS * grid->width, rows = CS_BLOCK_ROWS * grid->group;
    double *room = cs_arena_take(scratch, most * rows * modes, sizeof *room);
    status = cs_arena_status(scratch, error, "an aggregate of %lld nodes", (long long)most);
    if (status) return status;

    for (int64_t a = 0; a < grid->aggregates; a++)
        make_tentative(grid, member + start[a], start[a + 1] - start[a],
                       next_mode + modes * modes * a, room, grid->dead + a);
    return CS_OK;
}

cs_status cs_grid_aggregate(cs_grid *grid, cs_grid *next, cs_arena *arena, cs_error *error)
{
    cs_arena scratch = {0};
    int64_t modes = CS_BLOCK_ROWS * grid->width, vertices = grid->system->vertices;
    grid->aggregate = cs_arena_take(arena, grid->nodes, sizeof *grid->aggregate);
    grid->root = cs_arena_take(arena, grid->nodes, sizeof *grid->root);
    grid->tentative = cs_arena_take(arena, CS_BLOCK_ROWS * CS_BLOCK_STRIDE * grid->width * vertices,
                                    sizeof(double));
    cs_status status =
        cs_arena_status(arena, error, "aggregates of %lld nodes", (long long)grid->nodes);
    if (!status) status = find_aggregates(grid, &scratch, error);
    if (!status) {
        grid->dead = cs_arena_take(arena, grid->aggregates, sizeof *grid->dead);
        next->mode = cs_arena_take(arena, modes * modes * grid->aggregates, sizeof(double));
        status = cs_arena_status(arena, error, "%lld aggregates", (long long)grid->aggregates);
    }
    if (!status) status = find_motions(grid, next->mode, &scratch, error);
    cs_arena_clear(&scratch);
    return status;
}

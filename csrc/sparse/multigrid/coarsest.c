#include "sparse/multigrid/coarsest.h"

#include "core/error.h"

/* The first shift of a matrix of float, and the largest. */
#define FIRST_SHIFT 1e-7
#define LARGEST_SHIFT 1e-2

static int64_t rows_of(const cs_coarsest *c) { return CS_BLOCK_ROWS * c->system->vertices; }

/* Calls visit for all blocks on and below the diagonal: block e of these rows, or its transpose, is that of rows i and
 * columns j. */
typedef void (*visit)(cs_coarsest *c, const cs_block_rows *rows, int64_t e, int64_t i, int64_t j);

static void visit_blocks(cs_coarsest *c, visit call)
{
    const cs_block_system *s = c->system;
    for (int64_t p = 0; p < s->parts; p++)
        for (int64_t i = s->first[p]; i < s->first[p + 1]; i++) {
            for (int64_t e = s->local.start[i]; e < s->local.start[i + 1]; e++)
                call(c, &s->local, e, i, s->local.column[e]);
            for (int64_t e = s->outer.start[i]; e < s->outer.start[i + 1]; e++) {
                int64_t j = s->outer_vertex[s->outer_first[p] + s->outer.column[e]];
                if (j > i) call(c, &s->outer, e, i, j);
            }
        }
}

static void widen(cs_coarsest *c, const cs_block_rows *rows, int64_t e, int64_t i, int64_t j)
{
    (void)rows, (void)e;
    for (int k = 0; k < CS_BLOCK_ROWS; k++) {
        int64_t *first = c->first + CS_BLOCK_ROWS * j + k;
        if (CS_BLOCK_ROWS * i < *first) *first = CS_BLOCK_ROWS * i;
    }
}

cs_status cs_coarsest_take(cs_coarsest *c, const cs_block_system *system, int single,
                           cs_arena *arena, cs_error *error)
{
    *c = (cs_coarsest){.system = system, .single = single};
    int64_t rows = rows_of(c);
    c->first = cs_arena_take(arena, rows, sizeof *c->first);
    c->x = cs_arena_take(arena, rows, sizeof *c->x);
    cs_status status =
        cs_arena_status(arena, error, "the coarsest level of %lld rows", (long long)rows);
    if (status) return status;
    for (int64_t i = 0; i < rows; i++) c->first[i] = i;
    visit_blocks(c, widen);
    (void)cs_panels_take(&c->panels, rows, c->first, arena);
    return cs_arena_status(arena, error, "factors of the coarsest level of %lld rows",
                           (long long)rows);
}

/* Rows of j, columns of i, which is not above j. */
static void put(cs_coarsest *c, const cs_block_rows *rows, int64_t e, int64_t i, int64_t j)
{
    double block[CS_BLOCK_SIZE];
    cs_block_system_get(c->system, rows, e, block);
    for (int row = 0; row < CS_BLOCK_ROWS; row++)
        for (int k = 0; k < CS_BLOCK_ROWS; k++) {
            int64_t at = CS_BLOCK_ROWS * j + row, column = CS_BLOCK_ROWS * i + k;
            double number = block[CS_BLOCK_ROWS * k + row];
            if (column == at) number *= 1 + c->shift;
            if (column <= at) *cs_panels_entry(&c->panels, at, column) = number;
        }
}

int64_t cs_coarsest_factor(cs_coarsest *c, cs_cancellation *cancellation)
{
    for (c->shift = 0;;) {
        cs_breakdown breakdown;
        cs_panels_shape(&c->panels, rows_of(c), c->first);
        visit_blocks(c, put);
        cs_panels_factor(&c->panels, cancellation, &breakdown);
        if (breakdown.row < 0) return -1;
        int is_hopeless = !c->system->single || breakdown.cancelled || c->shift >= LARGEST_SHIFT;
        if (is_hopeless) return breakdown.row / CS_BLOCK_ROWS;
        c->shift = c->shift > 0 ? 2 * c->shift : FIRST_SHIFT;
    }
}

void cs_coarsest_solve(const cs_coarsest *c, const void *r, void *z)
{
    for (int64_t i = 0; i < rows_of(c); i++) {
        int64_t at = CS_BLOCK_STRIDE * (i / CS_BLOCK_ROWS) + i % CS_BLOCK_ROWS;
        c->x[i] = cs_number_at(r, c->single, at);
    }
    cs_panels_solve(&c->panels, c->x);
    for (int64_t i = 0; i < rows_of(c); i++) {
        int64_t at = CS_BLOCK_STRIDE * (i / CS_BLOCK_ROWS) + i % CS_BLOCK_ROWS;
        cs_number_put(z, c->single, at, c->x[i]);
    }
}

double cs_coarsest_work(const cs_coarsest *c)
{
    return 2 * (double)cs_panels_size(rows_of(c), c->first);
}

double cs_coarsest_set_up(const cs_coarsest *c)
{
    double sum = 0;
    for (int64_t i = 0; i < rows_of(c); i++) {
        double width = (double)(i - c->first[i] + 1);
        sum += width * width / 2;
    }
    return sum;
}

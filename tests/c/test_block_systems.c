/* Block systems: products, preconditioners and conjugate gradients of every kind. The bits are the same on any number of
 * threads; compiled with ThreadSanitizer, no two threads meet. Every allocation fails once. */
#include "core/memory.h"
#include "sparse/conjugate.h"
#include "sparse/preconditioners/block_ssor.h"
#include "testing.h"

#include <string.h>

enum { ROWS = 17, COLUMNS = 12, VERTICES = ROWS * COLUMNS, PARTS = 5, MOST = 8 * VERTICES };
enum { PRECISIONS = 3 };

/* The pattern of a grid with diagonals, and its blocks: springs along the edges, and a mass. */
typedef struct sheet {
    int64_t start[VERTICES + 1], column[MOST], label[VERTICES];
    double value[9 * MOST], position[3 * VERTICES], b[3 * VERTICES];
} sheet;

static sheet s;

/* The block of an edge from a vertex to its neighbour so many rows and columns away, and its share of the diagonal. */
static void put_edge(int64_t i, int rows, int columns, int64_t *end, double *diagonal)
{
    double *block = s.value + 9 * *end, along[3] = {columns, rows, 0.1 * (rows + columns)};
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 3; c++) {
            block[3 * a + c] = -along[a] * along[c] - 0.02 * (a == c);
            diagonal[3 * a + c] -= block[3 * a + c];
        }
    s.column[(*end)++] = i + rows * COLUMNS + columns;
}

/* A row of blocks, columns ascending. */
static int64_t put_row(int64_t i, int64_t end)
{
    int64_t own = -1;
    double diagonal[9] = {0.05, 0, 0, 0, 0.05, 0, 0, 0, 0.05};
    for (int rows = -1; rows <= 1; rows++)
        for (int columns = -1; columns <= 1; columns++) {
            int64_t row = i / COLUMNS + rows, column = i % COLUMNS + columns;
            if (rows * columns < 0 || row < 0 || row >= ROWS || column < 0 || column >= COLUMNS)
                continue;
            if (rows || columns) put_edge(i, rows, columns, &end, diagonal);
            else s.column[own = end++] = i;
        }
    memcpy(s.value + 9 * own, diagonal, sizeof diagonal);
    return end;
}

static void make_sheet(void)
{
    uint64_t state = 7;
    for (int64_t i = 0; i < VERTICES; i++) {
        s.start[i + 1] = put_row(i, s.start[i]);
        s.label[i] = i * PARTS / VERTICES;
        for (int k = 0; k < 3; k++) s.b[3 * i + k] = test_random(&state);
        s.position[3 * i] = (double)(i % COLUMNS);
        s.position[3 * i + 1] = (double)(i / COLUMNS);
        s.position[3 * i + 2] = 0.1 * test_random(&state);
    }
}

/* What a call makes: systems in both precisions, a preconditioner, a solution. */
typedef struct solving {
    cs_arena arena;
    cs_block_system exact, single;
    cs_preconditioner M;
    cs_block_cg *cg;
    cs_cg_result result;
    double x[3 * VERTICES];
} solving;

static cs_status make_systems(solving *c, int threads, cs_error *error)
{
    const cs_graph graph = {VERTICES, s.start, s.column};
    cs_status status = cs_block_system_make(&c->exact, &graph, PARTS, s.label, 0, &c->arena, error);
    if (!status)
        status = cs_block_system_make(&c->single, &graph, PARTS, s.label, 1, &c->arena, error);
    if (status) return status;
    cs_block_system_put(&c->exact, s.value, threads);
    cs_block_system_put(&c->single, s.value, threads);
    return CS_OK;
}

/* Solves in double precision, in float, and with a preconditioner in float. */
static cs_status solve(solving *c, const cs_preconditioner_kind *kind, int precision, int threads,
                       cs_error *error)
{
    memset(c, 0, sizeof *c);
    cs_status status = make_systems(c, threads, error);
    const cs_block_system *of_m = precision ? &c->single : &c->exact;
    const cs_preconditioner_options options = {s.position, 1.0, &c->exact};
    if (!status) status = cs_preconditioner_make(&c->M, kind, of_m, &options, error);
    if (!status) status = cs_preconditioner_update(&c->M, threads, NULL, error);
    const cs_block_system *iterated = precision == 1 ? &c->single : &c->exact;
    if (!status)
        status = cs_block_cg_make(&c->cg, &c->exact, iterated, &c->M, precision == 1, MOST,
                                  &c->arena, error);
    if (!status) {
        const cs_cg_options wanted = {.rtol = 1e-9, .max_iterations = MOST, .threads = threads};
        cs_block_cg_run(c->cg, s.b, c->x, &wanted, &c->result);
    }
    cs_preconditioner_clear(&c->M);
    cs_arena_clear(&c->arena);
    return status;
}

static double residual_of(const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < VERTICES; i++)
        for (int a = 0; a < 3; a++) {
            double rest = s.b[3 * i + a];
            for (int64_t e = s.start[i]; e < s.start[i + 1]; e++)
                for (int k = 0; k < 3; k++)
                    rest -= s.value[9 * e + 3 * a + k] * x[3 * s.column[e] + k];
            sum += rest * rest;
        }
    return sqrt(sum);
}

static void every_kind_has_the_same_bits_on_all_threads(void)
{
    static solving alone, other;
    double size = 0;
    for (int i = 0; i < 3 * VERTICES; i++) size += s.b[i] * s.b[i];
    for (int k = 0; cs_preconditioner_kind_at(k); k++)
        for (int precision = 0; precision < PRECISIONS; precision++) {
            const cs_preconditioner_kind *kind = cs_preconditioner_kind_at(k);
            cs_error error = {0};
            CHECK_STATUS(solve(&alone, kind, precision, 1, &error), CS_OK, &error);
            CHECK(alone.result.verdict == CS_CG_CONVERGED);
            CHECK(residual_of(alone.x) <= 1.001e-9 * sqrt(size));
            for (int threads = 2; threads <= 6; threads++) {
                CHECK_STATUS(solve(&other, kind, precision, threads, &error), CS_OK, &error);
                CHECK(!memcmp(other.x, alone.x, sizeof alone.x));
                CHECK(other.result.iterations == alone.result.iterations);
            }
        }
}

/* Each call's n-th allocation fails, until there are no more. */
static void no_failed_allocation_leaves_anything(void)
{
    static solving c;
    int64_t before = cs_memory_live();
    for (int k = 0; cs_preconditioner_kind_at(k); k++)
        for (int precision = 0; precision < PRECISIONS; precision++) {
            cs_status status = CS_NO_MEMORY;
            int64_t n = 0;
            for (; status && n < 500; n++) {
                cs_error error = {0};
                cs_memory_fail_after(n);
                status = solve(&c, cs_preconditioner_kind_at(k), precision, 2, &error);
                cs_memory_fail_after(-1);
                CHECK(!status || (status == CS_NO_MEMORY && error.message[0]));
                CHECK(cs_memory_live() == before);
            }
            CHECK(!status && n > 1);
        }
}

/* Eisenstat's product over float is that of a symmetric matrix. */
static void rests_are_symmetric_to_the_last_bit(void)
{
    static solving c;
    cs_error error = {0};
    CHECK_STATUS(make_systems(&c, 1, &error), CS_OK, &error);
    const cs_preconditioner_options options = {s.position, 1.3, &c.exact};
    CHECK_STATUS(
        cs_preconditioner_make(&c.M, &cs_preconditioner_block_ssor, &c.single, &options, &error),
        CS_OK, &error);
    CHECK_STATUS(cs_preconditioner_update(&c.M, 1, NULL, &error), CS_OK, &error);
    const float *rest = cs_preconditioner_scaled(&c.M)->rest;
    for (int64_t i = 0; i < VERTICES; i++, rest += 9)
        for (int a = 0; a < 3; a++)
            for (int k = 0; k < a; k++) CHECK(rest[3 * a + k] == rest[3 * k + a]);
    cs_preconditioner_clear(&c.M);
    cs_arena_clear(&c.arena);
}

/* Whichever vectors a product has, its bits are the same. */
static void products_with_other_vectors_are_the_same(void)
{
    static solving c;
    static double alone[3 * VERTICES], first[3 * VERTICES], second[3 * VERTICES];
    cs_error error = {0};
    cs_block_product products[2];
    CHECK_STATUS(make_systems(&c, 1, &error), CS_OK, &error);
    for (int n = 0; n < 2; n++)
        CHECK_STATUS(cs_block_product_take(&c.exact, &products[n], &c.arena, &error), CS_OK,
                     &error);
    cs_block_system_multiply(&c.exact, &products[0], s.b, alone, 1);
    cs_block_system_multiply(&c.exact, &products[0], s.b, first, 3);
    cs_block_system_multiply(&c.exact, &products[1], s.position, second, 2);
    cs_block_system_multiply(&c.exact, &products[1], s.b, second, 2);
    CHECK(!memcmp(first, alone, sizeof alone));
    CHECK(!memcmp(second, alone, sizeof alone));
    cs_arena_clear(&c.arena);
}

/* The largest difference, relative to the diagonal blocks of its vertices. */
static void differences_are_those_of_a_block(void)
{
    static int64_t mirror[MOST];
    const cs_block_pattern pattern = {VERTICES, s.start[VERTICES], s.column, mirror};
    for (int64_t i = 0; i < VERTICES; i++)
        for (int64_t e = s.start[i]; e < s.start[i + 1]; e++)
            for (int64_t f = s.start[s.column[e]]; f < s.start[s.column[e] + 1]; f++)
                if (s.column[f] == i) mirror[e] = f;
    cs_asymmetry worst;
    cs_error error = {0};
    CHECK_STATUS(cs_block_asymmetry(&pattern, s.value, 1, &worst, &error), CS_OK, &error);
    CHECK(worst.apart == 0);

    /* A large entry elsewhere does not hide it. */
    static double value[9 * MOST];
    memcpy(value, s.value, sizeof value);
    value[0] = 1e12;
    value[9 * s.start[VERTICES - 1] + 1] += 1e-3;
    for (int threads = 1; threads <= 3; threads++) {
        CHECK_STATUS(cs_block_asymmetry(&pattern, value, threads, &worst, &error), CS_OK, &error);
        CHECK(worst.apart > 1e-5 && worst.apart < 1e-2);
    }
}

int main(void)
{
    make_sheet();
    rests_are_symmetric_to_the_last_bit();
    products_with_other_vectors_are_the_same();
    differences_are_those_of_a_block();
    every_kind_has_the_same_bits_on_all_threads();
    no_failed_allocation_leaves_anything();
    return test_result();
}

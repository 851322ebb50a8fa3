/* Factors of symmetric matrices: panels, skylines from which rows are taken out and put back, sparse
 * ones; each against products with the matrix itself. */
#include "linalg/ordering.h"
#include "linalg/skyline.h"
#include "linalg/sparse.h"
#include "testing.h"

#include <string.h>

enum { MOST = 61 };

typedef struct sample {
    int64_t rows, first[MOST];
    double a[MOST][MOST];
} sample;

/* A positive definite matrix whose row i begins in some column of the last `width`. */
static void make(sample *m, int64_t rows, int64_t width, uint64_t *random)
{
    m->rows = rows;
    memset(m->a, 0, sizeof m->a);
    for (int64_t i = 0; i < rows; i++) {
        double reach = 0.5 + 0.5 * test_random(random);
        m->first[i] = i - (int64_t)(reach * (double)(width < i ? width : i));
        for (int64_t j = m->first[i]; j < i; j++) m->a[i][j] = m->a[j][i] = test_random(random);
    }
    for (int64_t i = 0; i < rows; i++) {
        m->a[i][i] = 0.1;
        for (int64_t j = 0; j < rows; j++) m->a[i][i] += j == i ? 0 : fabs(m->a[i][j]);
    }
}

/* Largest |A x - b| on the rows that are in, and largest |x - b| on the others. */
static double defect(const sample *m, const unsigned char *out, const double *x, const double *b)
{
    double worst = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        double sum = out[i] ? x[i] - b[i] : -b[i];
        for (int64_t j = 0; j < m->rows && !out[i]; j++) sum += out[j] ? 0 : m->a[i][j] * x[j];
        worst = fmax(worst, fabs(sum));
    }
    return worst;
}

static void fill(const sample *m, const unsigned char *out, cs_panels *panels)
{
    cs_panels_shape(panels, m->rows, m->first);
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = m->first[i]; j <= i; j++)
            *cs_panels_entry(panels, i, j) = out[i] || out[j] ? i == j : m->a[i][j];
}

static void random_side(int64_t rows, double *b, uint64_t *random)
{
    for (int64_t i = 0; i < rows; i++) b[i] = test_random(random);
}

static void panels_solve(int64_t rows, int64_t width)
{
    static sample m;
    uint64_t random = (uint64_t)(100 * rows + width);
    unsigned char out[MOST] = {0};
    double b[MOST], x[MOST];
    cs_arena arena = {0};
    cs_panels panels;
    cs_breakdown breakdown;
    make(&m, rows, width, &random);
    CHECK(cs_panels_take(&panels, rows, m.first, &arena) == 0);
    fill(&m, out, &panels);
    CHECK(panels.start[panels.count] == cs_panels_size(rows, m.first));
    cs_panels_factor(&panels, NULL, &breakdown);
    CHECK(breakdown.row == -1);
    random_side(rows, b, &random);
    memcpy(x, b, sizeof b);
    cs_panels_solve(&panels, x);
    CHECK_NEAR(defect(&m, out, x, b), 0, 1e-13);
    cs_arena_clear(&arena);
}

/* A pivot that is not above rounding is named. */
static void panels_break_down(int64_t bad)
{
    static sample m;
    uint64_t random = 5;
    unsigned char out[MOST] = {0};
    cs_arena arena = {0};
    cs_panels panels;
    cs_breakdown breakdown;
    make(&m, 20, 20, &random);
    m.a[bad][bad] = -3;
    CHECK(cs_panels_take(&panels, 20, m.first, &arena) == 0);
    fill(&m, out, &panels);
    cs_panels_factor(&panels, NULL, &breakdown);
    CHECK(breakdown.row == bad);
    CHECK(breakdown.pivot <= -3);
    cs_arena_clear(&arena);
}

/* Rows go out and come back at random; after each change the factor is that of what is in. */
static void skyline_follows(int64_t rows, int64_t width)
{
    static sample m;
    uint64_t random = (uint64_t)(7 * rows + width);
    unsigned char out[MOST] = {0};
    double b[MOST], x[MOST], scratch[MOST] = {0}, zero[MOST] = {0};
    cs_arena arena = {0};
    cs_panels panels;
    cs_skyline skyline;
    cs_breakdown breakdown;
    make(&m, rows, width, &random);
    CHECK(cs_panels_take(&panels, rows, m.first, &arena) == 0);
    CHECK(cs_skyline_take(&skyline, rows, m.first, &arena) == 0);
    fill(&m, out, &panels);
    cs_panels_factor(&panels, NULL, &breakdown);
    cs_skyline_unpack(&skyline, &panels);
    for (int change = 0; change < 60 && rows; change++) {
        int64_t i = (int64_t)((0.5 + 0.5 * test_random(&random)) * (double)rows);
        if (!out[i]) {
            cs_skyline_remove(&skyline, i, scratch);
        } else {
            for (int64_t j = 0; j < rows; j++) scratch[j] = j == i || !out[j] ? m.a[i][j] : 0;
            CHECK(cs_skyline_add(&skyline, i, scratch, 1e-12) == 0);
        }
        out[i] = !out[i];
        CHECK(memcmp(scratch, zero, sizeof scratch) == 0);
        random_side(rows, b, &random);
        memcpy(x, b, sizeof b);
        cs_skyline_solve(&skyline, x);
        CHECK_NEAR(defect(&m, out, x, b), 0, 1e-12);
    }
    cs_arena_clear(&arena);
}

/* A row that depends on those that are in cannot come back. */
static void skyline_refuses_a_dependent_row(int64_t back)
{
    double a[3][3] = {{2, 1, 2}, {1, 2, 1}, {2, 1, 2}}, scratch[3] = {0}, zero[3] = {0};
    int64_t first[3] = {0, 0, 0};
    cs_arena arena = {0};
    cs_panels panels;
    cs_skyline skyline;
    cs_breakdown breakdown;
    CHECK(cs_panels_take(&panels, 3, first, &arena) == 0);
    CHECK(cs_skyline_take(&skyline, 3, first, &arena) == 0);
    cs_panels_shape(&panels, 3, first);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++)
            *cs_panels_entry(&panels, i, j) = i == back || j == back ? i == j : a[i][j];
    cs_panels_factor(&panels, NULL, &breakdown);
    CHECK(breakdown.row == -1);
    cs_skyline_unpack(&skyline, &panels);
    for (int j = 0; j < 3; j++) scratch[j] = a[back][j];
    CHECK(cs_skyline_add(&skyline, back, scratch, 1e-12) == -1);
    CHECK(memcmp(scratch, zero, sizeof scratch) == 0);
    cs_arena_clear(&arena);
}

static void sparse_leaves_rows_out(int64_t rows, int64_t width)
{
    static sample m;
    static int64_t start[MOST + 1], column[MOST * MOST];
    static double value[MOST * MOST];
    uint64_t random = (uint64_t)(11 * rows + width);
    unsigned char out[MOST] = {0};
    signed char skip[MOST] = {0};
    double b[MOST], x[MOST];
    cs_arena arena = {0};
    cs_sparse_factor factor;
    cs_breakdown breakdown;
    make(&m, rows, width, &random);
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < rows; j++) {
            if (m.a[i][j] == 0) continue;
            column[count] = j;
            value[count++] = m.a[i][j];
        }
        start[i + 1] = count;
    }
    cs_graph graph = {rows, start, column};
    CHECK(cs_sparse_take(&factor, &graph, NULL, &arena) == 0);
    for (int k = 0; k < 6; k++) {
        for (int64_t i = 0; i < rows; i++) out[i] = k && test_random(&random) > 0.3;
        for (int64_t i = 0; i < rows; i++)
            skip[i] = out[i] ? (test_random(&random) > 0 ? 1 : -1) : 0;
        cs_sparse_factorize(&factor, value, k ? skip : NULL, NULL, &breakdown);
        CHECK(breakdown.row == -1);
        for (int64_t i = 0; i < rows; i++) b[i] = out[i] ? 0 : test_random(&random);
        memcpy(x, b, sizeof b);
        cs_sparse_solve(&factor, k ? skip : NULL, x);
        CHECK_NEAR(defect(&m, out, x, b), 0, 1e-13);
    }
    cs_arena_clear(&arena);
}

int main(void)
{
    static const int64_t rows[] = {0, 1, 2, 7, 8, 9, 16, 37, MOST};
    for (int i = 0; i < 9; i++)
        for (int64_t width = 1; width <= MOST; width *= 4) {
            panels_solve(rows[i], width);
            skyline_follows(rows[i], width);
            sparse_leaves_rows_out(rows[i], width);
        }
    for (int64_t bad = 0; bad < 20; bad += 19) panels_break_down(bad);
    skyline_refuses_a_dependent_row(2);
    skyline_refuses_a_dependent_row(0);
    CHECK(cs_memory_live() == 0);
    return test_result();
}

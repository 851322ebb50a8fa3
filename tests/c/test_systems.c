/* The systems of csrc/system on a small problem with everything in it: bodies of two sizes, some of which
 * cannot move, pairs with several contacts, a body that touches itself, compliance; and on its matrix. */
#include "testing.h"

#include "linalg/small.h"
#include "problem/products.h"
#include "system/newton_system.h"
#include "system/shifted.h"

#include <string.h>

enum { SMALL = 7, LARGE = 6, BODIES = SMALL + LARGE, BLOCKS = 18, ROWS = 2 * BLOCKS };
enum { DOF = 2, MORE = 3, UNKNOWNS = SMALL * DOF + LARGE * MORE };

static const int64_t same_size[][2] = {{0, 1}, {1, 0},  {0, 1},  {1, 2}, {2, 3}, {4, 0},
                                       {3, 3}, {-1, 2}, {-1, 5}, {4, 5}, {6, 2}, {6, -1}};
static const int64_t two_sizes[][2] = {{0, 7}, {1, 12}, {3, 8}, {5, 9}, {3, 9}, {6, 10}};
static const int64_t immovable[] = {5, 9};

static uint64_t state = 7;

static int is_immovable(int64_t body) { return body == immovable[0] || body == immovable[1]; }

static void fill(int64_t count, double *numbers)
{
    for (int64_t i = 0; i < count; i++) numbers[i] = test_random(&state);
}

static cs_problem *make(void)
{
    static double mass[2][BODIES * MORE], jacobian[BLOCKS * 2 * (MORE + MORE)], b[ROWS];
    static double compliance[ROWS];
    cs_problem *problem = NULL;
    for (int64_t i = 0; i < BODIES * MORE; i++) {
        mass[0][i] = is_immovable(i / DOF) ? 0 : 1.5 + test_random(&state);
        mass[1][i] = is_immovable(SMALL + i / MORE) ? 0 : 1.5 + test_random(&state);
    }
    fill(BLOCKS * 2 * (MORE + MORE), jacobian);
    for (int64_t i = 0; i < ROWS; i++) compliance[i] = 0.1 * (double)(i % 3);
    CHECK(cs_problem_create(&problem, NULL) == CS_OK);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){SMALL, DOF, 1, mass[0]}, NULL) == CS_OK);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){LARGE, MORE, 1, mass[1]}, NULL) == CS_OK);
    cs_blocks blocks = {.count = 12,
                        .rows = 2,
                        .dof = {DOF, DOF},
                        .jacobian = jacobian,
                        .bodies = same_size[0],
                        .b = b,
                        .set = "free",
                        .compliance = compliance};
    CHECK(cs_problem_add_blocks(problem, &blocks, NULL) == CS_OK);
    blocks.count = 6;
    blocks.dof[1] = MORE;
    blocks.bodies = two_sizes[0];
    blocks.compliance = NULL;
    CHECK(cs_problem_add_blocks(problem, &blocks, NULL) == CS_OK);
    return problem;
}

/* The same with its matrix given, plus so much of a skew one in the same places. */
static cs_problem *give(const cs_block_matrix *A, double skew)
{
    static double value[ROWS * ROWS], b[ROWS];
    static int64_t start[ROWS + 1], column[ROWS * ROWS];
    int64_t count = 0;
    for (int64_t row = 0; row < ROWS; row++) {
        int64_t k = row / 2;
        for (int64_t e = A->start[k]; e < A->start[k + 1]; e++)
            for (int64_t j = 0; j < 2; j++, count++) {
                int64_t other = 2 * A->column[e] + j;
                column[count] = other;
                value[count] = A->value[A->first[k] + 4 * (e - A->start[k]) + 2 * (row % 2) + j];
                value[count] += skew * (double)((other > row) - (other < row));
            }
        start[row + 1] = count;
    }
    cs_problem *problem = NULL;
    cs_blocks blocks = {.count = BLOCKS, .rows = 2, .b = b, .set = "free"};
    CHECK(cs_problem_create(&problem, NULL) == CS_OK);
    CHECK(cs_problem_add_blocks(problem, &blocks, NULL) == CS_OK);
    CHECK(cs_problem_set_matrix(problem, &(cs_csr){ROWS, start, column, value}, NULL) == CS_OK);
    return problem;
}

/* ---- the pattern ----------------------------------------------------------------------------- */

/* Whether an entry is between two nodes, looked up in the lists above or in A. */
static int joined(const cs_pattern *p, int64_t i, int64_t j)
{
    int found = i == j;
    for (int64_t k = 0; k < BLOCKS && !p->matrix; k++) {
        const int64_t *pair = k < 12 ? same_size[k] : two_sizes[k - 12];
        int moves =
            pair[0] >= 0 && pair[1] >= 0 && !is_immovable(pair[0]) && !is_immovable(pair[1]);
        found |= moves && ((pair[0] == i && pair[1] == j) || (pair[0] == j && pair[1] == i));
    }
    for (int side = 0; side < 2 && p->matrix; side++) {
        int64_t row = side ? j : i, column = side ? i : j;
        for (int64_t e = p->matrix->start[row]; e < p->matrix->start[row + 1]; e++)
            found |= p->matrix->column[e] == column;
    }
    return found;
}

static int64_t width_of(const cs_pattern *p, int64_t node)
{
    if (p->matrix) return 2;
    return is_immovable(node) ? 0 : node < SMALL ? DOF : MORE;
}

static void check_order(const cs_pattern *p)
{
    CHECK(p->graph.count == (p->matrix ? BLOCKS : BODIES));
    for (int64_t i = 0; i < p->graph.count; i++) {
        CHECK(p->place[p->order[i]] == i);
        CHECK(p->begin[i + 1] - p->begin[i] == width_of(p, p->order[i]));
    }
    CHECK(p->begin[0] == 0 && p->begin[p->graph.count] == p->unknowns);
}

/* Rows of the envelope begin with the first node that is joined to theirs. */
static void check_envelope(const cs_pattern *p, const int64_t *first)
{
    for (int64_t i = 0; i < p->graph.count; i++) {
        int64_t least = 0;
        while (!joined(p, p->order[least], p->order[i])) least++;
        for (int64_t row = p->begin[i]; row < p->begin[i + 1]; row++)
            CHECK(first[row] == p->begin[least]);
    }
}

/* Rows of the lower triangle have all unknowns of nodes up to their own that are joined to it. */
static void check_lower(const cs_pattern *p, const cs_graph *lower)
{
    int64_t at = 0;
    for (int64_t i = 0; i < p->graph.count; i++)
        for (int64_t row = p->begin[i]; row < p->begin[i + 1]; row++) {
            CHECK(lower->start[row] == at);
            for (int64_t j = 0; j <= i; j++)
                for (int64_t column = p->begin[j]; column < p->begin[j + 1]; column++)
                    if (joined(p, p->order[i], p->order[j])) CHECK(lower->column[at++] == column);
        }
    CHECK(lower->start[p->unknowns] == at);
}

static void check_patterns(const cs_problem *problem, const cs_block_matrix *matrix)
{
    cs_arena arena = {0};
    cs_pattern pattern;
    cs_graph lower;
    CHECK(!cs_pattern_find(&pattern, problem, matrix, CS_FILL_RCM, NULL, &arena));
    check_order(&pattern);
    check_envelope(&pattern, cs_pattern_envelope(&pattern, &arena));
    CHECK(!cs_pattern_find(&pattern, problem, matrix, CS_FILL_MINIMUM_DEGREE, NULL, &arena));
    check_order(&pattern);
    CHECK(!cs_pattern_lower(&pattern, &arena, &lower));
    check_lower(&pattern, &lower);
    cs_arena_clear(&arena);
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* (A + P) x = r, with the products of the problem. */
static void check_shifted(const cs_problem *problem, cs_space space)
{
    cs_arena arena = {0};
    cs_shifted *shifted = NULL;
    double p[ROWS], r[ROWS], x[ROWS], velocity[UNKNOWNS], image[ROWS] = {0};
    cs_error error;
    fill(ROWS, r);
    memcpy(x, r, sizeof r);
    for (int i = 0; i < ROWS; i++) p[i] = 1.5 + test_random(&state);
    CHECK_STATUS(cs_shifted_take(problem, space, 1, &arena, NULL, NULL, &shifted, &error), CS_OK,
                 &error);
    CHECK_STATUS(cs_shifted_factor(shifted, p, NULL, &error), CS_OK, &error);
    cs_shifted_solve(shifted, x);
    cs_add_products(problem, x, velocity, image);
    for (int i = 0; i < ROWS; i++) image[i] += p[i] * x[i];
    CHECK_ALL_NEAR(ROWS, image, r, 1e-12);
    cs_arena_clear(&arena);
}

/* S of each block: symmetric, of rank one in every third block and zero in the next; or unsymmetric. */
static void write_slopes(cs_newton_system *system, int symmetric)
{
    for (int64_t k = 0; k < BLOCKS; k++) {
        double *slope = system->slope + cs_system_block_at(&system->blocks, k).square;
        double u[2], scale = k % 3 == 1 ? 0 : 1;
        fill(2, u);
        for (int i = 0; i < 4; i++) slope[i] = scale * u[i / 2] * u[i % 2];
        if (k % 3 == 2) slope[0] += 1, slope[3] += 1;
        if (!symmetric) slope[2] = 0;
    }
}

/* (I + A S) d = r, with the products of the problem. */
static void check_newton(const cs_problem *problem, int symmetric)
{
    cs_arena arena = {0};
    cs_newton_system system;
    double scale[ROWS], r[ROWS], d[ROWS], product[ROWS], velocity[UNKNOWNS], image[ROWS];
    cs_error error;
    fill(ROWS, r);
    for (int i = 0; i < ROWS; i++) scale[i] = 1;
    CHECK_STATUS(cs_newton_system_build(&system, problem, scale, 1e9, NULL, &arena, &error), CS_OK,
                 &error);
    write_slopes(&system, symmetric);
    CHECK(!cs_newton_factor(&system));
    CHECK(system.krylov == (!symmetric || (problem->matrix && problem->matrix->asymmetry > 0)));
    CHECK(cs_newton_solve(&system, r, 1e-12, d) <= 1e-12);
    cs_system_multiply_squares(&system.blocks, system.slope, 0, d, product);
    memcpy(image, d, sizeof d);
    cs_add_products(problem, product, velocity, image);
    CHECK_ALL_NEAR(ROWS, image, r, 1e-11);
    cs_arena_clear(&arena);
}

int main(void)
{
    cs_problem *problem = make();
    cs_block_matrix *matrix = NULL;
    CHECK(cs_assemble(problem, 0, &problem->arena, NULL, &matrix, NULL) == CS_OK);
    cs_problem *given = give(matrix, 0), *skew = give(matrix, 0.05);
    check_patterns(problem, NULL);
    check_patterns(problem, matrix);
    check_shifted(problem, CS_SPACE_CONSTRAINTS);
    check_shifted(problem, CS_SPACE_BODIES);
    check_shifted(given, CS_SPACE_AUTO);
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        check_newton(problem, symmetric);
        check_newton(given, symmetric);
        check_newton(skew, symmetric);
    }
    cs_problem_destroy(problem);
    cs_problem_destroy(given);
    cs_problem_destroy(skew);
    return test_result();
}

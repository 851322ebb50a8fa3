/* Groups with spare rows behind their blocks: every method solves the problem as without them, and leaves what
 * belongs to no block zero. The reader of a problem has to ask for a block's rows, not count them. */
#include "problem/problem.h"
#include "scene.h"
#include "solver/solver.h"

#include <float.h>

enum { MOST_ROWS = 512 };

/* Adds one spare row behind the first group, two behind the second, ... */
static void add_spare_rows(cs_problem *problem)
{
    int64_t spare = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        problem->block_group[g].first_row += spare;
        spare += g + 1;
    }
    problem->rows += spare;
}

typedef struct answer {
    cs_status status;
    cs_error error;
    cs_result result;
    double impulses[MOST_ROWS], velocities[MOST_ROWS];
} answer;

static void solve(const cs_problem *problem, const char *method, const char *scheme, answer *a)
{
    cs_solver *solver = NULL;
    cs_options options = cs_options_default();
    options.method = method;
    options.scheme = scheme;
    options.max_iterations = 20000;
    memset(a, 0, sizeof *a);
    a->result = (cs_result){.impulses = a->impulses, .residual_velocities = a->velocities};
    a->status = cs_solver_create(&solver, problem, &options, NULL, &a->error);
    if (!a->status)
        a->status = cs_solver_solve(solver, NULL, NULL, NULL, NULL, &a->result, &a->error);
    a->result.history = NULL;
    cs_solver_destroy(solver);
}

/* The velocities of blocks agree, and spare rows hold zero. Both solves have met the tolerance, which is
 * relative to b: so are the differences between unique velocities. */
static void compare_rows(const cs_problem *dense, const cs_problem *spread, const answer *a,
                         const answer *b)
{
    int used[MOST_ROWS] = {0};
    double largest = 0, difference = 0;
    for (int64_t k = 0; k < dense->blocks; k++) {
        const cs_block_group *group = cs_block_group_of(dense, k);
        int64_t from = cs_block_row(dense, k), to = cs_block_row(spread, k);
        CHECK(cs_block_end(dense, k) - from == cs_block_end(spread, k) - to);
        for (int64_t i = 0; i < cs_block_end(dense, k) - from; i++) {
            CHECK(cs_row_block(spread, to + i) == k && cs_row_block(dense, from + i) == k);
            used[to + i] = 1;
            largest = fmax(largest, fabs(group->b[(k - group->first_block) * group->rows + i]));
            difference = fmax(difference, fabs(a->velocities[from + i] - b->velocities[to + i]));
        }
    }
    CHECK(difference <= 1e-4 * largest);
    for (int64_t i = 0; i < spread->rows; i++)
        CHECK(used[i] || (b->impulses[i] == 0 && b->velocities[i] == 0));
}

static int solved;

static void compare(const cs_problem *dense, const cs_problem *spread, const char *method,
                    const char *scheme)
{
    static answer a, b;
    solve(dense, method, scheme, &a);
    solve(spread, method, scheme, &b);
    CHECK_STATUS(b.status, a.status, &b.error);
    int agree = a.status == b.status && a.result.outcome == b.result.outcome;
    CHECK(agree);
    if (!agree)
        fprintf(stderr, "    %s, %s: outcomes %d and %d\n", method, scheme, a.result.outcome,
                b.result.outcome);
    if (a.status || a.result.outcome != CS_CONVERGED || !agree) return;
    int failures = test_failures;
    compare_rows(dense, spread, &a, &b);
    if (test_failures > failures) fprintf(stderr, "    %s, %s\n", method, scheme);
    solved++;
}

static void compare_all(const cs_problem *dense, const cs_problem *spread)
{
    const char *method;
    for (int i = 0; (method = cs_method_name(i, NULL)); i++) {
        compare(dense, spread, method, "auto");
        compare(dense, spread, method, "factorized");
        compare(dense, spread, method, "matrix");
    }
}

/* A that was given, for rows with spare ones between them. */
static cs_status create_from_matrix(const scene *s, int spread, cs_problem **problem,
                                    cs_error *error)
{
    static int64_t start[MOST_ROWS + 1], column[SCENE_ROWS * SCENE_ROWS];
    static double value[SCENE_ROWS * SCENE_ROWS];
    cs_status status = cs_problem_create(problem, error);
    for (int g = 0; g < SCENE_GROUPS && !status; g++) {
        cs_blocks blocks = {
            .count = scene_first[g + 1] - scene_first[g],
            .rows = scene_rows[g],
            .b = s->b + scene_row(scene_first[g]),
            .set = scene_set[g],
            .parameters = s->parameters[g],
        };
        status = cs_problem_add_blocks(*problem, &blocks, error);
    }
    if (status) return status;
    if (spread) add_spare_rows(*problem);
    int64_t entries = 0, row = 0;
    for (int k = 0; k < SCENE_BLOCKS; k++)
        for (int i = 0; i < scene_rows[scene_group_of(k)]; i++) {
            while (row < cs_block_row(*problem, k) + i) start[++row] = entries;
            for (int other = 0; other < SCENE_BLOCKS; other++)
                for (int j = 0; j < scene_rows[scene_group_of(other)]; j++) {
                    double entry = s->A[scene_row(k) + i][scene_row(other) + j];
                    if (entry == 0) continue;
                    column[entries] = cs_block_row(*problem, other) + j;
                    value[entries++] = entry;
                }
            start[++row] = entries;
        }
    while (row < (*problem)->rows) start[++row] = entries;
    cs_csr csr = {(*problem)->rows, start, column, value};
    return cs_problem_set_matrix(*problem, &csr, error);
}

int main(void)
{
    static scene s;
    cs_problem *dense = NULL, *spread = NULL;
    cs_error error;
    scene_make(&s);

    CHECK_STATUS(scene_create(&s, &dense, &error), CS_OK, &error);
    CHECK_STATUS(scene_create(&s, &spread, &error), CS_OK, &error);
    if (dense && spread) {
        add_spare_rows(spread);
        compare_all(dense, spread);
    }
    cs_problem_destroy(dense);
    cs_problem_destroy(spread);

    CHECK_STATUS(create_from_matrix(&s, 0, &dense, &error), CS_OK, &error);
    CHECK_STATUS(create_from_matrix(&s, 1, &spread, &error), CS_OK, &error);
    if (dense && spread) compare_all(dense, spread);
    cs_problem_destroy(dense);
    cs_problem_destroy(spread);

    CHECK_STATUS(chain_create(40, &dense, &error), CS_OK, &error);
    CHECK_STATUS(chain_create(40, &spread, &error), CS_OK, &error);
    if (dense && spread) {
        add_spare_rows(spread);
        compare_all(dense, spread);
    }
    cs_problem_destroy(dense);
    cs_problem_destroy(spread);
    CHECK(solved > 60);
    return test_result();
}

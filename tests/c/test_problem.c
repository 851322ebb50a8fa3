/* Problems: A = J M^-1 J^T assembled, a given A cut into blocks, the contact graph, bad input. */
#include "core/memory.h"
#include "problem/products.h"
#include "scene.h"

#include <float.h>

static scene s;

#define TOLERANCE (64 * DBL_EPSILON * 7) /* entries of A reach 7 */

/* Whether two blocks share a body that moves. */
static int share_moving_body(int k, int l, int with_immovable)
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int64_t body = scene_pairs[k][i];
            int moving = body >= 0 && (with_immovable || (body != 3 && body != 6));
            if (moving && body == scene_pairs[l][j]) return 1;
        }
    return 0;
}

/* ---- from bodies ----------------------------------------------------------------------------- */

static void sizes(const cs_problem *problem)
{
    CHECK(cs_problem_blocks(problem) == SCENE_BLOCKS);
    CHECK(cs_problem_rows(problem) == SCENE_ROWS);
    CHECK(cs_problem_velocities(problem) == SCENE_VELOCITIES);
    CHECK(problem->parameters == SCENE_PARAMETERS);
    for (int k = 0; k < SCENE_BLOCKS; k++) {
        const cs_block_group *group = &problem->block_group[scene_group_of(k)];
        CHECK(cs_block_group_of(problem, k) == group);
        CHECK(cs_block_row(problem, k) == scene_row(k));
    }
    CHECK(cs_block_end(problem, SCENE_BLOCKS - 1) == SCENE_ROWS);
    for (int body = 0; body < SCENE_BODIES; body++)
        CHECK(cs_body_group_of(problem, body) == &problem->body_group[body >= 4]);
    CHECK(cs_body_group_of(problem, -1) == NULL);
}

/* Every block of the matrix, once, against the dense A; entries without a block must be zero. */
static void compare_blocks(const cs_problem *problem, const cs_block_matrix *matrix,
                           double (*dense)[SCENE_ROWS], double tolerance)
{
    for (int k = 0; k < SCENE_BLOCKS; k++) {
        int rows = scene_rows[scene_group_of(k)], present[SCENE_ROWS] = {0};
        const double *value = matrix->value + matrix->first[k];
        for (int64_t e = matrix->start[k]; e < matrix->start[k + 1]; e++) {
            int l = (int)matrix->column[e], columns = scene_rows[scene_group_of(l)];
            CHECK(e == matrix->start[k] || matrix->column[e - 1] < l);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++)
                    CHECK_NEAR(*value++, dense[scene_row(k) + i][scene_row(l) + j], tolerance);
            for (int j = 0; j < columns; j++) present[scene_row(l) + j] = 1;
        }
        CHECK(value == matrix->value + matrix->first[k + 1]);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < SCENE_ROWS; j++)
                if (!present[j]) CHECK(dense[scene_row(k) + i][j] == 0);
    }
    CHECK(problem->blocks == matrix->blocks);
}

static void assembled_matrix(const cs_problem *problem)
{
    cs_arena arena = {0};
    cs_block_matrix *matrix = NULL;
    cs_error error;
    CHECK_STATUS(cs_assemble(problem, 0, &arena, NULL, &matrix, &error), CS_OK, &error);
    compare_blocks(problem, matrix, s.A, TOLERANCE);
    int64_t expected = 0;
    for (int k = 0; k < SCENE_BLOCKS; k++)
        for (int l = 0; l < SCENE_BLOCKS; l++) expected += k == l || share_moving_body(k, l, 0);
    CHECK(matrix->start[SCENE_BLOCKS] == expected);
    cs_arena_clear(&arena);
}

static void diagonal_blocks_and_factors(const cs_problem *problem)
{
    static double G[SCENE_ROWS][SCENE_VELOCITIES];
    for (int k = 0; k < SCENE_BLOCKS; k++) {
        int g = scene_group_of(k), rows = scene_rows[g], row = scene_row(k);
        const cs_block_group *group = &problem->block_group[g];
        double diagonal[36], scaled[2 * 3 * 6], *next = scaled;
        cs_diagonal_block(problem, group, k - scene_first[g], diagonal);
        for (int i = 0; i < rows * rows; i++)
            CHECK_NEAR(diagonal[i], s.A[row + i / rows][row + i % rows], TOLERANCE);
        cs_scaled_jacobian(problem, group, k - scene_first[g], scaled);
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < rows * scene_dof[g][side]; i++, next++) {
                int64_t body = scene_pairs[k][side];
                if (body < 0 || body == 3 || body == 6) CHECK(*next == 0);
                else
                    G[row + i / scene_dof[g][side]]
                     [scene_velocity(body) + i % scene_dof[g][side]] += *next;
            }
    }
    for (int i = 0; i < SCENE_ROWS; i++)
        for (int j = 0; j < SCENE_ROWS; j++) {
            double product = 0;
            for (int c = 0; c < SCENE_VELOCITIES; c++) product += G[i][c] * G[j][c];
            CHECK_NEAR(product, s.A[i][j], TOLERANCE);
        }
}

/* M^-1 J^T lambda and A lambda + b. */
static void products(const cs_problem *problem)
{
    double lambda[SCENE_ROWS], velocity[SCENE_VELOCITIES], change[SCENE_VELOCITIES] = {0};
    double xi[SCENE_ROWS], expected[SCENE_ROWS];
    uint64_t random = 31;
    for (int i = 0; i < SCENE_ROWS; i++) lambda[i] = test_random(&random);
    for (int i = 0; i < SCENE_VELOCITIES; i++)
        for (int j = 0; j < SCENE_VELOCITIES; j++)
            for (int k = 0; k < SCENE_ROWS; k++) change[i] += s.Minv[i][j] * s.J[k][j] * lambda[k];
    for (int i = 0; i < SCENE_ROWS; i++) {
        expected[i] = s.b[i];
        for (int j = 0; j < SCENE_ROWS; j++) expected[i] += s.A[i][j] * lambda[j];
    }
    cs_velocity_change(problem, lambda, velocity);
    CHECK_ALL_NEAR(SCENE_VELOCITIES, velocity, change, TOLERANCE);
    memset(velocity, 0xff, sizeof velocity);
    cs_residual_velocity(problem, lambda, s.b, velocity, xi);
    CHECK_ALL_NEAR(SCENE_VELOCITIES, velocity, change, TOLERANCE);
    CHECK_ALL_NEAR(SCENE_ROWS, xi, expected, TOLERANCE);
}

static void contact_graph(const cs_problem *problem, int with_immovable)
{
    cs_arena arena = {0};
    cs_adjacency adjacency;
    cs_error error;
    cs_status status = cs_adjacency_build(problem, &arena, with_immovable, &adjacency, &error);
    CHECK_STATUS(status, CS_OK, &error);
    int64_t entry = 0;
    for (int64_t body = 0; body < SCENE_BODIES; body++) {
        int listed = with_immovable || (body != 3 && body != 6);
        CHECK(adjacency.start[body] == entry);
        for (int i = 0; i < 2 * SCENE_BLOCKS && listed; i++) /* ascending: block, then side */
            if (scene_pairs[i / 2][i % 2] == body) CHECK(adjacency.entry[entry++] == i);
    }
    CHECK(adjacency.start[SCENE_BODIES] == entry);
    for (int i = 0; i < 2 * SCENE_BLOCKS; i++) {
        int64_t body = scene_pairs[i / 2][i % 2];
        int listed = with_immovable || (body != 3 && body != 6);
        CHECK(adjacency.body[i] == (listed ? body : -1));
    }
    cs_arena_clear(&arena);
    int64_t expected = 0;
    for (int k = 0; k < SCENE_BLOCKS; k++)
        for (int l = 0; l < SCENE_BLOCKS; l++) expected += share_moving_body(k, l, with_immovable);
    int64_t rows[SCENE_BLOCKS];
    CHECK(cs_row_blocks(problem, rows) == 0);
    for (int k = 0; k < SCENE_BLOCKS; k++) {
        int64_t in_row = 0;
        for (int l = 0; l < SCENE_BLOCKS; l++) in_row += share_moving_body(k, l, 0);
        CHECK(rows[k] == in_row);
    }
    CHECK(cs_count_blocks(problem, with_immovable) == expected);
    CHECK(cs_count_blocks_up_to(problem, with_immovable, expected) == expected);
    for (int64_t limit = 0; limit < expected; limit++) {
        int64_t found = cs_count_blocks_up_to(problem, with_immovable, limit);
        CHECK(found > limit && found <= expected);
    }
}

/* ---- a given A ------------------------------------------------------------------------------- */

typedef struct entries {
    int64_t start[SCENE_ROWS + 1], column[3 * SCENE_ROWS * SCENE_ROWS];
    double value[3 * SCENE_ROWS * SCENE_ROWS];
} entries;

/* An unsymmetric matrix with A's pattern as compressed rows: columns in no order, some entries in
 * two parts, some that are zero. `dense` gets the sums. */
static void scatter(entries *rows, double (*dense)[SCENE_ROWS])
{
    uint64_t random = 41;
    int64_t count = 0;
    for (int i = 0; i < SCENE_ROWS; i++) {
        for (int c = 0; c < SCENE_ROWS; c++) {
            int j = (c * 11 + 5) % SCENE_ROWS; /* 11 and SCENE_ROWS have no common divisor */
            dense[i][j] = s.A[i][j] == 0 ? 0 : s.A[i][j] + 0.01 * test_random(&random);
            if (i == j && dense[i][j] < 0) dense[i][j] = 0;
            double part = c % 3 == 0 ? 0.25 * dense[i][j] : 0;
            if (dense[i][j] == 0 && c % 4) continue;
            rows->column[count] = j;
            rows->value[count++] = dense[i][j] - part;
            if (part == 0) continue;
            rows->column[count] = j;
            rows->value[count++] = part;
        }
        rows->start[i + 1] = count;
    }
}

static cs_status add_given_blocks(cs_problem *problem, cs_error *error)
{
    cs_status status = CS_OK;
    for (int g = 0; g < SCENE_GROUPS && !status; g++) {
        cs_blocks blocks = {
            .count = scene_first[g + 1] - scene_first[g],
            .rows = scene_rows[g],
            .b = s.b + scene_row(scene_first[g]),
            .set = scene_set[g],
            .parameters = s.parameters[g],
        };
        status = cs_problem_add_blocks(problem, &blocks, error);
    }
    return status;
}

static double asymmetry_of(double (*dense)[SCENE_ROWS])
{
    double defect = 0, largest = 0;
    for (int i = 0; i < SCENE_ROWS; i++)
        for (int j = 0; j < SCENE_ROWS; j++) {
            defect = fmax(defect, fabs(dense[i][j] - dense[j][i]));
            largest = fmax(largest, fabs(dense[i][j]));
        }
    return defect / largest;
}

/* Products by several threads have the bits of those by one: on bodies, with compliance, and for a given A. */
static void shared_products(const cs_problem *problem)
{
    int64_t rows = problem->rows, velocities = problem->velocities;
    double *lambda = malloc(sizeof(double) * (size_t)(3 * rows + 2 * velocities + 1));
    CHECK(lambda != NULL);
    if (!lambda) return;
    double *b = lambda + rows, *xi = lambda + 2 * rows, *velocity = lambda + 3 * rows;
    double *velocity_of_one = velocity + velocities;
    double *xi_of_one = malloc(sizeof(double) * (size_t)rows);
    CHECK(xi_of_one != NULL);
    uint64_t random = 7;
    for (int64_t i = 0; i < rows; i++) {
        lambda[i] = test_random(&random);
        b[i] = test_random(&random);
    }
    if (xi_of_one) cs_residual_velocity(problem, lambda, b, velocity_of_one, xi_of_one);
    for (int threads = 1; threads <= 3 && xi_of_one; threads++) {
        cs_arena arena = {0};
        cs_error error = {0};
        cs_shared_products shared = {0};
        CHECK_STATUS(cs_share_products(problem, threads, 0, &arena, &shared, &error), CS_OK,
                     &error);
        memset(xi, 0, sizeof(double) * (size_t)rows);
        cs_shared_residual_velocity(&shared, problem, lambda, b, velocity, xi);
        CHECK(memcmp(xi, xi_of_one, sizeof(double) * (size_t)rows) == 0);
        if (!problem->matrix)
            CHECK(memcmp(velocity, velocity_of_one, sizeof(double) * (size_t)velocities) == 0);
        cs_arena_clear(&arena);
    }
    free(xi_of_one);
    free(lambda);
}

static void given_matrix(void)
{
    static entries rows;
    static double dense[SCENE_ROWS][SCENE_ROWS];
    scatter(&rows, dense);
    cs_csr csr = {SCENE_ROWS, rows.start, rows.column, rows.value};
    cs_problem *problem;
    cs_error error;
    CHECK_STATUS(cs_problem_create(&problem, &error), CS_OK, &error);
    CHECK_STATUS(add_given_blocks(problem, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_set_matrix(problem, &csr, &error), CS_OK, &error);
    compare_blocks(problem, problem->matrix, dense, 4 * DBL_EPSILON);
    CHECK_NEAR(problem->matrix->asymmetry, asymmetry_of(dense), 4 * DBL_EPSILON);
    CHECK(cs_count_blocks(problem, 0) == problem->matrix->start[SCENE_BLOCKS]);

    double lambda[SCENE_ROWS], xi[SCENE_ROWS], expected[SCENE_ROWS], unused[1] = {0};
    uint64_t random = 43;
    for (int i = 0; i < SCENE_ROWS; i++) lambda[i] = test_random(&random);
    for (int i = 0; i < SCENE_ROWS; i++) {
        expected[i] = s.b[i];
        for (int j = 0; j < SCENE_ROWS; j++) expected[i] += dense[i][j] * lambda[j];
    }
    cs_residual_velocity(problem, lambda, s.b, unused, xi);
    CHECK_ALL_NEAR(SCENE_ROWS, xi, expected, TOLERANCE);
    for (int k = 0; k < SCENE_BLOCKS; k++) {
        int g = scene_group_of(k), m = scene_rows[g], row = scene_row(k);
        double diagonal[36];
        cs_diagonal_block(problem, &problem->block_group[g], k - scene_first[g], diagonal);
        for (int i = 0; i < m * m; i++)
            CHECK_NEAR(diagonal[i], dense[row + i / m][row + i % m], 4 * DBL_EPSILON);
    }
    shared_products(problem);
    cs_problem_destroy(problem);
}

/* ---- bad input ------------------------------------------------------------------------------- */

/* A call must fail with this sentence, and leave the problem as it was. */
#define CHECK_REFUSED(call, sentence)                                                    \
    do {                                                                                 \
        cs_error error = {0};                                                            \
        CHECK_STATUS(call, CS_INVALID, &error);                                          \
        CHECK(error.status == CS_INVALID && strcmp(error.message, sentence) == 0);       \
        if (strcmp(error.message, sentence)) fprintf(stderr, "    %s\n", error.message); \
    } while (0)

static void bad_bodies_are_refused(void)
{
    cs_problem *problem;
    CHECK(cs_problem_create(&problem, NULL) == CS_OK);
    double good[] = {1, 1, 1, 1}, bad_diagonal[] = {1, 1, -2, 1}, infinite[] = {1, 1, 1, -INFINITY};
    double unsymmetric[] = {1, 0, 0, 1, 1, 0.5, 0.25, 1}, indefinite[] = {1, 2, 2, 1};
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){2, 2, 1, good}, NULL) == CS_OK);
    CHECK_REFUSED(cs_problem_add_bodies(problem, &(cs_bodies){2, 2, 1, bad_diagonal}, &error),
                  "Minv[3, 0] is -2: an inverse mass is 0 (immovable) or more");
    CHECK_REFUSED(cs_problem_add_bodies(problem, &(cs_bodies){2, 2, 1, infinite}, &error),
                  "Minv[3, 1] is -inf: every entry must be finite");
    CHECK_REFUSED(cs_problem_add_bodies(problem, &(cs_bodies){1, 2, 0, infinite}, &error),
                  "Minv[2, 1, 1] is -inf: every entry must be finite");
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){2, 2, 0, unsymmetric}, NULL) == CS_INVALID);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){1, 2, 0, indefinite}, NULL) == CS_INVALID);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){1, 0, 1, good}, NULL) == CS_INVALID);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){1, 65, 1, good}, NULL) == CS_INVALID);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){-1, 2, 1, good}, NULL) == CS_INVALID);
    CHECK(cs_problem_velocities(problem) == 4);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){1, 4, 1, good}, NULL) == CS_OK);
    CHECK(cs_problem_velocities(problem) == 8);
    cs_problem_destroy(problem);
}

static void bad_blocks_are_refused(void)
{
    cs_problem *problem;
    double mass[] = {1, 1, 1, 1, 1}, jacobian[] = {1, 2, 3, 4, NAN, 6}, b[] = {1, 2, 3};
    int64_t pairs[] = {0, 2, 1, 2}, outside[] = {0, 2, 1, 3}, below[] = {-2, 2};
    int64_t swapped[] = {2, 0};
    CHECK(cs_problem_create(&problem, NULL) == CS_OK);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){2, 2, 1, mass}, NULL) == CS_OK);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){1, 1, 1, mass}, NULL) == CS_OK);
    cs_blocks good = {.count = 1,
                      .rows = 1,
                      .dof = {2, 1},
                      .jacobian = jacobian,
                      .bodies = pairs,
                      .b = b,
                      .set = "half_line"};
    CHECK(cs_problem_add_blocks(problem, &good, NULL) == CS_OK);
    cs_blocks bad = good;
    bad.bodies = below;
    CHECK_REFUSED(cs_problem_add_blocks(problem, &bad, &error),
                  "bodies[1, 0] is -2: body numbers run from -1 (the fixed world) to 2");
    bad.count = 2;
    bad.bodies = outside;
    CHECK_REFUSED(cs_problem_add_blocks(problem, &bad, &error),
                  "bodies[2, 1] is 3: body numbers run from -1 (the fixed world) to 2");
    bad.bodies = pairs;
    CHECK_REFUSED(cs_problem_add_blocks(problem, &bad, &error),
                  "J[2, 0, 0, 1] is nan: every entry must be finite");
    bad = good;
    bad.bodies = swapped;
    CHECK_REFUSED(cs_problem_add_blocks(problem, &bad, &error),
                  "bodies[1, 0] is 2, which has 1 degrees of freedom, but J has 2 columns for it");
    bad = good;
    bad.set = "cone";
    CHECK(cs_problem_add_blocks(problem, &bad, NULL) == CS_UNKNOWN_NAME);
    bad = good;
    bad.set = "disc";
    CHECK(cs_problem_add_blocks(problem, &bad, NULL) == CS_INVALID);
    bad = good;
    bad.rows = 7;
    CHECK(cs_problem_add_blocks(problem, &bad, NULL) == CS_INVALID);
    bad = good;
    bad.jacobian = NULL;
    CHECK(cs_problem_add_blocks(problem, &bad, NULL) == CS_INVALID);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){1, 1, 1, mass}, NULL) == CS_INVALID);
    double infinite[] = {-INFINITY};
    bad = good;
    bad.b = infinite;
    CHECK_REFUSED(cs_problem_add_blocks(problem, &bad, &error),
                  "b[1, 0] is -inf: every entry must be finite");
    CHECK(cs_problem_blocks(problem) == 1 && cs_problem_rows(problem) == 1);
    cs_problem_destroy(problem);
}

static void refuse_matrix(cs_problem *problem, int64_t rows, const int64_t *start,
                          const int64_t *column, const double *value, const char *sentence)
{
    cs_csr csr = {rows, start, column, value};
    CHECK_REFUSED(cs_problem_set_matrix(problem, &csr, &error), sentence);
}

static void bad_matrices_are_refused(void)
{
    cs_problem *problem;
    double b[] = {1, 2}, value[] = {1, 2, 3}, unsound[] = {1, NAN, 3}, negative[] = {1, 2, -3};
    int64_t start[] = {0, 2, 3}, column[] = {0, 1, 1}, outside[] = {0, 2, 1}, below[] = {0, -1, 1};
    cs_blocks blocks = {.count = 2, .rows = 1, .b = b, .set = "half_line"};
    CHECK(cs_problem_create(&problem, NULL) == CS_OK);
    CHECK(cs_problem_add_blocks(problem, &blocks, NULL) == CS_OK);
    refuse_matrix(problem, 1, start, column, value, "A has 1 rows; the blocks have 2");
    refuse_matrix(problem, 2, (int64_t[]){1, 2, 3}, column, value,
                  "A.indptr[0] is 1: it must be 0");
    refuse_matrix(problem, 2, (int64_t[]){0, 3, 2}, column, value,
                  "A.indptr[2] is 2, below A.indptr[1] = 3");
    refuse_matrix(problem, 2, start, outside, value, "A.indices[1] is 2: columns run from 0 to 1");
    refuse_matrix(problem, 2, start, below, value, "A.indices[1] is -1: columns run from 0 to 1");
    refuse_matrix(problem, 2, start, column, unsound, "A[0, 1] is nan: every entry must be finite");
    refuse_matrix(problem, 2, start, column, negative,
                  "A[1, 1] is -3: a Delassus matrix has no negative diagonal");
    cs_csr good = {2, start, column, value};
    CHECK(cs_problem_set_matrix(problem, &good, NULL) == CS_OK);
    cs_problem_destroy(problem);
}

/* ---- nothing at all -------------------------------------------------------------------------- */

static void problems_may_be_empty(void)
{
    cs_problem *problem;
    cs_blocks none = {.count = 0, .rows = 3, .dof = {6, 6}, .set = "disc"};
    cs_bodies nobody = {0, 6, 0, NULL};
    double nothing[1] = {0};
    int64_t pair[2] = {-1, -1};
    none.jacobian = none.b = none.parameters = nothing;
    none.bodies = pair;
    CHECK(cs_problem_create(&problem, NULL) == CS_OK);
    CHECK(cs_problem_add_bodies(problem, &nobody, NULL) == CS_OK);
    CHECK(cs_problem_add_blocks(problem, &none, NULL) == CS_OK);
    CHECK(cs_problem_blocks(problem) == 0 && cs_problem_rows(problem) == 0);
    CHECK(cs_count_blocks(problem, 0) == 0);
    cs_problem_destroy(problem);
    cs_problem_destroy(NULL);
}

int main(void)
{
    int64_t live = cs_memory_live();
    cs_problem *problem;
    cs_error error;
    scene_make(&s);
    CHECK_STATUS(scene_create(&s, &problem, &error), CS_OK, &error);
    if (!problem) return test_result();
    sizes(problem);
    assembled_matrix(problem);
    diagonal_blocks_and_factors(problem);
    products(problem);
    shared_products(problem);
    contact_graph(problem, 0);
    contact_graph(problem, 1);
    cs_problem_destroy(problem);
    given_matrix();
    bad_bodies_are_refused();
    bad_blocks_are_refused();
    bad_matrices_are_refused();
    problems_may_be_empty();
    CHECK_STATUS(chain_create(1500, &problem, &error), CS_OK, &error);
    if (problem) shared_products(problem);
    cs_problem_destroy(problem);
    CHECK(cs_memory_live() == live);
    return test_result();
}

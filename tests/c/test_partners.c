/* Blocks of one to four bodies by the public interface: the default number of partners, G_k of partners that are one body,
 * and what is refused. */
#include "core/memory.h"
#include "problem/problem.h"
#include "testing.h"

#include <math.h>
#include <string.h>

enum { BODIES = 5, ROWS = 2, DOF = 3, PART = ROWS * DOF };

static const double inverse_mass[BODIES * DOF] = {4, 4, 4, 1, 1, 1, 9, 9, 9, 0, 0, 0, 16, 16, 16};

/* A problem with one group of blocks; NULL if they are refused. */
static cs_problem *problem_of(int partners, int64_t count, const int64_t *bodies, const double *J,
                              cs_error *error)
{
    static const double b[8 * ROWS] = {0};
    cs_problem *problem = NULL;
    cs_bodies masses = {BODIES, DOF, 1, inverse_mass};
    cs_blocks blocks = {
        .count = count,
        .rows = ROWS,
        .partners = partners,
        .dof = {DOF, DOF, DOF, DOF},
        .jacobian = J,
        .bodies = bodies,
        .b = b,
        .set = "free",
    };
    memset(error, 0, sizeof *error);
    CHECK(cs_problem_create(&problem, error) == CS_OK);
    CHECK(cs_problem_add_bodies(problem, &masses, error) == CS_OK);
    if (cs_problem_add_blocks(problem, &blocks, error) == CS_OK) return problem;
    cs_problem_destroy(problem);
    return NULL;
}

/* J with the numbers 1, 2, 3 ... */
static void fill(double *J, int64_t count)
{
    for (int64_t i = 0; i < count; i++) J[i] = (double)(i + 1);
}

/* Without a number of partners there are two. */
static void test_default(void)
{
    double J[2 * PART], scaled[CS_MAX_JACOBIAN];
    int64_t bodies[2] = {0, 2};
    cs_error error;
    fill(J, 2 * PART);
    cs_problem *problem = problem_of(0, 1, bodies, J, &error);
    CHECK(problem && cs_block_partners(problem->block_group) == 2);
    CHECK(cs_jacobian_size(problem->block_group) == 2 * PART);
    cs_scaled_jacobian(problem, problem->block_group, 0, scaled);
    for (int i = 0; i < 2 * PART; i++) CHECK(scaled[i] == J[i] * (i < PART ? 2 : 3));
    cs_problem_destroy(problem);
}

/* The parts of partners that are one body are added, those of immovable ones are zero. */
static void test_repeated(void)
{
    double J[4 * PART], scaled[CS_MAX_JACOBIAN];
    int64_t bodies[4] = {1, 4, 3, 1};
    cs_error error;
    fill(J, 4 * PART);
    cs_problem *problem = problem_of(4, 1, bodies, J, &error);
    CHECK(problem != NULL);
    cs_scaled_jacobian(problem, problem->block_group, 0, scaled);
    for (int i = 0; i < PART; i++) {
        CHECK(scaled[i] == J[i] + J[3 * PART + i]);
        CHECK(scaled[PART + i] == 4 * J[PART + i]);
        CHECK(scaled[2 * PART + i] == 0 && scaled[3 * PART + i] == 0);
    }
    cs_problem_destroy(problem);
}

/* Non-zero blocks of A: those that share a movable body. */
static void test_count(void)
{
    double J[3 * 4 * PART];
    int64_t bodies[12] = {0, 1, 2, 3, 2, 2, -1, 3, 4, 3, -1, -1}, count[3];
    cs_error error;
    fill(J, 3 * 4 * PART);
    cs_problem *problem = problem_of(4, 3, bodies, J, &error);
    CHECK(problem && cs_count_blocks(problem, 0) == 5 && cs_count_blocks(problem, 1) == 9);
    CHECK(cs_row_blocks(problem, count) == 0);
    CHECK(count[0] == 2 && count[1] == 2 && count[2] == 1);
    cs_problem_destroy(problem);
}

static void test_refused(void)
{
    double J[4 * PART];
    int64_t bodies[4] = {0, 1, 2, 5};
    cs_error error;
    fill(J, 4 * PART);
    CHECK(!problem_of(5, 1, bodies, J, &error) && strstr(error.message, "1 to 4"));
    CHECK(!problem_of(-1, 1, bodies, J, &error) && strstr(error.message, "1 to 4"));
    CHECK(!problem_of(4, 1, bodies, J, &error) && strstr(error.message, "bodies[0, 3] is 5"));
    J[2 * PART + 4] = NAN;
    bodies[3] = 4;
    CHECK(!problem_of(4, 1, bodies, J, &error) && strstr(error.message, "J[0, 2, 1, 1] is nan"));
}

int main(void)
{
    test_default();
    test_repeated();
    test_count();
    test_refused();
    CHECK(cs_memory_live() == 0);
    return test_result();
}

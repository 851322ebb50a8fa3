/* How many threads share work: a number asked for is a most, unless it is exact. */
#include "backend/cpu_internal.h"
#include "core/parallel.h"
#include "scene.h"
#include "solver/solver.h"

enum { WORTH = 4096, SIZE = 100000, PARTS = 8 };

static int least(int a, int b) { return a < b ? a : b; }

/* One thread below the size from which several save time, whatever was asked for. */
static void short_work_is_one_threads(void)
{
    for (int most = 0; most < 20; most++) {
        CHECK(cs_threads_for(most, WORTH - 1, WORTH, PARTS) == 1);
        CHECK(cs_threads_for(most, 0, WORTH, PARTS) == 1);
    }
}

/* From there on as many as were asked for, where there are so many processors and parts. */
static void a_number_is_a_most(void)
{
    int processors = cs_processors();
    CHECK(cs_threads_for(1, SIZE, WORTH, PARTS) == 1);
    for (int most = 1; most < 20; most++) {
        CHECK(cs_threads_for(most, SIZE, WORTH, PARTS) == least(least(most, PARTS), processors));
        CHECK(cs_threads_for(most, WORTH, WORTH, 1) == 1);
        CHECK(cs_threads_for(most, WORTH, WORTH, 0) == 1);
    }
    CHECK(cs_threads_for(0, SIZE, WORTH, PARTS) == least(cs_threads_available(), PARTS));
}

/* An exact number runs whatever the size of the work, even on a machine of fewer processors. */
static void an_exact_number_runs(void)
{
    int most = CS_THREADS_PER_PROCESSOR * cs_processors();
    for (int threads = 1; threads < 20; threads++)
        CHECK(cs_threads_exactly(threads, PARTS) == least(least(threads, PARTS), most));
    CHECK(cs_threads_exactly(3, PARTS) == 3);
    CHECK(cs_threads_exactly(3, 0) == 1);
    CHECK(cs_threads_exactly(1 << 30, 1 << 30) == most);
}

/* Sweeps and products of a solver: paced, on at most so many threads, unless these are exact. */
static void check_solver(const cs_problem *problem, int threads, int exact, int wanted)
{
    cs_options options = cs_options_default();
    cs_error error = {0};
    cs_solver *solver;
    options.method = "gauss_seidel";
    options.order = "colored";
    options.threads = threads;
    options.exact_threads = exact;
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    if (!solver) return;
    const cs_packed *packed = &((const cs_cpu *)solver->packing.state)->packed;
    CHECK(packed->threads == wanted && packed->paced == !exact);
    CHECK(solver->products.threads == wanted && solver->products.paced == !exact);
    cs_solver_destroy(solver);
}

static void a_solver_keeps_to_it(void)
{
    cs_problem *problem;
    cs_error error = {0};
    int processors = cs_processors();
    CHECK_STATUS(chain_create(2 * WORTH, &problem, &error), CS_OK, &error);
    check_solver(problem, 0, 0, least(cs_threads_available(), 8));
    check_solver(problem, 1, 0, 1);
    check_solver(problem, 3, 0, least(3, processors));
    check_solver(problem, 3, 1, 3);
    cs_problem_destroy(problem);

    /* Short, but with colours of three parts each. */
    CHECK_STATUS(chain_create(3 * WORTH / 4, &problem, &error), CS_OK, &error);
    check_solver(problem, 0, 0, 1);
    check_solver(problem, 3, 0, 1);
    check_solver(problem, 3, 1, 3);
    cs_problem_destroy(problem);
}

int main(void)
{
    short_work_is_one_threads();
    a_number_is_a_most();
    an_exact_number_runs();
    a_solver_keeps_to_it();
    return test_result();
}

/* Problems whose arrays several threads copy, check and factor, A and T that they make, and updates: the same bits
 * and the same error for any number of threads, and nothing changed by an update that fails. */
#include "problem/problem.h"
#include "scene.h"

enum {
    BODIES = 5000, /* many pieces, the last one not full */
    BLOCKS = BODIES,
    DOF = 3,
    ROWS = 2,
    JACOBIAN = 2 * ROWS * DOF,
};

/* The arrays of a chain of bodies with full inverse masses. */
typedef struct arrays {
    double inverse_mass[BODIES * DOF * DOF], jacobian[BLOCKS * JACOBIAN];
    double b[BLOCKS * ROWS], mu[BLOCKS], compliance[BLOCKS * ROWS];
    int64_t bodies[BLOCKS * 2];
} arrays;

static arrays good, damaged;

/* Every tenth body is immovable, and every seventh block pairs a body with itself. */
static void fill(arrays *a, uint64_t random)
{
    for (int k = 0; k < BODIES; k++) {
        double *block = a->inverse_mass + k * DOF * DOF, moves = k % 10 != 0;
        for (int i = 0; i < DOF; i++)
            for (int j = 0; j <= i; j++)
                block[i * DOF + j] = block[j * DOF + i] =
                    moves * (i == j ? 2 + test_random(&random) : 0.3 * test_random(&random));
    }
    for (int i = 0; i < BLOCKS * JACOBIAN; i++) a->jacobian[i] = test_random(&random);
    for (int i = 0; i < BLOCKS * ROWS; i++) {
        a->b[i] = test_random(&random);
        a->compliance[i] = 0.1;
    }
    for (int k = 0; k < BLOCKS; k++) {
        a->mu[k] = 0.5 + 0.4 * test_random(&random);
        a->bodies[2 * k] = k % 7 == 6 ? k : k - 1;
        a->bodies[2 * k + 1] = k;
    }
}

/* A problem whose arrays so many threads copy; NULL with an error. */
static cs_problem *make(const arrays *a, int threads, cs_error *error)
{
    cs_problem *problem;
    cs_bodies bodies = {BODIES, DOF, 0, a->inverse_mass};
    cs_blocks blocks = {.count = BLOCKS,
                        .rows = ROWS,
                        .dof = {DOF, DOF},
                        .jacobian = a->jacobian,
                        .bodies = a->bodies,
                        .b = a->b,
                        .set = "disc",
                        .parameters = a->mu,
                        .compliance = a->compliance};
    *error = (cs_error){0};
    if (cs_problem_create(&problem, error)) return NULL;
    problem->threads = threads;
    cs_status status = cs_problem_add_bodies(problem, &bodies, error);
    if (!status) status = cs_problem_add_blocks(problem, &blocks, error);
    if (!status) return problem;
    cs_problem_destroy(problem);
    return NULL;
}

#define SAME(member, count) (memcmp(x->member, y->member, sizeof *x->member * (count)) == 0)

/* Whether all arrays of two problems have the same bits. */
static int same(const cs_problem *one, const cs_problem *other)
{
    const size_t masses = BODIES * DOF * DOF, rows = BLOCKS * ROWS, sides = 2 * BLOCKS;
    int all = 1;
    {
        const cs_body_group *x = &one->body_group[0], *y = &other->body_group[0];
        all &= SAME(inverse_mass, masses) && SAME(root, masses) && SAME(immovable, BODIES);
    }
    const cs_block_group *x = &one->block_group[0], *y = &other->block_group[0];
    all &= SAME(jacobian, BLOCKS * JACOBIAN) && SAME(b, rows) && SAME(parameter, BLOCKS);
    return all && SAME(bodies, sides) && SAME(velocity, sides) && SAME(compliance, rows);
}

/* Whether the A of two problems has the same bits. */
static int same_matrix(const cs_problem *one, const cs_problem *other)
{
    cs_arena arena = {0};
    cs_block_matrix *x = NULL, *y = NULL;
    cs_error error = {0};
    CHECK_STATUS(cs_assemble(one, 0, &arena, NULL, &x, &error), CS_OK, &error);
    CHECK_STATUS(cs_assemble(other, 0, &arena, NULL, &y, &error), CS_OK, &error);
    int all = x && y && SAME(start, BLOCKS + 1) && SAME(first, BLOCKS + 1) &&
              SAME(column, (size_t)x->start[BLOCKS]) && SAME(value, (size_t)x->first[BLOCKS]);
    cs_arena_clear(&arena);
    return all;
}

static const int several[] = {2, 3, 8};
enum { SEVERAL = sizeof several / sizeof *several };

static void problems_have_the_same_bits(void)
{
    cs_error error;
    cs_problem *one = make(&good, 1, &error);
    CHECK_STATUS(error.status, CS_OK, &error);
    for (int i = 0; i < SEVERAL && one; i++) {
        cs_problem *other = make(&good, several[i], &error);
        CHECK_STATUS(error.status, CS_OK, &error);
        if (!other) continue;
        CHECK(same(one, other));
        CHECK(same_matrix(one, other));
        cs_problem_destroy(other);
    }
    cs_problem_destroy(one);
}

/* A wrong number in each of two distant pieces, and what the message begins with. */
typedef struct damage {
    double *early, *late;
    double value;
    const char *begins;
} damage;

enum { EARLY = 700, LATE = 4800 };

/* The error of the damaged arrays, which is that of one thread. */
static void expect_error(const char *begins)
{
    cs_error first, error;
    CHECK(!make(&damaged, 1, &first));
    CHECK(strncmp(first.message, begins, strlen(begins)) == 0);
    for (int i = 0; i < SEVERAL; i++) {
        CHECK(!make(&damaged, several[i], &error));
        CHECK(error.status == first.status && strcmp(error.message, first.message) == 0);
        if (strcmp(error.message, first.message) != 0)
            fprintf(stderr, "    '%s', not '%s'\n", error.message, first.message);
    }
}

static void errors_are_those_of_one_thread(void)
{
    arrays *a = &damaged;
    double *mass[] = {a->inverse_mass + 9 * EARLY, a->inverse_mass + 9 * LATE};
    const damage damages[] = {
        {mass[0] + 4, mass[1], NAN, "Minv[700, 1, 1] is nan"},
        {mass[0] + 2, mass[1] + 1, 7, "Minv[700, 0, 2] is 7 but Minv[700, 2, 0]"},
        {mass[0] + 4, mass[1] + 8, -1, "Minv[700] is indefinite, found at row 1"},
        {a->b + 2 * EARLY + 1, a->b + 2 * LATE, INFINITY, "b[700, 1] is inf"},
        {a->mu + EARLY, a->mu + LATE, -1, "mu[700] is -1"},
        {a->jacobian + JACOBIAN * EARLY + 7, a->jacobian + JACOBIAN * LATE, NAN,
         "J[700, 1, 0, 1] is nan"},
        {a->compliance + 2 * EARLY, a->compliance + 2 * LATE, -0.5, "compliance[700, 0] is -0.5"},
    };
    enum { DAMAGES = sizeof damages / sizeof *damages };
    for (int i = 0; i < DAMAGES; i++) {
        damaged = good;
        *damages[i].early = *damages[i].late = damages[i].value;
        expect_error(damages[i].begins);
    }

    /* A body number, and kinds of errors in their order: one found later in the arrays may count first. */
    damaged = good;
    a->bodies[2 * EARLY + 1] = BODIES, a->bodies[2 * LATE] = -2;
    expect_error("bodies[700, 1] is 5000");
    a->jacobian[0] = NAN;
    expect_error("bodies[700, 1] is 5000");
    a->mu[LATE] = -1;
    expect_error("mu[4800] is -1");
    a->b[2 * LATE] = NAN;
    expect_error("b[4800, 0] is nan");
    mass[0][1] = 7;
    expect_error("Minv[700, 0, 1]");
    mass[1][0] = INFINITY;
    expect_error("Minv[4800, 0, 0] is inf");
}

/* ---- updates --------------------------------------------------------------------------------- */

enum { MASS = 1, J = 2, B = 4, MU = 8, ALL = 15 };

/* Updates those values of a problem that `what` names. */
static cs_status update(cs_problem *problem, const arrays *a, int what, cs_error *error)
{
    const double *mass = a->inverse_mass, *jacobian = a->jacobian, *b = a->b, *mu = a->mu;
    cs_values values = {
        .inverse_mass = what & MASS ? &mass : NULL,
        .jacobian = what & J ? &jacobian : NULL,
        .b = what & B ? &b : NULL,
        .parameters = what & MU ? &mu : NULL,
    };
    return cs_problem_update(problem, &values, error);
}

/* `a` with those arrays of `other` that `what` names. */
static void mix(arrays *a, const arrays *other, int what)
{
    if (what & MASS) memcpy(a->inverse_mass, other->inverse_mass, sizeof a->inverse_mass);
    if (what & J) memcpy(a->jacobian, other->jacobian, sizeof a->jacobian);
    if (what & B) memcpy(a->b, other->b, sizeof a->b);
    if (what & MU) memcpy(a->mu, other->mu, sizeof a->mu);
}

static void updated_problems_are_new_problems(void)
{
    static arrays next, wanted;
    fill(&next, 77);
    memset(next.inverse_mass, 0, sizeof(double) * DOF * DOF * 600); /* more immovable bodies */
    for (int what = 0; what <= ALL; what++) {
        int threads = what % 3 + 1;
        cs_error error;
        cs_problem *problem = make(&good, threads, &error), *fresh = NULL;
        CHECK_STATUS(error.status, CS_OK, &error);
        if (!problem) return;
        wanted = good;
        for (int repeat = 0; repeat < 3; repeat++) {
            /* There, back, and there again: the two arrays of each value are exchanged. */
            mix(&wanted, repeat == 1 ? &good : &next, what);
            int64_t version = problem->version;
            CHECK_STATUS(update(problem, repeat == 1 ? &good : &next, what, &error), CS_OK, &error);
            CHECK(problem->version > version);
            CHECK((problem->matrix_version > version) == ((what & (MASS | J)) != 0));
            CHECK((problem->coupling_version > version) == ((what & MASS) != 0));
            fresh = make(&wanted, 1, &error);
            CHECK(fresh && same(problem, fresh));
            cs_problem_destroy(fresh);
        }
        cs_problem_destroy(problem);
    }
}

static void failed_updates_change_nothing(void)
{
    cs_error error, first;
    cs_problem *unchanged = make(&good, 1, &error);
    for (int threads = 1; threads <= 3; threads++) {
        cs_problem *problem = make(&good, threads, &error);
        if (!problem || !unchanged) return;
        int64_t live = cs_memory_live(), version = problem->version;

        /* The last group of values is wrong, after all others have been copied. */
        fill(&damaged, 78);
        damaged.mu[LATE] = damaged.mu[EARLY] = -1;
        CHECK_STATUS(update(problem, &damaged, ALL, &error), CS_INVALID, &error);
        if (threads == 1) first = error;
        CHECK(strcmp(error.message, first.message) == 0);
        CHECK(same(problem, unchanged) && problem->version == version);
        CHECK(cs_memory_live() == live);

        /* The same where second arrays are there, and every allocation fails once. */
        CHECK_STATUS(update(problem, &good, J | B, &error), CS_OK, &error);
        CHECK_STATUS(update(problem, &damaged, ALL, &error), CS_INVALID, &error);
        CHECK(same(problem, unchanged));
        cs_status status = CS_NO_MEMORY;
        for (int successes = 0; status == CS_NO_MEMORY; successes++) {
            cs_memory_fail_after(successes);
            status = update(problem, &good, ALL, &error);
            CHECK(same(problem, unchanged));
        }
        cs_memory_fail_after(-1);
        CHECK_STATUS(status, CS_OK, &error);
        cs_problem_destroy(problem);
    }
    cs_problem_destroy(unchanged);
}

/* ---- solvers of updated problems --------------------------------------------------------------- */

enum { MOST_STEPS = 5 };

/* Solves what is left of the solver; the impulses of a new solver of the same problem are the same. */
static void solve_as_anew(cs_solver *solver, const cs_problem *problem, const cs_options *options)
{
    double impulses[SCENE_ROWS] = {0}, anew[SCENE_ROWS] = {0};
    cs_error error = {0}, wanted = {0};
    cs_solver *fresh = NULL;
    cs_result result = {.impulses = impulses}, other = {.impulses = anew};
    cs_status status = cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error);
    cs_status expected = cs_solver_create(&fresh, problem, options, NULL, &wanted);
    if (!expected) expected = cs_solver_solve(fresh, NULL, NULL, NULL, NULL, &other, &wanted);
    CHECK_STATUS(status, expected, &error);
    int equal = memcmp(impulses, anew, sizeof anew) == 0;
    CHECK(equal);
    if (!equal) fprintf(stderr, "    %s, %s\n", options->method, options->scheme);
    cs_solver_destroy(fresh);
}

/* One way of solving, through updates of some values after others. Returns whether it takes the problem. */
static int solve_through_updates(const scene *s, const cs_options *options)
{
    static const double stopped[4 * 36];
    double jacobian[6 * 36], b[6 * 3];
    for (int i = 0; i < 6 * 36; i++) jacobian[i] = 0.5 * s->jacobian[1][i] + 0.1;
    for (int i = 0; i < 6 * 3; i++) b[i] = -s->b[4 + i];
    const double *new_jacobian[SCENE_GROUPS] = {NULL, jacobian}, *new_b[SCENE_GROUPS] = {NULL, b};
    const double *masses[2] = {s->blocks_mass, NULL}, *still[2] = {stopped, NULL};
    const cs_values values[] = {{.b = new_b},
                                {.jacobian = new_jacobian},
                                {.jacobian = new_jacobian, .b = new_b},
                                {.inverse_mass = still},
                                {.inverse_mass = masses, .b = new_b}};
    cs_problem *problem;
    cs_solver *solver = NULL;
    cs_error error = {0};
    CHECK_STATUS(scene_create(s, &problem, &error), CS_OK, &error);
    if (!problem) return 0;
    int taken = cs_solver_create(&solver, problem, options, NULL, &error) == CS_OK;
    for (size_t i = 0; i < sizeof values / sizeof *values && taken; i++) {
        CHECK_STATUS(cs_problem_update(problem, &values[i], &error), CS_OK, &error);
        solve_as_anew(solver, problem, options);
    }
    cs_solver_destroy(solver);
    cs_problem_destroy(problem);
    return taken;
}

/* All methods, and all schemes of the one that sweeps. */
static void solvers_are_prepared_again(void)
{
    static scene s;
    int taken = 0;
    scene_make(&s);
    cs_options options = cs_options_default();
    options.max_iterations = MOST_STEPS;
    options.scheme = "auto";
    for (int m = 0; (options.method = cs_method_name(m, NULL)); m++)
        taken += solve_through_updates(&s, &options);
    options.method = "gauss_seidel";
    for (int i = 0; (options.scheme = cs_scheme_name(i, NULL)); i++)
        taken += solve_through_updates(&s, &options);
    CHECK(taken > 15);
}

/* ---- T --------------------------------------------------------------------------------------- */

/* Impulses after two sweeps over T, before and after an update. */
static void sweep_over_rows(int threads, double *impulses)
{
    cs_error error;
    cs_problem *problem = make(&good, threads, &error);
    cs_options options = cs_options_default();
    cs_solver *solver = NULL;
    options.method = "jacobi";
    options.scheme = "iteration_matrix";
    options.rtol = options.atol = NAN;
    options.max_iterations = 2;
    options.threads = threads;
    options.exact_threads = 1;
    if (!problem) return;
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    for (int repeat = 0; repeat < 2 && solver; repeat++) {
        cs_result result = {.impulses = impulses + repeat * BLOCKS * ROWS};
        CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error), CS_OK,
                     &error);
        CHECK_STATUS(update(problem, &damaged, J, &error), CS_OK, &error);
    }
    cs_solver_destroy(solver);
    cs_problem_destroy(problem);
}

static void iteration_matrices_have_the_same_bits(void)
{
    static double one[2 * BLOCKS * ROWS], other[2 * BLOCKS * ROWS];
    fill(&damaged, 79);
    sweep_over_rows(1, one);
    CHECK(memcmp(one, one + BLOCKS * ROWS, sizeof one / 2) != 0);
    for (int i = 0; i < SEVERAL; i++) {
        sweep_over_rows(several[i], other);
        CHECK(memcmp(one, other, sizeof one) == 0);
    }
}

int main(void)
{
    fill(&good, 1);
    problems_have_the_same_bits();
    errors_are_those_of_one_thread();
    updated_problems_are_new_problems();
    failed_updates_change_nothing();
    solvers_are_prepared_again();
    iteration_matrices_have_the_same_bits();
    return test_result();
}

/* Every network of processes gives the bits of the same sweeps without one, whatever its options and the number of
 * workers: impulses, and the measures of each sweep. Compiled with ThreadSanitizer it also shows that its processes
 * meet at channels only. The same on ranks, whose processes meet in messages only. */
#include "core/parallel.h"
#include "scene.h"
#include "solver/network.h"
#include "transport/threads.h"

static scene s;

enum { CHAIN = 300, STAR = 60, MOST_ROWS = 2 * CHAIN, SWEEPS = 6, OWN = 3 };

/* A network, the sweeps that it makes, and options of it. */
typedef struct variant {
    const char *network, *method, *scheme, *order;
    cs_order_options options;
    cs_setting of_scheme, of_order[2], own[OWN];
    int orders, owns;
} variant;

#define SUMS                          \
    {                                 \
        "velocities", 0, "accumulate" \
    }
static const variant variants[] = {
    {"factorized",
     "jacobi",
     "factorized",
     "natural",
     {.parts = 1, .subtasks = 13},
     .of_scheme = SUMS},
    {"factorized",
     "jacobi",
     "factorized",
     "natural",
     {.parts = 1, .subtasks = 5},
     .of_scheme = SUMS,
     .own = {{"channels", 0, "apart"}, {"copies", 1, NULL}, {"ending", 0, "poison"}},
     .owns = 3},
    {"extreme", "jacobi", "factorized", "natural", {.parts = 8, .subtasks = -1}, .of_scheme = SUMS},
    {"extreme",
     "jacobi",
     "factorized",
     "natural",
     {.parts = 8, .subtasks = -1},
     .of_scheme = SUMS,
     .own = {{"messages", 0, "numbers"}, {"dispatcher", 0, "merged"}, {"places", 1, NULL}},
     .owns = 3},
    {"iteration_matrix",
     "jacobi",
     "iteration_matrix",
     "natural",
     {.parts = 5, .subtasks = 1},
     .owns = 0},
    {"naive", "gauss_seidel", "factorized", "ranges", {.parts = 5}, .owns = 0},
    {"naive",
     "gauss_seidel",
     "factorized",
     "ranges",
     {.parts = 3},
     .own = {{"channels", 0, "apart"}, {"copies", 1, NULL}, {"ending", 0, "poison"}},
     .owns = 3},
    {"rigid", "gauss_seidel", "factorized", "colored", {.parts = 3, .subtasks = 1}, .owns = 0},
    {"rigid",
     "gauss_seidel",
     "iteration_matrix",
     "colored",
     {.parts = 3, .subtasks = 2},
     .own = {{"ending", 0, "poison"}},
     .owns = 1},
    {"relaxed",
     "gauss_seidel",
     "factorized",
     "colored",
     {.parts = 3, .subtasks = 1},
     .of_order = {{"unsafe_below", 140, NULL}, {"unsafe", 0, "ranges"}},
     .orders = 2},
    {"relaxed",
     "gauss_seidel",
     "factorized",
     "colored",
     {.parts = 3, .subtasks = 1},
     .of_order = {{"unsafe_below", 140, NULL}},
     .orders = 1},
    {"relaxed_iteration_matrix",
     "gauss_seidel",
     "iteration_matrix",
     "colored",
     {.parts = 3, .subtasks = 2},
     .of_order = {{"unsafe_below", 140, NULL}},
     .orders = 1},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static cs_options options_of(const variant *v, const char *dtype)
{
    cs_options options = cs_options_default();
    options.method = v->method;
    options.scheme = v->scheme;
    options.order = v->order;
    options.order_options = v->options;
    options.order_options.settings = v->of_order;
    options.order_options.setting_count = v->orders;
    options.scheme_settings = &v->of_scheme;
    options.scheme_setting_count = v->of_scheme.name != NULL;
    options.dtype = dtype;
    options.threads = 1;
    options.max_iterations = SWEEPS;
    options.rtol = options.atol = NAN;
    static const char *record[] = {"residual", "merit"};
    options.record = record;
    options.records = 2;
    options.islands = 0;
    return options;
}

typedef struct outcome {
    double impulses[MOST_ROWS], history[2 * (SWEEPS + 1)];
    cs_network_counts counts;
    int counted;
    cs_status status;
    cs_error error;
} outcome;

/* Solves twice, from impulses that are not zero, with a network if there are workers, whose processes are on the ranks of
 * a transport if there is one. Several threads may call it. Returns 0 if there is no such solver. */
static int run_on(const cs_problem *problem, const variant *v, const char *dtype, int every,
                  int workers, cs_transport *transport, outcome *out)
{
    double initial[MOST_ROWS];
    for (int i = 0; i < MOST_ROWS; i++) initial[i] = i % 3 ? 0 : 0.01 * (i % 7);
    memset(out, 0, sizeof *out);
    cs_options options = options_of(v, dtype);
    options.record_every = every;
    cs_error *error = &out->error;
    cs_solver *solver;
    cs_result result = {.impulses = out->impulses};
    cs_status status = cs_solver_create(&solver, problem, &options, NULL, error);
    if (status == CS_UNSUPPORTED || status == CS_INVALID) return 0;
    int known = 0, made = !status;
    if (made && transport)
        status = cs_solver_connect_on_ranks(solver, v->network, workers, v->own, v->owns, transport,
                                            &known, error);
    else if (made && workers)
        status = cs_solver_connect(solver, v->network, workers, v->own, v->owns, error);
    for (int k = 0; k < 2 && !status; k++)
        status = cs_solver_solve(solver, initial, NULL, NULL, NULL, &result, error);
    for (int64_t i = 0; i < SWEEPS + 1 && i < result.history_rows; i++)
        for (int c = 0; c < 2; c++)
            out->history[2 * i + c] = result.history[i * result.columns + 2 + c];
    if (made) out->counted = cs_solver_network_counts(solver, &out->counts);
    if (made) cs_solver_destroy(solver);
    out->status = status;
    return 1;
}

static int run(const cs_problem *problem, const variant *v, const char *dtype, int every,
               int workers, outcome *out)
{
    int solved = run_on(problem, v, dtype, every, workers, NULL, out);
    if (!solved) return 0;
    CHECK_STATUS(out->status, CS_OK, &out->error);
    CHECK(out->counted == (workers > 0));
    return 1;
}

static int64_t compared;

static void compare(const cs_problem *problem)
{
    static const char *const dtypes[] = {"float64", "float32", "mixed"};
    static outcome plain, by_network;
    for (int i = 0; i < VARIANTS * 3 * 2; i++) {
        const variant *v = &variants[i / 6];
        const char *dtype = dtypes[i % 3];
        int every = i / 3 % 2 ? SWEEPS : 1;
        if (!run(problem, v, dtype, every, 0, &plain)) continue;
        for (int workers = 1; workers <= 5; workers += 2) {
            if (!run(problem, v, dtype, every, workers, &by_network)) continue;
            size_t bytes = sizeof plain.impulses;
            int same = memcmp(plain.impulses, by_network.impulses, bytes) == 0 &&
                       memcmp(plain.history, by_network.history, sizeof plain.history) == 0;
            CHECK(same);
            CHECK(by_network.counts.sweeps == 2 * SWEEPS);
            int single = every == 1 || strcmp(dtype, "mixed") == 0; /* sweeps in a run */
            CHECK(by_network.counts.runs == (single ? 2 * SWEEPS : 2));
            CHECK(by_network.counts.messages > 0 && by_network.counts.processes > workers);
            if (!same)
                fprintf(stderr, "    %s, variant %d, %s, %d workers\n", v->network, i / 6, dtype,
                        workers);
            compared++;
        }
    }
}

static void scenes(void)
{
    cs_error error = {0};
    cs_problem *problem;
    scene_make(&s);
    CHECK_STATUS(scene_create(&s, &problem, &error), CS_OK, &error);
    compare(problem);
    cs_problem_destroy(problem);
    CHECK_STATUS(chain_create(CHAIN, &problem, &error), CS_OK, &error);
    compare(problem);
    cs_problem_destroy(problem);
    CHECK_STATUS(star_create(STAR, &problem, &error), CS_OK, &error);
    compare(problem);
    cs_problem_destroy(problem);
    CHECK(compared >= 558); /* without what has no such scheme or order */
}

/* Visits ahead are no sweeps without a network; their bits are those of another run. */
static void looking_ahead_repeats_its_bits(void)
{
    cs_error error = {0};
    cs_problem *problem;
    variant ahead = variants[0];
    ahead.own[0] = (cs_setting){"ahead", 0.3, NULL};
    ahead.owns = 1;
    static outcome first, second, plain;
    CHECK_STATUS(chain_create(CHAIN, &problem, &error), CS_OK, &error);
    CHECK(run(problem, &ahead, "float64", SWEEPS, 3, &first));
    CHECK(run(problem, &ahead, "float64", SWEEPS, 3, &second));
    CHECK(run(problem, &ahead, "float64", SWEEPS, 0, &plain));
    CHECK(memcmp(first.impulses, second.impulses, sizeof first.impulses) == 0);
    CHECK(memcmp(first.impulses, plain.impulses, sizeof first.impulses) != 0);
    cs_problem_destroy(problem);
}

/* ---- on ranks -------------------------------------------------------------------------------------- */

enum { RANKS = 3 };

typedef struct job {
    const cs_problem *problem;
    const variant *v;
    const char *dtype;
    int every, solved[RANKS];
    cs_transport *transport[RANKS];
    outcome found[RANKS];
} job;

static void run_rank(void *context, int rank)
{
    job *j = context;
    j->solved[rank] =
        run_on(j->problem, j->v, j->dtype, j->every, 4, j->transport[rank], &j->found[rank]);
    cs_transport_destroy(j->transport[rank]);
}

/* Networks whose messages hold data, by four workers on three ranks and on threads. */
static void compare_ranks(const cs_problem *problem, const variant *v, const char *dtype, int every)
{
    static job j;
    static outcome threads;
    cs_error error = {0};
    if (!run(problem, v, dtype, every, 4, &threads)) return;
    j = (job){.problem = problem, .v = v, .dtype = dtype, .every = every};
    CHECK_STATUS(cs_threads_make(NULL, j.transport, RANKS, 30, &error), CS_OK, &error);
    cs_parallel(RANKS, run_rank, &j);
    for (int r = 0; r < RANKS; r++) {
        const outcome *found = &j.found[r];
        CHECK(j.solved[r]);
        CHECK_STATUS(found->status, CS_OK, &found->error);
        CHECK(memcmp(found->impulses, threads.impulses, sizeof threads.impulses) == 0);
        CHECK(memcmp(found->history, threads.history, sizeof threads.history) == 0);
        CHECK(found->counts.sweeps == threads.counts.sweeps);
        CHECK(found->counts.messages == threads.counts.messages);
        CHECK(found->counts.messages_away > 0);
        CHECK(found->counts.messages_away <= found->counts.messages);
        CHECK(found->counts.bytes_away == j.found[0].counts.bytes_away);
    }
}

static void ranks_have_the_bits_of_threads(void)
{
    cs_error error = {0};
    cs_problem *problem;
    static const char *const dtypes[] = {"float64", "float32"};
    CHECK_STATUS(chain_create(CHAIN, &problem, &error), CS_OK, &error);
    for (int i = 0; i < VARIANTS * 4; i++) {
        const variant *v = &variants[i / 4];
        int numbers = v->owns > 0 && strcmp(v->own[0].name, "messages") == 0;
        int data = strcmp(v->network, "factorized") == 0 || strcmp(v->network, "naive") == 0 ||
                   (strcmp(v->network, "extreme") == 0 && !numbers);
        if (data) compare_ranks(problem, v, dtypes[i % 2], i % 4 / 2 ? SWEEPS : 1);
    }

    /* Visits ahead. */
    variant ahead = variants[0];
    ahead.own[0] = (cs_setting){"ahead", 0.3, NULL};
    ahead.owns = 1;
    compare_ranks(problem, &ahead, "float64", SWEEPS);
    cs_problem_destroy(problem);
}

/* A network of pointers is refused on all ranks, which go on. */
static void refuse(void *context, int rank)
{
    job *j = context;
    cs_options options = options_of(j->v, "float64");
    cs_error error = {0};
    cs_solver *solver;
    int known = 0;
    int made = cs_solver_create(&solver, j->problem, &options, NULL, &error) == CS_OK;
    cs_status status = CS_OK;
    if (made)
        status = cs_solver_connect_on_ranks(solver, j->v->network, 2, j->v->own, j->v->owns,
                                            j->transport[rank], &known, &error);
    j->solved[rank] =
        status == CS_UNSUPPORTED && known && strstr(error.message, "cannot run on ranks") != NULL;
    if (made) cs_solver_destroy(solver);
    error = (cs_error){0};
    j->solved[rank] &= cs_transport_agree(j->transport[rank], CS_OK, &error) == CS_OK;
    cs_transport_destroy(j->transport[rank]);
}

static void networks_of_pointers_are_refused(void)
{
    cs_error error = {0};
    cs_problem *problem;
    static job j;
    CHECK_STATUS(chain_create(CHAIN, &problem, &error), CS_OK, &error);
    for (int i = 0; i < VARIANTS; i++) {
        const variant *v = &variants[i];
        if (strcmp(v->network, "iteration_matrix") != 0 && strcmp(v->network, "rigid") != 0 &&
            !(v->owns && strcmp(v->own[0].name, "messages") == 0))
            continue;
        j = (job){.problem = problem, .v = v};
        CHECK_STATUS(cs_threads_make(NULL, j.transport, RANKS, 30, &error), CS_OK, &error);
        cs_parallel(RANKS, refuse, &j);
        for (int r = 0; r < RANKS; r++) CHECK(j.solved[r]);
    }
    cs_problem_destroy(problem);
}

int main(void)
{
    if (strcmp("serial", cs_threads_kind()) != 0) {
        scenes();
        looking_ahead_repeats_its_bits();
        ranks_have_the_bits_of_threads();
        networks_of_pointers_are_refused();
        CHECK(cs_memory_live() == 0);
    }
    return test_result();
}

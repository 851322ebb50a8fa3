/* Solves on ranks that are threads: the same bits from any number of ranks. Compiled with ThreadSanitizer it also
 * shows that no rank reads what another one writes. */
#include "core/parallel.h"
#include "distributed/share.h"
#include "solver/on_ranks.h"
#include "testing.h"
#include "transport/threads.h"

#include <math.h>
#include <string.h>

/* A chain of bodies: contact k is between body k and body k + 1. */
enum { BODIES = 240, CONTACTS = BODIES - 1, ROWS = 3, DOF = 6, PARTS = 6, MOST_RANKS = 3 };
enum { ENTRIES = ROWS * 2 * DOF };

static double jacobian[CONTACTS][ENTRIES], mass[BODIES][DOF], b[CONTACTS][ROWS], mu[CONTACTS];

static void make_chain(void)
{
    uint64_t seed = 1;
    for (int k = 0; k < CONTACTS; k++) {
        for (int i = 0; i < ENTRIES; i++) jacobian[k][i] = test_random(&seed);
        for (int i = 0; i < ROWS; i++) b[k][i] = test_random(&seed);
        mu[k] = 0.5 + 0.4 * test_random(&seed);
    }
    for (int i = 0; i < BODIES; i++)
        for (int c = 0; c < DOF; c++) mass[i][c] = 1 + 0.5 * test_random(&seed);
}

static int64_t label_of(int64_t body) { return body * PARTS / BODIES; }

/* How contacts are visited: all at once, or the even ones and then the odd ones. */
typedef struct way {
    const char *method, *dtype, *order;
    int stages, threads;
    double rtol;
    int adjacent;        /* whether averaging is "adjacent" */
    const char *measure; /* that is recorded; NULL: none */
} way;

static const way WAYS[] = {
    {"jacobi", "float64", "natural", 1, 1, NAN, 0, NULL},
    {"gauss_seidel", "float64", "colored", 2, 1, NAN, 0, NULL},
    {"gauss_seidel", "float32", "colored", 2, 2, NAN, 0, NULL},
    {"gauss_seidel", "float64", "colored", 2, 1, 1e-6, 0, NULL},
    {"nesterov", "float64", "colored", 2, 1, 1e-6, 0, NULL},
    {"nesterov_nncg", "float64", "colored", 2, 2, 1e-6, 0, NULL},
    {"jacobi", "float64", "natural", 1, 2, NAN, 1, NULL},
    {"gauss_seidel", "float64", "colored", 2, 2, NAN, 0, "quality"},
    {"nesterov", "float64", "colored", 2, 1, 1e-6, 0, "fclib_error"},
    {"gauss_seidel", "float64", "colored", 2, 1, 1e-6, 0, "delta_norm"},
};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS };

/* ---- the share of one rank ------------------------------------------------------------------------------ */

typedef struct part_of_chain {
    cs_share share;
    int64_t body[BODIES], label[BODIES], local[BODIES]; /* local: the number on the rank, or -1 */
    int64_t contact[CONTACTS], part[CONTACTS], island[CONTACTS], block[CONTACTS];
    int64_t pairs[CONTACTS][2], kind[2], start[3];
    unsigned char cut[CONTACTS];
    double jacobian[CONTACTS][ENTRIES], mass[BODIES][DOF], b[CONTACTS][ROWS], mu[CONTACTS];
    int64_t bodies, contacts;
} part_of_chain;

static int owns(int rank, int ranks, int64_t body)
{
    return cs_owner_of_part(label_of(body), PARTS, ranks) == rank;
}

/* Contacts of owned bodies, and the bodies of these contacts, with their data. */
static void cut_out(part_of_chain *p, int rank, int ranks)
{
    for (int i = 0; i < BODIES; i++) {
        int touched = owns(rank, ranks, i) || (i && owns(rank, ranks, i - 1)) ||
                      (i + 1 < BODIES && owns(rank, ranks, i + 1));
        p->local[i] = touched ? p->bodies : -1;
        if (!touched) continue;
        p->body[p->bodies] = i;
        p->label[p->bodies] = label_of(i);
        memcpy(p->mass[p->bodies++], mass[i], sizeof mass[i]);
    }
    for (int k = 0; k < CONTACTS; k++) {
        if (!owns(rank, ranks, k) && !owns(rank, ranks, k + 1)) continue;
        int64_t at = p->contacts++;
        p->contact[at] = k;
        p->part[at] = label_of(k);
        p->island[at] = ranks > 1 ? 0 : -1;
        p->pairs[at][0] = p->local[k];
        p->pairs[at][1] = p->local[k + 1];
        p->mu[at] = mu[k];
        memcpy(p->jacobian[at], jacobian[k], sizeof jacobian[k]);
        memcpy(p->b[at], b[k], sizeof b[k]);
    }
}

static void make_share(part_of_chain *p, const way *how, int rank, int ranks)
{
    memset(p, 0, sizeof *p);
    cut_out(p, rank, ranks);

    /* The stages of the whole chain, with the contacts of this rank. */
    int64_t placed = 0;
    for (int s = 0; s < how->stages; s++) {
        p->kind[s] = how->stages == 1 ? CS_SIMULTANEOUS : CS_INDEPENDENT;
        p->start[s] = placed;
        for (int64_t k = 0; k < p->contacts; k++)
            if (p->contact[k] % how->stages == s) p->block[placed++] = k;
    }
    p->start[how->stages] = placed;
    p->share = (cs_share){
        .parts = PARTS,
        .all_bodies = BODIES,
        .all_contacts = CONTACTS,
        .body = p->body,
        .contact = p->contact,
        .label = p->label,
        .part = p->part,
        .shared_islands = ranks > 1,
        .island = p->island,
        .stages = how->stages,
        .kind = p->kind,
        .start = p->start,
        .block = p->block,
        .cut = p->cut,
        .colors = how->stages > 1 ? how->stages : 0,
        .weight = 1,
        .order = how->order,
    };
}

static cs_status make_problem(const part_of_chain *p, cs_problem **problem, cs_error *error)
{
    cs_bodies bodies = {p->bodies, DOF, 1, p->mass[0]};
    cs_blocks blocks = {
        .count = p->contacts,
        .rows = ROWS,
        .dof = {DOF, DOF},
        .jacobian = p->jacobian[0],
        .bodies = p->pairs[0],
        .b = p->b[0],
        .set = "disc",
        .parameters = p->mu,
    };
    cs_status status = cs_problem_create(problem, error);
    if (!status) status = cs_problem_add_bodies(*problem, &bodies, error);
    if (!status) status = cs_problem_add_blocks(*problem, &blocks, error);
    return status;
}

/* ---- solves --------------------------------------------------------------------------------------------- */

typedef struct job {
    const way *how;
    int ranks;
    cs_transport *transport[MOST_RANKS];
    part_of_chain part[MOST_RANKS];
    double impulses[MOST_RANKS][CONTACTS][ROWS]; /* of the rank's contacts */
    double measured[MOST_RANKS];                 /* the last one of the measure; or 0 */
    int64_t iterations[MOST_RANKS];
    cs_status status[MOST_RANKS];
    cs_error error[MOST_RANKS];
} job;

static cs_status solve(job *j, int rank, cs_error *error)
{
    cs_problem *problem = NULL;
    cs_solver *solver = NULL;
    int known = 0;
    cs_options options = cs_options_default();
    options.method = j->how->method;
    options.dtype = j->how->dtype;
    options.scheme = "factorized";
    options.order = j->how->order;
    options.order_options.parts = PARTS;
    options.rtol = j->how->rtol;
    options.atol = isnan(j->how->rtol) ? NAN : 0;
    options.max_iterations = isnan(j->how->rtol) ? 20 : 2000;
    options.threads = j->how->threads;
    options.exact_threads = 1;
    options.averaging_adjacent = j->how->adjacent;
    options.record = &j->how->measure;
    options.records = j->how->measure != NULL;

    make_share(&j->part[rank], j->how, rank, j->ranks);
    cs_status status = make_problem(&j->part[rank], &problem, error);
    if (!status)
        status = cs_solver_make_on_ranks(&solver, problem, &options, &j->part[rank].share,
                                         j->transport[rank], &known, NULL, error);
    cs_result result = {.impulses = j->impulses[rank][0]};
    if (!status) status = cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, error);
    j->iterations[rank] = result.iterations;
    if (!status && j->how->measure)
        j->measured[rank] = result.history[result.history_rows * result.columns - 1];
    if (status) cs_transport_abort(j->transport[rank], error->message);
    cs_solver_destroy(solver);
    cs_problem_destroy(problem);
    return status;
}

static void run_rank(void *context, int rank)
{
    job *j = context;
    j->status[rank] = solve(j, rank, &j->error[rank]);
    cs_transport_destroy(j->transport[rank]);
}

/* Solves on so many ranks, and compares all of their impulses with those of one rank, and the measure. */
static void compare(const way *how, int ranks, double (*one)[ROWS], int64_t *iterations,
                    double *measured)
{
    static job j;
    cs_error error = {0};
    j = (job){.how = how, .ranks = ranks};
    CHECK_STATUS(cs_threads_make(NULL, j.transport, ranks, 60, &error), CS_OK, &error);
    cs_parallel(ranks, run_rank, &j);
    for (int r = 0; r < ranks; r++) CHECK_STATUS(j.status[r], CS_OK, &j.error[r]);
    if (ranks == 1) {
        memcpy(one, j.impulses[0], sizeof j.impulses[0]);
        *iterations = j.iterations[0];
        *measured = j.measured[0];
        CHECK(how->measure ? *measured > 0 && isfinite(*measured) : *measured == 0);
    }
    int different = 0;
    for (int r = 0; r < ranks; r++) {
        CHECK(j.iterations[r] == *iterations);
        CHECK(memcmp(&j.measured[r], measured, sizeof *measured) == 0);
        for (int64_t k = 0; k < j.part[r].contacts; k++)
            different += memcmp(one[j.part[r].contact[k]], j.impulses[r][k], sizeof *one) != 0;
    }
    CHECK(different == 0);
    if (different)
        fprintf(stderr, "    %s, %s, %d ranks: %d impulses differ\n", how->method, how->dtype,
                ranks, different);
    CHECK(cs_memory_live() == 0);
}

int main(void)
{
    static double one[CONTACTS][ROWS];
    int64_t iterations = 0;
    double measured = 0;
    make_chain();
    int most = strcmp(cs_threads_kind(), "serial") ? MOST_RANKS : 1;
    for (int w = 0; w < WAY_COUNT; w++) {
        for (int ranks = 1; ranks <= most; ranks++)
            compare(&WAYS[w], ranks, one, &iterations, &measured);
        CHECK(iterations >= 20);

        /* The impulses are some. */
        double sum = 0;
        for (int k = 0; k < CONTACTS; k++) sum += fabs(one[k][0]);
        CHECK(sum > 1);
    }
    return test_result();
}

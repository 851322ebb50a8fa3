/* Cloth in every precision, with every preconditioner: the same bits on any number of threads, no failed allocation that
 * leaves anything, and a state that a failed step leaves as it was. */
#include "cloth/cloth.h"
#include "core/memory.h"
#include "testing.h"

#include <string.h>

enum { SIDE = 18, VERTICES = SIDE * SIDE, FACES = 2 * (SIDE - 1) * (SIDE - 1), PRECISIONS = 3 };

static double rest[3 * VERTICES], start[3 * VERTICES];
static int64_t face[3 * FACES];

/* A grid with diagonals one way, stretched and disturbed. */
static void make_mesh(void)
{
    uint64_t state = 5;
    int64_t *to = face;
    for (int64_t i = 0; i < VERTICES; i++) {
        rest[3 * i] = (double)(i % SIDE) / SIDE;
        rest[3 * i + 1] = (double)(i / SIDE) / SIDE;
        for (int k = 0; k < 3; k++)
            start[3 * i + k] = 1.05 * rest[3 * i + k] + 1e-3 * test_random(&state);
    }
    for (int64_t i = 0; i < VERTICES - SIDE; i++) {
        const int64_t cell[] = {i, i + 1, i + 1 + SIDE, i, i + 1 + SIDE, i + SIDE};
        if (i % SIDE == SIDE - 1) continue;
        memcpy(to, cell, sizeof cell);
        to += 6;
    }
}

static cs_status make(cs_cloth *cloth, int precision, int quadratic, const char *kind,
                      cs_error *error)
{
    static const int64_t attached[] = {0, SIDE - 1};
    const cs_cloth_options options = {
        .density = 0.2,
        .young = 100,
        .poisson = 0.3,
        .bending = 1e-3,
        .model = quadratic ? CS_BENDING_QUADRATIC : CS_BENDING_HINGE,
        .damping = 0.01,
        .gravity = {0, 0, -9.81},
        .parts = 5,
        .precision = (cs_cloth_precision)precision,
        .preconditioner = kind,
        .rtol = 1e-4,
        .max_iterations = 1000,
    };
    cs_status status = cs_cloth_make(cloth, &options, VERTICES, start, rest, face, FACES, error);
    return status ? status : cs_cloth_attach(cloth, attached, 2, error);
}

/* Makes a cloth and two steps of two solves each. */
static cs_status move(cs_cloth *cloth, int precision, int quadratic, const char *kind, int threads,
                      cs_error *error)
{
    const cs_cloth_call call = {.newton = 2, .threads = threads};
    cs_status status = make(cloth, precision, quadratic, kind, error);
    for (int n = 0; n < 2 && !status; n++)
        status = cs_cloth_step(cloth, 0.02, NULL, NULL, &call, error);
    return status;
}

static void steps_have_the_same_bits_on_all_threads(const char *kind, int quadratic)
{
    static double alone[3 * VERTICES];
    for (int precision = 0; precision < PRECISIONS; precision++)
        for (int threads = 1; threads <= 4; threads++) {
            cs_cloth cloth;
            cs_error error = {0};
            CHECK_STATUS(move(&cloth, precision, quadratic, kind, threads, &error), CS_OK, &error);
            CHECK(cloth.steps == 2 && !cloth.missed);
            if (threads == 1) memcpy(alone, cloth.position, sizeof alone);
            CHECK(!memcmp(alone, cloth.position, sizeof alone));
            cs_cloth_clear(&cloth);
        }
}

/* Each call's n-th allocation fails, until there are no more. */
static void no_failed_allocation_leaves_anything(const char *kind)
{
    int64_t before = cs_memory_live(), n = 0;
    cs_status status = CS_NO_MEMORY;
    for (; status && n < 500; n++) {
        cs_cloth cloth;
        cs_error error = {0};
        cs_memory_fail_after(n);
        status = move(&cloth, CS_CLOTH_MIXED, 0, kind, 2, &error);
        cs_memory_fail_after(-1);
        CHECK(!status || (status == CS_NO_MEMORY && error.message[0]));
        if (status && cloth.graph.count && !cloth.steps)
            CHECK(!memcmp(cloth.position, start, sizeof start));
        cs_cloth_clear(&cloth);
        CHECK(cs_memory_live() == before);
    }
    CHECK(!status && n > 10);
}

/* Asked for the first time, it answers yes. On one thread: of several, the others may finish a short solve before the first
 * one asks. */
static int stop(void *context)
{
    ++*(int *)context;
    return 1;
}

static void a_cancelled_step_changes_nothing(void)
{
    cs_cloth cloth;
    cs_error error = {0};
    int asked = 0;
    cs_cancellation cancellation = {.is_cancelled = stop, .context = &asked, .work = 1e9};
    const cs_cloth_call call = {.newton = 1, .threads = 1, .cancellation = &cancellation};
    CHECK_STATUS(make(&cloth, CS_CLOTH_F64, 0, "jacobi", &error), CS_OK, &error);
    CHECK(cs_cloth_step(&cloth, 0.02, NULL, NULL, &call, &error) == CS_INTERRUPTED);
    CHECK(asked > 0 && !cloth.steps && cloth.time == 0);
    CHECK(!memcmp(cloth.position, start, sizeof start));
    cs_cloth_clear(&cloth);
}

int main(void)
{
    make_mesh();
    steps_have_the_same_bits_on_all_threads("auto", 0);
    steps_have_the_same_bits_on_all_threads("multigrid", 0);
    steps_have_the_same_bits_on_all_threads("block_ssor", 1);
    no_failed_allocation_leaves_anything("auto");
    no_failed_allocation_leaves_anything("multigrid");
    a_cancelled_step_changes_nothing();
    return test_result();
}

/* Eight blocks at once against one after another: the same bits from every build that runs here. */
#include "core/instructions.h"
#include "linalg/small.h"
#include "problem/block_lanes.h"
#include "testing.h"

#include <string.h>

#define CS_INSTRUCTIONS(name, summary) \
    extern const cs_block_lanes_kernels cs_block_lanes_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_block_lanes_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_block_lanes_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

enum { BODIES = 7, BLOCKS = 24, LARGEST = 12 * 4 };

static double mass[BODIES * 36], jacobian[BLOCKS * LARGEST], b[BLOCKS * 4], friction[BLOCKS];
static int64_t bodies[2 * BLOCKS];
static uint64_t state = 3;

/* M^-1 = X X^T of random X; of body 0 zero. */
static void fill_masses(int dof, int diagonal)
{
    memset(mass, 0, sizeof mass);
    for (int body = 1; body < BODIES; body++) {
        double x[36], *own = mass + body * (diagonal ? dof : dof * dof);
        for (int i = 0; i < dof * dof; i++) x[i] = test_random(&state);
        for (int i = 0; i < dof && diagonal; i++) own[i] = x[i] * x[i];
        for (int i = 0; i < dof && !diagonal; i++)
            for (int j = 0; j < dof; j++)
                for (int k = 0; k < dof; k++) own[i * dof + j] += x[i * dof + k] * x[j * dof + k];
    }
}

/* Blocks with zero entries of both signs, bodies that cannot move and, in the last lanes, one that
 * is joined to itself. */
static cs_problem *make(int rows, int dof, int diagonal, const char *set)
{
    cs_problem *problem = NULL;
    fill_masses(dof, diagonal);
    for (int i = 0; i < BLOCKS * LARGEST; i++) jacobian[i] = i % 7 ? test_random(&state) : -0.0;
    for (int k = 0; k < BLOCKS; k++) {
        bodies[2 * k] = k % (BODIES + 1) - 1;
        bodies[2 * k + 1] = k == BLOCKS - 1 ? bodies[2 * k] : (3 * k + 1) % BODIES;
        if (k < BLOCKS - 1 && bodies[2 * k] == bodies[2 * k + 1]) bodies[2 * k] = -1;
    }
    CHECK(cs_problem_create(&problem, NULL) == CS_OK);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){BODIES, dof, diagonal, mass}, NULL) == CS_OK);
    cs_blocks blocks = {.count = BLOCKS,
                        .rows = rows,
                        .dof = {dof, dof},
                        .jacobian = jacobian,
                        .bodies = bodies,
                        .b = b,
                        .parameters = friction,
                        .set = set};
    CHECK(cs_problem_add_blocks(problem, &blocks, NULL) == CS_OK);
    return problem;
}

static int same(double a, double c) { return memcmp(&a, &c, sizeof a) == 0; }

static void same_factors(const cs_block_lanes_kernels *kernels, const cs_problem *problem,
                         const int64_t *index, const cs_block_lanes *lanes)
{
    _Alignas(64) double scaled[LARGEST * CS_BLOCK_LANES], diagonal[16 * CS_BLOCK_LANES];
    const cs_block_group *group = &problem->block_group[0];
    kernels->scaled(lanes, scaled);
    kernels->diagonals(lanes, diagonal);
    for (int l = 0; l < CS_BLOCK_LANES; l++) {
        double own[LARGEST], square[16];
        if (bodies[2 * index[l]] == bodies[2 * index[l] + 1]) continue;
        cs_scaled_jacobian(problem, group, index[l], own);
        cs_diagonal_block(problem, group, index[l], square);
        for (int i = 0; i < cs_jacobian_size(group); i++)
            CHECK(same(scaled[i * CS_BLOCK_LANES + l], own[i]));
        for (int i = 0; i < group->rows * group->rows; i++)
            CHECK(same(diagonal[i * CS_BLOCK_LANES + l], square[i]));
    }
}

static void same_eigenvalues(const cs_block_lanes_kernels *kernels, int rows)
{
    _Alignas(64) double diagonal[16 * CS_BLOCK_LANES], r[4 * CS_BLOCK_LANES], found[CS_BLOCK_LANES];
    for (int i = 0; i < rows * CS_BLOCK_LANES; i++) r[i] = fabs(test_random(&state));
    for (int i = 0; i < rows * rows * CS_BLOCK_LANES; i++) diagonal[i] = test_random(&state);
    for (int i = 0; i < rows * rows; i++) {
        diagonal[i * CS_BLOCK_LANES] =
            i % (rows + 1) ? 0 : i + 1;       /* no rotation in the first lane, */
        diagonal[i * CS_BLOCK_LANES + 1] = 1; /* equal entries in the second */
        diagonal[i * CS_BLOCK_LANES + 2] = i % (rows + 1) ? -1 : 1;
    }
    for (int l = 1; l < 3; l++)
        for (int i = 0; i < rows; i++) r[i * CS_BLOCK_LANES + l] = 1;
    kernels->overshoots(rows, diagonal, r, found);
    for (int l = 0; l < CS_BLOCK_LANES; l++) {
        double own[16];
        for (int i = 0; i < rows * rows; i++)
            own[i] = sqrt(r[i / rows * CS_BLOCK_LANES + l]) *
                     sqrt(r[i % rows * CS_BLOCK_LANES + l]) * diagonal[i * CS_BLOCK_LANES + l];
        CHECK(same(found[l], cs_largest_eigenvalue(rows, own)));
    }
}

/* Local factors of all lanes, with rows in several coupled sets, against each block's own. A diagonal entry that is not
 * plain, in any lane, is told. */
static void same_local_factors(const cs_block_lanes_kernels *kernels, int rows)
{
    _Alignas(64) double diagonal[16 * CS_BLOCK_LANES], rho[4 * CS_BLOCK_LANES],
        r[4 * CS_BLOCK_LANES];
    static uint64_t random = 5;
    int set[4] = {0};
    for (int i = 1; i < rows; i++) set[i] = set[i - 1] + (test_random(&random) > 0);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j <= i; j++)
            for (int l = 0; l < CS_BLOCK_LANES; l++) {
                double entry = i == j ? 1.5 + test_random(&random) : test_random(&random);
                diagonal[(i * rows + j) * CS_BLOCK_LANES + l] = entry;
                diagonal[(j * rows + i) * CS_BLOCK_LANES + l] = entry;
            }
    CHECK(kernels->local(rows, set, diagonal, 0.9, rho, r));
    for (int l = 0; l < CS_BLOCK_LANES; l++) {
        double scaled[16], largest[4] = {0};
        for (int i = 0; i < rows; i++)
            largest[set[i]] = fmax(largest[set[i]], diagonal[i * (rows + 1) * CS_BLOCK_LANES + l]);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                scaled[i * rows + j] = sqrt(1 / largest[set[i]]) * sqrt(1 / largest[set[j]]) *
                                       diagonal[(i * rows + j) * CS_BLOCK_LANES + l];
        double over = fmax(1, cs_largest_eigenvalue(rows, scaled));
        for (int i = 0; i < rows; i++) {
            CHECK(same(rho[i * CS_BLOCK_LANES + l], 1 / largest[set[i]]));
            CHECK(same(r[i * CS_BLOCK_LANES + l], 1 / largest[set[i]] / over * 0.9));
        }
    }

    const double unusual[] = {0, -1, 1e-40, 1e40, NAN, INFINITY};
    for (int u = 0; u < 6; u++)
        for (int l = 0; l < CS_BLOCK_LANES; l++) {
            double *entry = &diagonal[(u % rows) * (rows + 1) * CS_BLOCK_LANES + l], kept = *entry;
            *entry = unusual[u];
            CHECK(!kernels->local(rows, set, diagonal, 0.9, rho, r));
            *entry = kept;
        }
}

static void check_build(const cs_block_lanes_kernels *kernels, int rows, int dof, const char *set)
{
    for (int diagonal = 0; diagonal < 2; diagonal++) {
        cs_problem *problem = make(rows, dof, diagonal, set);
        CHECK(cs_block_lanes_fit(problem, &problem->block_group[0]));
        for (int first = 0; first < BLOCKS; first += CS_BLOCK_LANES) {
            int64_t index[CS_BLOCK_LANES];
            cs_block_lanes lanes;
            for (int l = 0; l < CS_BLOCK_LANES; l++)
                index[l] = first + (l * 3 + 5) % CS_BLOCK_LANES;
            cs_block_lanes_find(problem, &problem->block_group[0], index, &lanes);
            CHECK(lanes.twofold == (first + CS_BLOCK_LANES == BLOCKS));
            same_factors(kernels, problem, index, &lanes);
        }
        cs_problem_destroy(problem);
    }
    for (int round = 0; round < 50; round++) same_eigenvalues(kernels, rows);
    for (int round = 0; round < 50; round++) same_local_factors(kernels, rows);
}

int main(void)
{
    for (int i = 0; i < CS_INSTRUCTION_SETS; i++) {
        if (!cs_instructions_run(i)) continue;
        check_build(builds[i], 2, 3, "disc");
        check_build(builds[i], 3, 6, "disc");
        check_build(builds[i], 4, 6, "half_line");
    }
    return test_result();
}

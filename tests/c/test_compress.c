/* Eight contacts compressed at once against one after another: the same bits, and the same contacts
 * refused, from every build that runs here. */
#include "core/instructions.h"
#include "scheme/compressed.h"
#include "testing.h"

#include <float.h>
#include <string.h>

#define CS_INSTRUCTIONS(name, summary) extern const cs_compress_kernel cs_compress_lanes_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_compress_kernel *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_compress_lanes_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

enum { BODIES = 5, MOST = 4 * 12 };

static double mass[BODIES * 6], jacobian[CS_BLOCK_LANES * MOST], b[CS_BLOCK_LANES * 4],
    friction[CS_BLOCK_LANES * 2];
static int64_t bodies[2 * CS_BLOCK_LANES];
static uint64_t state = 11;

static void cross(const double *a, const double *c, double *product)
{
    for (int i = 0; i < 3; i++)
        product[i] = a[(i + 1) % 3] * c[(i + 2) % 3] - a[(i + 2) % 3] * c[(i + 1) % 3];
}

static void normalize(double *a)
{
    double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    for (int i = 0; i < 3; i++) a[i] /= length;
}

/* J of a contact with a random frame and random arms; the fourth row is spin. */
static void fill_contact(int rows, int handedness, double *own)
{
    double frame[3][3], arm[2][3];
    for (int i = 0; i < 3; i++)
        frame[0][i] = test_random(&state), frame[1][i] = test_random(&state);
    normalize(frame[0]);
    cross(frame[0], frame[1], frame[2]);
    normalize(frame[2]);
    cross(frame[2], frame[0], frame[1]);
    for (int i = 0; i < 3; i++) frame[2][i] *= handedness;
    for (int i = 0; i < 6; i++) arm[i / 3][i % 3] = test_random(&state);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < rows; i++, own += 6) {
            double angular[3], sign = side ? 1 : -1;
            cross(arm[side], frame[i % 3], angular);
            for (int k = 0; k < 3; k++) {
                own[k] = i < 3 ? sign * frame[i][k] : 0;
                own[3 + k] = sign * (i < 3 ? angular[k] : frame[0][k]);
            }
        }
}

static cs_problem *make(int rows)
{
    cs_problem *problem = NULL;
    for (int i = 0; i < BODIES * 6; i++) mass[i] = i < 6 ? 0 : 1;
    for (int k = 0; k < CS_BLOCK_LANES; k++) {
        bodies[2 * k] = k % (BODIES + 1) - 1;
        bodies[2 * k + 1] = k == 1 ? -1 : (k + 2) % BODIES; /* 0 and -1: nothing moves */
    }
    CHECK(cs_problem_create(&problem, NULL) == CS_OK);
    CHECK(cs_problem_add_bodies(problem, &(cs_bodies){BODIES, 6, 1, mass}, NULL) == CS_OK);
    cs_blocks blocks = {.count = CS_BLOCK_LANES,
                        .rows = rows,
                        .dof = {6, 6},
                        .jacobian = jacobian,
                        .bodies = bodies,
                        .b = b,
                        .parameters = friction,
                        .set = rows == 3 ? "disc" : "half_line"};
    CHECK(cs_problem_add_blocks(problem, &blocks, NULL) == CS_OK);
    return problem;
}

/* Whether all builds agree with one contact after another; returns whether these fit. */
static int compare(int rows, int handedness, cs_dtype dtype)
{
    cs_problem *problem = make(rows);
    cs_packed_group group = {.factors.handedness = handedness};
    cs_packed packed = {.problem = problem, .dtype = dtype, .group = &group};
    double own[CS_BLOCK_LANES][12];
    cs_block_lanes lanes;
    int64_t index[CS_BLOCK_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    int fit = 1;
    for (int l = 0; l < CS_BLOCK_LANES; l++) fit &= cs_compress(&packed, 0, l, own[l]);
    cs_block_lanes_find(problem, &problem->block_group[0], index, &lanes);
    double tolerance = 16 * (dtype == CS_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
    for (int i = 0; i < CS_INSTRUCTION_SETS; i++) {
        _Alignas(64) double numbers[12 * CS_BLOCK_LANES];
        if (!cs_instructions_run(i)) continue;
        CHECK((*builds[i])(&lanes, tolerance, handedness, numbers) == fit);
        for (int n = 0; n < 12 * CS_BLOCK_LANES && fit; n++)
            CHECK(memcmp(&numbers[n], &own[n % CS_BLOCK_LANES][n / CS_BLOCK_LANES],
                         sizeof *numbers) == 0);
    }
    cs_problem_destroy(problem);
    return fit;
}

static void check_shape(int rows)
{
    for (int handedness = -1; handedness < 2; handedness += 2)
        for (int round = 0; round < 20; round++) {
            for (int k = 0; k < CS_BLOCK_LANES; k++)
                fill_contact(rows, handedness, jacobian + k * rows * 12);
            CHECK(compare(rows, handedness, CS_F64));
            CHECK(!compare(rows, -handedness, CS_F64));
            /* Any number of J matters, but those of sides that cannot move. */
            int at = (int)(fabs(test_random(&state)) * CS_BLOCK_LANES * rows * 12);
            int side = at / (rows * 6) % 2, contact = at / (rows * 12);
            jacobian[at] += 1e-8;
            CHECK(compare(rows, handedness, CS_F64) == (bodies[2 * contact + side] < 1));
            CHECK(compare(rows, handedness, CS_F32));
        }
}

int main(void)
{
    check_shape(3);
    check_shape(4);
    return test_result();
}

/* T = 1 - R A and c = -R b at every R: as packed, scaled block by block, rewritten, and back to
 * the bits.
 *
 * One scene of several groups: rows of 1 to 3, free blocks with a full R_k. */
#include "backend/cpu.h"
#include "scene.h"
#include "solver/solver.h"

static scene s;

static double entry(const cs_packed *packed, const void *values, int64_t i)
{
    return packed->dtype == CS_F64 ? ((const double *)values)[i]
                                   : (double)((const float *)values)[i];
}

/* (R_k)_ij of one visited block. */
static double step_of(const cs_packed *packed, const cs_packed_group *group, int64_t visit, int i,
                      int j)
{
    int rows = group->rows;
    if (group->step) return entry(packed, group->step, (visit * rows + i) * rows + j);
    return i == j ? entry(packed, group->r, visit * rows + i) : 0;
}

/* One row of T, dense; returns c of that row. */
static double dense_row(const cs_packed *packed, int g, int64_t visit, int i, double *row)
{
    const cs_packed_group *group = &packed->group[g];
    memset(row, 0, sizeof(double) * SCENE_ROWS);
    int64_t at = group->matrix.first[visit];
    for (int64_t e = group->matrix.start[visit]; e < group->matrix.start[visit + 1]; e++) {
        int width = group->matrix.width ? group->matrix.width[e] : group->rows;
        for (int j = 0; j < width; j++)
            row[group->matrix.column[e] % SCENE_ROWS + j] =
                entry(packed, group->matrix.value, at + i * width + j);
        at += group->rows * width;
    }
    return entry(packed, group->matrix.c, visit * group->rows + i);
}

static void matches_definition(const cs_packed *packed, double tolerance)
{
    for (int g = 0; g < SCENE_GROUPS; g++) {
        const cs_packed_group *group = &packed->group[g];
        for (int64_t v = 0; v < group->count; v++)
            for (int i = 0; i < group->rows; i++) {
                double T[SCENE_ROWS], expected[SCENE_ROWS] = {0}, c = 0;
                expected[group->row[v] + i] = 1;
                for (int l = 0; l < group->rows; l++) {
                    double step = step_of(packed, group, v, i, l);
                    c -= step * s.b[group->row[v] + l];
                    for (int j = 0; j < SCENE_ROWS; j++)
                        expected[j] -= step * s.A[group->row[v] + l][j];
                }
                CHECK_NEAR(dense_row(packed, g, v, i, T), c, tolerance);
                CHECK_ALL_NEAR(SCENE_ROWS, T, expected, tolerance);
            }
    }
}

/* All T and c one after another. */
static void dump(const cs_packed *packed, double *values)
{
    for (int g = 0; g < SCENE_GROUPS; g++)
        for (int64_t v = 0; v < packed->group[g].count; v++)
            for (int i = 0; i < packed->group[g].rows; i++, values += SCENE_ROWS + 1)
                values[SCENE_ROWS] = dense_row(packed, g, v, i, values);
}

static void write_factor(cs_packed *packed, int g, int64_t visit, int i, double value)
{
    int64_t at = visit * packed->group[g].rows + i;
    cs_convert(packed->dtype, packed->group[g].r, at, &value, 1);
}

static void follows_R(const cs_problem *problem, const char *dtype, const char *method)
{
    static double before[SCENE_ROWS * (SCENE_ROWS + 1)], after[SCENE_ROWS * (SCENE_ROWS + 1)];
    cs_solver *solver = NULL;
    cs_error error;
    cs_result result = {0};
    cs_options options = cs_options_default();
    options.scheme = "iteration_matrix";
    options.method = method;
    options.dtype = dtype;
    options.order = "reverse";
    options.max_iterations = 2;
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    CHECK(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error) == CS_OK);
    cs_packed *packed = cs_cpu_packed(&solver->packing);
    double tolerance = packed->dtype == CS_F64 ? 1e-13 : 1e-5;
    matches_definition(packed, tolerance);
    dump(packed, before);
    for (int turn = 0; turn < 3; turn++)
        for (int g = 0; g < SCENE_GROUPS; g++)
            for (int64_t v = 0; v < packed->group[g].count; v++)
                if ((v + g + turn) % 2) cs_scale_step(packed, g, v, 0.3 + 0.2 * (double)(v + turn));
    matches_definition(packed, tolerance);
    cs_scale_steps(packed, 0.7);
    matches_definition(packed, tolerance);
    for (int i = 0; i < 3; i++) write_factor(packed, 1, 2, i, 0.1 + 0.2 * i);
    cs_step_changed(packed, 1, 2, NULL);
    matches_definition(packed, tolerance);
    dump(packed, after);
    CHECK(memcmp(before, after, sizeof before) != 0);
    cs_pack_steps(packed, solver->factors.r, solver->factors.step);
    dump(packed, after);
    CHECK(memcmp(before, after, sizeof before) == 0);
    cs_solver_destroy(solver);
}

int main(void)
{
    cs_problem *problem;
    cs_error error;
    scene_make(&s);
    CHECK_STATUS(scene_create(&s, &problem, &error), CS_OK, &error);
    follows_R(problem, "float64", "gauss_seidel");
    follows_R(problem, "float32", "gauss_seidel");
    follows_R(problem, "float64", "jacobi");
    cs_problem_destroy(problem);
    return test_result();
}

/* A block of 1 kg on a slope, mu = 0.5, pulled by gravity for 10 ms: it sticks on the gentle slope
 * and slides on the steep one. The normal and the friction impulse come out, and the velocity left.
 *
 *     python3 setup.py build_ext --build-temp=build --build-lib=build
 *     cc -std=c17 -Icsrc tests/c/example.c $(find build -name '*.o' ! -path '*python*') -fopenmp -lm
 *
 * Output:
 *     slope 20 degrees: normal 0.0922 N s, friction -0.0336 N s, slides at 0.0000 m/s
 *     slope 40 degrees: normal 0.0751 N s, friction -0.0376 N s, slides at 0.0255 m/s
 */
#include "contactsolve.h"

#include <math.h>
#include <stdio.h>

int main(void)
{
    cs_problem *problem = NULL;
    cs_solver *solver = NULL;
    cs_error error = {0};
    double inverse_mass[] = {1, 1}, jacobian[] = {0, 0, 0, 0, 1, 0, 0, 1}, none[] = {0, 0};
    double mu[] = {0.5}, impulse[2], velocity[2];
    int64_t pair[] = {-1, 0}; /* the fixed world, the block */
    cs_bodies body = {.count = 1, .dof = 2, .diagonal = 1, .inverse_mass = inverse_mass};
    cs_blocks contact = {
        .count = 1,
        .rows = 2,
        .dof = {2, 2},
        .jacobian = jacobian,
        .bodies = pair,
        .b = none,
        .set = "disc",
        .parameters = mu,
    };
    cs_options options = cs_options_default();
    cs_result result = {.impulses = impulse, .residual_velocities = velocity};

    if (cs_problem_create(&problem, &error)) goto out;
    if (cs_problem_add_bodies(problem, &body, &error)) goto out;
    if (cs_problem_add_blocks(problem, &contact, &error)) goto out;
    if (cs_solver_create(&solver, problem, &options, NULL, &error)) goto out;
    for (int slope = 20; slope <= 40; slope += 20) {
        double angle = slope * acos(-1) / 180, gravity = 9.81 * 0.01;
        double b[] = {-gravity * cos(angle), gravity * sin(angle)};
        if (cs_solver_solve(solver, NULL, b, NULL, NULL, &result, &error)) goto out;
        printf("slope %d degrees: normal %.4f N s, friction %.4f N s, slides at %.4f m/s\n", slope,
               impulse[0], impulse[1], velocity[1]);
    }
out:
    cs_solver_destroy(solver);
    cs_problem_destroy(problem);
    if (error.status) fprintf(stderr, "%s\n", error.message);
    return error.status != CS_OK;
}

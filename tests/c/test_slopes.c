/* Derivatives that Newton's method uses, against differences of what they are derivatives of. */
#include "prox/prox.h"
#include "solver/newton/fischer_burmeister.h"
#include "testing.h"

#include <math.h>
#include <string.h>

enum { TRIES = 400 };

static uint64_t state = 1;

static double random_number(void) { return test_random(&state); }

static cs_block_group group_of(const char *name, int rows)
{
    cs_block_group group = {.count = 1, .rows = rows, .set = cs_set_find(name)};
    group.parameters = group.set->parameters(rows);
    group.set->coupling(rows, group.coupled_set);
    return group;
}

static void parameters_of(const cs_block_group *group, double *parameters)
{
    for (int i = 0; i < group->parameters; i++) parameters[i] = 0.2 + fabs(random_number());
    if (strcmp(group->set->name, "box") != 0) return;
    for (int i = 0; i < group->rows; i++) {
        parameters[i] = i % 3 == 2 ? -INFINITY : -fabs(random_number());
        parameters[group->rows + i] = i % 3 == 1 ? INFINITY : fabs(random_number());
    }
}

typedef struct sample {
    cs_block_group group;
    double parameters[2 * CS_MAX_ROWS], r[CS_MAX_ROWS];
    double at[2][CS_MAX_ROWS]; /* impulse and velocity */
} sample;

static void function(const sample *s, double *phi)
{
    double ignored[2][CS_MAX_ROWS * CS_MAX_ROWS];
    cs_fischer_burmeister(&s->group, s->parameters, s->r, s->at[0], s->at[1], phi, ignored[0],
                          ignored[1]);
}

/* The largest difference between the derivatives and central differences of a step. */
static double worst(const sample *s, double step)
{
    double phi[CS_MAX_ROWS], derivative[2][CS_MAX_ROWS * CS_MAX_ROWS], largest = 0;
    int rows = s->group.rows;
    cs_fischer_burmeister(&s->group, s->parameters, s->r, s->at[0], s->at[1], phi, derivative[0],
                          derivative[1]);
    for (int of = 0; of < 2; of++)
        for (int j = 0; j < rows; j++) {
            double up[CS_MAX_ROWS], down[CS_MAX_ROWS];
            sample other = *s;
            other.at[of][j] = s->at[of][j] + step;
            function(&other, up);
            other.at[of][j] = s->at[of][j] - step;
            function(&other, down);
            for (int i = 0; i < rows; i++) {
                double difference = (up[i] - down[i]) / (2 * step);
                largest = fmax(largest, fabs(difference - derivative[of][i * rows + j]));
            }
        }
    return largest;
}

static sample sample_of(const char *name, int rows)
{
    sample s = {.group = group_of(name, rows)};
    parameters_of(&s.group, s.parameters);
    double r = 0.2 + fabs(random_number());
    for (int i = 0; i < rows; i++) {
        s.r[i] = r;
        s.at[0][i] = random_number();
        s.at[1][i] = random_number();
    }
    return s;
}

static void derivatives_are_those_of_the_function(const char *name, int rows)
{
    int kinks = 0;
    for (int i = 0; i < TRIES; i++) {
        sample s = sample_of(name, rows);
        double error = worst(&s, 1e-6);
        if (error > 1e-7) kinks++;
    }
    CHECK(kinks <= 1);
}

/* Zero where impulse and velocity are those of a contact, and only there. */
static void zeros_are_solutions(void)
{
    for (int i = 0; i < TRIES; i++) {
        sample s = sample_of("disc", 3);
        double phi[CS_MAX_ROWS], mu = s.parameters[0], *impulse = s.at[0], *velocity = s.at[1];
        function(&s, phi);
        CHECK(fabs(phi[0]) + fabs(phi[1]) + fabs(phi[2]) > 1e-3);
        impulse[0] = i % 3 ? fabs(impulse[0]) : 0;
        velocity[0] = i % 3 ? 0 : fabs(velocity[0]);
        double speed = hypot(velocity[1], velocity[2]);
        for (int t = 1; t < 3; t++) {
            if (i % 3 == 2) velocity[t] = 0;
            impulse[t] = i % 3 == 2 ? 0.5 * mu * impulse[0] * impulse[t]
                                    : -mu * impulse[0] * velocity[t] / speed;
        }
        function(&s, phi);
        for (int t = 0; t < 3; t++) CHECK_NEAR(phi[t], 0, 1e-15);
    }
}

/* At kinks: finite, and an element with which impulses and velocities both count. */
static void kinks_have_derivatives(void)
{
    sample s = sample_of("disc", 3);
    memset(s.at, 0, sizeof s.at);
    for (int edge = 0; edge < 2; edge++) {
        double phi[CS_MAX_ROWS], derivative[2][CS_MAX_ROWS * CS_MAX_ROWS];
        s.at[0][0] = edge;
        s.at[0][1] = edge * s.parameters[0];
        cs_fischer_burmeister(&s.group, s.parameters, s.r, s.at[0], s.at[1], phi, derivative[0],
                              derivative[1]);
        for (int i = 0; i < 3; i++) CHECK_NEAR(phi[i], 0, 1e-15);
        for (int i = 0; i < 9; i++) CHECK(isfinite(derivative[0][i]) && isfinite(derivative[1][i]));
        for (int i = 0; i < 3; i++) CHECK(derivative[1][i * 4] > 0.1 * s.parameters[0] * s.r[0]);
    }
}

int main(void)
{
    derivatives_are_those_of_the_function("free", 3);
    derivatives_are_those_of_the_function("half_line", 1);
    derivatives_are_those_of_the_function("half_line", 3);
    derivatives_are_those_of_the_function("box", 4);
    derivatives_are_those_of_the_function("box_friction", 3);
    derivatives_are_those_of_the_function("second_order_cone", 2);
    derivatives_are_those_of_the_function("second_order_cone", 3);
    derivatives_are_those_of_the_function("disc", 2);
    derivatives_are_those_of_the_function("disc", 3);
    zeros_are_solutions();
    kinks_have_derivatives();
    return test_result();
}

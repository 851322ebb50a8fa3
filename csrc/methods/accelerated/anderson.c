/* Anderson acceleration, type II, over sweeps S. With f_k = S(y_k) - y_k and the last m differences
 * dx_j of S(y) and df_j of f,
 *
 *     gamma = argmin |f_k - sum gamma_j df_j|,   y_k+1 = S(y_k) - sum gamma_j dx_j
 *
 * by normal equations with a little of their trace added, so that they always have a solution. The
 * history is given up, and the iteration goes on from the last good S(y), when |f| grows by more than
 * a factor above its least value since the last time. After r restarts in a row without |f| being
 * halved 2^r - 1 plain sweeps are made first, so that what converges by itself is not kept from it.
 * Anderson 1965; Walker and Ni 2011 */
#include "linalg/small.h"
#include "solver/accelerate.h"

#include <math.h>
#include <string.h>

enum { MOST = CS_MOST_GRAM, LONGEST_PAUSE = 1023 };

enum { DEPTH = CS_OWN_OPTIONS, GUARD, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    CS_OVER_OPTION(0),
    [DEPTH] = {.name = "depth",
               .summary = "number of earlier steps that are combined",
               .kind = CS_COUNT,
               .usual = 5,
               .least = 1,
               .most = MOST},
    [GUARD] =
        CS_NUMBER_OPTION("guard", 2, 1, HUGE_VAL,
                         "restart threshold: the earlier steps are discarded when a step is longer "
                         "than the shortest one since the last restart by this factor"),
};

typedef struct anderson {
    int64_t seen; /* differences since the last restart */
    int begun;    /* there is a step before this one */
    double least;
    double record;           /* |f| when it last was halved */
    int64_t pause, wait;     /* plain sweeps after a restart; those still to be made */
    double gram[MOST][MOST]; /* df_i.df_j */
} anderson;

/* dx and df of step j are points 2 j and 2 j + 1 behind these. */
enum { START, STEP, SAFE, KEPT_IMAGE, FIXED };

static int points(const cs_solver *solver) { return FIXED + 2 * (int)solver->setting[DEPTH]; }

static cs_point image_change(const cs_solver *solver, int j)
{
    return cs_point_at(solver, FIXED + 2 * j);
}
static cs_point step_change(const cs_solver *solver, int j)
{
    return cs_point_at(solver, FIXED + 2 * j + 1);
}

static void forget(cs_steps_run *steps)
{
    anderson *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    own->seen = own->begun = 0;
    own->least = INFINITY;
    cs_point_copy(solver, cs_point_at(solver, START), cs_point_here(solver));
    cs_point_copy(solver, cs_point_at(solver, SAFE), cs_point_here(solver));
}

static void begin(cs_steps_run *steps)
{
    anderson *own = steps->scalars;
    own->record = INFINITY;
    own->pause = own->wait = 0;
    forget(steps);
}

/* The differences of this step, in place of the oldest ones, and their products. `f` is the step. */
static int add_differences(anderson *own, cs_solver *solver, cs_point f, cs_point image)
{
    int depth = (int)solver->setting[DEPTH], newest = (int)(own->seen++ % depth);
    int count = own->seen < depth ? (int)own->seen : depth;
    cs_point dx = image_change(solver, newest), df = step_change(solver, newest);
    cs_point_combine(solver, dx, 1, image, -1, cs_point_at(solver, KEPT_IMAGE));
    cs_point_combine(solver, df, 1, f, -1, cs_point_at(solver, STEP));
    for (int j = 0; j < count; j++)
        own->gram[newest][j] = own->gram[j][newest] =
            cs_point_dot(solver, df, step_change(solver, j));
    return count;
}

static void extrapolate(cs_steps_run *steps)
{
    anderson *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    cs_point here = cs_point_here(solver), f = cs_point_at(solver, START);
    /* The start of the sweep is not needed once it has become the step. */
    cs_point_combine(solver, f, 1, here, -1, f);
    double length = sqrt(cs_point_dot(solver, f, f));
    if (length > solver->setting[GUARD] * own->least) {
        steps->restarts++;
        cs_point_copy(solver, here, cs_point_at(solver, SAFE));
        own->wait = own->pause = own->pause < LONGEST_PAUSE ? 2 * own->pause + 1 : LONGEST_PAUSE;
        forget(steps);
        return;
    }
    if (length <= own->record / 2) {
        own->record = length;
        own->pause = 0;
    }
    if (length < own->least) cs_point_copy(solver, cs_point_at(solver, SAFE), here);
    own->least = fmin(own->least, length);
    double gamma[MOST];
    if (own->wait > 0) {
        own->wait--;
        cs_point_copy(solver, f, here);
        return;
    }
    int count = own->begun ? add_differences(own, solver, f, here) : 0;
    for (int j = 0; j < count; j++) gamma[j] = cs_point_dot(solver, f, step_change(solver, j));
    if (count) cs_solve_gram(count, own->gram[0], MOST, gamma);
    cs_point_copy(solver, cs_point_at(solver, KEPT_IMAGE), here);
    cs_point_copy(solver, cs_point_at(solver, STEP), f);
    own->begun = 1;
    for (int j = 0; j < count; j++)
        cs_point_combine(solver, here, 1, here, -gamma[j], image_change(solver, j));
    cs_point_copy(solver, f, here);
}

static const cs_steps steps = {
    .points = points, .scalars = sizeof(anderson), .begin = begin, .extrapolate = extrapolate};

const cs_method cs_method_anderson = {
    .name = "anderson",
    .summary = "Anderson acceleration: a combination of the last sweeps, with restarts",
    .about = "The method combines the last few sweeps with the weights that make the combined step "
             "shortest. It is fast near a solution whose contacts no longer change between "
             "sticking, sliding and open; before that it restarts often.",
    .paper = "Anderson 1965; Walker and Ni 2011",
    .solves = CS_SOLVES_AS_SWEEPS,
    .figures = CS_FIGURE_RESTARTS,
    .option = option,
    .options = OPTIONS,
    .over = CS_OVER + 1,
    .steps = &steps,
    .solve = cs_accelerate,
};

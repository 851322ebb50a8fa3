/* Anderson acceleration, type II, over sweeps S. With f_k = S(y_k) - y_k and the last m differences
 * dx_j of S(y) and df_j of f,
 *
 *     gamma = argmin |f_k - sum gamma_j df_j|,   y_k+1 = S(y_k) - sum gamma_j dx_j
 *
 * The minimum is found by normal equations. A small multiple of their trace is added to the diagonal, so that
 * they always have a solution.
 *
 * Restart: when |f| exceeds its least value since the last restart by a factor, the differences are discarded,
 * and the iteration continues from the S(y) of the step with this least value. After the r-th restart in a row
 * without |f| having been halved, 2^r - 1 plain sweeps come first: frequent restarts must not prevent the
 * convergence of problems that plain sweeps solve.
 *
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

/* Scalars of a solve. */
typedef struct anderson {
    int64_t seen;            /* differences since the last restart */
    int begun;               /* whether there is a step since the last restart */
    double least;            /* least |f| since the last restart */
    double record;           /* |f| when it was last halved */
    int64_t pause;           /* plain sweeps after a restart */
    int64_t wait;            /* plain sweeps still to be made */
    double gram[MOST][MOST]; /* df_i.df_j */
} anderson;

/* Points: y where the sweep starts, then f; f of the last step; S(y) with the least |f|; S(y) of the last
 * step. dx and df number j are points 2 j and 2 j + 1 behind these. */
enum { START, STEP, SAFE, LAST_IMAGE, FIXED };

/* How many points the method keeps: the fixed ones, and two for each earlier step. */
static int points(const cs_solver *solver) { return FIXED + 2 * (int)solver->setting[DEPTH]; }

/* dx number j. */
static cs_point image_change(const cs_solver *solver, int j)
{
    return cs_point_at(solver, FIXED + 2 * j);
}

/* df number j. */
static cs_point step_change(const cs_solver *solver, int j)
{
    return cs_point_at(solver, FIXED + 2 * j + 1);
}

/* Restarts: discards the differences. The next sweep starts from the impulses at hand. */
static void restart(cs_steps_run *steps)
{
    anderson *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    own->seen = own->begun = 0;
    own->least = INFINITY;
    cs_point_copy(solver, cs_point_at(solver, START), cs_point_here(solver));
    cs_point_copy(solver, cs_point_at(solver, SAFE), cs_point_here(solver));
}

/* At the beginning, and after a rollback. */
static void begin(cs_steps_run *steps)
{
    anderson *own = steps->scalars;
    own->record = INFINITY;
    own->pause = own->wait = 0;
    restart(steps);
}

/* Stores dx and df of this step in place of the oldest ones, and updates the Gram matrix. `f` is the step,
 * `image` is S(y). Returns the number of differences stored. */
static int add_differences(anderson *own, cs_solver *solver, cs_point f, cs_point image)
{
    int depth = (int)solver->setting[DEPTH], newest = (int)(own->seen++ % depth);
    int count = own->seen < depth ? (int)own->seen : depth;

    /* dx and df since the last step, and the products of df with all others. */
    cs_point dx = image_change(solver, newest), df = step_change(solver, newest);
    cs_point_combine(solver, dx, 1, image, -1, cs_point_at(solver, LAST_IMAGE));
    cs_point_combine(solver, df, 1, f, -1, cs_point_at(solver, STEP));
    for (int j = 0; j < count; j++)
        own->gram[newest][j] = own->gram[j][newest] =
            cs_point_dot(solver, df, step_change(solver, j));
    return count;
}

/* From S(y_k) to y_k+1. */
static void extrapolate(cs_steps_run *steps)
{
    anderson *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    cs_point here = cs_point_here(solver), f = cs_point_at(solver, START);

    /* f = S(y) - y, stored in place of y, which is not needed any more. */
    cs_point_combine(solver, f, 1, here, -1, f);
    double length = sqrt(cs_point_dot(solver, f, f));

    /* If the step is too long, restart from the S(y) with the least |f|, with about twice as many plain
     * sweeps. */
    if (length > solver->setting[GUARD] * own->least) {
        steps->restarts++;
        cs_point_copy(solver, here, cs_point_at(solver, SAFE));
        own->wait = own->pause = own->pause < LONGEST_PAUSE ? 2 * own->pause + 1 : LONGEST_PAUSE;
        restart(steps);
        return;
    }

    /* A halving of |f| resets the number of plain sweeps. */
    if (length <= own->record / 2) {
        own->record = length;
        own->pause = 0;
    }

    /* Keep the S(y) with the least |f|. */
    if (length < own->least) cs_point_copy(solver, cs_point_at(solver, SAFE), here);
    own->least = fmin(own->least, length);
    double gamma[MOST];

    /* One of the plain sweeps after a restart: y_k+1 = S(y_k). */
    if (own->wait > 0) {
        own->wait--;
        cs_point_copy(solver, f, here);
        return;
    }

    /* gamma, from all differences that are stored. */
    int count = own->begun ? add_differences(own, solver, f, here) : 0;
    for (int j = 0; j < count; j++) gamma[j] = cs_point_dot(solver, f, step_change(solver, j));
    if (count) cs_solve_gram(count, own->gram[0], MOST, gamma);

    /* Keep S(y) and f for the next differences. */
    cs_point_copy(solver, cs_point_at(solver, LAST_IMAGE), here);
    cs_point_copy(solver, cs_point_at(solver, STEP), f);
    own->begun = 1;

    /* y_k+1 = S(y_k) - sum gamma_j dx_j */
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

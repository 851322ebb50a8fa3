/* A primal-dual interior-point method for the convex problem  min 1/2 x^T A x + (b + s)^T x,  x in C:
 *
 *     A x + b + s = y,    x o y = mu e -> 0,    x and y inside of each cone and its dual
 *
 *     V y = V^-1 x = v                          scaling of Nesterov and Todd (interior/cone.h)
 *     (A + W) dx = -r + V^-1 c,   W = V^-2      r = A x + b + s - y
 *     dy = V^-1 (c - dx'),   dx' = V^-1 dx
 *     c = -v                                    predictor, which shows how far a full step leads
 *     c = v \ (sigma mu e - dx' o dy') - v      corrector, sigma = (mu' / mu)^3   (Mehrotra 1992)
 *
 * Here v \ u is the solution z of v o z = u. Rows within bounds have a force on each side, and W = f / (x -
 * lo) + f' / (hi - x). A small fraction of A's diagonal is added to W, so that redundant contacts do not
 * make the system singular. With L L^T = W^-1 and dx = L z, the system that is solved is
 *
 *     (I + L^T A L) z = L^T (-r + V^-1 c),
 *
 * because the eigenvalues of W differ by many powers of ten, and in A + W rounding would destroy the small
 * ones.
 *
 * A friction disc is a cone with De Saxce's shift s = mu |y_t| of its normal row, which is Coulomb's law
 * once the shift has converged. The shift is updated before each step. This is a heuristic: the problem is
 * then not convex, and s need not converge. A change of s adds to r; therefore the target of mu is at least
 * a fraction of the mean of x |r| (option `ahead`).
 *
 * Mehrotra 1992; Nesterov and Todd 1997; Wright 1997; shift: Acary, Armand, Nguyen and Shpakovych 2023 */
#include "core/error.h"
#include "problem/friction.h"
#include "solver/judge.h"
#include "methods/interior/direction.h"
#include "system/shifted.h"

#include <math.h>
#include <string.h>

#define BOUNDARY_FRACTION 0.99 /* fraction of the way to the boundary that a step makes */
#define LEAST_CENTRING 1e-6    /* smallest sigma */
#define REFINED 1e-12          /* relative correction at which refinement ends */
/* Steps end when the mean product, relative to the first one, or the fraction of a step that stays inside
 * is below these. */
#define SMALLEST 1e-16
#define SHORTEST 1e-8
enum { REFINEMENTS = 4 };

enum { SPACE = CS_PATIENCE + 1, AHEAD, OPTIONS };
static const char *const spaces[] = {"auto", "constraints", "bodies", NULL};

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    [SPACE] = CS_WORD_OPTION("space", spaces, "unknowns of the factor; auto: whichever are fewer"),
    [AHEAD] = CS_NUMBER_OPTION(
        "ahead", 0.03, 0, 1e6,
        "lower bound of the target for the mean product of impulses and velocities, relative to "
        "the mean product of impulses and the last change of the shift; only with discs"),
};

/* The number of vectors (blocks.h) that the driver allocates. */
static int points(const cs_solver *solver) { return (void)solver, POINTS; }

/* ---- the system ------------------------------------------------------------------------------ */

/* R <- r = A x + b + s - y, and 0 in fixed rows. */
static void find_residual(cs_solver *solver)
{
    double *r = cs_interior_vector(solver, R);
    const double *low = cs_interior_vector(solver, LOW), *high = cs_interior_vector(solver, HIGH);
    cs_residual_at(solver, solver->lambda, solver->b, r);
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            if (v.cone && cs_has_discs(v.group))
                r[v.row] += cs_de_saxce_shift(v.rows, v.mu, low + v.row);

            /* y of a cone is in LOW; that of a row within bounds is the difference of two forces. */
            for (int i = 0; i < v.rows; i++)
                r[v.row + i] = !v.cone && cs_interior_is_fixed(solver, &v, i)
                                   ? 0
                                   : r[v.row + i] - low[v.row + i] + (v.cone ? 0 : high[v.row + i]);
        }
}

/* The state of the method. */
typedef struct state {
    cs_shifted *shifted; /* solves with I + L^T A L */
} state;

/* The factor of I + L^T A L. */
static cs_shifted *factor_of(const cs_solver *solver)
{
    return ((const state *)solver->own)->shifted;
}

/* root (m, m) <- L = D^-1 U of a cone, with D = diag(mu, 1, 1) and U = (V^-2 + shift)^-1/2. */
static void fill_cone(const cs_interior_block *v, const cs_scaling *scaling, double shift,
                      double *root)
{
    for (int j = 0; j < v->rows; j++) {
        double unit[CS_CONE_ROWS] = {0}, column[CS_CONE_ROWS];
        unit[j] = 1;
        cs_scale_shifted(scaling, shift, 0, unit, column);
        for (int i = 0; i < v->rows; i++) root[i * v->rows + j] = column[i];
        root[j] /= v->mu;
    }
}

/* Writes L of a block. For rows within bounds it is diagonal, and zero in fixed rows. Returns -1 if x or y
 * is not inside of its cone. */
static int fill_block(cs_solver *solver, const cs_interior_block *v)
{
    double *root = cs_shifted_root(factor_of(solver), v->block);
    double shift = cs_interior_proximal_of(solver, v);
    cs_scaling scaling;
    if (v->cone) {
        if (cs_interior_scaling_of(solver, v, &scaling)) return -1;
        fill_cone(v, &scaling, shift, root);
        return 0;
    }

    /* Rows within bounds. */
    memset(root, 0, sizeof(double) * (size_t)(v->rows * v->rows));
    for (int j = 0; j < v->rows; j++)
        if (!cs_interior_is_fixed(solver, v, j))
            root[j * v->rows + j] = 1 / sqrt(cs_interior_weight_of(solver, v->row + j) + shift);
    return 0;
}

/* SCALED <- (I + L^T A L)^-1 RIGHT, refined as long as the corrections shrink; STEP <- L SCALED. */
static void solve(cs_solver *solver)
{
    int64_t rows = solver->problem->rows;
    double *z = cs_interior_vector(solver, SCALED), *work = cs_interior_vector(solver, WORK);
    double before = INFINITY, *step = cs_interior_vector(solver, STEP);
    const double *right = cs_interior_vector(solver, RIGHT);
    memcpy(work, right, sizeof(double) * (size_t)rows);
    memset(z, 0, sizeof(double) * (size_t)rows);
    for (int k = 0; k <= REFINEMENTS; k++) {
        /* Solve for a correction; the first one is z itself. */
        double size = 0, correction = 0;
        cs_shifted_solve_roots(factor_of(solver), work);
        for (int64_t i = 0; i < rows; i++) {
            correction += work[i] * work[i];
            size += z[i] * z[i];
        }

        /* Add it, unless its norm is more than half of that of the one before. */
        if (!(correction < before / 4)) break;
        for (int64_t i = 0; i < rows; i++) z[i] += work[i];
        before = correction;
        cs_shifted_multiply_roots(factor_of(solver), 0, z, step);
        if (correction <= REFINED * REFINED * size) break;

        /* The residual with the given A: RIGHT - z - L^T A L z. */
        cs_multiply(solver, step, work);
        cs_shifted_multiply_roots(factor_of(solver), 1, work, work);
        for (int64_t i = 0; i < rows; i++) work[i] = right[i] - z[i] - work[i];
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Computes L with L L^T = W^-1, and the factor of I + L^T A L. Returns 0 if x or y is on the boundary up to
 * rounding, if the matrix cannot be factored, or if the solve is to stop. */
static int factor(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            if (fill_block(solver, &v)) return 0;
        }

    /* If the factorization breaks down after the first step, the precision is exhausted: the solve ends
     * without an error. */
    cs_cancellation cancellation = {.is_cancelled = cs_run_is_cancelled, .context = &steps->run};
    cs_status status = cs_shifted_factor_roots(factor_of(solver), &cancellation, steps->run.error);
    if (cs_run_is_stopping(&steps->run, status)) return 0;
    int lost = status == CS_UNSUPPORTED && steps->run.number > 1;
    if (!lost) steps->run.status = status;
    return !status;
}

/* Called at the start of a solve; the initial values follow at the first step. */
static void begin(cs_steps_run *steps)
{
    cs_interior *own = steps->scalars;
    *own = (cs_interior){0};
}

/* Sets the initial values. */
static void start(cs_solver *solver, cs_interior *own)
{
    cs_interior_begin(solver, own);
    own->first = own->mean = cs_interior_mean_product(solver, own, 0);
    own->started = 1;
}

/* Computes STEP, DLOW and DHIGH of a step with this aim. */
static void find_direction(cs_solver *solver, const cs_aim *aim)
{
    cs_interior_find_right(solver, aim);
    solve(solver);
    cs_interior_find_forces(solver);
}

/* The products at which the corrector aims, from the length of the predictor. Mehrotra 1992 */
static double find_target(const cs_solver *solver, const cs_interior *own)
{
    /* sigma = (mu' / mu)^3 */
    double part = cs_interior_reach(solver);
    double ratio = own->mean > 0 ? cs_interior_mean_product(solver, own, part) / own->mean : 0;
    double target = fmax(LEAST_CENTRING, ratio * ratio * ratio) * own->mean;

    /* With discs, the mean must not decrease faster than the shift converges. */
    if (!own->shifted) return target;
    return fmax(target, solver->setting[AHEAD] * cs_interior_mean_defect(solver, own));
}

/* One iteration: a predictor and a corrector. If the precision is exhausted, the method has no further
 * step, because such steps would only increase the error. */
static cs_step step(cs_steps_run *steps)
{
    cs_interior *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    steps->run.stats = (cs_sweep_stats){0};
    if (!own->started) start(solver, own);
    if (own->mean < SMALLEST * own->first) return CS_EXHAUSTED;

    /* Both directions have the same residual and the same factor. */
    find_residual(solver);
    if (!factor(steps)) return steps->run.stopped ? CS_STEPPED : CS_EXHAUSTED;
    find_direction(solver, &(cs_aim){0});
    find_direction(solver, &(cs_aim){find_target(solver, own), 1});

    /* Go almost to the boundary. */
    double part = own->degree > 0 ? fmin(1, BOUNDARY_FRACTION * cs_interior_reach(solver)) : 1;
    if (!(part > SHORTEST) || !isfinite(cs_interior_mean_product(solver, own, part)))
        return CS_EXHAUSTED;
    cs_interior_move(solver, part, &steps->run.stats);
    own->mean = cs_interior_mean_product(solver, own, 0);
    return CS_STEPPED;
}

/* ---- the method ------------------------------------------------------------------------------ */

/* Whether the method supports the set of these blocks. */
static int takes(const cs_block_group *group)
{
    const cs_set *set = group->set;
    int plain = set->bilateral || set->bounds || cs_has_no_friction(group);
    return plain || cs_has_discs(group) || cs_has_cones(group);
}

/* Fails if a set is not supported; prepares the driver and the factor. */
static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    for (int g = 0; g < problem->block_groups; g++)
        if (!takes(&problem->block_group[g]))
            return cs_fail(
                error, CS_UNSUPPORTED,
                "method='interior_point' takes blocks of the sets free, box, half_line, "
                "second_order_cone and disc, and this problem has blocks of set '%s': use "
                "method='admm' or one that sweeps",
                problem->block_group[g].set->name);
    if (solver->setting[SPACE] == CS_SPACE_BODIES && problem->matrix)
        return cs_fail(
            error, CS_UNSUPPORTED,
            "space='bodies' of method='interior_point' needs Jacobians, and this problem "
            "was given as a matrix: use space='auto'");

    /* Allocate the vectors and the factor; its pattern is computed here. */
    cs_status status = cs_prepare_steps(solver, budget, error);
    if (status) return status;
    state *own = solver->own;
    return cs_shifted_take(problem, (cs_space)solver->setting[SPACE], solver->setup_threads,
                           &solver->arena, budget->control, budget->cancellation, &own->shifted,
                           error);
}

static const cs_steps steps = {
    .points = points, .scalars = sizeof(cs_interior), .begin = begin, .step = step};

const cs_method cs_method_interior_point = {
    .name = "interior_point",
    .summary = "primal-dual interior-point steps on the convex problem; Coulomb friction by De "
               "Saxcé's shift",
    .about =
        "Each step factors A plus a barrier term that keeps the impulses inside their sets; ten to "
        "thirty steps suffice for any masses. The method solves contacts without friction, boxes, "
        "joints and the second-order cone: the associated problem. Coulomb friction is the cone "
        "with De Saxcé's shift, which is renewed at every step; that is a heuristic and may fail. "
        "The stopping rule is evaluated after every step, independently of `check_every`. Where "
        "rounding ends the progress before the tolerance is met, the solve ends as stalled or "
        "wandering. A start from an earlier result hardly helps.",
    .paper =
        "Mehrotra 1992; Nesterov and Todd 1997; Acary, Armand, Nguyen and Shpakovych 2023 (shift)",
    .needs = CS_BIT(CS_NEEDS_SYMMETRIC) | CS_BIT(CS_NEEDS_FLOAT64),
    .solves = CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) |
              CS_BIT(CS_SOLVES_ASSOCIATED) | CS_BIT(CS_SOLVES_COULOMB) |
              CS_BIT(CS_SOLVES_REDUNDANT) | CS_BIT(CS_SOLVES_UNSYMMETRIC) |
              CS_BIT(CS_SOLVES_MASS_RATIO),
    .option = option,
    .options = OPTIONS,
    .stage = CS_SIMULTANEOUS,
    .each = 1,
    .steps = &steps,
    .without_sweeps = 1,
    .check = cs_refuse_sweeps,
    .own = sizeof(state),
    .prepare = prepare,
    .solve = cs_accelerate,
};

/* A primal-dual interior-point method, on the convex problem  min 1/2 x^T A x + (b + s)^T x,  x in C:
 *
 *     A x + b + s = y,    x o y = mu e -> 0,    x and y inside of each cone and its dual
 *
 *     V y = V^-1 x = v                          Nesterov and Todd's scaling of a cone (interior/cone.h)
 *     (A + W) dx = -r + V^-1 c,   W = V^-2      r = A x + b + s - y
 *     dy = V^-1 (c - dx'),   dx' = V^-1 dx
 *     c = -v                                    predictor: how far does it lead?
 *     c = v \ (sigma mu e - dx' o dy') - v      corrector, sigma = (mu' / mu)^3   (Mehrotra 1992)
 *
 * Rows within bounds have a force on each side, W = f / (x - lo) + f' / (hi - x). A little of A's diagonal
 * is added to W, so that redundant contacts are no trouble. Solved is, with L L^T = W^-1 and dx = L z,
 *
 *     (I + L^T A L) z = L^T (-r + V^-1 c):
 *
 * W has directions many powers of ten apart, which A + W would not hold side by side.
 *
 * A friction disc is the cone with De Saxce's shift s = mu |y_t| of its normal row, which is Coulomb's law
 * where it has settled. It is renewed before every step. That is a heuristic: the problem is no convex one
 * then, and nothing says that s settles. mu is kept from running ahead of r, which s feeds.
 *
 * Mehrotra 1992; Nesterov and Todd 1997; Wright 1997; shift: Acary, Armand, Nguyen and Shpakovych 2023 */
#include "core/error.h"
#include "problem/friction.h"
#include "methods/interior/blocks.h"
#include "system/shifted.h"

#include <math.h>
#include <string.h>

#define SHORT_OF_THE_WALL 0.99
#define PROXIMAL 1e-8 /* what is added to W, over A's diagonal */
#define LEAST_CENTRING 1e-6
#define REFINED 1e-12 /* relative correction at which refinement ends */
/* Where steps end: the mean product over the first one, and the part of a step that stays inside. */
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

static int points(const cs_solver *solver) { return (void)solver, POINTS; }

/* ---- the system ------------------------------------------------------------------------------ */

/* r = A x + b + s - y, into R; rows that stay have none. */
static void find_residual(cs_solver *solver)
{
    double *r = cs_interior_numbers(solver, R);
    const double *low = cs_interior_numbers(solver, LOW), *high = cs_interior_numbers(solver, HIGH);
    cs_residual_velocity(solver->problem, solver->lambda, solver->b, solver->velocity, r);
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            const double *y = low + v.row;
            if (v.cone && cs_has_discs(v.group))
                r[v.row] += v.mu * (v.rows == 2 ? fabs(y[1]) : hypot(y[1], y[2]));
            for (int i = 0; i < v.rows; i++)
                r[v.row + i] = !v.cone && cs_interior_is_fixed(solver, &v, i)
                                   ? 0
                                   : r[v.row + i] - low[v.row + i] + (v.cone ? 0 : high[v.row + i]);
        }
}

/* Its state. */
typedef struct state {
    cs_shifted *shifted; /* solves with A + P */
} state;

static cs_shifted *factor_of(const cs_solver *solver)
{
    return ((const state *)solver->own)->shifted;
}

/* W of a row within bounds, without what is added to it. */
static double weight_of(const cs_solver *solver, int64_t row)
{
    double gap_low = cs_interior_numbers(solver, GAP_LOW)[row],
           gap_high = cs_interior_numbers(solver, GAP_HIGH)[row];
    double sum = gap_low > 0 ? cs_interior_numbers(solver, LOW)[row] / gap_low : 0;
    return gap_high > 0 ? sum + cs_interior_numbers(solver, HIGH)[row] / gap_high : sum;
}

/* L = D^-1 U of a cone, D = diag(mu, 1, 1); of a row within bounds U alone. */
static int fill_block(cs_solver *solver, const cs_interior_block *v)
{
    double *root = cs_shifted_root(factor_of(solver), v->block),
           shift = PROXIMAL * cs_interior_size_of(solver, v);
    memset(root, 0, sizeof(double) * (size_t)(v->rows * v->rows));
    cs_scaling scaling;
    if (v->cone && cs_interior_scaling_of(solver, v, &scaling)) return -1;
    for (int j = 0; j < v->rows; j++) {
        if (!v->cone) {
            root[j * v->rows + j] = cs_interior_is_fixed(solver, v, j)
                                        ? 0
                                        : 1 / sqrt(weight_of(solver, v->row + j) + shift);
            continue;
        }
        double unit[CS_CONE_ROWS] = {0}, column[CS_CONE_ROWS];
        unit[j] = 1;
        cs_scale_shifted(&scaling, shift, 0, unit, column);
        for (int i = 0; i < v->rows; i++) root[i * v->rows + j] = column[i];
        root[j] /= v->mu;
    }
    return 0;
}

/* SCALED <- (I + L^T A L)^-1 RIGHT, refined as long as corrections shrink; STEP <- L SCALED. */
static void solve(cs_solver *solver)
{
    int64_t rows = solver->problem->rows;
    double *z = cs_interior_numbers(solver, SCALED), *work = cs_interior_numbers(solver, WORK),
           before = INFINITY;
    double *step = cs_interior_numbers(solver, STEP);
    const double *right = cs_interior_numbers(solver, RIGHT);
    memcpy(work, right, sizeof(double) * (size_t)rows);
    memset(z, 0, sizeof(double) * (size_t)rows);
    for (int k = 0; k <= REFINEMENTS; k++) {
        double size = 0, correction = 0;
        cs_shifted_solve_roots(factor_of(solver), work);
        for (int64_t i = 0; i < rows; i++) {
            correction += work[i] * work[i];
            size += z[i] * z[i];
        }
        if (!(correction < before / 4)) break;
        for (int64_t i = 0; i < rows; i++) z[i] += work[i];
        before = correction;
        cs_shifted_multiply_roots(factor_of(solver), 0, z, step);
        if (correction <= REFINED * REFINED * size) break;
        cs_multiply(solver, step, work);
        cs_shifted_multiply_roots(factor_of(solver), 1, work, work);
        for (int64_t i = 0; i < rows; i++) work[i] = right[i] - z[i] - work[i];
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* What a step aims at: products of `target`; `corrects` for the products of the step at hand. */
typedef struct aim {
    double target;
    int corrects;
} aim;

/* c of a cone; dx' and dy' = c - dx' of the step at hand are from the last one. */
static void cone_push(const cs_solver *solver, const cs_interior_block *v, const cs_scaling *s,
                      const aim *to, double *c)
{
    int rows = v->rows;
    if (to->corrects) {
        double dy[CS_CONE_ROWS], product[CS_CONE_ROWS];
        const double *dx = cs_interior_numbers(solver, PUSH_HIGH) + v->row;
        for (int i = 0; i < rows; i++) dy[i] = c[i] - dx[i];
        cs_jordan_multiply(rows, dx, dy, product);
        for (int i = 0; i < rows; i++) product[i] = (i == 0 ? to->target : 0) - product[i];
        cs_jordan_divide(rows, s->v, product, c);
    }
    for (int i = 0; i < rows; i++) c[i] = (to->corrects ? c[i] : 0) - s->v[i];
}

/* What the products of a row within bounds are to change by, into PUSH_LOW and PUSH_HIGH. */
static void row_push(const cs_solver *solver, int64_t row, const aim *to)
{
    for (int side = 0; side < 2; side++) {
        double gap = cs_interior_numbers(solver, GAP_LOW + side)[row],
               force = cs_interior_numbers(solver, LOW + side)[row];
        double *push = &cs_interior_numbers(solver, PUSH_LOW + side)[row];
        *push = 0;
        if (!(gap > 0)) continue;
        double move = (side ? -1 : 1) * cs_interior_numbers(solver, STEP)[row];
        double product = to->corrects ? move * cs_interior_numbers(solver, DLOW + side)[row] : 0;
        *push = (to->corrects ? to->target - product : 0) - gap * force;
    }
}

/* The right side in scaled unknowns: RIGHT <- L^T (-r + D V^-1 c). */
static void find_right(cs_solver *solver, const aim *to)
{
    double *right = cs_interior_numbers(solver, RIGHT);
    const double *r = cs_interior_numbers(solver, R);
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            cs_scaling scaling;
            double shift = PROXIMAL * cs_interior_size_of(solver, &v);
            if (v.cone && cs_interior_scaling_of(solver, &v, &scaling) == 0) {
                double *c = cs_interior_numbers(solver, PUSH_LOW) + v.row, z[CS_CONE_ROWS],
                       of_r[CS_CONE_ROWS];
                cone_push(solver, &v, &scaling, to, c);
                cs_interior_to_cone(&v, r + v.row, 1 / v.mu, z);
                cs_scale_shifted(&scaling, shift, 0, z, of_r);
                cs_scale_shifted(&scaling, shift, 1, c, z);
                for (int i = 0; i < v.rows; i++) right[v.row + i] = z[i] - of_r[i];
                continue;
            }
            for (int i = 0; i < v.rows; i++) {
                int64_t row = v.row + i;
                double low = cs_interior_numbers(solver, GAP_LOW)[row],
                       high = cs_interior_numbers(solver, GAP_HIGH)[row];
                row_push(solver, row, to);
                right[row] = -r[row];
                if (low > 0) right[row] += cs_interior_numbers(solver, PUSH_LOW)[row] / low;
                if (high > 0) right[row] -= cs_interior_numbers(solver, PUSH_HIGH)[row] / high;
                double weight =
                    cs_interior_is_fixed(solver, &v, i) ? INFINITY : weight_of(solver, row) + shift;
                right[row] /= sqrt(weight);
            }
        }
}

/* dy, into DLOW and DHIGH, of the step in STEP. */
static void find_forces(cs_solver *solver)
{
    const double *step = cs_interior_numbers(solver, STEP);
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            cs_scaling scaling;
            if (v.cone && cs_interior_scaling_of(solver, &v, &scaling) == 0) {
                double *change = cs_interior_numbers(solver, DLOW) + v.row, dy[CS_CONE_ROWS];
                const double *c = cs_interior_numbers(solver, PUSH_LOW) + v.row;
                double *dx = cs_interior_numbers(solver, PUSH_HIGH) + v.row;
                cs_scale_shifted(&scaling, PROXIMAL * cs_interior_size_of(solver, &v), 1,
                                 cs_interior_numbers(solver, SCALED) + v.row, dx);
                for (int i = 0; i < v.rows; i++) dy[i] = c[i] - dx[i];
                cs_scale(&scaling, -1, dy, change);
                change[0] *= v.mu;
                continue;
            }
            for (int i = 0; i < v.rows; i++)
                for (int side = 0; side < 2; side++) {
                    int64_t row = v.row + i;
                    double gap = cs_interior_numbers(solver, GAP_LOW + side)[row];
                    double move = (side ? -1 : 1) * step[row];
                    cs_interior_numbers(solver, DLOW + side)[row] =
                        gap > 0 ? (cs_interior_numbers(solver, PUSH_LOW + side)[row] -
                                   cs_interior_numbers(solver, LOW + side)[row] * move) /
                                      gap
                                : 0;
                }
        }
}

/* The part of the step, at most 1, that stays inside. */
static double reach_of(const cs_solver *solver)
{
    double part = 1;
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            double at[CS_CONE_ROWS], along[CS_CONE_ROWS];
            if (v.cone) {
                cs_interior_to_cone(&v, solver->lambda + v.row, v.mu, at);
                cs_interior_to_cone(&v, cs_interior_numbers(solver, STEP) + v.row, v.mu, along);
                part = fmin(part, cs_cone_reach(v.rows, at, along));
                cs_interior_to_cone(&v, cs_interior_numbers(solver, LOW) + v.row, 1 / v.mu, at);
                cs_interior_to_cone(&v, cs_interior_numbers(solver, DLOW) + v.row, 1 / v.mu, along);
                part = fmin(part, cs_cone_reach(v.rows, at, along));
                continue;
            }
            for (int64_t row = v.row; row < v.row + v.rows; row++)
                for (int side = 0; side < 2; side++) {
                    double gap = cs_interior_numbers(solver, GAP_LOW + side)[row];
                    double force = cs_interior_numbers(solver, LOW + side)[row];
                    double move = (side ? -1 : 1) * cs_interior_numbers(solver, STEP)[row];
                    double change = cs_interior_numbers(solver, DLOW + side)[row];
                    if (!(gap > 0)) continue;
                    if (move < 0) part = fmin(part, -gap / move);
                    if (change < 0) part = fmin(part, -force / change);
                }
        }
    return part;
}

/* The mean of x y, a part of the step further on. */
static double mean_product(const cs_solver *solver, const cs_interior *own, double part)
{
    double sum = 0;
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            for (int64_t row = v.row; row < v.row + v.rows; row++) {
                double move = part * cs_interior_numbers(solver, STEP)[row];
                double low = cs_interior_numbers(solver, LOW)[row] +
                             part * cs_interior_numbers(solver, DLOW)[row];
                double high = cs_interior_numbers(solver, HIGH)[row] +
                              part * cs_interior_numbers(solver, DHIGH)[row];
                if (v.cone) {
                    sum += (solver->lambda[row] + move) * low;
                    continue;
                }
                double gap_low = cs_interior_numbers(solver, GAP_LOW)[row];
                double gap_high = cs_interior_numbers(solver, GAP_HIGH)[row];
                if (gap_low > 0) sum += (gap_low + move) * low;
                if (gap_high > 0) sum += (gap_high - move) * high;
            }
        }
    return own->degree > 0 ? sum / own->degree : 0;
}

/* The mean of x and what r is of normal rows: what the shift has still to do. */
static double mean_defect(const cs_solver *solver, const cs_interior *own)
{
    double sum = 0;
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            if (v.cone && cs_has_discs(v.group))
                sum += solver->lambda[v.row] * fabs(cs_interior_numbers(solver, R)[v.row]);
        }
    return own->degree > 0 ? sum / own->degree : 0;
}

static void move(cs_solver *solver, double part, cs_sweep_stats *stats)
{
    for (int64_t row = 0; row < solver->problem->rows; row++) {
        double change = part * cs_interior_numbers(solver, STEP)[row];
        solver->lambda[row] += change;
        stats->residual = fmax(stats->residual, fabs(change));
        stats->merit += change * change;
        cs_interior_numbers(solver, LOW)[row] += part * cs_interior_numbers(solver, DLOW)[row];
        cs_interior_numbers(solver, HIGH)[row] += part * cs_interior_numbers(solver, DHIGH)[row];
        if (cs_interior_numbers(solver, GAP_LOW)[row] > 0)
            cs_interior_numbers(solver, GAP_LOW)[row] += change;
        if (cs_interior_numbers(solver, GAP_HIGH)[row] > 0)
            cs_interior_numbers(solver, GAP_HIGH)[row] -= change;
    }
}

/* W and its factor. Returns 0 where x or y is at the wall to rounding, or the solve is to stop. */
static int factor(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            if (fill_block(solver, &v)) return 0;
        }
    cs_cancellation cancellation = {.is_cancelled = cs_run_is_cancelled, .context = &steps->run};
    cs_status status = cs_shifted_factor_roots(factor_of(solver), &cancellation, steps->run.error);
    if (cs_run_is_stopping(&steps->run, status)) return 0;
    int lost = status == CS_UNSUPPORTED && steps->run.number > 1;
    if (!lost) steps->run.status = status;
    return !status;
}

static void begin(cs_steps_run *steps)
{
    cs_interior *own = steps->scalars;
    *own = (cs_interior){0};
}

static void start(cs_solver *solver, cs_interior *own)
{
    cs_interior_begin(solver, own);
    own->first = own->mean = mean_product(solver, own, 0);
    own->started = 1;
}

/* Where the digits are used up, further steps would only do harm. */
static cs_step step(cs_steps_run *steps)
{
    cs_interior *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    cs_sweep_stats *stats = &steps->run.stats;
    *stats = (cs_sweep_stats){0};
    if (!own->started) start(solver, own);
    if (own->mean < SMALLEST * own->first) return CS_EXHAUSTED;
    find_residual(solver);
    if (!factor(steps)) return steps->run.stopped ? CS_STEPPED : CS_EXHAUSTED;
    find_right(solver, &(aim){0});
    solve(solver);
    find_forces(solver);
    double ratio = own->mean > 0 ? mean_product(solver, own, reach_of(solver)) / own->mean : 0;
    double centring = fmax(LEAST_CENTRING, ratio * ratio * ratio), target = centring * own->mean;
    if (own->shifted) target = fmax(target, solver->setting[AHEAD] * mean_defect(solver, own));
    find_right(solver, &(aim){target, 1});
    solve(solver);
    find_forces(solver);
    double part = own->degree > 0 ? fmin(1, SHORT_OF_THE_WALL * reach_of(solver)) : 1;
    if (!(part > SHORTEST) || !isfinite(mean_product(solver, own, part))) return CS_EXHAUSTED;
    move(solver, part, stats);
    own->mean = mean_product(solver, own, 0);
    return CS_STEPPED;
}

/* ---- the method ------------------------------------------------------------------------------ */

static int takes(const cs_block_group *group)
{
    const cs_set *set = group->set;
    int plain = set->bilateral || set->bounds || cs_has_no_friction(group);
    return plain || cs_has_discs(group) || cs_has_cones(group);
}

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
    cs_status status = cs_prepare_steps(solver, budget, error);
    if (status) return status;
    state *own = solver->own;
    return cs_shifted_take(problem, (cs_space)solver->setting[SPACE], &solver->arena,
                           budget->control, budget->cancellation, &own->shifted, error);
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

/* Interior-point steps towards the index set, for problems on which index sets jump about.
 *
 *     A x + b - z + y = 0,   z (x - lo) = y (hi - x) = mu -> 0,   all of them positive
 *
 * Newton's step for this takes one factor of A with z / (x - lo) + y / (hi - x) on its diagonal, and
 * that many steps hardly depend on the problem: ten to twenty. What a row does shows long before x is
 * exact: it is tight where the force z on it outweighs its distance from the bound. From there block
 * steps end the work, exactly.  Mehrotra 1992; Wright 1997, chapter 10 */
#include "core/error.h"
#include "mlcp/pivoting.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 40 };
/* Steps end where so few rows (a part of them) still change sides, and mu has fallen by this much since
 * they began or went on. */
#define STILL_CHANGING 0.005
#define FALLEN 1e-3
#define SHORT_OF_THE_WALL 0.995

enum { LOW, HIGH, SIDES };

/* One solve at work: arrays (rows), those of a side where no bound is being zero. */
typedef struct interior {
    cs_island *s;
    double *gap[SIDES];     /* x - lo and hi - x */
    double *inverse[SIDES]; /* 1 / gap */
    double *force[SIDES];
    double *push[SIDES]; /* by which force times gap is to change */
    double *residual;    /* A x + b - z + y */
    double *x;           /* kept while block steps use the island's */
} interior;

static int is_bounded(const cs_island *s, int64_t i, int side)
{
    if (cs_is_fixed(s, i)) return 0;
    return isfinite(side == LOW ? s->lo[i] : s->hi[i]);
}

/* Where the arrays are; all rows free but those that cannot move. */
static void lay_out(interior *p)
{
    cs_island *s = p->s;
    double *next = s->interior.array;
    double **array[] = {
        &p->gap[LOW],    &p->gap[HIGH], &p->inverse[LOW], &p->inverse[HIGH], &p->force[LOW],
        &p->force[HIGH], &p->push[LOW], &p->push[HIGH],   &p->residual,      &p->x};
    for (int i = 0; i < CS_INTERIOR_ARRAYS; i++, next += s->rows) *array[i] = next;
    for (int64_t i = 0; i < s->rows; i++)
        s->state[i] = cs_is_fixed(s, i) ? CS_INDEX_LOW : CS_INDEX_FREE;
}

/* A place within the bounds, a force that would stop what comes. */
static void begin(interior *p)
{
    cs_island *s = p->s;
    double largest = 0, product = 0;
    s->interior.bounds = 0;
    for (int64_t i = 0; i < s->rows; i++) largest = fmax(largest, fabs(s->b[i]));
    for (int64_t i = 0; i < s->rows; i++) {
        double away = largest / s->diagonal[i];
        int low = is_bounded(s, i, LOW), high = is_bounded(s, i, HIGH);
        p->x[i] = 0;
        if (low && high) p->x[i] = s->lo[i] / 2 + s->hi[i] / 2;
        else if (low) p->x[i] = fmax(0, s->lo[i] + away);
        else if (high) p->x[i] = fmin(0, s->hi[i] - away);
        else if (cs_is_fixed(s, i)) p->x[i] = s->lo[i];
        p->gap[LOW][i] = low ? p->x[i] - s->lo[i] : 0;
        p->gap[HIGH][i] = high ? s->hi[i] - p->x[i] : 0;
        p->force[LOW][i] = low ? largest : 0;
        p->force[HIGH][i] = high ? largest : 0;
        s->interior.bounds += low + high;
        product += largest * (p->gap[LOW][i] + p->gap[HIGH][i]);
    }
    s->interior.mean = s->interior.bounds ? product / (double)s->interior.bounds : 0;
}

static void invert_gaps(interior *p)
{
    for (int side = 0; side < SIDES; side++)
        for (int64_t i = 0; i < p->s->rows; i++)
            p->inverse[side][i] = p->gap[side][i] > 0 ? 1 / p->gap[side][i] : 0;
}

/* Factors A + z / (x - lo) + y / (hi - x), by way of the diagonal of the island's matrix. */
static int factor(interior *p, cs_pivot_run *run)
{
    cs_island *s = p->s;
    for (int64_t i = 0; i < s->rows; i++) {
        double more = p->force[LOW][i] * p->inverse[LOW][i];
        more += p->force[HIGH][i] * p->inverse[HIGH][i];
        s->value[cs_island_diagonal(s, i)] = s->diagonal[i] + more;
    }
    run->breakdown = (cs_breakdown){.row = -1};
    s->is_factored = 0;
    s->engine->factor(s, &run->breakdown);
    run->factorizations++;
    run->interior_steps++;
    for (int64_t i = 0; i < s->rows; i++) s->value[cs_island_diagonal(s, i)] = s->diagonal[i];
    return run->breakdown.row < 0;
}

/* s->step <- how x moves; `force` moves by (push - force step) / gap on each side. */
static void find_step(interior *p)
{
    cs_island *s = p->s;
    for (int64_t i = 0; i < s->rows; i++) {
        double right = -p->residual[i];
        right += p->push[LOW][i] * p->inverse[LOW][i] - p->push[HIGH][i] * p->inverse[HIGH][i];
        s->step[i] = s->state[i] ? 0 : right;
    }
    s->engine->solve(s, s->step);
}

/* How force and gap of one side change with the step. */
static void changes(const interior *p, int side, int64_t i, double *gap, double *force)
{
    *gap = side == LOW ? p->s->step[i] : -p->s->step[i];
    *force = (p->push[side][i] - p->force[side][i] * *gap) * p->inverse[side][i];
}

/* The part of the step, at most 1, after which the first gap or force is gone. */
static double reach(const interior *p)
{
    double part = 1, gap, force;
    for (int side = 0; side < SIDES; side++)
        for (int64_t i = 0; i < p->s->rows; i++) {
            if (p->gap[side][i] <= 0) continue;
            changes(p, side, i, &gap, &force);
            if (p->gap[side][i] + part * gap < 0) part = -p->gap[side][i] / gap;
            if (p->force[side][i] + part * force < 0) part = -p->force[side][i] / force;
        }
    return part;
}

/* The mean of force times gap, a part of the step further on. */
static double mean_product(const interior *p, double part)
{
    double sum = 0, gap, force;
    for (int side = 0; side < SIDES; side++)
        for (int64_t i = 0; i < p->s->rows; i++) {
            if (p->gap[side][i] <= 0) continue;
            changes(p, side, i, &gap, &force);
            sum += (p->gap[side][i] + part * gap) * (p->force[side][i] + part * force);
        }
    return sum / (double)p->s->interior.bounds;
}

/* Products go to zero; or to `target`, allowing for what the step just found made of them. */
static void aim(interior *p, double target, int corrects)
{
    double gap, force;
    for (int side = 0; side < SIDES; side++)
        for (int64_t i = 0; i < p->s->rows; i++) {
            if (p->gap[side][i] <= 0) continue;
            double product = p->force[side][i] * p->gap[side][i];
            if (corrects) changes(p, side, i, &gap, &force);
            p->push[side][i] = corrects ? target - gap * force - product : -product;
        }
}

static void move(interior *p, double part)
{
    double gap, force;
    for (int side = 0; side < SIDES; side++)
        for (int64_t i = 0; i < p->s->rows; i++) {
            if (p->gap[side][i] <= 0) continue;
            changes(p, side, i, &gap, &force);
            p->gap[side][i] += part * gap;
            p->force[side][i] += part * force;
        }
    for (int64_t i = 0; i < p->s->rows; i++) p->s->x[i] += part * p->s->step[i];
}

/* s->next <- where rows are going; returns how many are going elsewhere than before. */
static int64_t foresee(const interior *p)
{
    cs_island *s = p->s;
    int64_t changed = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        signed char goes = s->state[i];
        double low = p->force[LOW][i], high = p->force[HIGH][i];
        if (p->gap[LOW][i] > 0 && low > high && low > s->diagonal[i] * p->gap[LOW][i])
            goes = CS_INDEX_LOW;
        if (p->gap[HIGH][i] > 0 && high >= low && high > s->diagonal[i] * p->gap[HIGH][i])
            goes = CS_INDEX_HIGH;
        changed += goes != s->next[i];
        s->next[i] = goes;
    }
    return changed;
}

/* One predictor and corrector step from the mean product mu; returns the next, or NAN. */
static double advance(interior *p, cs_pivot_run *run, double mu)
{
    cs_island *s = p->s;
    cs_pivot_evaluate(s);
    for (int64_t i = 0; i < s->rows; i++)
        p->residual[i] = s->w[i] - p->force[LOW][i] + p->force[HIGH][i];
    invert_gaps(p);
    if (!factor(p, run)) return NAN;
    aim(p, 0, 0);
    find_step(p);
    double ratio = mean_product(p, reach(p)) / mu;
    aim(p, mu * ratio * ratio * ratio, 1);
    find_step(p);
    double part = SHORT_OF_THE_WALL * reach(p), after = mean_product(p, part);
    move(p, part);
    return after;
}

cs_status cs_pivot_interior(cs_pivot_run *run, int resume, cs_error *error)
{
    cs_island *s = run->island;
    interior p = {.s = s};
    size_t bytes = sizeof(double) * (size_t)s->rows;
    cs_status status = CS_OK;
    memcpy(s->next, s->state, (size_t)s->rows);
    lay_out(&p);
    if (!resume) begin(&p);
    memcpy(s->x, p.x, bytes);
    double mean = s->interior.mean, wanted = FALLEN * mean;
    for (int k = 0; k < MOST_STEPS && mean > 0 && isfinite(mean) && !run->stopped; k++) {
        mean = advance(&p, run, mean);
        if (!isfinite(mean)) {
            if (run->breakdown.cancelled) status = cs_pivot_interrupted(run, error);
            break;
        }
        int64_t changed = foresee(&p);
        if (mean <= wanted && (double)changed <= STILL_CHANGING * (double)s->rows) break;
        status = cs_pivot_poll(run, error);
        if (status) break;
    }
    memcpy(p.x, s->x, bytes);
    s->interior.mean = mean;
    s->is_factored = 0;
    memcpy(s->state, s->next, (size_t)s->rows);
    return status;
}

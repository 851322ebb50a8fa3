/* Interior-point steps that predict the index set, for problems on which block pivots stagnate.
 *
 *     A x + b - z + y = 0,   z (x - lo) = y (hi - x) = mu -> 0,   all of them positive
 *
 * A Newton step for this system needs one factor of A with z / (x - lo) + y / (hi - x) added to its
 * diagonal. The number of steps hardly depends on the problem: ten to twenty. The index of a row is known
 * long before x is accurate: the row is tight if the force z on it exceeds A_ii times its distance from the
 * bound. Block pivots then compute the exact solution.  Mehrotra 1992; Wright 1997, chapter 10 */
#include "core/error.h"
#include "mlcp/pivoting.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = 40 };
/* Steps end when at most this fraction of the rows still changes its index, and mu has decreased by this
 * factor since the steps began or resumed. */
#define STILL_CHANGING 0.005
#define FALLEN 1e-3
/* The fraction of the step to the boundary that x and the forces move. */
#define BOUNDARY_FRACTION 0.995

enum { LOW, HIGH, SIDES };

/* The arrays of one solve, (rows) each; those of a side are zero in rows without that bound. */
typedef struct interior {
    cs_island *s;
    double *gap[SIDES];     /* x - lo and hi - x */
    double *inverse[SIDES]; /* 1 / gap */
    double *force[SIDES];   /* z and y */
    double *push[SIDES];    /* the wanted change of force times gap */
    double *residual;       /* A x + b - z + y */
    double *x;              /* x between two calls, while block pivots use that of the island */
} interior;

/* Whether row i has a finite bound on this side, and its bounds differ. */
static int is_bounded(const cs_island *s, int64_t i, int side)
{
    if (cs_is_fixed(s, i)) return 0;
    return isfinite(side == LOW ? s->lo[i] : s->hi[i]);
}

/* Assigns the arrays; s->state <- free, except for rows with equal bounds. */
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

/* Sets the starting point: x strictly within the bounds, forces as large as the largest |b|. */
static void begin(interior *p)
{
    cs_island *s = p->s;
    double largest = 0, product = 0;
    s->interior.bounds = 0;
    for (int64_t i = 0; i < s->rows; i++) largest = fmax(largest, fabs(s->b[i]));
    for (int64_t i = 0; i < s->rows; i++) {
        double away = largest / s->diagonal[i];
        int low = is_bounded(s, i, LOW), high = is_bounded(s, i, HIGH);

        /* x: the middle between two bounds, or at a distance from one. */
        p->x[i] = 0;
        if (low && high) p->x[i] = s->lo[i] / 2 + s->hi[i] / 2;
        else if (low) p->x[i] = fmax(0, s->lo[i] + away);
        else if (high) p->x[i] = fmin(0, s->hi[i] - away);
        else if (cs_is_fixed(s, i)) p->x[i] = s->lo[i];

        /* The gaps and the forces that follow. */
        p->gap[LOW][i] = low ? p->x[i] - s->lo[i] : 0;
        p->gap[HIGH][i] = high ? s->hi[i] - p->x[i] : 0;
        p->force[LOW][i] = low ? largest : 0;
        p->force[HIGH][i] = high ? largest : 0;
        s->interior.bounds += low + high;
        product += largest * (p->gap[LOW][i] + p->gap[HIGH][i]);
    }
    s->interior.mean = s->interior.bounds ? product / (double)s->interior.bounds : 0;
}

/* Updates 1 / gap; 0 in rows without the bound. */
static void invert_gaps(interior *p)
{
    for (int side = 0; side < SIDES; side++)
        for (int64_t i = 0; i < p->s->rows; i++)
            p->inverse[side][i] = p->gap[side][i] > 0 ? 1 / p->gap[side][i] : 0;
}

/* Factors A + diag(z / (x - lo) + y / (hi - x)). For that the diagonal of the island's matrix is changed,
 * and restored afterwards. Returns 0 if the factorization fails. */
static int factor(interior *p, cs_pivot_run *run)
{
    cs_island *s = p->s;
    for (int64_t i = 0; i < s->rows; i++) {
        double more = p->force[LOW][i] * p->inverse[LOW][i];
        more += p->force[HIGH][i] * p->inverse[HIGH][i];
        s->value[cs_island_diagonal(s, i)] = s->diagonal[i] + more;
    }

    /* Factor, and restore the diagonal. */
    run->breakdown = (cs_breakdown){.row = -1};
    s->is_factored = 0;
    s->engine->factor(s, &run->breakdown);
    run->factorizations++;
    run->interior_steps++;
    for (int64_t i = 0; i < s->rows; i++) s->value[cs_island_diagonal(s, i)] = s->diagonal[i];
    return run->breakdown.row < 0;
}

/* s->step <- the change of x; that of a force is (push - force x change of gap) / gap. */
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

/* The changes of gap and force of one side over the full step. */
static void changes(const interior *p, int side, int64_t i, double *gap, double *force)
{
    *gap = side == LOW ? p->s->step[i] : -p->s->step[i];
    *force = (p->push[side][i] - p->force[side][i] * *gap) * p->inverse[side][i];
}

/* The fraction of the step, at most 1, at which the first gap or force becomes zero. */
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

/* The mean of force times gap after `part` of the step. */
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

/* Sets the products that Newton's step aims at. A predictor aims at zero; a corrector aims at `target`, and
 * subtracts the second-order term of the predictor. */
static void set_push(interior *p, double target, int corrects)
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

/* Moves x, gaps and forces by this fraction of the step. */
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

/* s->next <- the predicted index set; returns how many predictions have changed. */
static int64_t predict(const interior *p)
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

/* One predictor-corrector step from the mean product mu (Mehrotra 1992); returns the next mean product,
 * or NAN if the factorization fails. */
static double advance(interior *p, cs_pivot_run *run, double mu)
{
    cs_island *s = p->s;

    /* The residual and the factor of Newton's system. */
    cs_pivot_evaluate(s);
    for (int64_t i = 0; i < s->rows; i++)
        p->residual[i] = s->w[i] - p->force[LOW][i] + p->force[HIGH][i];
    invert_gaps(p);
    if (!factor(p, run)) return NAN;

    /* Predictor: how far the mean product could decrease. */
    set_push(p, 0, 0);
    find_step(p);
    double ratio = mean_product(p, reach(p)) / mu;

    /* Corrector: aim at mu times the cube of that ratio, then move almost up to the boundary. */
    set_push(p, mu * ratio * ratio * ratio, 1);
    find_step(p);
    double part = BOUNDARY_FRACTION * reach(p), after = mean_product(p, part);
    move(p, part);
    return after;
}

cs_status cs_pivot_interior(cs_pivot_run *run, int resume, cs_error *error)
{
    cs_island *s = run->island;
    interior p = {.s = s};
    size_t bytes = sizeof(double) * (size_t)s->rows;
    cs_status status = CS_OK;

    /* The starting point, or the last iterate. */
    memcpy(s->next, s->state, (size_t)s->rows);
    lay_out(&p);
    if (!resume) begin(&p);
    memcpy(s->x, p.x, bytes);

    /* Make steps until the predicted index set has settled. */
    double mean = s->interior.mean, wanted = FALLEN * mean;
    for (int k = 0; k < MAX_STEPS && mean > 0 && isfinite(mean) && !run->stopped; k++) {
        mean = advance(&p, run, mean);
        if (!isfinite(mean)) {
            if (run->breakdown.cancelled) status = cs_pivot_interrupted(run, error);
            break;
        }
        int64_t changed = predict(&p);
        if (mean <= wanted && (double)changed <= STILL_CHANGING * (double)s->rows) break;
        status = cs_pivot_poll(run, error);
        if (status) break;
    }

    /* Keep the iterate for a later call; the factor belongs to another diagonal. */
    memcpy(p.x, s->x, bytes);
    s->interior.mean = mean;
    s->is_factored = 0;
    memcpy(s->state, s->next, (size_t)s->rows);
    return status;
}

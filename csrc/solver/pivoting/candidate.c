/* What an index set says: x, w, and the rows that are not where they belong. */
#include "core/clock.h"
#include "core/error.h"
#include "solver/pivoting/pivoting.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define POLL_SECONDS 0.005
/* Residuals of the free rows over `noise`: refined above the first; above the second, a factor that
 * gathers errors is made anew. */
#define REFINE (32 * DBL_EPSILON)
#define LOST 1e-9

void cs_pivot_evaluate(cs_island *s)
{
    for (int64_t i = 0; i < s->rows; i++) {
        double sum = s->b[i], size = fabs(sum);
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++) {
            double product = s->value[e] * s->x[s->column[e]];
            sum += product;
            size += fabs(product);
        }
        s->w[i] = sum;
        s->noise[i] = size;
    }
}

static int same_free_rows(const cs_island *s)
{
    if (!s->is_factored) return 0;
    for (int64_t i = 0; i < s->rows; i++)
        if ((s->state[i] != CS_INDEX_FREE) != s->factored[i]) return 0;
    return 1;
}

cs_status cs_pivot_factor(cs_pivot_run *run, cs_error *error)
{
    cs_island *s = run->island;
    if (same_free_rows(s)) return CS_OK;
    run->factorizations++;
    run->breakdown.row = -1;
    s->engine->factor(s, &run->breakdown);
    s->is_factored = run->breakdown.row < 0;
    for (int64_t i = 0; i < s->rows; i++) s->factored[i] = s->state[i] != CS_INDEX_FREE;
    if (s->is_factored) return CS_OK;
    int64_t row = run->breakdown.row;
    double entry = s->diagonal[row], lacking = run->breakdown.pivot < 0 ? -run->breakdown.pivot : 0;
    double cure = 2 * lacking + 1e-8 * (entry > 0 ? entry : 1);
    *run->failure = (cs_pivot_failure){s->user[row], run->breakdown.pivot, entry, cure};
    return cs_fail(error, CS_UNSUPPORTED,
                   "A is not positive definite to rounding: elimination leaves %s of A[%lld, %lld] "
                   "= %s; a compliance of %.1e on row %lld would cure it",
                   cs_number(run->breakdown.pivot).text, (long long)s->user[row],
                   (long long)s->user[row], cs_number(entry).text, cure, (long long)s->user[row]);
}

/* x_T at its bounds, x_F = 0, and `step` <- -(b_F + A_FT x_T), zero on the tight rows. */
static void right_side(cs_island *s)
{
    int moved = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        s->x[i] = s->state[i] < 0 ? s->lo[i] : s->state[i] > 0 ? s->hi[i] : 0;
        moved |= s->x[i] != 0;
    }
    if (moved) cs_pivot_evaluate(s);
    const double *right = moved ? s->w : s->b;
    for (int64_t i = 0; i < s->rows; i++) s->step[i] = s->state[i] ? 0 : -right[i];
}

/* The largest |w| of a free row over its noise. */
static double residual(const cs_island *s)
{
    double worst = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        if (s->state[i] != CS_INDEX_FREE || s->w[i] == 0) continue;
        double ratio = fabs(s->w[i]) / s->noise[i];
        if (!(ratio <= worst)) worst = ratio;
    }
    return worst;
}

static void add_step(cs_island *s)
{
    s->engine->solve(s, s->step);
    for (int64_t i = 0; i < s->rows; i++) s->x[i] += s->step[i];
    cs_pivot_evaluate(s);
}

/* x_F -= A_FF^-1 w_F, while that helps. */
static void refine(cs_pivot_run *run, double worst)
{
    cs_island *s = run->island;
    for (int k = 0; k < run->options->refinements && worst > REFINE; k++) {
        for (int64_t i = 0; i < s->rows; i++) s->step[i] = s->state[i] ? 0 : -s->w[i];
        add_step(s);
        run->refinements++;
        double after = residual(s);
        if (!(after < worst / 2)) return;
        worst = after;
    }
}

cs_status cs_pivot_candidate(cs_pivot_run *run, cs_error *error)
{
    cs_island *s = run->island;
    cs_status status = cs_pivot_factor(run, error);
    if (status) return status;
    right_side(s);
    add_step(s);
    double worst = residual(s);
    if (worst > LOST && s->engine->gathers) {
        s->is_factored = 0;
        status = cs_pivot_factor(run, error);
        if (status) return status;
        right_side(s);
        add_step(s);
        worst = residual(s);
    }
    refine(run, worst);
    return CS_OK;
}

signed char cs_pivot_wanted(const cs_pivot_run *run, int64_t i)
{
    const cs_island *s = run->island;
    double slack = run->tolerance * s->noise[i];
    if (s->state[i] != CS_INDEX_FREE) {
        int leaves = !cs_is_fixed(s, i) && (s->state[i] < 0 ? s->w[i] < -slack : s->w[i] > slack);
        return leaves ? CS_INDEX_FREE : s->state[i];
    }
    double over = slack / s->diagonal[i] + run->tolerance * fabs(s->x[i]);
    if (s->x[i] < s->lo[i] - over) return CS_INDEX_LOW;
    return s->x[i] > s->hi[i] + over ? CS_INDEX_HIGH : CS_INDEX_FREE;
}

static cs_status append(cs_pivot_log *log, const double *row, cs_error *error)
{
    if (log->rows == log->capacity) {
        int64_t capacity = 2 * log->capacity + 64;
        double *value = cs_allocate(capacity * CS_LOG_COLUMNS, sizeof(double));
        if (!value)
            return cs_fail(error, CS_NO_MEMORY, "out of memory for a history of %lld pivots",
                           (long long)capacity);
        if (log->rows)
            memcpy(value, log->value, sizeof(double) * (size_t)(log->rows * CS_LOG_COLUMNS));
        cs_release(log->value);
        log->value = value;
        log->capacity = capacity;
    }
    memcpy(log->value + log->rows++ * CS_LOG_COLUMNS, row, sizeof(double) * CS_LOG_COLUMNS);
    return CS_OK;
}

cs_status cs_pivot_step(cs_pivot_run *run, int64_t infeasible, int64_t changed, cs_error *error)
{
    const cs_island *s = run->island;
    double row[CS_LOG_COLUMNS] = {
        [CS_LOG_STEP] = (double)run->steps,
        [CS_LOG_ISLAND] = (double)run->number,
        [CS_LOG_INFEASIBLE] = (double)infeasible,
        [CS_LOG_CHANGED] = (double)changed,
    };
    for (int64_t i = 0; i < s->rows; i++) row[CS_LOG_TIGHT] += s->state[i] != CS_INDEX_FREE;
    cs_status status = append(run->log, row, error);
    double now = cs_clock();
    if (status || !run->control || !run->control->poll || now - run->last_poll < POLL_SECONDS)
        return status;
    run->last_poll = now;
    int answer = run->control->poll(run->control->context, NULL);
    run->stopped = answer > 0;
    if (answer >= 0) return CS_OK;
    return cs_fail(error, CS_INTERRUPTED, "interrupted at pivot %lld", (long long)run->steps);
}

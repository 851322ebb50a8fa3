/* The candidate solution of an index set: x, w, and which rows are infeasible. */
#include "core/clock.h"
#include "core/error.h"
#include "mlcp/pivoting.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define POLL_SECONDS 0.005 /* between two calls of the caller's poll */
/* If the residual of the free rows, relative to `noise`, exceeds this, an updated factor is computed anew. */
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

int cs_pivot_has_rows(const cs_island *s)
{
    if (!s->is_factored) return 0;
    for (int64_t i = 0; i < s->rows; i++)
        if ((s->state[i] != CS_INDEX_FREE) != s->factored[i]) return 0;
    return 1;
}

/* A compliance that cures the failure. If one row is redundant, others usually are, too; the value suffices
 * for all of them. */
static double cure_of(const cs_island *s, double pivot)
{
    double largest = 0, lacking = pivot < 0 ? -pivot : 0;
    for (int64_t i = 0; i < s->rows; i++) largest = fmax(largest, s->diagonal[i]);
    return 2 * lacking + 1e-8 * (largest > 0 ? largest : 1);
}

cs_status cs_pivot_factor(cs_pivot_run *run, cs_error *error)
{
    cs_island *s = run->island;
    if (cs_pivot_has_rows(s) && !s->is_stale) return CS_OK;

    /* Factor; this overwrites the factor of an earlier matrix. */
    if (s->is_stale) s->is_factored = s->is_stale = 0;
    run->factorizations++;
    run->breakdown = (cs_breakdown){.row = -1};
    s->engine->factor(s, &run->breakdown);
    s->is_factored = run->breakdown.row < 0;
    for (int64_t i = 0; i < s->rows; i++) s->factored[i] = s->state[i] != CS_INDEX_FREE;
    if (s->is_factored) return CS_OK;
    if (run->breakdown.cancelled) return cs_pivot_interrupted(run, error);

    /* Not positive definite: name the row, and a compliance that cures it. */
    int64_t row = run->breakdown.row;
    double entry = s->diagonal[row], cure = cure_of(s, run->breakdown.pivot);
    *run->failure = (cs_pivot_failure){s->user[row], run->breakdown.pivot, entry, cure};
    return cs_fail(error, CS_UNSUPPORTED,
                   "A is not positive definite to rounding: elimination leaves %s of A[%lld, %lld] "
                   "= %s; a compliance of %.1e on every row would cure it%s",
                   cs_number(run->breakdown.pivot).text, (long long)s->user[row],
                   (long long)s->user[row], cs_number(entry).text, cure,
                   entry == 0 ? ", and method='lemke' takes zeros on the diagonal" : "");
}

void cs_pivot_right_side(cs_island *s)
{
    int moved = 0;

    /* Tight rows at their bounds, free rows at zero. */
    for (int64_t i = 0; i < s->rows; i++) {
        s->x[i] = s->state[i] < 0 ? s->lo[i] : s->state[i] > 0 ? s->hi[i] : 0;
        moved |= s->x[i] != 0;
    }

    /* With x = 0, b is the right-hand side already, which saves a product with A. */
    if (moved) cs_pivot_evaluate(s);
    const double *right = moved ? s->w : s->b;
    for (int64_t i = 0; i < s->rows; i++) s->step[i] = s->state[i] ? 0 : -right[i];
}

double cs_pivot_residual(const cs_island *s)
{
    double worst = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        if (s->state[i] != CS_INDEX_FREE || s->w[i] == 0) continue;
        double ratio = fabs(s->w[i]) / s->noise[i];
        if (!(ratio <= worst)) worst = ratio; /* also if it is NaN */
    }
    return worst;
}

void cs_pivot_add_step(cs_island *s)
{
    s->engine->solve(s, s->step);
    for (int64_t i = 0; i < s->rows; i++) s->x[i] += s->step[i];
    cs_pivot_evaluate(s);
}

/* Iterative refinement, x_F -= A_FF^-1 w_F, as long as it halves the residual. */
static void refine(cs_pivot_run *run, double worst)
{
    cs_island *s = run->island;
    for (int k = 0; k < run->options->refinements && worst > CS_PIVOT_REFINE; k++) {
        for (int64_t i = 0; i < s->rows; i++) s->step[i] = s->state[i] ? 0 : -s->w[i];
        cs_pivot_add_step(s);
        run->refinements++;
        double after = cs_pivot_residual(s);
        if (!(after < worst / 2)) return;
        worst = after;
    }
}

cs_status cs_pivot_candidate(cs_pivot_run *run, cs_error *error)
{
    cs_island *s = run->island;

    /* The factor of an earlier matrix may suffice as a preconditioner. */
    if (cs_pivot_reuse(run)) return CS_OK;

    /* Factor and solve. */
    cs_status status = cs_pivot_factor(run, error);
    if (status) return status;
    cs_pivot_right_side(s);
    cs_pivot_add_step(s);
    double worst = cs_pivot_residual(s);

    /* Updates have accumulated too much rounding: repeat with a factor computed anew. */
    if (worst > LOST && s->engine->accumulates_errors) {
        s->is_factored = 0;
        status = cs_pivot_factor(run, error);
        if (status) return status;
        cs_pivot_right_side(s);
        cs_pivot_add_step(s);
        worst = cs_pivot_residual(s);
    }

    refine(run, worst);
    return CS_OK;
}

signed char cs_pivot_wanted(const cs_pivot_run *run, int64_t i)
{
    const cs_island *s = run->island;
    double slack = run->tolerance * s->noise[i];

    /* A tight row becomes free if w pulls x off its bound. */
    if (s->state[i] != CS_INDEX_FREE) {
        int leaves = !cs_is_fixed(s, i) && (s->state[i] < 0 ? s->w[i] < -slack : s->w[i] > slack);
        return leaves ? CS_INDEX_FREE : s->state[i];
    }

    /* A free row becomes tight if x is beyond a bound by more than rounding. */
    double over = slack / s->diagonal[i] + run->tolerance * fabs(s->x[i]);
    if (s->x[i] < s->lo[i] - over) return CS_INDEX_LOW;
    return s->x[i] > s->hi[i] + over ? CS_INDEX_HIGH : CS_INDEX_FREE;
}

cs_status cs_pivot_log_reserve(cs_pivot_log *log, int64_t rows, cs_error *error)
{
    if (rows <= log->capacity) return CS_OK;

    /* Move the rows to memory of twice the size. */
    int64_t capacity = 2 * rows + 64;
    double *value = cs_allocate(capacity * CS_LOG_COLUMNS, sizeof(double));
    if (!value) return cs_no_memory(error, "a history of %lld pivots", (long long)capacity);
    if (log->rows) memcpy(value, log->value, sizeof(double) * (size_t)(log->rows * CS_LOG_COLUMNS));
    cs_release(log->value);
    log->value = value;
    log->capacity = capacity;
    return CS_OK;
}

/* Appends a row to the log. */
static cs_status append(cs_pivot_log *log, const double *row, cs_error *error)
{
    cs_status status = cs_pivot_log_reserve(log, log->rows + 1, error);
    if (status) return status;
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
    return status ? status : cs_pivot_poll(run, error);
}

cs_status cs_pivot_poll(cs_pivot_run *run, cs_error *error)
{
    /* Another island may have stopped the solve. */
    run->stopped = atomic_load_explicit(run->halt, memory_order_relaxed);
    double now = cs_clock();
    if (run->stopped || !run->control || !run->control->poll || now - run->last_poll < POLL_SECONDS)
        return CS_OK;

    /* Poll the caller: 0 continues, a positive answer stops the solve, a negative one aborts it. */
    run->last_poll = now;
    int answer = run->control->poll(run->control->context, NULL);
    if (!answer) return CS_OK;
    run->stopped = 1;
    atomic_store_explicit(run->halt, 1, memory_order_relaxed);
    if (answer > 0) return CS_OK;
    run->aborted = 1;
    return cs_pivot_interrupted(run, error);
}

int cs_pivot_is_cancelled(void *run)
{
    cs_error unread;
    cs_pivot_poll(run, &unread);
    return ((cs_pivot_run *)run)->stopped;
}

cs_status cs_pivot_interrupted(const cs_pivot_run *run, cs_error *error)
{
    return cs_fail(error, CS_INTERRUPTED, "interrupted at pivot %lld", (long long)run->steps);
}

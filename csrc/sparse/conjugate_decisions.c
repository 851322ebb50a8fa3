/* What conjugate gradients decide between their phases: when to check, begin anew, and end.  docs/design/meshes.md */
#include "sparse/conjugate_state.h"
#include "sparse/scaled_blocks.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

/* A check also comes when the residual of an iteration over float has fallen by this factor, before its rounding
 * errors outweigh it.  Sleijpen and van der Vorst 1996 */
#define CHECK_SINGLE 0.01

/* So many checks in a row that have not halved the least residual end the iteration: rounding. Two do where the residual is
 * what rounding of b - A x alone may leave. */
enum { MOST_STALLS = 5, MOST_STALLS_AT_FLOOR = 2 };

/* A residual of the recurrence that differs from the true one by this part of it has a direction that is not conjugate: the
 * iteration begins anew with the steepest descent. */
#define MOST_APART 0.1

/* A claim that has grown by this factor since the least one after a check is checked. */
#define MOST_GROWTH 1000.0

/* A claim is checked when it is so small beside what rounding of b - A x may leave. */
#define LEAST_CLAIM 0.1

/* So often p.Ap <= 0 or r.Mr < 0 may come from rounding. */
enum { MOST_DOUBTS = 3 };

/* A sum over the parts, in their order. */
static double total(const cs_block_cg *cg, size_t member)
{
    double sum = 0;
    for (int64_t p = 0; p < cg->A->parts; p++)
        sum += *(const double *)((const char *)&cg->sum[p] + member);
    return sum;
}
#define TOTAL(cg, name) total(cg, offsetof(cs_cg_sums, name))

static void choose_next(cs_block_cg *cg, int list)
{
    cg->chosen[++cg->round] = (unsigned char)(cg->ends ? CS_NO_ROUND : list);
}

static void end_with(cs_block_cg *cg, cs_cg_verdict verdict)
{
    cg->result->verdict = verdict;
    cg->ends = 1;
}

void cs_cg_choose_length(cs_block_cg *cg)
{
    double curvature = TOTAL(cg, curvature);
    cg->v.alpha = cs_conjugate_advance(&cg->steps, curvature);
    cg->is_doubtful = curvature <= 0 && cg->steps.product > 0;
}

static cs_cg_record *add_record(cs_block_cg *cg)
{
    cs_cg_record *record = &cg->record[cg->result->records++];
    *record = (cs_cg_record){cg->result->iterations, NAN, NAN, NAN};
    return record;
}

/* Whether the iteration shall be checked now. `claim`: |r|, or an estimate of it. */
static int wants_check(cs_block_cg *cg, double claim)
{
    if (!(claim > fmax(cg->target, cg->trusted)) || cg->result->verdict != CS_CG_CONVERGED)
        return 1;
    if (cg->result->iterations >= cg->options->max_iterations) return 1;
    if (claim > MOST_GROWTH * cg->lowest) return 1;
    cg->lowest = fmin(cg->lowest, claim);
    return cg->is_inexact && claim <= CHECK_SINGLE * cg->result->residual;
}

/* Bytes that an iteration reads of matrices. */
static double iteration_bytes(const cs_block_cg *cg)
{
    if (cg->scaled) return (double)cs_scaled_blocks_pass_bytes(cg->scaled);
    return (double)(cs_block_system_bytes(cg->iterated) + cg->M->bytes);
}

/* After an iteration: beta, a row of the history, and what follows. */
void cs_cg_decide(cs_block_cg *cg)
{
    /* The row. */
    cs_cg_result *result = cg->result;
    double claim = cg->scaled ? NAN : sqrt(TOTAL(cg, residual));
    cg->product = cg->scaled ? TOTAL(cg, residual) : TOTAL(cg, product);
    double norm = sqrt(cg->product);
    result->iterations++;
    result->bytes += iteration_bytes(cg);
    cs_cg_record *record = add_record(cg);
    record->claim = claim;
    record->norm = norm;

    /* What follows. */
    if (cg->options->look && !atomic_load(&cg->is_cancelled)) cs_cg_look(cg);
    if (atomic_load(&cg->is_cancelled)) result->verdict = CS_CG_STOPPED;
    if (cg->is_doubtful && result->verdict == CS_CG_CONVERGED) choose_next(cg, CS_CG_PROVE);
    else if (cg->product < 0 || wants_check(cg, cg->scaled ? cg->ratio * norm : claim))
        choose_next(cg, CS_CG_CHECK);
    else {
        cg->v.beta = cs_conjugate_turn(&cg->steps, cg->product);
        choose_next(cg, CS_CG_ITERATE);
    }
}

/* What rounding of b - A x in double precision may leave of it. */
static double rounding_floor(const cs_block_cg *cg)
{
    return 0.5 * DBL_EPSILON * (cg->magnitude * sqrt(TOTAL(cg, size)) + cg->result->right);
}

/* Another sign that A or M is not positive definite, which is no proof. Too many of them end the iteration. */
static void doubt(cs_block_cg *cg)
{
    cg->begins = 1;
    if (++cg->doubts > MOST_DOUBTS && cg->result->verdict == CS_CG_CONVERGED)
        cg->result->verdict = CS_CG_FLOOR;
}

/* Whether p.Ap <= 0 in double precision, too, beyond rounding. */
void cs_cg_conclude_proof(cs_block_cg *cg)
{
    double rounding = 16 * DBL_EPSILON * cg->magnitude * TOTAL(cg, size);
    if (TOTAL(cg, curvature) <= -rounding) cg->result->verdict = CS_CG_INDEFINITE;
    else doubt(cg);
    cg->is_doubtful = 0;
    choose_next(cg, CS_CG_CHECK);
}

/* Whether rounding errors keep the residual where it is. */
static int has_stalled(cs_block_cg *cg, double truth)
{
    cg->stalls = truth > 0.5 * cg->least ? cg->stalls + 1 : 0;
    int most = fmin(truth, cg->least) <= rounding_floor(cg) ? MOST_STALLS_AT_FLOOR : MOST_STALLS;
    return cg->stalls >= most;
}

/* What ends the iteration after a check that found this residual, if anything does. */
static void judge(cs_block_cg *cg, double truth)
{
    const cs_cg_options *options = cg->options;
    int is_first = cg->result->checks == 0;
    if (is_first) {
        cg->result->right = sqrt(TOTAL(cg, right));
        cg->target = fmax(options->rtol * cg->result->right, options->atol / cg->unit);
    }
    if (truth <= cg->target) end_with(cg, CS_CG_CONVERGED);
    else if (cg->result->verdict != CS_CG_CONVERGED) end_with(cg, cg->result->verdict);
    else if (is_first ? !isfinite(truth) : !cg->returns && has_stalled(cg, truth))
        end_with(cg, CS_CG_FLOOR);
    else if (cg->result->iterations >= options->max_iterations) end_with(cg, CS_CG_MAX_ITERATIONS);
}

/* spare <- a buffer of neither the present nor the best x. */
static void find_spare(cs_block_cg *cg)
{
    for (int i = 0; i < 3; i++)
        if (cg->buffer[i] != cg->x && cg->buffer[i] != cg->best) cg->spare = cg->buffer[i];
}

/* The checked x becomes the present one, and the best if no other has a smaller residual. */
static void keep_best(cs_block_cg *cg, double truth, double claim)
{
    cg->x = cg->spare;
    if (truth < cg->least || cg->result->checks == 0) {
        cg->best = cg->x;
        cg->least = truth;
        cg->result->claim = claim;
    }
    find_spare(cg);
}

/* The next direction after a check, unless that has ended the iteration: its verdict stays. */
static void go_on(cs_block_cg *cg, double truth)
{
    if (cg->ends) {
        choose_next(cg, CS_CG_ITERATE);
        return;
    }

    /* To a residual that is not the recurrence's the direction is not conjugate. */
    if (cg->product < 0) doubt(cg);
    if (!(TOTAL(cg, apart) <= MOST_APART * MOST_APART * TOTAL(cg, residual))) cg->begins = 1;
    cg->lowest = truth;
    int worse = cg->begins && !(truth <= cg->least);
    if (worse && !cg->returns) {
        cg->x = cg->best;
        cg->returns = 1;
        find_spare(cg);
        choose_next(cg, CS_CG_CHECK);
        return;
    }
    cg->v.beta = cs_conjugate_turn(&cg->steps, cg->product);
    if (cg->begins) cg->v.beta = 0;
    cg->begins = cg->returns = 0;
    choose_next(cg, CS_CG_ITERATE);
}

/* After a check: the true residual has taken the place of that of the recurrence. */
void cs_cg_conclude(cs_block_cg *cg)
{
    /* The row of the history; a check of the best x has none of its own. */
    cs_cg_result *result = cg->result;
    double truth = sqrt(TOTAL(cg, truth)), claim = sqrt(TOTAL(cg, claim));
    cs_cg_record *record = result->checks ? &cg->record[result->records - 1] : add_record(cg);
    if (!cg->returns) {
        record->truth = truth;
        if (cg->scaled && result->checks) record->claim = claim;
    }
    judge(cg, truth);
    keep_best(cg, truth, result->checks ? record->claim : truth);
    result->residual = truth;
    cg->trusted = LEAST_CLAIM * rounding_floor(cg);
    result->checks++;
    result->bytes += (double)cs_block_system_bytes(cg->A);

    /* r.z of the new residual. */
    cg->product = cg->scaled ? TOTAL(cg, residual) : TOTAL(cg, product);
    double norm = sqrt(fmax(cg->product, 0));
    if (isnan(record->norm)) record->norm = norm;
    cg->ratio = norm > 0 ? truth / norm : 1;
    go_on(cg, truth);
}

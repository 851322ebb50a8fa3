#include "sparse/conjugate.h"

#include "core/error.h"
#include "core/loop.h"
#include "linalg/krylov.h"
#include "sparse/preconditioners/block_ssor.h"
#include "sparse/scaled_blocks.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

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

/* The lists of phases. */
enum { ITERATE, CHECK, PROVE, LISTS };

/* Sums of the parts. */
typedef struct part_sums {
    _Alignas(64) double curvature; /* p.Ap */
    double residual, product;      /* r.r, r.z */
    double truth, right, size;     /* of a check: s.s of s = b - A x; b.b; x.x */
    double claim, apart;           /* r.r of the recurrence before, and of its difference from s */
} part_sums;

struct cs_block_cg {
    const cs_block_system *A, *iterated;
    cs_preconditioner *M;
    const cs_scaled_blocks *scaled; /* Eisenstat's product, in place of A and M */
    const cs_block_kernels *kernels;
    int single, form; /* vectors of the iteration are float; their form with `iterated` */
    int is_inexact;   /* the iteration reads or writes float */

    /* Vectors in double precision: the solution, the right-hand side, the true residual. */
    double *x, *b, *s, *x_outer;
    double *buffer[3]; /* of x: the present one, */
    double *best,
        *spare; /* that with the least true residual, which may be the same, and another */
    /* The iteration's: `v.x` is what is not yet part of the solution; z may be r. */
    cs_block_vectors v;
    void *z, *own_r, *own_z; /* `own`: of M, for other callers */
    part_sums *sum;          /* (parts) */
    cs_phases list[LISTS];
    unsigned char *chosen; /* (rounds) */
    int64_t most;          /* iterations */

    /* The state of a run. */
    const cs_cg_options *options;
    cs_cg_result *result;
    cs_cg_record *record; /* (most + 2) */
    cs_conjugate steps;
    double product; /* r.z now */
    double
        unit; /* of x and b, a power of two: neither float nor squares have room for all numbers */
    double target, ratio; /* |r| over sqrt(r.z), at the last check */
    double trusted;       /* claims below this are rounding */
    double least, lowest; /* |b - A x| so far; the claim since the last check */
    double magnitude;     /* of A: the largest trace of a diagonal block */
    int begins,
        returns; /* the next direction is that of steepest descent; this check is of the best x */
    int is_doubtful, doubts; /* p.Ap <= 0 or r.Mr < 0 */
    int64_t round, rounds;
    int stalls, ends;
    double phase_work;
    atomic_int is_cancelled;
};

/* ---- the parts of vectors ------------------------------------------------------------------------- */

static int64_t begin_of(const cs_block_cg *cg, int64_t part)
{
    return CS_BLOCK_STRIDE * cg->A->first[part];
}

static int64_t end_of(const cs_block_cg *cg, int64_t part)
{
    return CS_BLOCK_STRIDE * cg->A->first[part + 1];
}

/* to <- from, of any two precisions. */
static void convert(void *to, int to_single, const void *from, int from_single, int64_t begin,
                    int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        double number = from_single ? (double)((const float *)from)[i] : ((const double *)from)[i];
        if (to_single) ((float *)to)[i] = (float)number;
        else ((double *)to)[i] = number;
    }
}

/* Whether M has vectors of another precision than the iteration. */
static int converts(const cs_block_cg *cg) { return cg->M->system->single != cg->single; }

/* M's r <- the iteration's, and the iteration's z <- M's, where their precisions differ. */
static void hand_residual(cs_block_cg *cg, int64_t part)
{
    if (!converts(cg)) return;
    convert(cg->M->r, !cg->single, cg->v.r, cg->single, begin_of(cg, part), end_of(cg, part));
}

static void take_back(cs_block_cg *cg, int64_t part)
{
    if (!converts(cg)) return;
    convert(cg->z, cg->single, cg->M->z, !cg->single, begin_of(cg, part), end_of(cg, part));
}

/* z <- M r of one part, by a local M. Returns r.z. */
static double precondition_part(cs_block_cg *cg, int64_t part)
{
    int64_t begin = begin_of(cg, part), end = end_of(cg, part);
    hand_residual(cg, part);
    cg->M->kind->run(cg->M, 0, part);
    take_back(cg, part);
    return cg->kernels->dot[cg->single](cg->v.r, cg->z, begin, end);
}

/* After the phases of an M that is not local. */
static void take_direction(cs_block_cg *cg, int64_t part)
{
    int64_t begin = begin_of(cg, part), end = end_of(cg, part);
    take_back(cg, part);
    cg->sum[part].product = cg->kernels->dot[cg->single](cg->v.r, cg->z, begin, end);
}

/* to <- x and what the iteration has added to it, of one part. */
static void collect_into(const cs_block_cg *cg, int64_t part, double *to)
{
    int64_t begin = begin_of(cg, part), end = end_of(cg, part);
    if (cg->scaled) {
        memset(to + begin, 0, sizeof *to * (size_t)(end - begin));
        cg->kernels->add_scaled[cg->form](cg->scaled, part, cg->v.x, to);
    } else {
        convert(to, 0, cg->v.x, cg->single, begin, end);
    }
    for (int64_t i = begin; i < end; i++) to[i] += cg->x[i];
}

/* A sum over the parts, in their order. */
static double total(const cs_block_cg *cg, size_t member)
{
    double sum = 0;
    for (int64_t p = 0; p < cg->A->parts; p++)
        sum += *(const double *)((const char *)&cg->sum[p] + member);
    return sum;
}
#define TOTAL(cg, name) total(cg, offsetof(part_sums, name))

/* x (3 vertices) <- the present iterate, in the old numbers; on the caller's thread, which makes the iteration alone. */
static void look(cs_block_cg *cg)
{
    const cs_cg_options *options = cg->options;
    for (int64_t p = 0; p < cg->A->parts; p++) collect_into(cg, p, cg->s);
    cs_block_system_give(cg->A, 0, cg->s, options->iterate, 1);
    for (int64_t i = 0; i < CS_BLOCK_ROWS * cg->A->vertices; i++) options->iterate[i] *= cg->unit;
    if (options->look(options->context)) atomic_store(&cg->is_cancelled, 1);
}

/* ---- decisions, each made by one thread --------------------------------------------------------------- */

static void choose_next(cs_block_cg *cg, int list)
{
    cg->chosen[++cg->round] = (unsigned char)(cg->ends ? CS_NO_ROUND : list);
}

static void end_with(cs_block_cg *cg, cs_cg_verdict verdict)
{
    cg->result->verdict = verdict;
    cg->ends = 1;
}

/* alpha, from p.Ap. */
static void choose_length(cs_block_cg *cg)
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
static void decide(cs_block_cg *cg)
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
    if (cg->options->look && !atomic_load(&cg->is_cancelled)) look(cg);
    if (atomic_load(&cg->is_cancelled)) result->verdict = CS_CG_STOPPED;
    if (cg->is_doubtful && result->verdict == CS_CG_CONVERGED) choose_next(cg, PROVE);
    else if (cg->product < 0 || wants_check(cg, cg->scaled ? cg->ratio * norm : claim))
        choose_next(cg, CHECK);
    else {
        cg->v.beta = cs_conjugate_turn(&cg->steps, cg->product);
        choose_next(cg, ITERATE);
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
static void conclude_proof(cs_block_cg *cg)
{
    double rounding = 16 * DBL_EPSILON * cg->magnitude * TOTAL(cg, size);
    if (TOTAL(cg, curvature) <= -rounding) cg->result->verdict = CS_CG_INDEFINITE;
    else doubt(cg);
    cg->is_doubtful = 0;
    choose_next(cg, CHECK);
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

/* The checked x becomes the present one, and the best if no other has a smaller residual. */
static void keep_best(cs_block_cg *cg, double truth, double claim)
{
    cg->x = cg->spare;
    if (truth < cg->least || cg->result->checks == 0) {
        cg->best = cg->x;
        cg->least = truth;
        cg->result->claim = claim;
    }
    for (int i = 0; i < 3; i++)
        if (cg->buffer[i] != cg->x && cg->buffer[i] != cg->best) cg->spare = cg->buffer[i];
}

/* The next direction after a check that does not end the iteration. */
static void go_on(cs_block_cg *cg, double truth)
{
    /* To a residual that is not the recurrence's the direction is not conjugate. */
    if (cg->product < 0) doubt(cg);
    if (!(TOTAL(cg, apart) <= MOST_APART * MOST_APART * TOTAL(cg, residual))) cg->begins = 1;
    cg->lowest = truth;
    int worse = cg->begins && !(truth <= cg->least);
    if (worse && !cg->returns) {
        cg->x = cg->best;
        cg->returns = 1;
        for (int i = 0; i < 3; i++)
            if (cg->buffer[i] != cg->best) cg->spare = cg->buffer[i];
        choose_next(cg, CHECK);
        return;
    }
    cg->v.beta = cs_conjugate_turn(&cg->steps, cg->product);
    if (cg->begins) cg->v.beta = 0;
    cg->begins = cg->returns = 0;
    choose_next(cg, ITERATE);
}

/* After a check: the true residual has taken the place of that of the recurrence. */
static void conclude(cs_block_cg *cg)
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

/* ---- the phases of an iteration ------------------------------------------------------------------------- */

static void multiply_part(cs_block_cg *cg, int64_t part)
{
    const cs_block_kernels *k = cg->kernels;
    k->multiply[cg->form](cg->iterated, part, cg->v.p, cg->v.t_outer, cg->v.q);
    cg->sum[part].curvature =
        k->dot[cg->single](cg->v.p, cg->v.q, begin_of(cg, part), end_of(cg, part));
}

static void step_part(cs_block_cg *cg, int64_t part)
{
    cg->sum[part].residual = cg->kernels->step[cg->single](&cg->v, cg->scaled ? cg->v.t : cg->v.p,
                                                           begin_of(cg, part), end_of(cg, part));
    if (cg->scaled) return;
    if (cg->M->kind->is_local) cg->sum[part].product = precondition_part(cg, part);
    else hand_residual(cg, part);
}

/* Phases after those that the iterations and checks begin with: those of M, r.z, and the decision.
 * Returns whether the phase is one of M or r.z. */
static int run_preconditioner(cs_block_cg *cg, int64_t phase, int64_t task)
{
    if (cg->scaled || cg->M->kind->is_local) return 0;
    if (phase < cg->M->phases) cg->M->kind->run(cg->M, phase, task);
    else if (phase == cg->M->phases) take_direction(cg, task);
    else return 0;
    return 1;
}

/* The first phases of both lists. */
enum { TURN, PRODUCT, LENGTH, STEP, AFTER_STEP };
enum { COLLECT, TRUTH, AFTER_TRUTH };

static void run_iteration(void *context, int64_t phase, int64_t task)
{
    cs_block_cg *cg = context;
    const cs_block_kernels *k = cg->kernels;
    switch (phase) {
    case TURN:
        if (cg->scaled) k->backward[cg->form](cg->scaled, task, &cg->v);
        else k->turn[cg->single](&cg->v, cg->z, begin_of(cg, task), end_of(cg, task));
        return;
    case PRODUCT:
        if (cg->scaled) cg->sum[task].curvature = k->forward[cg->form](cg->scaled, task, &cg->v);
        else multiply_part(cg, task);
        return;
    case LENGTH: choose_length(cg); return;
    case STEP: step_part(cg, task); return;
    default:
        if (!run_preconditioner(cg, phase - AFTER_STEP, task)) decide(cg);
    }
}

/* ---- the phases of a check ---------------------------------------------------------------------------------- */

/* spare <- x with what the iteration has added to it; the norm of the recurrence's residual, if it is not known. */
static void collect_part(cs_block_cg *cg, int64_t part)
{
    const cs_block_kernels *k = cg->kernels;
    int64_t begin = begin_of(cg, part), end = end_of(cg, part);
    size_t number = cg->single ? sizeof(float) : sizeof(double);
    if (cg->scaled) {
        k->expand[cg->form](cg->scaled, part, cg->v.r, cg->v.q);
        cg->sum[part].claim = k->dot[cg->single](cg->v.q, cg->v.q, begin, end);
    }
    collect_into(cg, part, cg->spare);
    memset((char *)cg->v.x + (size_t)begin * number, 0, (size_t)(end - begin) * number);
}

/* r <- to, of one part; the norms of both, and of their difference. */
static void replace_residual(cs_block_cg *cg, int64_t part, const void *by)
{
    const cs_block_kernels *k = cg->kernels;
    int64_t begin = begin_of(cg, part), end = end_of(cg, part);
    cg->sum[part].residual = k->dot[cg->single](by, by, begin, end);
    cg->sum[part].apart = k->replace[cg->single](cg->v.r, by, begin, end);
}

/* s <- b - A x, and what the iteration goes on with. */
static void truth_part(cs_block_cg *cg, int64_t part)
{
    /* The true residual. */
    const cs_block_kernels *k = cg->kernels;
    int64_t begin = begin_of(cg, part), end = end_of(cg, part);
    k->multiply[cs_block_form(cg->A, 0)](cg->A, part, cg->spare, cg->x_outer, cg->s);
    for (int64_t i = begin; i < end; i++) cg->s[i] = cg->b[i] - cg->s[i];
    cg->sum[part].truth = k->dot[0](cg->s, cg->s, begin, end);
    cg->sum[part].right = k->dot[0](cg->b, cg->b, begin, end);
    cg->sum[part].size = k->dot[0](cg->spare, cg->spare, begin, end);

    /* In the iteration's precision, and preconditioned. */
    convert(cg->v.q, cg->single, cg->s, 0, begin, end);
    if (cg->scaled) {
        k->reduce[cg->form](cg->scaled, part, cg->v.q, cg->v.t);
        replace_residual(cg, part, cg->v.t);
        return;
    }
    replace_residual(cg, part, cg->v.q);
    if (cg->M->kind->is_local) cg->sum[part].product = precondition_part(cg, part);
    else hand_residual(cg, part);
}

static void run_check(void *context, int64_t phase, int64_t task)
{
    cs_block_cg *cg = context;
    switch (phase) {
    case COLLECT: collect_part(cg, task); return;
    case TRUTH: truth_part(cg, task); return;
    default:
        if (!run_preconditioner(cg, phase - AFTER_TRUTH, task)) conclude(cg);
    }
}

/* ---- the phases of a proof ------------------------------------------------------------------------------------ */

/* spare <- the direction, as x has it. */
static void turn_part(cs_block_cg *cg, int64_t part)
{
    int64_t begin = begin_of(cg, part), end = end_of(cg, part);
    if (!cg->scaled) {
        convert(cg->spare, 0, cg->v.p, cg->single, begin, end);
        return;
    }
    memset(cg->spare + begin, 0, sizeof *cg->spare * (size_t)(end - begin));
    cg->kernels->add_scaled[cg->form](cg->scaled, part, cg->v.t, cg->spare);
}

static void run_proof(void *context, int64_t phase, int64_t task)
{
    cs_block_cg *cg = context;
    const cs_block_kernels *k = cg->kernels;
    switch (phase) {
    case COLLECT: turn_part(cg, task); return;
    case TRUTH:
        k->multiply[cs_block_form(cg->A, 0)](cg->A, task, cg->spare, cg->x_outer, cg->s);
        cg->sum[task].curvature = k->dot[0](cg->spare, cg->s, begin_of(cg, task), end_of(cg, task));
        cg->sum[task].size = k->dot[0](cg->spare, cg->spare, begin_of(cg, task), end_of(cg, task));
        return;
    default: conclude_proof(cg);
    }
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* A list: `first` phases by parts, of which one may have one task; those of M, and the decision. */
static cs_status make_list(cs_block_cg *cg, cs_phases *list, int64_t first, int64_t alone,
                           cs_arena *arena, cs_error *error)
{
    int is_short = cg->scaled || cg->M->kind->is_local || list == &cg->list[PROVE];
    int64_t more = is_short ? 0 : cg->M->phases + 1;
    list->count = first + more + 1;
    cs_phase *phase = cs_arena_take(arena, list->count, sizeof *phase);
    cs_status status = cs_arena_status(arena, error, "phases");
    if (status) return status;
    for (int64_t i = 0; i < first; i++) phase[i].tasks = i == alone ? 1 : cg->A->parts;
    for (int64_t i = 0; i + 1 < more; i++) phase[first + i] = cg->M->phase[i];
    if (more) phase[first + more - 1].tasks = cg->A->parts;
    phase[list->count - 1].tasks = 1;
    list->phase = phase;
    list->context = cg;
    return CS_OK;
}

static void take_vectors(cs_block_cg *cg, cs_arena *arena)
{
    const cs_block_system *A = cg->A;
    int64_t numbers = CS_BLOCK_STRIDE * A->vertices;
    int64_t outer = CS_BLOCK_STRIDE * A->outer_first[A->parts];
    size_t number = cg->single ? sizeof(float) : sizeof(double);
    for (int i = 0; i < 3; i++) cg->buffer[i] = cs_arena_take(arena, numbers, sizeof(double));
    cg->b = cs_arena_take(arena, numbers, sizeof(double));
    cg->s = cs_arena_take(arena, numbers, sizeof(double));
    cg->x_outer = cs_arena_take(arena, outer, sizeof(double));
    void **vectors[] = {&cg->v.x, &cg->v.r, &cg->v.p, &cg->v.q, cg->scaled ? &cg->v.t : &cg->z};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = cs_arena_take(arena, numbers, number);
    cg->v.t_outer = cs_arena_take(arena, outer, number);
    cg->sum = cs_arena_take(arena, A->parts, sizeof *cg->sum);
    cg->record = cs_arena_take_unset(arena, cg->most + 2, sizeof *cg->record);
    cg->chosen = cs_arena_take_unset(arena, cg->rounds, 1);
}

cs_status cs_block_cg_make(cs_block_cg **made, const cs_block_system *A,
                           const cs_block_system *iterated, cs_preconditioner *M, int single,
                           int64_t max_iterations, cs_arena *arena, cs_error *error)
{
    cs_block_cg *cg = cs_arena_take(arena, 1, sizeof *cg);
    cs_status status = cs_arena_status(arena, error, "the state of conjugate gradients");
    if (status) return status;
    *cg = (cs_block_cg){.A = A, .iterated = iterated, .M = M, .single = single};
    cg->kernels = cs_block_kernels_here();
    /* Eisenstat's product is that of the preconditioner's own matrix. */
    if (M->system == iterated) cg->scaled = cs_preconditioner_scaled(M);
    cg->form = cs_block_form(iterated, single);
    cg->is_inexact = single || iterated != A;
    cg->most = max_iterations;
    cg->rounds = 4 * max_iterations + 8; /* an iteration, a proof, a check, a return */
    take_vectors(cg, arena);
    status = cs_arena_status(arena, error, "vectors of %lld vertices", (long long)A->vertices);
    if (!status) status = make_list(cg, &cg->list[ITERATE], AFTER_STEP, LENGTH, arena, error);
    if (!status) status = make_list(cg, &cg->list[CHECK], AFTER_TRUTH, -1, arena, error);
    if (!status) status = make_list(cg, &cg->list[PROVE], AFTER_TRUTH, -1, arena, error);
    cg->list[ITERATE].run = run_iteration;
    cg->list[CHECK].run = run_check;
    cg->list[PROVE].run = run_proof;
    *made = cg;
    return status;
}

/* ---- a run --------------------------------------------------------------------------------------------------------- */

static void poll(void *context)
{
    cs_block_cg *cg = context;
    if (cs_is_cancelled(cg->options->cancellation, cg->phase_work))
        atomic_store(&cg->is_cancelled, 1);
}

static double magnitude_of(const cs_block_system *A)
{
    double most = 0;
    for (int64_t i = 0; i < A->vertices; i++) {
        double block[CS_BLOCK_SIZE], trace = 0;
        cs_block_system_get(A, &A->local, A->local.start[i], block);
        for (int k = 0; k < CS_BLOCK_ROWS; k++) trace += block[(CS_BLOCK_ROWS + 1) * k];
        most = fmax(most, fabs(trace));
    }
    return most;
}

/* A power of two near the largest number of b and of what A makes of x. */
static double unit_of(const cs_block_cg *cg, const double *b, const double *x)
{
    double most = 0, farthest = 0;
    for (int64_t i = 0; i < CS_BLOCK_ROWS * cg->A->vertices; i++) {
        most = fmax(most, fabs(b[i]));
        farthest = fmax(farthest, fabs(x[i]));
    }
    int exponent = 0;
    most = fmax(most, fmin(cg->magnitude * farthest, DBL_MAX));
    if (most > 0) frexp(most, &exponent);
    return ldexp(1, exponent < -1000 ? -1000 : exponent);
}

/* to (4 numbers a vertex) <- x in units. */
static void load(const cs_block_cg *cg, const double *x, double *to, int threads)
{
    cs_block_system_take(cg->A, 0, x, to, threads);
    for (int64_t i = 0; i < CS_BLOCK_STRIDE * cg->A->vertices; i++) to[i] /= cg->unit;
}

/* Begins with the direction zero, and without an addition to x. */
static void clear_vectors(cs_block_cg *cg, int threads)
{
    size_t number = cg->single ? sizeof(float) : sizeof(double);
    int64_t numbers = CS_BLOCK_STRIDE * cg->A->vertices;
    cs_loop_copy(threads, cg->v.x, NULL, numbers, number);
    cs_loop_copy(threads, cg->v.p, NULL, numbers, number);
    cs_loop_copy(threads, cg->v.r, NULL, numbers, number);
}

/* M works on the iteration's vectors where they have its precision. */
static void lend_vectors(cs_block_cg *cg)
{
    cg->own_r = cg->M->r;
    cg->own_z = cg->M->z;
    if (cg->scaled || converts(cg)) return;
    cg->M->r = cg->v.r;
    cg->M->z = cg->z;
}

static void return_vectors(cs_block_cg *cg)
{
    cg->M->r = cg->own_r;
    cg->M->z = cg->own_z;
}

/* The state before the first round, which is a check. */
static void begin_run(cs_block_cg *cg, const double *b, const double *x,
                      const cs_cg_options *options, cs_cg_result *result)
{
    *result = (cs_cg_result){.verdict = CS_CG_CONVERGED, .history = cg->record};
    cg->options = options;
    cg->result = result;
    cg->steps = (cs_conjugate){0};
    cg->magnitude = magnitude_of(cg->A);
    cg->unit = unit_of(cg, b, x);
    cg->ratio = 1;
    cg->least = cg->lowest = INFINITY;
    cg->stalls = cg->ends = cg->doubts = cg->is_doubtful = cg->returns = 0;
    cg->begins = 1;
    cg->x = cg->best = cg->buffer[0];
    cg->spare = cg->buffer[1];
    cg->round = 0;
    cg->chosen[0] = CHECK;
    cg->phase_work = 3.0 * CS_BLOCK_SIZE * (double)cg->A->local.blocks;
    atomic_store(&cg->is_cancelled, 0);
    clear_vectors(cg, options->threads);
    load(cg, b, cg->b, options->threads);
    load(cg, x, cg->x, options->threads);
}

/* What was found, in the caller's units. */
static void end_run(cs_block_cg *cg, double *x)
{
    cs_cg_result *result = cg->result;
    cs_block_system_give(cg->A, 0, cg->best, x, cg->options->threads);
    for (int64_t i = 0; i < CS_BLOCK_ROWS * cg->A->vertices; i++) x[i] *= cg->unit;
    result->residual = cg->least * cg->unit;
    result->claim *= cg->unit;
    result->right *= cg->unit;
    for (int64_t n = 0; n < result->records; n++) {
        cg->record[n].claim *= cg->unit;
        cg->record[n].norm *= cg->unit;
        cg->record[n].truth *= cg->unit;
    }
}

/* Zero is the solution for b = 0, from any start. */
static void start_at_zero(const cs_block_cg *cg, const double *b, double *x)
{
    int64_t numbers = CS_BLOCK_ROWS * cg->A->vertices;
    for (int64_t i = 0; i < numbers; i++)
        if (b[i] != 0) return;
    memset(x, 0, sizeof *x * (size_t)numbers);
}

void cs_block_cg_run(cs_block_cg *cg, const double *b, double *x, const cs_cg_options *options,
                     cs_cg_result *result)
{
    const cs_rounds rounds = {cg->list, cg->chosen, poll, cg};
    if (options->atol == 0) start_at_zero(cg, b, x);
    begin_run(cg, b, x, options, result);
    lend_vectors(cg);
    cs_rounds_run(&rounds, options->threads);
    return_vectors(cg);
    end_run(cg, x);
}

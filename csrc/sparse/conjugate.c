#include "sparse/conjugate.h"

#include "core/error.h"
#include "core/loop.h"
#include "linalg/krylov.h"
#include "sparse/preconditioners/block_ssor.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* A check also comes when the residual of an iteration over float has fallen by this factor, before its rounding
 * errors outweigh it.  Sleijpen and van der Vorst 1996 */
#define CHECK_SINGLE 0.01

/* So many checks in a row that have not halved the least residual end the iteration: rounding. One check does where the
 * residual is what rounding of b - A x alone may leave. */
enum { MOST_STALLS = 5 };

/* A check that finds sqrt(r.Mr) larger than claimed by this factor begins with the steepest descent again: to the new
 * residual the old direction is not conjugate. */
#define MOST_GROWTH 2.0

/* The lists of phases. */
enum { ITERATE, CHECK, LISTS };

/* Sums of the parts. */
typedef struct part_sums {
    _Alignas(64) double curvature; /* p.Ap */
    double residual, product;      /* r.r, r.z */
    double truth, right, size;     /* of a check: s.s of s = b - A x; b.b; x.x */
    double claim;                  /* r.r of the recurrence before */
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
    double product;       /* r.z now */
    double scale;         /* of the iteration's residual over the true one, */
    double handed;        /* and of the residual that M is given over the iteration's */
    double target, ratio; /* |r| over sqrt(r.z), at the last check */
    double least;         /* |b - A x| so far */
    double magnitude;     /* of A: the largest trace of a diagonal block */
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

/* to <- factor from, of any two precisions. */
static void convert(void *to, int to_single, const void *from, int from_single, double factor,
                    int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        double number = from_single ? (double)((const float *)from)[i] : ((const double *)from)[i];
        if (to_single) ((float *)to)[i] = (float)(factor * number);
        else ((double *)to)[i] = factor * number;
    }
}

/* Whether M has vectors of another precision than the iteration. */
static int converts(const cs_block_cg *cg) { return cg->M->system->single != cg->single; }

/* M's r <- the iteration's, and the iteration's z <- M's, where their precisions differ. */
static void hand_residual(cs_block_cg *cg, int64_t part)
{
    if (!converts(cg)) return;
    convert(cg->M->r, !cg->single, cg->v.r, cg->single, cg->handed, begin_of(cg, part),
            end_of(cg, part));
}

static void take_back(cs_block_cg *cg, int64_t part)
{
    if (!converts(cg)) return;
    convert(cg->z, cg->single, cg->M->z, !cg->single, 1 / cg->handed, begin_of(cg, part),
            end_of(cg, part));
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
    double back = 1 / cg->scale;
    if (cg->scaled) {
        memset(to + begin, 0, sizeof *to * (size_t)(end - begin));
        cg->kernels->add_scaled[cg->form](cg->scaled, part, cg->v.x, to);
    } else {
        convert(to, 0, cg->v.x, cg->single, 1, begin, end);
    }
    for (int64_t i = begin; i < end; i++) to[i] = cg->x[i] + back * to[i];
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
    if (curvature <= 0 && cg->steps.product > 0) cg->result->verdict = CS_CG_INDEFINITE;
}

static cs_cg_record *add_record(cs_block_cg *cg)
{
    cs_cg_record *record = &cg->record[cg->result->records++];
    *record = (cs_cg_record){cg->result->iterations, NAN, NAN, NAN};
    return record;
}

/* Whether the iteration shall be checked now. `claim`: |r|, or an estimate of it. */
static int wants_check(const cs_block_cg *cg, double claim)
{
    if (!(claim > cg->target) || cg->result->verdict != CS_CG_CONVERGED) return 1;
    if (cg->result->iterations >= cg->options->max_iterations) return 1;
    return cg->is_inexact && claim <= CHECK_SINGLE * cg->result->residual;
}

/* After an iteration: beta, a row of the history, and what follows. */
static void decide(cs_block_cg *cg)
{
    cs_cg_result *result = cg->result;
    double claim = cg->scaled ? NAN : sqrt(TOTAL(cg, residual)) / cg->scale;
    cg->product = cg->scaled ? TOTAL(cg, residual) : TOTAL(cg, product);
    double norm = sqrt(cg->product) / cg->scale;
    result->iterations++;
    result->bytes += cg->scaled ? (double)cg->M->bytes
                                : (double)(cs_block_system_bytes(cg->iterated) + cg->M->bytes);
    cs_cg_record *record = add_record(cg);
    record->claim = claim;
    record->norm = norm;
    if (cg->options->look) look(cg);
    if (cg->product < 0) result->verdict = CS_CG_INDEFINITE;
    if (atomic_load(&cg->is_cancelled)) result->verdict = CS_CG_STOPPED;
    if (wants_check(cg, cg->scaled ? cg->ratio * norm : claim)) {
        choose_next(cg, CHECK);
        return;
    }
    cg->v.beta = cs_conjugate_turn(&cg->steps, cg->product);
    choose_next(cg, ITERATE);
}

/* What rounding of b - A x in double precision may leave of it. */
static double rounding_floor(const cs_block_cg *cg)
{
    return 0.5 * DBL_EPSILON * (cg->magnitude * sqrt(TOTAL(cg, size)) + cg->result->right);
}

/* Whether rounding errors keep the residual where it is. */
static int has_stalled(cs_block_cg *cg, double truth)
{
    cg->stalls = truth > 0.5 * cg->least ? cg->stalls + 1 : 0;
    cg->least = fmin(cg->least, truth);
    return cg->stalls >= MOST_STALLS || (cg->stalls && truth <= rounding_floor(cg));
}

/* What ends the iteration after a check that found this residual, if anything does. */
static void judge(cs_block_cg *cg, double truth)
{
    const cs_cg_options *options = cg->options;
    int is_first = cg->result->checks == 0;
    if (is_first) {
        cg->result->right = sqrt(TOTAL(cg, right));
        cg->target = fmax(options->rtol * cg->result->right, options->atol);
    }
    if (truth <= cg->target) end_with(cg, CS_CG_CONVERGED);
    else if (cg->result->verdict != CS_CG_CONVERGED) end_with(cg, cg->result->verdict);
    else if (!isfinite(truth) || has_stalled(cg, truth)) end_with(cg, CS_CG_FLOOR);
    else if (cg->result->iterations >= options->max_iterations) end_with(cg, CS_CG_MAX_ITERATIONS);
}

/* After a check: the true residual has taken the place of that of the recurrence. */
static void conclude(cs_block_cg *cg)
{
    /* The row of the history. */
    cs_cg_result *result = cg->result;
    double truth = sqrt(TOTAL(cg, truth)), claim = sqrt(TOTAL(cg, claim)) / cg->scale;
    cs_cg_record *record = result->checks ? &cg->record[result->records - 1] : add_record(cg);
    record->truth = truth;
    if (cg->scaled && result->checks) record->claim = claim;
    result->claim = result->checks ? record->claim : truth;
    judge(cg, truth);
    result->residual = truth;
    result->checks++;
    result->bytes += (double)cs_block_system_bytes(cg->A);

    /* The next direction. */
    double claimed = cg->product;
    cg->product = cg->scaled ? TOTAL(cg, residual) : TOTAL(cg, product);
    double norm = sqrt(cg->product) / cg->scale;
    if (isnan(record->norm)) record->norm = norm;
    cg->ratio = norm > 0 ? truth / norm : 1;
    if (!cg->ends && cg->product < 0) end_with(cg, CS_CG_INDEFINITE);
    cg->v.beta = cs_conjugate_turn(&cg->steps, cg->product);
    if (cg->product > MOST_GROWTH * MOST_GROWTH * claimed) cg->v.beta = 0;
    choose_next(cg, ITERATE);
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

/* x takes what the iteration has added to it; the norm of the recurrence's residual, if it is not known. */
static void collect_part(cs_block_cg *cg, int64_t part)
{
    const cs_block_kernels *k = cg->kernels;
    int64_t begin = begin_of(cg, part), end = end_of(cg, part);
    size_t number = cg->single ? sizeof(float) : sizeof(double);
    if (cg->scaled) {
        k->expand[cg->form](cg->scaled, part, cg->v.r, cg->v.q);
        cg->sum[part].claim = k->dot[cg->single](cg->v.q, cg->v.q, begin, end);
    }
    collect_into(cg, part, cg->s);
    memcpy(cg->x + begin, cg->s + begin, sizeof *cg->x * (size_t)(end - begin));
    memset((char *)cg->v.x + (size_t)begin * number, 0, (size_t)(end - begin) * number);
}

/* s <- b - A x, and what the iteration goes on with. */
static void truth_part(cs_block_cg *cg, int64_t part)
{
    /* The true residual. */
    const cs_block_kernels *k = cg->kernels;
    int64_t begin = begin_of(cg, part), end = end_of(cg, part);
    k->multiply[cs_block_form(cg->A, 0)](cg->A, part, cg->x, cg->x_outer, cg->s);
    for (int64_t i = begin; i < end; i++) cg->s[i] = cg->b[i] - cg->s[i];
    cg->sum[part].truth = k->dot[0](cg->s, cg->s, begin, end);
    cg->sum[part].right = k->dot[0](cg->b, cg->b, begin, end);
    cg->sum[part].size = k->dot[0](cg->x, cg->x, begin, end);

    /* In the iteration's precision, and preconditioned. */
    void *r = cg->scaled ? cg->v.q : cg->v.r;
    convert(r, cg->single, cg->s, 0, cg->scale, begin, end);
    if (cg->scaled) {
        k->reduce[cg->form](cg->scaled, part, r, cg->v.r);
        cg->sum[part].residual = k->dot[cg->single](cg->v.r, cg->v.r, begin, end);
    } else if (cg->M->kind->is_local) cg->sum[part].product = precondition_part(cg, part);
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

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* A list: `first` phases by parts, of which one may have one task; those of M, and the decision. */
static cs_status make_list(cs_block_cg *cg, cs_phases *list, int64_t first, int64_t alone,
                           cs_arena *arena, cs_error *error)
{
    int64_t more = cg->scaled || cg->M->kind->is_local ? 0 : cg->M->phases + 1;
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
    cg->x = cs_arena_take(arena, numbers, sizeof(double));
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
    cg->rounds = 2 * max_iterations + 4;
    take_vectors(cg, arena);
    status = cs_arena_status(arena, error, "vectors of %lld vertices", (long long)A->vertices);
    if (!status) status = make_list(cg, &cg->list[ITERATE], AFTER_STEP, LENGTH, arena, error);
    if (!status) status = make_list(cg, &cg->list[CHECK], AFTER_TRUTH, -1, arena, error);
    cg->list[ITERATE].run = run_iteration;
    cg->list[CHECK].run = run_check;
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

/* A power of two that brings the largest number of b near to one: float has no room for others. */
static double scale_of(const cs_block_cg *cg, const double *b)
{
    double most = 0;
    for (int64_t i = 0; i < CS_BLOCK_ROWS * cg->A->vertices; i++) most = fmax(most, fabs(b[i]));
    int exponent = 0;
    if (most > 0 && isfinite(most)) frexp(most, &exponent);
    return ldexp(1, -exponent);
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

void cs_block_cg_run(cs_block_cg *cg, const double *b, double *x, const cs_cg_options *options,
                     cs_cg_result *result)
{
    /* The state before the first round, which is a check. */
    *result = (cs_cg_result){.verdict = CS_CG_CONVERGED, .history = cg->record};
    cg->options = options;
    cg->result = result;
    cg->steps = (cs_conjugate){0};
    cg->scale = cg->single ? scale_of(cg, b) : 1;
    cg->handed = converts(cg) ? scale_of(cg, b) : 1;
    cg->ratio = 1;
    cg->least = INFINITY;
    cg->magnitude = magnitude_of(cg->A);
    cg->stalls = cg->ends = 0;
    cg->round = 0;
    cg->chosen[0] = CHECK;
    cg->phase_work = 3.0 * CS_BLOCK_SIZE * (double)cg->A->local.blocks;
    atomic_store(&cg->is_cancelled, 0);

    /* The rounds. */
    const cs_rounds rounds = {cg->list, cg->chosen, poll, cg};
    clear_vectors(cg, options->threads);
    cs_block_system_take(cg->A, 0, b, cg->b, options->threads);
    cs_block_system_take(cg->A, 0, x, cg->x, options->threads);
    lend_vectors(cg);
    cs_rounds_run(&rounds, options->threads);
    return_vectors(cg);
    cs_block_system_give(cg->A, 0, cg->x, x, options->threads);
}

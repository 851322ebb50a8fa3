#include "sparse/conjugate_state.h"

#include "core/error.h"
#include "core/loop.h"
#include "sparse/preconditioners/block_ssor.h"

#include <float.h>
#include <math.h>
#include <string.h>

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
    for (int64_t i = begin; i < end; i++)
        cs_number_put(to, to_single, i, cs_number_at(from, from_single, i));
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

void cs_cg_look(cs_block_cg *cg)
{
    const cs_cg_options *options = cg->options;
    for (int64_t p = 0; p < cg->A->parts; p++) collect_into(cg, p, cg->s);
    cs_block_system_give(cg->A, 0, cg->s, options->iterate, 1);
    for (int64_t i = 0; i < CS_BLOCK_ROWS * cg->A->vertices; i++) options->iterate[i] *= cg->unit;
    if (options->look(options->context)) atomic_store(&cg->is_cancelled, 1);
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
    case LENGTH: cs_cg_choose_length(cg); return;
    case STEP: step_part(cg, task); return;
    default:
        if (!run_preconditioner(cg, phase - AFTER_STEP, task)) cs_cg_decide(cg);
    }
}

/* ---- the phases of a check ---------------------------------------------------------------------------------- */

/* spare <- x with what the iteration has added to it; the norm of the recurrence's residual, if it is not known. */
static void collect_part(cs_block_cg *cg, int64_t part)
{
    const cs_block_kernels *k = cg->kernels;
    int64_t begin = begin_of(cg, part), end = end_of(cg, part);
    size_t number = cs_number_size(cg->single);
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
        if (!run_preconditioner(cg, phase - AFTER_TRUTH, task)) cs_cg_conclude(cg);
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
    default: cs_cg_conclude_proof(cg);
    }
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* A list: `first` phases by parts, of which one may have one task; those of M, and the decision. */
static cs_status make_list(cs_block_cg *cg, cs_phases *list, int64_t first, int64_t alone,
                           cs_arena *arena, cs_error *error)
{
    int is_short = cg->scaled || cg->M->kind->is_local || list == &cg->list[CS_CG_PROVE];
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
    size_t number = cs_number_size(cg->single);
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
    if (!status) status = make_list(cg, &cg->list[CS_CG_ITERATE], AFTER_STEP, LENGTH, arena, error);
    if (!status) status = make_list(cg, &cg->list[CS_CG_CHECK], AFTER_TRUTH, -1, arena, error);
    if (!status) status = make_list(cg, &cg->list[CS_CG_PROVE], AFTER_TRUTH, -1, arena, error);
    cg->list[CS_CG_ITERATE].run = run_iteration;
    cg->list[CS_CG_CHECK].run = run_check;
    cg->list[CS_CG_PROVE].run = run_proof;
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
        double trace = cs_block_system_trace(A, &A->local, A->local.start[i]);
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
    size_t number = cs_number_size(cg->single);
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
    cg->chosen[0] = CS_CG_CHECK;
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

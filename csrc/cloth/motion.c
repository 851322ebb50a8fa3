#include "cloth/cloth.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/vector.h"

#include <string.h>

/* Products of the iteration are those of block SSOR, and read its system (sparse/conjugate.h). */
static int multiplies(const cs_preconditioner_kind *kind)
{
    return kind == cs_preconditioner_find("block_ssor");
}

cs_status cs_cloth_name_kind(cs_cloth *cloth, const char *name, cs_error *error)
{
    cloth->kind = cs_preconditioner_find(name);
    if (cloth->kind || !strcmp(name, "auto")) return CS_OK;
    return cs_fail(error, CS_UNKNOWN_NAME, "M: '%s' is unknown", cs_word(name).text);
}

void cs_cloth_forget(cs_cloth *cloth)
{
    cs_preconditioner_clear(&cloth->M);
    cs_arena_clear(&cloth->solver);
    cloth->cg = NULL;
}

void cs_cloth_forget_all(cs_cloth *cloth)
{
    cs_cloth_forget(cloth);
    cs_collisions_forget(&cloth->collisions);
}

/* The preconditioner of this kind, in single precision unless all is double, and the iteration: in this order, since the first
 * update may lay out the preconditioner. */
static cs_status make_both(cs_cloth *cloth, const cs_preconditioner_kind *kind,
                           const cs_cloth_call *call, cs_error *error)
{
    const cs_cloth_options *o = &cloth->options;
    const cs_block_system *half = o->precision == CS_CLOTH_MIXED ? &cloth->half : &cloth->system;
    const cs_block_system *iterated = multiplies(kind) ? half : &cloth->system;
    const cs_preconditioner_options options = {.position = cloth->position,
                                               .relaxation = 1,
                                               .exact =
                                                   cloth->system.single ? NULL : &cloth->system};
    cs_status status = cs_preconditioner_make(&cloth->M, kind, half, &options, error);
    if (!status)
        status = cs_preconditioner_update(&cloth->M, call->threads, call->cancellation, error);
    if (status) return status;
    return cs_block_cg_make(&cloth->cg, &cloth->system, iterated, &cloth->M,
                            o->precision == CS_CLOTH_F32, o->max_iterations, &cloth->solver, error);
}

/* Notes where the solver was made. */
static void note_origin(cs_cloth *cloth)
{
    size_t size = sizeof *cloth->position * (size_t)(3 * cloth->mesh.vertices);
    cloth->made++;
    cloth->chosen_for = cloth->h;
    memcpy(cloth->origin_position, cloth->position, size);
    memcpy(cloth->origin_velocity, cloth->velocity, size);
}

/* Gets ready for the assembled system. A kind that was chosen is that for steps of this length. */
static cs_status ready_solver(cs_cloth *cloth, const cs_cloth_call *call, cs_error *error)
{
    if (cloth->cg && (cloth->kind || cloth->chosen_for == cloth->h))
        return cs_preconditioner_update(&cloth->M, call->threads, call->cancellation, error);
    const cs_preconditioner_kind *kind = cloth->kind;
    cs_status status = CS_OK;
    cs_cloth_forget(cloth);
    if (!kind)
        status = cs_preconditioner_choose(&cloth->system, cloth->options.rtol, 1, &kind, error);
    if (!status) status = make_both(cloth, kind, call, error);
    if (status) cs_cloth_forget(cloth);
    else note_origin(cloth);
    return status;
}

/* The state becomes x, v. */
static void set_state(cs_cloth *cloth, const double *x, const double *v)
{
    size_t size = sizeof *x * (size_t)(3 * cloth->mesh.vertices);
    memcpy(cloth->position, x, size);
    memcpy(cloth->velocity, v, size);
}

cs_status cs_cloth_remake(cs_cloth *cloth, double h, const double *x, const double *v,
                          const cs_cloth_call *call, cs_error *error)
{
    /* Keep the state. */
    cs_arena scratch = {0};
    int64_t numbers = 3 * cloth->mesh.vertices;
    double *position = cs_arena_take(&scratch, numbers, sizeof *position);
    double *velocity = cs_arena_take(&scratch, numbers, sizeof *velocity);
    cs_status status = cs_arena_status(&scratch, error, "the state");
    if (status) goto out;
    memcpy(position, cloth->position, sizeof *position * (size_t)numbers);
    memcpy(velocity, cloth->velocity, sizeof *velocity * (size_t)numbers);

    /* Begin a step from the other state. */
    cs_cloth_forget(cloth);
    set_state(cloth, x, v);
    status = cs_cloth_begin(cloth, h, NULL, NULL, error);
    if (!status) status = cs_cloth_assemble(cloth, call->threads, error);
    if (!status) status = ready_solver(cloth, call, error);
    set_state(cloth, position, velocity);
out:
    cs_arena_clear(&scratch);
    return status;
}

/* change <- the solution of the assembled system. */
static cs_status solve(cs_cloth *cloth, const cs_cloth_call *call, cs_cloth_report *report,
                       cs_error *error)
{
    cs_cg_result result = {0};
    const cs_cg_options options = {.rtol = cloth->options.rtol,
                                   .max_iterations = cloth->options.max_iterations,
                                   .threads = call->threads,
                                   .cancellation = call->cancellation};
    cs_status status = ready_solver(cloth, call, error);
    if (status) return status;
    report->kind = cloth->M.kind->name;
    memset(cloth->change, 0, sizeof *cloth->change * (size_t)(3 * cloth->mesh.vertices));
    cs_block_cg_run(cloth->cg, cloth->right, cloth->change, &options, &result);

    /* What it says. */
    report->iterations += result.iterations;
    report->residual = result.right > 0 ? result.residual / result.right : 0;
    if (result.verdict != CS_CG_CONVERGED) report->verdict = result.verdict;
    if (result.verdict == CS_CG_STOPPED)
        return cs_fail(error, CS_INTERRUPTED, "the step was interrupted");
    if (result.verdict == CS_CG_INDEFINITE)
        return cs_fail(
            error, CS_INDEFINITE,
            "the matrix of the step of %s s from t = %s s is not positive definite, found "
            "after %lld iterations%s",
            cs_number(cloth->h).text, cs_number(cloth->time).text, (long long)result.iterations,
            cloth->options.precision == CS_CLOTH_F64
                ? ""
                : ": rounding to float may be the cause, which dtype='float64' avoids");
    return CS_OK;
}

/* ---- steps --------------------------------------------------------------------------------------- */

static cs_response_call response_of(const cs_cloth *cloth, const cs_cloth_call *call)
{
    return (cs_response_call){.h = cloth->h,
                              .time = cloth->time,
                              .threads =
                                  call->contact_threads > 0 ? call->contact_threads : call->threads,
                              .cancellation = call->cancellation};
}

/* Whether forces of contacts take part in the linear system. */
static int couples(const cs_cloth *cloth)
{
    return cloth->has_collisions && !cloth->collisions.options.is_problem;
}

/* Finds near contacts before the motion is known, but for that of attached vertices. */
static cs_status begin_coupled(cs_cloth *cloth, const cs_cloth_call *call, cs_error *error)
{
    const cs_response_call response = response_of(cloth, call);
    double *x1 = cloth->change;
    for (int64_t i = 0; i < cloth->mesh.vertices; i++)
        cs_assign(x1 + 3 * i, (cloth->is_attached[i] ? cloth->target : cloth->position) + 3 * i);
    return cs_collisions_begin(&cloth->collisions, cloth->position, x1, cloth->shift,
                               cloth->is_attached, &response, error);
}

/* The motion is known: contacts that have taken part go on from it, others are found. */
static cs_status begin_response(cs_cloth *cloth, const cs_cloth_call *call, cs_error *error)
{
    cs_collisions *c = &cloth->collisions;
    const cs_response_call response = response_of(cloth, call);
    if (couples(cloth)) {
        cs_collisions_take_motion(c, cloth->next_position, cloth->next_velocity);
        return CS_OK;
    }
    return cs_collisions_begin(c, cloth->position, cloth->next_position, cloth->next_velocity,
                               cloth->is_attached, &response, error);
}

cs_status cs_cloth_predict(cs_cloth *cloth, double h, const double *target, const double *force,
                           const cs_cloth_call *call, cs_error *error)
{
    cs_cloth_report *report = &cloth->present;
    *report = (cs_cloth_report){.verdict = CS_CG_CONVERGED, .threads = call->threads};
    if (call->newton < 1)
        return cs_fail(error, CS_INVALID, "newton is %d: it must be at least 1", call->newton);
    cs_status status = cs_cloth_begin(cloth, h, target, force, error);
    if (!status && couples(cloth)) status = begin_coupled(cloth, call, error);
    double begun = cs_clock();
    for (int n = 0; !status && n < call->newton; n++) {
        status = cs_cloth_assemble(cloth, call->threads, error);
        if (!status && couples(cloth)) cs_add_former_impulses(&cloth->collisions, cloth->right);
        if (!status) status = solve(cloth, call, report, error);
        if (!status) cs_cloth_correct(cloth, cloth->change, call->threads);
    }
    if (!status) status = cs_cloth_check(cloth, error);
    report->seconds = cs_clock() - begun;
    return status || !cloth->has_collisions ? status : begin_response(cloth, call, error);
}

/* Responds to collisions; is_free <- whether the step can be made. */
static cs_status respond(cs_cloth *cloth, const cs_cloth_call *call, int *is_free, cs_error *error)
{
    *is_free = 1;
    if (!cloth->has_collisions) return CS_OK;
    const cs_response_call response = response_of(cloth, call);
    cs_status status = cs_collisions_respond(&cloth->collisions, cloth->next_velocity,
                                             cloth->next_position, &response, error);
    *is_free = cloth->collisions.present.is_free;
    return status;
}

cs_status cs_cloth_conclude(cs_cloth *cloth, const cs_cloth_call *call, cs_error *error)
{
    int is_free;
    cs_status status = respond(cloth, call, &is_free, error);
    if (!status) status = cs_cloth_check(cloth, error);
    if (status) return status;
    if (!is_free) {
        cloth->refused++;
        return CS_OK;
    }
    if (cloth->has_collisions) status = cs_collisions_finish(&cloth->collisions, error);
    if (status) return status;
    cs_cloth_finish(cloth);
    cloth->report = cloth->present;
    cloth->steps++;
    cloth->missed += cloth->report.verdict != CS_CG_CONVERGED;
    return CS_OK;
}

cs_status cs_cloth_step(cs_cloth *cloth, double h, const double *target, const double *force,
                        const cs_cloth_call *call, cs_error *error)
{
    cs_status status = cs_cloth_predict(cloth, h, target, force, call, error);
    return status ? status : cs_cloth_conclude(cloth, call, error);
}

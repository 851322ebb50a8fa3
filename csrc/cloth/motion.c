#include "cloth/cloth.h"

#include "core/error.h"

#include <string.h>

/* The kind that `auto` takes. */
static const char usual_kind[] = "block_ssor";

/* Products of the iteration are those of this kind, and read its system. */
static int multiplies(const cs_preconditioner_kind *kind)
{
    return !strcmp(kind->name, usual_kind);
}

cs_status cs_cloth_make_solver(cs_cloth *cloth, cs_error *error)
{
    /* The preconditioner, in single precision unless all is double. */
    const cs_cloth_options *o = &cloth->options;
    const char *name = strcmp(o->preconditioner, "auto") ? o->preconditioner : usual_kind;
    const cs_preconditioner_kind *kind = cs_preconditioner_find(name);
    const cs_block_system *half = o->precision == CS_CLOTH_MIXED ? &cloth->half : &cloth->system;
    const cs_preconditioner_options options = {cloth->position, 1};
    if (!kind)
        return cs_fail(error, CS_UNKNOWN_NAME, "M: '%s' is unknown",
                       cs_word(o->preconditioner).text);
    cs_status status = cs_preconditioner_make(&cloth->M, kind, half, &options, error);
    if (status) return status;

    /* The iteration. */
    const cs_block_system *iterated = multiplies(kind) ? half : &cloth->system;
    return cs_block_cg_make(&cloth->cg, &cloth->system, iterated, &cloth->M,
                            o->precision == CS_CLOTH_F32, o->max_iterations, &cloth->arena, error);
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
    cs_status status =
        cs_preconditioner_update(&cloth->M, call->threads, call->cancellation, error);
    if (status) return status;
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

cs_status cs_cloth_step(cs_cloth *cloth, double h, const double *target, const double *force,
                        const cs_cloth_call *call, cs_error *error)
{
    cs_cloth_report report = {.verdict = CS_CG_CONVERGED, .threads = call->threads};
    cs_status status = cs_cloth_begin(cloth, h, target, force, error);
    for (int n = 0; !status && n < call->newton; n++) {
        cs_cloth_assemble(cloth, call->threads);
        status = solve(cloth, call, &report, error);
        if (!status) cs_cloth_correct(cloth, cloth->change, call->threads);
    }
    if (!status) status = cs_cloth_finish(cloth, error);
    if (status) return status;

    cloth->report = report;
    cloth->steps++;
    cloth->missed += report.verdict != CS_CG_CONVERGED;
    return CS_OK;
}

#include "sparse/preconditioner.h"

#include "core/error.h"
#include "core/loop.h"

#include <string.h>

#define CS_PRECONDITIONER(variable) extern const cs_preconditioner_kind variable;
#include "sparse/preconditioners.def"
#undef CS_PRECONDITIONER

static const cs_preconditioner_kind *const kinds[] = {
#define CS_PRECONDITIONER(variable) &variable,
#include "sparse/preconditioners.def"
#undef CS_PRECONDITIONER
};

enum { KINDS = sizeof kinds / sizeof *kinds };

const cs_preconditioner_kind *cs_preconditioner_kind_at(int n)
{
    return n >= 0 && n < KINDS ? kinds[n] : NULL;
}

const cs_preconditioner_kind *cs_preconditioner_find(const char *name)
{
    for (int n = 0; n < KINDS; n++)
        if (!strcmp(kinds[n]->name, name)) return kinds[n];
    return NULL;
}

cs_status cs_preconditioner_make(cs_preconditioner *p, const cs_preconditioner_kind *kind,
                                 const cs_block_system *system,
                                 const cs_preconditioner_options *options, cs_error *error)
{
    *p = (cs_preconditioner){.kind = kind, .system = system, .options = *options};
    if (!p->options.exact) p->options.exact = system;
    size_t number = cs_number_size(system->single);
    p->r = cs_arena_take(&p->arena, CS_BLOCK_STRIDE * system->vertices, number);
    p->z = cs_arena_take(&p->arena, CS_BLOCK_STRIDE * system->vertices, number);
    cs_status status =
        cs_arena_status(&p->arena, error, "vectors of %lld vertices", (long long)system->vertices);
    return status ? status : kind->make(p, error);
}

cs_status cs_preconditioner_update(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                                   cs_error *error)
{
    return p->kind->update(p, threads, cancellation, error);
}

void cs_preconditioner_clear(cs_preconditioner *p)
{
    cs_arena_clear(&p->arena);
    *p = (cs_preconditioner){0};
}

cs_status cs_preconditioner_by_parts(cs_preconditioner *p, cs_error *error)
{
    cs_phase *phase = cs_arena_take(&p->arena, 1, sizeof *phase);
    cs_status status = cs_arena_status(&p->arena, error, "a phase");
    if (status) return status;
    *phase = (cs_phase){.tasks = p->system->parts};
    p->phase = phase;
    p->phases = 1;
    return CS_OK;
}

cs_status cs_preconditioner_indefinite(const cs_preconditioner *p, int64_t vertex, cs_error *error)
{
    return cs_fail(error, CS_INDEFINITE,
                   "A is not positive definite: the preconditioner %s fails at vertex %lld",
                   p->kind->name, (long long)p->system->old[vertex]);
}

void cs_preconditioner_tell(cs_preconditioner *p, const char *name, double value)
{
    int n = 0;
    while (n < p->tells && strcmp(p->told[n].name, name) != 0) n++;
    if (n == CS_MOST_TOLD) return;
    p->told[n] = (cs_told){name, value};
    if (n == p->tells) p->tells++;
}

static void run_task(void *context, int64_t phase, int64_t task)
{
    const cs_preconditioner *p = context;
    p->kind->run(p, phase, task);
}

void cs_preconditioner_apply(const cs_preconditioner *p, const void *x, void *y, int threads)
{
    cs_preconditioner copy = *p; /* phases take their context as it is */
    const cs_phases phases = {p->phases, p->phase, run_task, &copy};
    cs_block_system_take(p->system, p->system->single, x, p->r, threads);
    cs_phases_run(&phases, threads);
    cs_block_system_give(p->system, p->system->single, p->z, y, threads);
}

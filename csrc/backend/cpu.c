/* The functions of the CPU's backend. Most of them only pass the call on to the scheme (scheme/scheme.h) or to the
 * sweep (sweep/sweep.h), both of which work on cs_packed. */
#include "backend/cpu.h"

#include "backend/cpu_internal.h"
#include "backend/cpu_parts.h"
#include "backend/scales.h"
#include "core/error.h"
#include "core/loop.h"
#include "distributed/ranks.h"
#include "sweep/networks.h"
#include "sweep/sweep.h"

#include <string.h>

static cs_status no_memory(cs_error *error) { return cs_no_memory(error, "the workspace"); }

/* to <- from, both impulses as they are packed. */
static void copy_impulses(const cs_cpu *cpu, void *to, const void *from)
{
    const cs_packed *packed = &cpu->packed;
    cs_loop_copy(cs_packed_threads(packed), to, from, packed->impulses,
                 cs_real_size(packed->dtype));
}

/* ---- packing --------------------------------------------------------------------------------- */

/* The functions from here on are those of the table cs_backend_cpu; backend/backend.h describes them. */
static cs_status choose(const cs_pack_request *request, const cs_scheme **scheme, cs_error *error)
{
    cs_packed packed = {0};
    cs_describe_request(&packed, request);
    return cs_scheme_choose(&packed, request->local, scheme, error);
}

static cs_status pack(const cs_pack_request *request, cs_arena *arena, const cs_control *control,
                      cs_packing *packing, cs_error *error)
{
    /* The data that every scheme needs. */
    const cs_scheme *scheme = request->scheme;
    cs_cpu *cpu = packing->state = cs_arena_take(arena, 1, sizeof *cpu);
    if (!cpu) return no_memory(error);
    cs_packed *packed = &cpu->packed;
    cs_describe_request(packed, request);
    cs_status status =
        cs_pack_common(packed, request->local, request->weight != NULL, arena, error);
    if (status) return status;
    cs_watch_packing(packed);
    cpu->best =
        cs_loop_take(packed->setup_threads, arena, packed->impulses, cs_real_size(packed->dtype));
    if (!cpu->best) return no_memory(error);
    status = cs_cpu_take_sums(cpu, arena, error);
    if (status) return status;
    if (request->weight) cs_pack_weights(packed, request->weight);

    /* The scheme's own data, and the phases of its sweeps. */
    status = scheme->pack(packed, arena, control, error);
    if (!status) status = cs_pack_phases(packed, arena, error);
    if (!status) status = cs_pack_scales(packed, request, &cpu->measures, arena, error);
    packing->keeps_velocities = packed->velocity != NULL;
    packing->matrix_blocks = packed->matrix_blocks;
    return status;
}

static int refill(void *state, const cs_pack_request *request, int roots)
{
    cs_cpu *cpu = state;
    cs_packed *packed = &cpu->packed;
    packed->setup_threads = request->setup_threads;
    return packed->scheme->refill && packed->scheme->refill(packed, roots) &&
           cs_refill_scales(packed, request, cpu->measures);
}

cs_packed *cs_cpu_packed(const cs_packing *packing) { return &((cs_cpu *)packing->state)->packed; }

static int64_t describe(const void *state, char *kernel, size_t size)
{
    cs_packed_kernel(&((const cs_cpu *)state)->packed, kernel, size);
    return 0;
}

/* ---- in and out ------------------------------------------------------------------------------ */

static void put(void *state, const double *impulses)
{
    cs_packed *packed = &cs_cpu_settled(state)->packed;
    if (impulses) cs_put_impulses(packed, impulses);
    else cs_zero_impulses(packed);
}

static void get(const void *state, double *impulses)
{
    cs_get_impulses(&cs_cpu_settled(state)->packed, impulses);
}

static void put_data(void *state, const double *b, const double *parameters)
{
    cs_pack_data(&((cs_cpu *)state)->packed, b, parameters);
}

static void correct_b(void *state, const double *b)
{
    cs_pack_data(&((cs_cpu *)state)->packed, b, NULL);
}

static void get_data(const void *state, double *b)
{
    cs_get_data(&((const cs_cpu *)state)->packed, b);
}

static void put_steps(void *state, const double *r, double *const *step)
{
    cs_pack_steps(&((cs_cpu *)state)->packed, r, step);
}

static void scale_steps(void *state, double factor)
{
    cs_scale_steps(&((cs_cpu *)state)->packed, factor);
}

static void replace_steps(void *state, const double *r, const unsigned char *changed)
{
    cs_replace_steps(&((cs_cpu *)state)->packed, r, changed);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

static void refresh(void *state)
{
    cs_packed *packed = &cs_cpu_settled(state)->packed;
    packed->scheme->refresh[packed->dtype](packed);
    cs_ranks_exchange(packed->ranks, CS_ALL_GHOSTS, packed->velocity, packed->body_place);
}

static void subtract_products(void *state)
{
    cs_packed *packed = &cs_cpu_settled(state)->packed;
    packed->scheme->subtract_products(packed);
}

/* What `judge` decides, which all ranks of a network have after a run. */
typedef struct decisions {
    int64_t made;
    int alarm;
    cs_sweep_stats stats;
    cs_best_sweep best;
} decisions;
_Static_assert(sizeof(decisions) <= CS_NETWORK_STATE_BYTES, "what a run of a network tells");

/* A call whose sweeps a network makes. */
typedef struct network_sweeps {
    cs_cpu *cpu;
    cs_sweep_call *call;
    decisions decided;
} network_sweeps;

/* What `sweep` does after each sweep. */
static int judge(void *context, const cs_sweep_stats *stats, void **keep)
{
    network_sweeps *s = context;
    cs_sweep_call *call = s->call;
    call->stats = *stats;
    int alarm = cs_sweep_count(call);
    if (!alarm && call->best && call->best->best_is_current && call->made < call->most)
        *keep = s->cpu->best;
    s->decided = (decisions){.made = call->made, .alarm = call->alarm, .stats = call->stats};
    if (call->best) s->decided.best = *call->best;
    return alarm;
}

/* The decisions of the run's accumulator, on whatever rank it is. */
static void take_decisions(const network_sweeps *s)
{
    cs_sweep_call *call = s->call;
    call->made = s->decided.made;
    call->alarm = s->decided.alarm;
    call->stats = s->decided.stats;
    if (call->best) *call->best = s->decided.best;
}

/* Networks make no backward sweeps. */
static cs_status sweep_by_network(cs_cpu *cpu, cs_sweep_call *call, cs_error *error)
{
    network_sweeps s = {.cpu = cpu, .call = call};
    cs_network_call sweeps = {
        .most = call->most,
        .judge = judge,
        .context = &s,
        .best = cpu->best,
        .state = &s.decided,
        .state_bytes = sizeof s.decided,
    };
    int64_t before = cpu->packed.products;
    if (call->best && call->best->best_is_current) {
        sweeps.keep = cpu->best;
        call->best->best_backwards = 0;
    }
    call->made = 0;
    cs_status status = cs_sweep_network_run(cpu->network, &sweeps, error);
    if (!status) take_decisions(&s);
    call->products = cpu->packed.products - before;
    return status;
}

static cs_status sweep(void *state, cs_sweep_call *call, cs_error *error)
{
    cs_cpu *cpu = state;
    cs_packed *packed = &cpu->packed;
    cs_best_sweep *best = call->best;
    int64_t before = packed->products;
    call->alarm = packed->at_zero = 0;
    if (cpu->network) return sweep_by_network(cpu, call, error);
    for (call->made = 0; call->made < call->most && !call->alarm;) {
        /* If lambda is the best iterate, the sweep copies it before changing it. */
        if (best && best->best_is_current) {
            packed->kept = cpu->best;
            best->best_backwards = call->backwards;
        }

        /* Sweep. */
        packed->backwards = call->backwards;
        cs_sweep(packed, &call->stats);
        call->backwards = call->alternates && !call->backwards;
        cs_sweep_count(call);
    }
    call->products = packed->products - before;
    return cs_ranks_status(packed->ranks, error);
}

static cs_status connect(void *state, const cs_network_request *request, cs_arena *arena,
                         cs_error *error)
{
    cs_cpu *cpu = state;
    return cs_sweep_network_make(&cpu->network, &cpu->packed, request->name, request->workers,
                                 request->setting, request->settings, request->ranks, arena, error);
}

static const cs_network_counts *connected(const void *state)
{
    const cs_cpu *cpu = state;
    return cpu->network ? cs_sweep_network_counts(cpu->network) : NULL;
}

static void keep(void *state)
{
    cs_cpu *cpu = cs_cpu_settled(state);
    copy_impulses(cpu, cpu->best, cpu->packed.lambda);
}

static void restore(void *state)
{
    cs_cpu *cpu = cs_cpu_settled(state);
    copy_impulses(cpu, cpu->packed.lambda, cpu->best);
    cpu->packed.at_zero = 0;
}

const cs_backend cs_backend_cpu = {
    .name = "cpu",
    .choose = choose,
    .pack = pack,
    .refill = refill,
    .describe = describe,
    .put = put,
    .get = get,
    .put_data = put_data,
    .correct_b = correct_b,
    .get_data = get_data,
    .put_steps = put_steps,
    .scale_steps = scale_steps,
    .replace_steps = replace_steps,
    .refresh = refresh,
    .subtract_products = subtract_products,
    .sweep = sweep,
    .connect = connect,
    .connected = connected,
    .solve_parts = cs_cpu_solve_parts,
    .measure = cs_cpu_measure,
    .keep = keep,
    .restore = restore,
    .take_point = cs_cpu_take_point,
    .here = cs_cpu_here,
    .copy = cs_cpu_copy,
    .combine = cs_cpu_combine,
    .extrapolate = cs_cpu_extrapolate,
    .conjugate = cs_cpu_conjugate,
    .dot = cs_cpu_dot,
    .distance = cs_cpu_distance,
    .put_point = cs_cpu_put_point,
    .get_point = cs_cpu_get_point,
    .kept = cs_cpu_kept,
};

/* ---- methods without sweeps ------------------------------------------------------------------ */

/* Fills only those members of cs_packed that the functions of points, `keep` and `restore` read. */
cs_status cs_cpu_hold(cs_packing *packing, double *impulses, int64_t rows, cs_arena *arena,
                      cs_error *error)
{
    cs_cpu *cpu = packing->state = cs_arena_take(arena, 1, sizeof *cpu);
    if (!cpu) return no_memory(error);
    cpu->best = cs_arena_take(arena, rows, sizeof(double));
    if (!cpu->best) return no_memory(error);
    static const cs_problem empty;
    cs_packed *packed = &cpu->packed;
    packed->problem = &empty;
    packed->scheme = cs_scheme_find("matrix");
    packed->dtype = CS_F64;
    packed->threads = 1;
    packed->impulses = rows;
    packed->lambda = impulses;
    return cs_cpu_take_sums(cpu, arena, error);
}

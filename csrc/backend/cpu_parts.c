/* Threads of the processor take parts as they come; each part is solved by one thread. Its arrays are small, and stay in
 * the cache until it ends. */
#include "backend/cpu_parts.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/denormals.h"
#include "core/parallel.h"
#include "core/share.h"

#include <math.h>
#include <stdatomic.h>

/* Sweeps of a part between two looks at the clock; the least time between two calls of `poll`; parts of a chunk. */
enum { SWEEPS_AT_ONCE = 64, MOST_OF_A_CHUNK = 64 };
#define POLL_SECONDS 0.005

#define CS_TEMPLATE "backend/cpu_parts.inc"
#include "core/each_precision.h"

/* Asks the caller, on the calling thread, whether to go on. */
static void ask(cs_parts_on_cpu *all)
{
    double now = cs_clock();
    if (!all->call->poll || now - all->last_poll < POLL_SECONDS) return;
    all->last_poll = now;
    cs_float_mode mode = cs_keep_denormals();
    int answer = all->call->poll(all->call->context, (int64_t)atomic_load(&all->ended));
    cs_restore_denormals(mode);
    if (answer) atomic_store(&all->halt, 1);
}

static void wait_for_others(void *context) { ask(context); }

/* Solves one part, as long as nobody ends the call. */
static void solve(cs_parts_on_cpu *all, int64_t p, int thread)
{
    const cs_part_state *state = &all->call->state[p];
    if (state->end != CS_PART_OPEN) return;
    while (state->end == CS_PART_OPEN && !atomic_load_explicit(&all->halt, memory_order_relaxed)) {
        if (all->packed->dtype == CS_F32) run_part_f32(all, p, SWEEPS_AT_ONCE);
        else run_part_f64(all, p, SWEEPS_AT_ONCE);
        if (thread == 0) ask(all);
    }
    atomic_fetch_add_explicit(&all->ended, 1, memory_order_relaxed);
}

static void solve_chunk(void *context, int64_t chunk, int thread)
{
    cs_parts_on_cpu *all = context;
    int64_t parts = all->packed->schedule->parts;
    cs_float_mode mode = cs_flush_denormals();
    for (int64_t p = parts * chunk / all->chunks; p < parts * (chunk + 1) / all->chunks; p++)
        solve(all, p, thread);
    cs_restore_denormals(mode);
}

cs_status cs_cpu_solve_parts(void *state, cs_parts_call *call, cs_error *error)
{
    /* Chunks of parts, one after another. */
    cs_cpu *cpu = state;
    cs_arena scratch = {0};
    int64_t parts = cpu->packed.schedule->parts;
    cs_parts_on_cpu all = {
        .packed = &cpu->packed,
        .best = cpu->best,
        .call = call,
        .chunks = (parts + MOST_OF_A_CHUNK - 1) / MOST_OF_A_CHUNK,
    };
    if (call->threads > 1 && all.chunks < 8 * call->threads)
        all.chunks = parts < 8 * call->threads ? parts : 8 * call->threads;
    int64_t *order = cs_arena_take_unset(&scratch, all.chunks, sizeof *order);
    if (!order) return cs_no_memory(error, "the workspace");
    for (int64_t i = 0; i < all.chunks; i++) order[i] = i;

    /* Share them out. */
    cs_tasks tasks = {all.chunks, order, solve_chunk, wait_for_others, &all};
    cpu->packed.backwards = cpu->packed.at_zero = 0;
    double begun = cs_clock();
    cs_share_out(&tasks, call->threads);
    call->seconds += cs_clock() - begun;
    cs_arena_clear(&scratch);
    call->halted = atomic_load(&all.halt);
    call->used = "processor";
    return CS_OK;
}

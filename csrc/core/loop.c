#include "core/loop.h"

#include "core/phases.h"

#include <string.h>

int64_t cs_loop_pieces(int64_t count)
{
    int64_t pieces = count / CS_LOOP_LEAST;
    if (pieces > CS_LOOP_PIECES) return CS_LOOP_PIECES;
    return pieces > 0 ? pieces : 1;
}

typedef struct loop {
    int64_t count, pieces;
    cs_loop_work work;
    void *context;
} loop;

static void run_piece(void *context, int64_t phase, int64_t piece)
{
    const loop *all = context;
    (void)phase;
    int64_t begin = all->count * piece / all->pieces, end = all->count * (piece + 1) / all->pieces;
    all->work(all->context, piece, begin, end);
}

void cs_loop(int threads, int64_t count, cs_loop_work work, void *context)
{
    loop all = {count, cs_loop_pieces(count), work, context};
    if (all.pieces == 1) {
        work(context, 0, 0, count);
        return;
    }
    cs_phase pieces = {.tasks = all.pieces};
    cs_phases phases = {1, &pieces, run_piece, &all};
    cs_phases_run(&phases, threads < all.pieces ? threads : (int)all.pieces);
}

/* ---- copies ------------------------------------------------------------------------------------- */

typedef struct copy {
    char *to;
    const char *from; /* NULL: zeros */
    size_t size;
} copy;

static void copy_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const copy *c = context;
    size_t first = c->size * (size_t)begin, bytes = c->size * (size_t)(end - begin);
    (void)piece;
    if (!bytes) return;
    if (c->from) memcpy(c->to + first, c->from + first, bytes);
    else memset(c->to + first, 0, bytes);
}

void cs_loop_copy(int threads, void *to, const void *from, int64_t count, size_t size)
{
    if (to != from) cs_loop(threads, count, copy_piece, &(copy){to, from, size});
}

void *cs_loop_take(int threads, cs_arena *arena, int64_t count, size_t size)
{
    void *memory = cs_arena_take_unset(arena, count, size);
    if (memory) cs_loop_copy(threads, memory, NULL, count, size);
    return memory;
}

#include "sparse/scaled_blocks.h"

#include "core/loop.h"
#include "core/share.h"

#include <math.h>
#include <stdatomic.h>

void cs_scaled_blocks_take(cs_scaled_blocks *a, const cs_block_system *system, int couples,
                           cs_arena *arena)
{
    size_t number = system->single ? sizeof(float) : sizeof(double);
    int64_t upper = CS_BLOCK_SIZE * (system->local.blocks - system->vertices) + CS_BLOCK_STRIDE;
    int64_t beside = CS_BLOCK_SIZE * system->outer.blocks + CS_BLOCK_STRIDE;
    *a = (cs_scaled_blocks){.system = system, .omega = 1};
    a->upper = cs_arena_take(arena, upper, number);
    if (couples) a->beside = cs_arena_take(arena, beside, number);
    a->factor = cs_arena_take(arena, CS_BLOCK_SIZE * system->vertices, number);
}

int64_t cs_scaled_blocks_bytes(const cs_scaled_blocks *a)
{
    const cs_block_system *s = a->system;
    int64_t number = s->single ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    int64_t upper = s->local.blocks - s->vertices;
    return 2 * upper * (CS_BLOCK_SIZE * number + (int64_t)sizeof(int32_t)) +
           2 * CS_BLOCK_SIZE * s->vertices * number;
}

double cs_scaled_blocks_work(const cs_scaled_blocks *a)
{
    return (double)(2 * CS_BLOCK_SIZE * a->system->local.blocks);
}

int cs_block_invert_factor(const double *d, double omega, double *inverse)
{
    double c[CS_BLOCK_SIZE] = {0};
    for (int j = 0; j < CS_BLOCK_ROWS; j++)
        for (int i = j; i < CS_BLOCK_ROWS; i++) {
            double sum = d[CS_BLOCK_ROWS * i + j] / omega;
            for (int k = 0; k < j; k++) sum -= c[CS_BLOCK_ROWS * i + k] * c[CS_BLOCK_ROWS * j + k];
            if (i == j && !(sum > 0 && isfinite(sum))) return -1;
            c[CS_BLOCK_ROWS * i + j] = i == j ? sqrt(sum) : sum / c[CS_BLOCK_ROWS * j + j];
        }
    for (int j = 0; j < CS_BLOCK_ROWS; j++)
        for (int i = 0; i < CS_BLOCK_ROWS; i++) {
            double sum = i == j;
            for (int k = j; k < i; k++)
                sum -= c[CS_BLOCK_ROWS * i + k] * inverse[CS_BLOCK_ROWS * k + j];
            inverse[CS_BLOCK_ROWS * i + j] = i < j ? 0 : sum / c[CS_BLOCK_ROWS * i + i];
        }
    return 0;
}

void cs_note_least(_Atomic(long long) *least, long long i)
{
    long long seen = atomic_load(least);
    while (i < seen && !atomic_compare_exchange_weak(least, &seen, i)) continue;
}

/* What threads share. */
typedef struct scaling {
    const cs_scaled_blocks *a;
    _Atomic(long long)
        indefinite; /* the first vertex whose diagonal block is, in the new numbers */
} scaling;

static void factor_vertices(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    scaling *c = context;
    const cs_block_system *s = c->a->system;
    for (int64_t i = begin; i < end; i++) {
        double block[CS_BLOCK_SIZE], inverse[CS_BLOCK_SIZE] = {0};
        cs_block_system_get(s, &s->local, s->local.start[i], block);
        if (cs_block_invert_factor(block, c->a->omega, inverse) < 0)
            cs_note_least(&c->indefinite, i);
        cs_block_store(c->a->factor, s->single, i, inverse);
    }
}

/* The rows of one part. */
static void scale_part(void *context, int64_t part, int thread)
{
    (void)thread;
    const scaling *c = context;
    const cs_scaled_blocks *a = c->a;
    const cs_block_system *s = a->system;
    const int64_t *neighbour = s->outer_vertex + s->outer_first[part];
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++) {
        double own[CS_BLOCK_SIZE], other[CS_BLOCK_SIZE], block[CS_BLOCK_SIZE], to[CS_BLOCK_SIZE];
        cs_block_load(a->factor, s->single, i, own);
        for (int64_t e = s->local.start[i] + 1; e < s->local.start[i + 1]; e++) {
            cs_block_load(s->local.value, s->single, e, block);
            cs_block_load(a->factor, s->single, s->local.column[e], other);
            cs_block_scale(own, block, other, to);
            cs_block_store(a->upper, s->single, e - i - 1, to);
        }
        for (int64_t e = s->outer.start[i]; e < s->outer.start[i + 1]; e++) {
            cs_block_load(s->outer.value, s->single, e, block);
            cs_block_load(a->factor, s->single, neighbour[s->outer.column[e]], other);
            cs_block_scale(own, block, other, to);
            cs_block_store(a->beside, s->single, e, to);
        }
    }
}

static void wait_for_others(void *context) { (void)context; }

int64_t cs_scaled_blocks_factor(const cs_scaled_blocks *a, int threads)
{
    int64_t vertices = a->system->vertices;
    scaling c = {.a = a};
    atomic_init(&c.indefinite, vertices);
    cs_loop(threads, vertices, factor_vertices, &c);
    long long indefinite = atomic_load(&c.indefinite);
    return indefinite < vertices ? indefinite : -1;
}

void cs_scaled_blocks_scale(const cs_scaled_blocks *a, int threads)
{
    scaling c = {.a = a};
    const cs_tasks tasks = {a->system->parts, a->system->task, scale_part, wait_for_others, &c};
    cs_share_out(&tasks, threads);
}

#include "sparse/scaled_blocks.h"

#include "core/loop.h"

#include <math.h>
#include <stdatomic.h>

void cs_scaled_blocks_take(cs_scaled_blocks *a, const cs_block_system *system, int couples,
                           cs_arena *arena)
{
    size_t number = cs_number_size(system->single);
    int64_t upper = CS_BLOCK_SIZE * (system->local.blocks - system->vertices) + CS_BLOCK_STRIDE;
    int64_t beside = CS_BLOCK_SIZE * system->outer.blocks + CS_BLOCK_STRIDE;
    *a = (cs_scaled_blocks){.system = system, .omega = 1, .values = system};
    a->upper = cs_arena_take(arena, upper, number);
    if (couples) a->beside = cs_arena_take(arena, beside, number);
    a->factor = cs_arena_take(arena, CS_BLOCK_SIZE * system->vertices, number);
}

void cs_scaled_blocks_keep_sums(cs_scaled_blocks *a, const cs_block_system *exact, cs_arena *arena)
{
    int64_t numbers = CS_BLOCK_SIZE * a->system->vertices;
    a->values = exact;
    a->rest = cs_arena_take(arena, numbers, sizeof *a->rest);
    a->lost = cs_arena_take(arena, numbers, sizeof *a->lost);
    a->whole = cs_arena_take(arena, numbers, sizeof *a->whole);
}

int64_t cs_scaled_blocks_bytes(const cs_scaled_blocks *a)
{
    const cs_block_system *s = a->system;
    int64_t number = (int64_t)cs_number_size(s->single);
    int64_t upper = s->local.blocks - s->vertices;
    return 2 * upper * (CS_BLOCK_SIZE * number + (int64_t)sizeof(int32_t)) +
           2 * CS_BLOCK_SIZE * s->vertices * number;
}

int64_t cs_scaled_blocks_pass_bytes(const cs_scaled_blocks *a)
{
    const cs_block_system *s = a->system;
    int64_t number = (int64_t)cs_number_size(s->single);
    int64_t blocks = 2 * (s->local.blocks - s->vertices) + s->outer.blocks;
    int64_t rest = a->rest ? CS_BLOCK_SIZE * (int64_t)sizeof *a->rest : 0;
    return blocks * (CS_BLOCK_SIZE * number + (int64_t)sizeof(int32_t)) +
           s->vertices * (rest + 3 * (int64_t)sizeof(int64_t));
}

double cs_scaled_blocks_work(const cs_scaled_blocks *a)
{
    return (double)(2 * CS_BLOCK_SIZE * a->system->local.blocks);
}

/* inverse (9) <- c^-1, both lower triangular. */
static void invert_triangle(const double *c, double *inverse)
{
    for (int j = 0; j < CS_BLOCK_ROWS; j++)
        for (int i = 0; i < CS_BLOCK_ROWS; i++) {
            double sum = i == j;
            for (int k = j; k < i; k++)
                sum -= c[CS_BLOCK_ROWS * i + k] * inverse[CS_BLOCK_ROWS * k + j];
            inverse[CS_BLOCK_ROWS * i + j] = i < j ? 0 : sum / c[CS_BLOCK_ROWS * i + i];
        }
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
    invert_triangle(c, inverse);
    return 0;
}

/* to <- half right^T; right is lower triangular. */
static void multiply_turned(const double *half, const double *right, double *to)
{
    for (int i = 0; i < CS_BLOCK_ROWS; i++)
        for (int j = 0; j < CS_BLOCK_ROWS; j++) {
            to[CS_BLOCK_ROWS * i + j] = 0;
            for (int k = 0; k <= j; k++)
                to[CS_BLOCK_ROWS * i + j] +=
                    half[CS_BLOCK_ROWS * i + k] * right[CS_BLOCK_ROWS * j + k];
        }
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
        cs_block_system_get(c->a->values, &c->a->values->local, s->local.start[i], block);
        if (cs_block_invert_factor(block, c->a->omega, inverse) < 0)
            cs_note_least(&c->indefinite, i);
        cs_block_store(c->a->factor, s->single, i, inverse);
        if (!c->a->rest) continue;
        cs_block_load(c->a->factor, s->single, i, inverse);
        invert_triangle(inverse, c->a->whole + CS_BLOCK_SIZE * i);
    }
}

/* sum += left C^T, or the transpose of left times C^T; C is lower triangular. */
static void add_times_factor(double *sum, const double *left, int turned, const double *factor)
{
    for (int i = 0; i < CS_BLOCK_ROWS; i++)
        for (int j = 0; j < CS_BLOCK_ROWS; j++)
            for (int k = 0; k <= j; k++) {
                int at = turned ? CS_BLOCK_ROWS * k + i : CS_BLOCK_ROWS * i + k;
                sum[CS_BLOCK_ROWS * i + j] += left[at] * factor[CS_BLOCK_ROWS * j + k];
            }
}

/* Number `at` of `stored` <- C_i^-1 A_ij C_j^-T, where block e of `rows` is A_ij; lost <- what rounding takes from it. */
static void scale_and_store(const cs_scaled_blocks *a, const cs_block_rows *rows, int64_t e,
                            const double *own, int64_t j, void *stored, int64_t at, double *lost)
{
    double block[CS_BLOCK_SIZE], other[CS_BLOCK_SIZE];
    int single = a->system->single;
    cs_block_load(rows->value, a->values->single, e, block);
    cs_block_load(a->factor, single, j, other);
    cs_block_scale(own, block, other, lost);
    cs_block_store(stored, single, at, lost);
    if (!a->rest) return;
    for (int n = 0; n < CS_BLOCK_SIZE; n++) lost[n] -= single ? (double)(float)lost[n] : lost[n];
}

/* The rows of one part. What rounding takes from a block goes to the diagonal block of its row, so that translations of all
 * vertices are multiplied as before: they and their like decide how well A is conditioned. */
static void scale_part(void *context, int64_t part, int thread)
{
    (void)thread;
    const scaling *c = context;
    const cs_scaled_blocks *a = c->a;
    const cs_block_system *s = a->system;
    const int64_t *neighbour = s->outer_vertex + s->outer_first[part];
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++) {
        double own[CS_BLOCK_SIZE], lost[CS_BLOCK_SIZE];
        double *sum = a->rest ? a->lost + CS_BLOCK_SIZE * i : NULL;
        cs_block_load(a->factor, s->single, i, own);
        for (int64_t e = s->local.start[i] + 1; e < s->local.start[i + 1]; e++) {
            int64_t j = s->local.column[e];
            scale_and_store(a, &a->values->local, e, own, j, a->upper, e - i - 1, lost);
            if (!sum) continue;
            add_times_factor(sum, lost, 0, a->whole + CS_BLOCK_SIZE * j);
            add_times_factor(a->lost + CS_BLOCK_SIZE * j, lost, 1, a->whole + CS_BLOCK_SIZE * i);
        }
        for (int64_t e = s->outer.start[i]; e < s->outer.start[i + 1]; e++) {
            int64_t j = neighbour[s->outer.column[e]];
            scale_and_store(a, &a->values->outer, e, own, j, a->beside, e, lost);
            if (sum) add_times_factor(sum, lost, 0, a->whole + CS_BLOCK_SIZE * j);
        }
    }
}

/* The rest of some vertices: D scaled with the factor as it is stored, without omega I; and what their rows have lost. */
static void round_rest(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const scaling *c = context;
    const cs_scaled_blocks *a = c->a;
    for (int64_t i = begin; i < end; i++) {
        double own[CS_BLOCK_SIZE], block[CS_BLOCK_SIZE], to[CS_BLOCK_SIZE], rest[CS_BLOCK_SIZE];
        cs_block_load(a->factor, a->system->single, i, own);
        multiply_turned(a->lost + CS_BLOCK_SIZE * i, own, rest);
        cs_block_system_get(a->values, &a->values->local, a->values->local.start[i], block);
        cs_block_scale(own, block, own, to);
        for (int row = 0; row < CS_BLOCK_ROWS; row++)
            for (int k = 0; k < CS_BLOCK_ROWS; k++) {
                int at = CS_BLOCK_ROWS * row + k, turned = CS_BLOCK_ROWS * k + row;
                double sum = 0.5 * (to[at] + to[turned] + (rest[at] + rest[turned]));
                a->rest[CS_BLOCK_SIZE * i + at] = (float)(sum - (row == k ? a->omega : 0));
            }
    }
}

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
    int64_t numbers = CS_BLOCK_SIZE * a->system->vertices;
    if (a->rest) cs_loop_copy(threads, a->lost, NULL, numbers, sizeof *a->lost);
    cs_block_system_share(a->system, threads, scale_part, &c);
    if (a->rest) cs_loop(threads, a->system->vertices, round_rest, &c);
}

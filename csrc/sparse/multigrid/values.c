/* The values of a prolongator, and those of the next level's matrix. */
#include "core/error.h"
#include "sparse/multigrid/grid.h"

#include <math.h>

/* P damps by this over the largest eigenvalue of D^-1 A.  Vanek, Mandel and Brezina 1996 */
#define DAMPING (4.0 / 3)

/* Steps of the power iteration that estimates that eigenvalue, from below. */
enum { POWER_STEPS = 4 };

/* What threads share. */
typedef struct computing {
    cs_grid *grid, *next;
    const cs_grid_kernels *kernels;
    const double *weight;
    double damping;
    cs_grid_scratch *scratch; /* of each thread */
    double *energy, *norm;    /* (parts): v.Av, v.Dv */
    double scale;
} computing;

/* ---- the largest eigenvalue of D^-1 A -------------------------------------------------------------------- */

/* Numbers without a pattern, from -1 to 1. */
static void start_part(void *context, int64_t part, int thread)
{
    (void)thread;
    computing *c = context;
    const cs_block_system *s = c->grid->system;
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++)
        for (int k = 0; k < CS_BLOCK_STRIDE; k++) {
            uint64_t hash = (uint64_t)(CS_BLOCK_STRIDE * i + k + 1) * 0x9e3779b97f4a7c15u;
            hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9u;
            double number = (double)(int64_t)(hash >> 11) / (double)(1ll << 52) - 1;
            cs_number_put(c->grid->x, s->single, CS_BLOCK_STRIDE * i + k,
                          k < CS_BLOCK_ROWS ? number : 0);
        }
}

/* w <- A x;  energy <- x.w */
static void multiply_part(void *context, int64_t part, int thread)
{
    (void)thread;
    computing *c = context;
    const cs_block_system *s = c->grid->system;
    const cs_block_kernels *kernels = cs_block_kernels_here();
    int64_t begin = CS_BLOCK_STRIDE * s->first[part], end = CS_BLOCK_STRIDE * s->first[part + 1];
    kernels->multiply[cs_block_form(s, s->single)](s, part, c->grid->x, c->grid->beside,
                                                   c->grid->w);
    c->energy[part] = kernels->dot[s->single](c->grid->x, c->grid->w, begin, end);
}

/* x <- scale D^-1 w;  norm <- x.Dx of the new x. D^-1 is C^-T C^-1 up to the weight. */
static void divide_part(void *context, int64_t part, int thread)
{
    (void)thread;
    computing *c = context;
    const cs_block_system *s = c->grid->system;
    double norm = 0;
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++) {
        double f[CS_BLOCK_SIZE], y[CS_BLOCK_ROWS] = {0}, z[CS_BLOCK_ROWS] = {0};
        cs_block_load(c->grid->scaled.factor, s->single, i, f);
        for (int row = 0; row < CS_BLOCK_ROWS; row++)
            for (int k = 0; k <= row; k++)
                y[row] += f[CS_BLOCK_ROWS * row + k] *
                          cs_number_at(c->grid->w, s->single, CS_BLOCK_STRIDE * i + k);
        for (int row = 0; row < CS_BLOCK_ROWS; row++) {
            norm += c->weight[i] * y[row] * y[row];
            for (int k = 0; k <= row; k++) z[k] += f[CS_BLOCK_ROWS * row + k] * y[row];
        }
        for (int k = 0; k < CS_BLOCK_ROWS; k++)
            cs_number_put(c->grid->x, s->single, CS_BLOCK_STRIDE * i + k,
                          c->scale * c->weight[i] * z[k]);
    }
    c->norm[part] = c->scale * c->scale * norm;
}

static double total(const double *sum, int64_t parts)
{
    double all = 0;
    for (int64_t p = 0; p < parts; p++) all += sum[p];
    return all;
}

/* By power iteration, from below: Rayleigh's quotient x.Ax / x.Dx. */
static double largest_eigenvalue(computing *c, int threads)
{
    const cs_block_system *s = c->grid->system;
    double quotient = 1;
    c->scale = 1;
    cs_block_system_share(s, threads, start_part, c);
    for (int step = 0; step <= POWER_STEPS; step++) {
        cs_block_system_share(s, threads, multiply_part, c);
        if (step) quotient = total(c->energy, s->parts) / total(c->norm, s->parts);
        if (!isfinite(quotient) || quotient <= 0) return 1;
        cs_block_system_share(s, threads, divide_part, c);
        c->scale = 1 / quotient;
    }
    return quotient;
}

/* ---- products ---------------------------------------------------------------------------------------------- */

static void smooth_part(void *context, int64_t part, int thread)
{
    computing *c = context;
    c->kernels->smooth[c->grid->system->single](c->grid, part, c->damping, c->weight,
                                                c->scratch + thread);
}

static void scale_part(void *context, int64_t part, int thread)
{
    (void)thread;
    computing *c = context;
    c->kernels->scale[c->grid->system->single](c->grid, part);
}

/* Block (s, t) of a pair, from its columns of four numbers. */
static void put_block(const computing *c, int is_outer, int64_t block, const double *pair,
                      int64_t s, int64_t t)
{
    int64_t width = c->grid->width;
    const cs_grid *next = c->next;
    void *value = is_outer ? next->own.outer.value : next->own.local.value;
    void *exact = is_outer ? next->exact.outer.value : next->exact.local.value;
    for (int64_t m = 0; m < CS_BLOCK_ROWS; m++)
        for (int64_t k = 0; k < CS_BLOCK_ROWS; k++) {
            int64_t at = CS_BLOCK_SIZE * block + CS_BLOCK_ROWS * m + k;
            double number = pair[CS_BLOCK_STRIDE * (width * (CS_BLOCK_ROWS * s + k) + t) + m];
            cs_number_put(value, next->own.single, at, number);
            if (exact) ((double *)exact)[at] = number;
        }
}

/* A mode that the aggregate does not have is an unknown of its own, which remains zero. */
static void revive(const cs_grid *grid, int64_t a, double *pair)
{
    for (int64_t c = 0; c < CS_BLOCK_ROWS * grid->width; c++)
        if (grid->dead[a] & (1u << c))
            pair[CS_BLOCK_STRIDE * (grid->width * c + c / CS_BLOCK_ROWS) + c % CS_BLOCK_ROWS] = 1;
}

/* The rows of an aggregate's vertices, from its pairs. */
static void put_rows(const computing *c, int64_t a, int64_t part)
{
    const cs_grid *g = c->grid;
    cs_block_system *next = &c->next->own;
    int64_t width = g->width, size = CS_BLOCK_STRIDE * CS_BLOCK_ROWS * width * width;
    int64_t from = next->first[part] / width, to = next->first[part + 1] / width;
    for (int64_t s = 0; s < width; s++) {
        int64_t local = next->local.start[width * a + s], outer = next->outer.start[width * a + s];
        /* The diagonal block is stored first. */
        double *own = g->pairs + size * g->pair_start[a];
        while (g->pair_column[(own - g->pairs) / size] != a) own += size;
        if (s == 0) revive(g, a, own);
        for (int64_t t = s; t < width; t++) put_block(c, 0, local++, own, s, t);
        for (int64_t n = g->pair_start[a]; n < g->pair_start[a + 1]; n++) {
            int64_t b = g->pair_column[n];
            if (b == a) continue;
            int is_outer = b < from || b >= to;
            for (int64_t t = 0; t < width; t++)
                put_block(c, is_outer, is_outer ? outer++ : local++, g->pairs + size * n, s, t);
        }
    }
}

static void product_part(void *context, int64_t part, int thread)
{
    computing *c = context;
    const cs_block_system *next = &c->next->own;
    int64_t width = c->grid->width;
    c->kernels->multiply[next->single](c->grid, next, part, c->scratch + thread);
    for (int64_t a = next->first[part] / width; a < next->first[part + 1] / width; a++)
        put_rows(c, a, part);
}

/* ---- all of it ---------------------------------------------------------------------------------------------- */

static cs_status take_scratch(computing *c, int threads, cs_arena *arena, cs_error *error)
{
    const cs_grid *g = c->grid;
    int64_t columns = CS_BLOCK_STRIDE * CS_BLOCK_ROWS * g->width;
    c->energy = cs_arena_take(arena, g->system->parts, sizeof *c->energy);
    c->norm = cs_arena_take(arena, g->system->parts, sizeof *c->norm);
    c->scratch = cs_arena_take(arena, threads, sizeof *c->scratch);
    for (int t = 0; t < threads && c->scratch; t++) {
        cs_grid_scratch *own = c->scratch + t;
        own->place = cs_arena_take(arena, g->aggregates, sizeof *own->place);
        own->list = cs_arena_take(arena, g->widest, sizeof *own->list);
        own->sum = cs_arena_take(arena, g->widest * columns, sizeof *own->sum);
        for (int64_t a = 0; own->place && a < g->aggregates; a++) own->place[a] = -1;
    }
    return cs_arena_status(arena, error, "products of %lld aggregates", (long long)g->aggregates);
}

cs_status cs_grid_multiply(cs_grid *grid, cs_grid *next, const double *weight, int threads,
                           cs_error *error)
{
    cs_arena arena = {0};
    computing c = {.grid = grid, .next = next, .weight = weight};
    c.kernels = cs_grid_kernels_here();
    cs_status status = take_scratch(&c, threads, &arena, error);
    if (!status) {
        c.damping = DAMPING / largest_eigenvalue(&c, threads);
        cs_block_system_share(grid->system, threads, smooth_part, &c);
        cs_block_system_share(&next->own, threads, product_part, &c);
        cs_block_system_share(grid->system, threads, scale_part, &c);
    }
    cs_arena_clear(&arena);
    return status;
}

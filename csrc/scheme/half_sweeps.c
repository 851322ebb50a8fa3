/* Two schemes over rows of A that compute some of a row's products and reuse those of the sweep before. A row is
 * cut into three pieces: the columns that a forward sweep visits before the row, after it, and neither.
 *
 *     half_sweep      alternates between a full sweep and one that computes only the pieces `before` and
 *                     `neither`, and reuses the products of the piece `after`. It saves a quarter of the
 *                     products, but the iteration is delayed (S1 section 3.4.1, last paragraph)
 *     symmetric_half  alternates between forward and backward sweeps. A forward sweep reuses the products of the
 *                     piece `after`, which the backward sweep before it computed from the same impulses; a
 *                     backward sweep, those of the piece `before`. This is exactly symmetric Gauss-Seidel with
 *                     half the products
 *
 * The stored products are those of A, without R, so that R may change at any time. */
#include "core/error.h"
#include "scheme/row_kernels.h"
#include "scheme/rows.h"

#define CS_ROW_PRODUCTS CS_ROWS_IN_PIECES
#define CS_TEMPLATE "scheme/rows.inc"
#include "core/each_precision.h"

/* Counts the blocks in each of the three pieces, over all rows. */
static void count_pieces(cs_packed *packed)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        for (int64_t v = 0; v < group->count; v++) {
            packed->piece_blocks[CS_BEFORE] +=
                group->matrix.piece[v].neither - group->matrix.start[v];
            packed->piece_blocks[CS_NEITHER] +=
                group->matrix.piece[v].after - group->matrix.piece[v].neither;
            packed->piece_blocks[CS_AFTER] +=
                group->matrix.start[v + 1] - group->matrix.piece[v].after;
        }
    }
}

static cs_status pack(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error)
{
    /* Lay out the rows of A in pieces. */
    cs_arena scratch = {0};
    cs_places places;
    const cs_block_matrix *matrix = NULL;
    cs_status status = cs_rows_of(packed, &scratch, control, &matrix, error);
    if (!status) status = cs_find_places(packed, &scratch, &places, error);
    cs_layout layout = {.matrix = matrix, .places = &places, .split = 1};
    if (!status) status = cs_pack_rows(packed, &layout, arena, error);

    /* Allocate the products that a sweep stores. */
    for (int g = 0; g < packed->problem->block_groups && !status; g++) {
        cs_packed_group *group = &packed->group[g];
        group->matrix.kept =
            cs_arena_take(arena, 2 * group->count * group->rows, cs_real_size(packed->dtype));
        if (!group->matrix.kept) status = cs_no_memory(error, "the products of a sweep");
    }
    if (!status) count_pieces(packed);
    cs_arena_clear(&scratch);
    return status;
}

/* lambda was written from outside, so that the stored products are invalid. */
static void discard_products(cs_packed *packed) { packed->products_kept = 0; }

/* Chooses the pieces that this sweep computes: all of them if no products are stored; otherwise `before` in a forward
 * sweep and `after` in a backward one, beside `neither`. Returns the number of blocks in them. */
static int64_t begin_sweep(cs_packed *packed)
{
    int whole = !packed->products_kept, before = whole || !packed->backwards,
        after = whole || packed->backwards;
    packed->computes_before = before;
    packed->computes_after = after;
    packed->products_kept = 1;
    return packed->piece_blocks[CS_NEITHER] + (before ? packed->piece_blocks[CS_BEFORE] : 0) +
           (after ? packed->piece_blocks[CS_AFTER] : 0);
}

/* The same for half_sweep: every second sweep computes all pieces. */
static int64_t begin_half_sweep(cs_packed *packed)
{
    int whole = !packed->products_kept;
    int64_t products = begin_sweep(packed);
    packed->products_kept = whole;
    return products;
}

const cs_scheme cs_scheme_half_sweep = {
    .name = "half_sweep",
    .summary = "rows of A; every second sweep uses the previous products with later contacts (S1 "
               "section 3.4.1)",
    .lay_out = cs_rows_lay_out,
    .pack = pack,
    .refresh = {discard_products, discard_products},
    .begin = begin_half_sweep,
    .tasks = cs_rows_tasks,
    .run = {rows_run_f32, rows_run_f64},
};

const cs_scheme cs_scheme_symmetric_half = {
    .name = "symmetric_half",
    .summary = "rows of A, half of each row per sweep; for symmetric_gauss_seidel",
    .needs_symmetric = 1,
    .lay_out = cs_rows_lay_out,
    .pack = pack,
    .refresh = {discard_products, discard_products},
    .begin = begin_sweep,
    .tasks = cs_rows_tasks,
    .run = {rows_run_f32, rows_run_f64},
};

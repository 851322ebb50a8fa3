/* Impulses, b, the parameters of the sets and R, in and out of a packed problem. Threads share the visits of a group. */
#include "core/loop.h"
#include "scheme/scheme.h"

#define CS_TEMPLATE "scheme/transfer.inc"
#include "core/each_precision.h"

/* The numbers of one group: `width` for each visit, in the user's order and packed. */
typedef struct transfer {
    const cs_packed_group *group;
    const int64_t *visit; /* NULL: the numbers are packed in the user's order */
    cs_dtype precision;
    int width;
    double *plain;
    void *packed;
} transfer;

static void pack_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const transfer *t = context;
    int single = t->precision == CS_F32;
    (void)piece;
    if (!t->visit && single)
        pack_numbers_f32(t->plain, t->packed, begin * t->width, end * t->width);
    else if (!t->visit) pack_numbers_f64(t->plain, t->packed, begin * t->width, end * t->width);
    else if (single) pack_visits_f32(t->group, t->visit, t->width, t->plain, t->packed, begin, end);
    else pack_visits_f64(t->group, t->visit, t->width, t->plain, t->packed, begin, end);
}

static void unpack_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const transfer *t = context;
    int single = t->precision == CS_F32;
    (void)piece;
    if (!t->visit && single)
        unpack_numbers_f32(t->packed, t->plain, begin * t->width, end * t->width);
    else if (!t->visit) unpack_numbers_f64(t->packed, t->plain, begin * t->width, end * t->width);
    else if (single)
        unpack_visits_f32(t->group, t->visit, t->width, t->packed, t->plain, begin, end);
    else unpack_visits_f64(t->group, t->visit, t->width, t->packed, t->plain, begin, end);
}

/* The arrays of group g that hold `width` numbers for each visit. */
static transfer transfer_of(const cs_packed *packed, int g, int width, const double *plain,
                            void *array)
{
    return (transfer){
        .group = &packed->group[g],
        .visit = packed->schedule->visit[g],
        .precision = cs_real(packed->dtype),
        .width = width,
        .plain = (double *)(uintptr_t)plain, /* written by `unpack_piece` only */
        .packed = array,
    };
}

/* The impulses of group g, which keep the user's order without batches. */
static transfer impulses_of(const cs_packed *packed, int g, const double *lambda)
{
    const cs_block_group *group = &packed->problem->block_group[g];
    const cs_packed_group *p = &packed->group[g];
    char *own = (char *)packed->lambda + (size_t)p->first_impulse * cs_real_size(packed->dtype);
    transfer t = transfer_of(packed, g, p->rows, lambda + group->first_row, own);
    if (p->lanes == 1) t.visit = NULL;
    return t;
}

int cs_packed_threads(const cs_packed *packed)
{
    return packed->paced && !cs_pace_shares(&packed->pace) ? 1 : packed->threads;
}

/* Runs a transfer over all visits of its group. */
static void run(const cs_packed *packed, const transfer *t, cs_loop_work work)
{
    cs_loop(cs_packed_threads(packed), t->group->count, work, (void *)(uintptr_t)t);
}

void cs_put_impulses(cs_packed *packed, const double *lambda)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        transfer t = impulses_of(packed, g, lambda);
        run(packed, &t, pack_piece);
    }
    packed->at_zero = 0;
}

void cs_zero_impulses(cs_packed *packed)
{
    cs_loop_copy(cs_packed_threads(packed), packed->lambda, NULL, packed->impulses,
                 cs_real_size(packed->dtype));
    packed->at_zero = 1;
}

void cs_get_impulses(const cs_packed *packed, double *lambda)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        transfer t = impulses_of(packed, g, lambda);
        run(packed, &t, unpack_piece);
    }
}

void cs_pack_data(cs_packed *packed, const double *b, const double *parameters)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_block_group *group = &packed->problem->block_group[g];
        const cs_packed_group *p = &packed->group[g];
        if (b) {
            transfer t = transfer_of(packed, g, p->rows, b + group->first_row, p->b);
            run(packed, &t, pack_piece);
        }
        if (parameters) {
            const double *own = parameters + group->first_parameter;
            transfer t = transfer_of(packed, g, p->parameters, own, p->parameter);
            run(packed, &t, pack_piece);
        }
    }
    if (packed->scheme->data_written[packed->dtype])
        packed->scheme->data_written[packed->dtype](packed);
}

void cs_pack_steps(cs_packed *packed, const double *r, double *const *step)
{
    packed->damping = 1;
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_packed_group *p = &packed->group[g];
        void *matrices = p->step ? p->step : p->diagonal;
        transfer t[] = {
            transfer_of(packed, g, p->rows, r + packed->problem->block_group[g].first_row, p->r),
            transfer_of(packed, g, p->rows * p->rows, step[g], matrices),
        };
        for (int i = 0; i < (matrices ? 2 : 1); i++) {
            t[i].precision = cs_stored(packed->dtype);
            cs_loop(packed->setup_threads, p->count, pack_piece, &t[i]);
        }
    }
    if (packed->scheme->steps_written[packed->dtype])
        packed->scheme->steps_written[packed->dtype](packed);
}

void cs_get_data(const cs_packed *packed, double *b)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_packed_group *p = &packed->group[g];
        const cs_block_group *group = &packed->problem->block_group[g];
        transfer t = transfer_of(packed, g, p->rows, b + group->first_row, p->b);
        run(packed, &t, unpack_piece);
    }
}

void cs_pack_row_numbers(const cs_packed *packed, int g, const double *from, double *to)
{
    const cs_block_group *group = &packed->problem->block_group[g];
    transfer t = transfer_of(packed, g, group->rows, from + group->first_row, to);
    t.precision = CS_F64;
    run(packed, &t, pack_piece);
}

void cs_pack_block_numbers(const cs_packed *packed, int g, const double *from, double *to)
{
    transfer t = transfer_of(packed, g, 1, from, to);
    t.precision = CS_F64;
    run(packed, &t, pack_piece);
}

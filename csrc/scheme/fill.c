#include "scheme/fill.h"

#include "core/parallel.h"

#include <string.h>

/* Visits of a group that one thread fills. */
typedef struct filling {
    const cs_packed *packed;
    int g;
    int64_t first, end;
    int fits;
} filling;

/* The `width` numbers of the eight visits from `visit` on, number by number. */
static void put_eight(const cs_packed *packed, const cs_packed_group *group, int64_t visit,
                      const double *numbers, int64_t width)
{
    int64_t lanes = group->lanes;
    for (int l = 0; l < CS_BLOCK_LANES; l++) {
        int64_t first = cs_packed_place(group, visit + l, width, 0);
        if (cs_stored(packed->dtype) == CS_F64)
            for (int64_t i = 0; i < width; i++)
                ((double *)group->factors.scaled)[first + i * lanes] =
                    numbers[i * CS_BLOCK_LANES + l];
        else
            for (int64_t i = 0; i < width; i++)
                ((float *)group->factors.scaled)[first + i * lanes] =
                    (float)numbers[i * CS_BLOCK_LANES + l];
    }
}

/* The same where the eight visits lie side by side in one batch. */
static void put_row(const cs_packed *packed, const cs_packed_group *group, int64_t visit,
                    const double *numbers, int64_t width)
{
    int64_t first = cs_packed_place(group, visit, width, 0), lanes = group->lanes;
    if (cs_stored(packed->dtype) == CS_F64) {
        double *to = (double *)group->factors.scaled + first;
        for (int64_t i = 0; i < width; i++)
            memcpy(to + i * lanes, numbers + i * CS_BLOCK_LANES, CS_BLOCK_LANES * sizeof(double));
        return;
    }
    float *to = (float *)group->factors.scaled + first;
    for (int64_t i = 0; i < width; i++)
        for (int l = 0; l < CS_BLOCK_LANES; l++)
            to[i * lanes + l] = (float)numbers[i * CS_BLOCK_LANES + l];
}

static int lie_side_by_side(const cs_packed_group *group, int64_t visit)
{
    if (group->lanes < CS_BLOCK_LANES) return 0;
    int64_t slot = group->slot[visit];
    return slot % CS_BLOCK_LANES == 0 &&
           group->slot[visit + CS_BLOCK_LANES - 1] == slot + CS_BLOCK_LANES - 1;
}

static int fill_one(const filling *f, int64_t visit)
{
    const cs_packed *packed = f->packed;
    const cs_packed_group *group = &packed->group[f->g];
    const cs_block_group *blocks = &packed->problem->block_group[f->g];
    int64_t index = packed->schedule->visit[f->g][visit];
    double numbers[2 * CS_MAX_ROWS * CS_MAX_DOF];
    int width = cs_form_width(group->factors.form, group->rows, group->dof[0] + group->dof[1]);
    if (group->factors.form == CS_GENERAL)
        cs_scaled_jacobian(packed->problem, blocks, index, numbers);
    else if (!cs_compress(packed, f->g, index, numbers)) return 0;
    cs_put_visit(cs_stored(packed->dtype), group, group->factors.scaled, visit, numbers, width);
    return 1;
}

static int fill_eight(const filling *f, int64_t visit)
{
    const cs_packed *packed = f->packed;
    const cs_packed_group *group = &packed->group[f->g];
    const cs_block_group *blocks = &packed->problem->block_group[f->g];
    int width = cs_form_width(group->factors.form, group->rows, group->dof[0] + group->dof[1]);
    _Alignas(64) double numbers[CS_BLOCK_LANES_NUMBERS * CS_BLOCK_LANES];
    cs_block_lanes eight;
    cs_block_lanes_find(packed->problem, blocks, packed->schedule->visit[f->g] + visit, &eight);
    if (group->factors.form == CS_GENERAL && eight.twofold) {
        for (int l = 0; l < CS_BLOCK_LANES; l++)
            fill_one(f, visit + l); /* every block has this form */
        return 1;
    }
    if (group->factors.form == CS_GENERAL) cs_block_lanes_widest()->scaled(&eight, numbers);
    else if (!cs_compress_by_eight(packed, f->g, &eight, numbers)) return 0;
    if (lie_side_by_side(group, visit)) put_row(packed, group, visit, numbers, width);
    else put_eight(packed, group, visit, numbers, width);
    return 1;
}

static void fill(void *context, int thread)
{
    filling *f = (filling *)context + thread;
    const cs_block_group *blocks = &f->packed->problem->block_group[f->g];
    int64_t visit = f->first;
    /* In the plane a form keeps numbers of G beside the frame. */
    int eights = cs_block_lanes_fit(f->packed->problem, blocks) &&
                 f->packed->group[f->g].factors.form != CS_PLANAR;
    f->fits = 1;
    for (; eights && visit + CS_BLOCK_LANES <= f->end && f->fits; visit += CS_BLOCK_LANES)
        f->fits = fill_eight(f, visit);
    for (; visit < f->end && f->fits; visit++) f->fits = fill_one(f, visit);
}

int cs_fill_factors(const cs_packed *packed, int g)
{
    filling piece[CS_MOST_PIECES];
    int64_t count = packed->group[g].count, eights = count / CS_BLOCK_LANES;
    int pieces = cs_pieces(packed->threads, count), fits = 1;
    for (int p = 0; p < pieces; p++)
        piece[p] =
            (filling){.packed = packed,
                      .g = g,
                      .first = eights * p / pieces * CS_BLOCK_LANES,
                      .end = p + 1 < pieces ? eights * (p + 1) / pieces * CS_BLOCK_LANES : count};
    if (pieces == 1) fill(piece, 0);
    else cs_parallel(pieces, fill, piece);
    for (int p = 0; p < pieces; p++) fits &= piece[p].fits;
    return fits;
}

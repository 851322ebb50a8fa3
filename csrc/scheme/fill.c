#include "scheme/fill.h"

#include "core/parallel.h"

#include <string.h>

/* The visits of a group that one thread fills. */
typedef struct fill_task {
    const cs_packed *packed;
    int g;
    int64_t first, end; /* visits */
    int fits;           /* out: whether all contacts fit the form of the group */
} fill_task;

/* Writes the `width` numbers of CS_BLOCK_LANES visits, from `visit` on, to wherever their slots are. `numbers` holds
 * number 0 of all visits, then number 1, and so on. */
static void put_scattered(const cs_packed *packed, const cs_packed_group *group, int64_t visit,
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

/* The same if the slots of these visits are consecutive lanes of one batch. */
static void put_contiguous(const cs_packed *packed, const cs_packed_group *group, int64_t visit,
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

/* Whether CS_BLOCK_LANES visits from `visit` on have consecutive lanes of one batch. */
static int are_contiguous(const cs_packed_group *group, int64_t visit)
{
    if (group->lanes < CS_BLOCK_LANES) return 0;
    int64_t slot = group->slot[visit];
    return slot % CS_BLOCK_LANES == 0 &&
           group->slot[visit + CS_BLOCK_LANES - 1] == slot + CS_BLOCK_LANES - 1;
}

/* Fills one visit. Returns 0 if the contact does not fit the form. */
static int fill_visit(const fill_task *task, int64_t visit)
{
    const cs_packed *packed = task->packed;
    const cs_packed_group *group = &packed->group[task->g];
    const cs_block_group *blocks = &packed->problem->block_group[task->g];
    int64_t index = packed->schedule->visit[task->g][visit];
    double numbers[2 * CS_MAX_ROWS * CS_MAX_DOF];
    int width = cs_form_width(group->factors.form, group->rows, group->dof[0] + group->dof[1]);
    if (group->factors.form == CS_GENERAL)
        cs_scaled_jacobian(packed->problem, blocks, index, numbers);
    else if (!cs_compress(packed, task->g, index, numbers)) return 0;
    cs_put_visit(cs_stored(packed->dtype), group, group->factors.scaled, visit, numbers, width);
    return 1;
}

/* Fills CS_BLOCK_LANES visits at once. Returns 0 if a contact does not fit the form. */
static int fill_lanes(const fill_task *task, int64_t visit)
{
    const cs_packed *packed = task->packed;
    const cs_packed_group *group = &packed->group[task->g];
    const cs_block_group *blocks = &packed->problem->block_group[task->g];
    int width = cs_form_width(group->factors.form, group->rows, group->dof[0] + group->dof[1]);
    _Alignas(64) double numbers[CS_BLOCK_LANES_NUMBERS * CS_BLOCK_LANES];
    cs_block_lanes lanes;
    cs_block_lanes_find(packed->problem, blocks, packed->schedule->visit[task->g] + visit, &lanes);

    /* A block whose partners are one body: visit by visit. CS_GENERAL holds any contact. */
    if (group->factors.form == CS_GENERAL && lanes.twofold) {
        for (int l = 0; l < CS_BLOCK_LANES; l++) fill_visit(task, visit + l);
        return 1;
    }

    /* Compute G, or compress it. */
    if (group->factors.form == CS_GENERAL) cs_block_lanes_widest()->scaled(&lanes, numbers);
    else if (!cs_compress_lanes(packed, task->g, &lanes, numbers)) return 0;

    /* Store the numbers. */
    if (are_contiguous(group, visit)) put_contiguous(packed, group, visit, numbers, width);
    else put_scattered(packed, group, visit, numbers, width);
    return 1;
}

/* Fills the visits of one task: in vectors while possible, the remaining ones one by one. */
static void run_task(void *context, int thread)
{
    fill_task *task = (fill_task *)context + thread;
    const cs_block_group *blocks = &task->packed->problem->block_group[task->g];
    int64_t visit = task->first;

    /* The vectors compress contacts in space only. */
    int in_lanes = cs_block_lanes_fit(task->packed->problem, blocks) &&
                   task->packed->group[task->g].factors.form != CS_PLANAR;
    task->fits = 1;
    for (; in_lanes && visit + CS_BLOCK_LANES <= task->end && task->fits; visit += CS_BLOCK_LANES)
        task->fits = fill_lanes(task, visit);
    for (; visit < task->end && task->fits; visit++) task->fits = fill_visit(task, visit);
}

int cs_fill_factors(const cs_packed *packed, int g)
{
    /* Cut the visits into pieces of whole vectors; the last piece also has the rest. */
    fill_task piece[CS_MOST_PIECES];
    int64_t count = packed->group[g].count, vectors = count / CS_BLOCK_LANES;
    int pieces = cs_pieces(packed->threads, count), fits = 1;
    for (int p = 0; p < pieces; p++)
        piece[p] = (fill_task){.packed = packed,
                               .g = g,
                               .first = vectors * p / pieces * CS_BLOCK_LANES,
                               .end = p + 1 < pieces ? vectors * (p + 1) / pieces * CS_BLOCK_LANES
                                                     : count};

    /* Fill them, on several threads if there are several pieces. */
    if (pieces == 1) run_task(piece, 0);
    else cs_parallel(pieces, run_task, piece);
    for (int p = 0; p < pieces; p++) fits &= piece[p].fits;
    return fits;
}

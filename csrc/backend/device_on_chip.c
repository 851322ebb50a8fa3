/* Sweeps of a device with whole rows of T on the chip (cuda/on_chip.inc): which sweeps, and what fits where. */
#include "backend/device_flow.h"

enum { PIECE = 16, STATIC_BYTES = 2048 }; /* bytes of a load; what a block shares besides */

const char *cs_on_chip_why_not(const cs_packed *packed, int64_t shared)
{
    /* The scheme and the order. */
    if (!packed->dense_stride) return "the scheme is not dense";
    if (packed->schedule->stages != 1 || packed->schedule->stage[0].kind != CS_SIMULTANEOUS)
        return "some contacts of a sweep see the updates of others";

    /* The groups. */
    int groups = 0;
    for (int g = 0; g < packed->problem->block_groups; g++) groups += packed->group[g].count > 0;
    if (!groups) return "there are no contacts";
    if (groups > 1) return "blocks have several shapes or sets";
    int64_t lambda = packed->dense_stride * (int64_t)cs_real_size(packed->dtype);
    return lambda + STATIC_BYTES > shared ? "the impulses do not fit the shared memory of a block"
                                          : NULL;
}

/* Blocks for all visits, and what each of them keeps. `calls`: no prox is inlined. */
static cs_chip_plan plan(const cs_packed_group *group, int calls, int64_t row_bytes,
                         int64_t processors, int64_t shared)
{
    int64_t visits = group->count;
    int rows = group->rows, holds = rows == 3 && cs_prox_is_short(group->set) && !calls;

    /* A block on each multiprocessor, whose teams all have a visit. */
    cs_chip_plan p = {.blocks = (visits + CS_CHIP_TEAMS - 1) / CS_CHIP_TEAMS};
    if (p.blocks > processors) p.blocks = processors;
    int64_t turn = p.blocks * CS_CHIP_TEAMS;
    p.rounds = (visits + turn - 1) / turn;

    /* Registers: whole rows of some visits, or a part of those of one. */
    int64_t pieces = (row_bytes + PIECE * CS_DEVICE_THREADS - 1) / (PIECE * CS_DEVICE_THREADS);
    int whole = holds && pieces <= CS_CHIP_PIECES;
    if (holds) {
        p.pieces = pieces <= 3 ? (int)pieces : CS_CHIP_PIECES;
        p.held = CS_CHIP_PIECES / p.pieces;
    }

    /* Shared memory: lambda, then whole visits. */
    int64_t room = (shared - STATIC_BYTES - row_bytes) / (rows * row_bytes);
    int64_t left = p.rounds - p.held;
    p.in_shared = left > 0 ? left * CS_CHIP_TEAMS : 0;
    if (p.in_shared > room) p.in_shared = room;
    p.fits = (whole || !p.held) && p.in_shared >= left * CS_CHIP_TEAMS;
    return p;
}

void cs_on_chip_lay(const cs_packed *packed, int single_prox, int64_t processors, int64_t shared,
                    cs_flow_lists *lists)
{
    *lists = (cs_flow_lists){.way = CS_FLOW_ON_CHIP, .set = -1};
    while (!packed->group[lists->group].count) lists->group++;
    const cs_packed_group *group = &packed->group[lists->group];
    lists->visits = group->count;
    lists->places =
        CS_DEVICE_BATCHES * group->count; /* as those of a launch with a block a visit */
    lists->chip =
        plan(group, single_prox, packed->dense_stride * (int64_t)cs_real_size(packed->dtype),
             processors, shared);
    lists->most_degree = lists->chip.blocks;
}

/* Sweeps of a device with whole rows of T on the chip (cuda/on_chip.inc): which sweeps, and what fits where. */
#include "backend/device_flow.h"

enum { PIECE = 16, STATIC_BYTES = 2048 }; /* bytes of a load; what a block shares besides */

/* NULL if the sweeps of a packed problem can be made on the chip, or why they cannot. */
static const char *why_not(const cs_packed *packed)
{
    /* The scheme and the order. */
    if (!packed->dense_stride) return "scheme='dense' is needed";
    if (packed->schedule->stages != 1 || packed->schedule->stage[0].kind != CS_SIMULTANEOUS)
        return "some contacts of a sweep see the updates of others";

    /* The groups. */
    int groups = 0;
    for (int g = 0; g < packed->problem->block_groups; g++) groups += packed->group[g].count > 0;
    if (!groups) return "there are no contacts";
    return groups > 1 ? "blocks have several shapes or sets" : NULL;
}

/* Blocks for all visits, and what each of them keeps; in_shared < 0: not even lambda fits. `calls`: no prox is inlined. */
static cs_chip_plan plan(const cs_packed_group *group, int calls, int64_t row_bytes, int64_t size,
                         const cs_chip_limits *limits)
{
    int64_t visits = group->count;
    int rows = group->rows, holds = rows == 3 && cs_prox_is_short(group->set) && !calls;

    /* A block on each multiprocessor, whose teams all have a visit. */
    int team = cs_dense_team(row_bytes), teams = CS_CHIP_THREADS / team;
    cs_chip_plan p = {.blocks = (visits + teams - 1) / teams, .teams = teams};
    if (p.blocks > limits->processors) p.blocks = limits->processors;
    int64_t turn = p.blocks * teams;
    p.rounds = (visits + turn - 1) / turn;

    /* Registers: whole rows of some visits, or a part of those of one. */
    int64_t pieces = (row_bytes + PIECE * team - 1) / (PIECE * team);
    int most = limits->pieces, whole = holds && pieces <= most;
    if (holds) {
        p.pieces = pieces <= most / 2 ? (int)pieces : most;
        p.held = most / p.pieces;
        /* No registers are left for the ends of more visits; doubles of a large team leave fewer. */
        int ends = team == CS_DENSE_LARGE && size == 8 ? 2 : 4;
        if (p.held > ends) p.held = ends;
    }

    /* Shared memory: lambda and what ends the visits, then whole visits. */
    int64_t taken = cs_chip_numbers(&p, row_bytes / size, rows, group->parameters) * size;
    int64_t free_bytes = limits->shared - STATIC_BYTES - taken;
    int64_t room = free_bytes / (rows * row_bytes);
    /* Rows of which registers have a part are better kept there, if that holds all. */
    if (!whole && p.rounds * teams <= room) p.held = p.pieces = 0;
    int64_t left = p.rounds - p.held;
    p.in_shared = left > 0 ? left * teams : 0;
    if (p.in_shared > room) p.in_shared = room;
    if (free_bytes < 0) p.in_shared = -1;
    p.fits = (whole || !p.held) && p.in_shared >= left * teams;
    return p;
}

const char *cs_on_chip_lay(const cs_packed *packed, int single_prox, const cs_chip_limits *limits,
                           cs_flow_lists *lists)
{
    const char *why = why_not(packed);
    if (why) return why;
    *lists = (cs_flow_lists){.way = CS_FLOW_ON_CHIP, .set = -1};
    while (!packed->group[lists->group].count) lists->group++;
    const cs_packed_group *group = &packed->group[lists->group];
    lists->visits = group->count;
    lists->places = group->count;
    int64_t size = (int64_t)cs_real_size(packed->dtype);
    lists->chip = plan(group, single_prox, packed->dense_stride * size, size, limits);
    if (cs_chip_visits(&lists->chip) > CS_CHIP_THREADS)
        return "a block has more visits than threads";
    return lists->chip.in_shared < 0 ? "the impulses do not fit the shared memory of a block"
                                     : NULL;
}

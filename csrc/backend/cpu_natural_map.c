/* The natural map of the CPU's backend, over the packed factors and the velocities that sweeps keep. It costs about a
 * sweep, where an evaluation with J and M^-1 as given costs several. Groups in batches have it, in double precision. */
#include "backend/cpu_internal.h"

#include "core/loop.h"
#include "scheme/wide.h"

#include <math.h>

/* The batches of one group, and their natural maps by pieces of a loop. */
typedef struct measuring {
    const cs_packed *packed;
    const cs_packed_group *group;
    cs_map_bounds bounds;
    cs_batch_map map[CS_LOOP_PIECES];
} measuring;

static void measure_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    /* Batches are counted by their slots, which are what costs time. */
    measuring *m = context;
    int64_t lanes = m->group->lanes, first = (begin + lanes - 1) / lanes;
    m->packed->wide->measure(m->packed, m->group, &m->bounds, first, (end + lanes - 1) / lanes,
                             &m->map[piece]);
}

/* map <- the maximum of itself and of the pieces. Returns 0 if a number is infinite or NaN. */
static int add_pieces(const measuring *m, cs_natural_map *map)
{
    int finite = 1;
    for (int64_t p = 0; p < cs_loop_pieces(m->group->slots); p++) {
        const cs_batch_map *own = &m->map[p];
        map->impulse = fmax(map->impulse, own->impulse);
        map->velocity = fmax(map->velocity, own->velocity);
        map->scaled = fmax(map->scaled, own->scaled);
        map->met = map->met && own->excess <= 0;
        finite = finite && own->finite;
    }
    return finite;
}

int cs_cpu_measure(void *state, const cs_measure_call *call, cs_natural_map *map)
{
    const cs_cpu *cpu = cs_cpu_settled(state);
    const cs_packed *packed = &cpu->packed;
    int finite = 1;
    if (!cpu->measures) return 0;
    *map = cs_no_defect();
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        int64_t first = packed->problem->block_group[g].first_block;
        if (call->new_scale && group->speed)
            cs_pack_block_numbers(packed, g, call->scale + first, group->speed);
        measuring m;
        m.packed = packed;
        m.group = group;
        int scaled = call->scale && packed->problem->blocks;
        m.bounds = (cs_map_bounds){call->rtol, call->atol, scaled ? call->scale[0] : 0};
        cs_loop(cs_packed_threads(packed), group->slots, measure_piece, &m);
        finite &= add_pieces(&m, map);
    }
    if (!packed->ranks) return finite;

    /* A NaN of one rank comes to all. */
    if (!finite) map->impulse = NAN;
    cs_join_natural_maps(packed->ranks, map);
    return !isnan(map->impulse);
}

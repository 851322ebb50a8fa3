/* The natural map of the CPU's backend, over the packed factors and the velocities that sweeps keep. It costs about a
 * sweep, where an evaluation with J and M^-1 as given costs several. Groups in batches have it, in double precision. */
#include "backend/cpu_internal.h"

#include "core/error.h"
#include "core/loop.h"
#include "scheme/wide.h"

/* Whether every visit is in a batch that reads u itself, and not a part's copy of it. */
static int is_measurable(const cs_packed *packed)
{
    if (packed->dtype != CS_F64 || !packed->velocity || !packed->wide) return 0;
    if (packed->copy_start[packed->schedule->parts] > 0) return 0;
    for (int g = 0; g < packed->problem->block_groups; g++)
        if (packed->group[g].lanes == 1) return 0;
    return 1;
}

/* Writes rho and 1 / rho of a group. */
static void fill_group(cs_packed *packed, int g, const double *rho)
{
    cs_packed_group *group = &packed->group[g];
    cs_pack_row_numbers(packed, g, rho, group->rho);
    for (int64_t i = 0; i < group->slots * group->rows; i++)
        group->inverse[i] = group->rho[i] > 0 ? 1 / group->rho[i] : 0;
}

static void fill(cs_packed *packed, const double *rho)
{
    for (int g = 0; g < packed->problem->block_groups; g++) fill_group(packed, g, rho);
}

cs_status cs_cpu_pack_scales(cs_cpu *cpu, const cs_pack_request *request, cs_arena *arena,
                             cs_error *error)
{
    cs_packed *packed = &cpu->packed;
    cpu->measures = request->rho && is_measurable(packed);
    if (!cpu->measures) return CS_OK;
    for (int g = 0; g < packed->problem->block_groups; g++) {
        cs_packed_group *group = &packed->group[g];
        group->rho = cs_take_visits(CS_F64, group, group->rows, arena);
        group->inverse = cs_take_visits(CS_F64, group, group->rows, arena);
        if (request->islands > 1) group->speed = cs_arena_take(arena, group->slots, sizeof(double));
    }
    cs_status status = cs_arena_status(arena, error, "the workspace");
    if (!status) fill(packed, request->rho);
    return status;
}

int cs_cpu_refill_scales(cs_cpu *cpu, const cs_pack_request *request)
{
    int wanted = request->rho && is_measurable(&cpu->packed);
    if (wanted && cpu->measures) fill(&cpu->packed, request->rho);
    return wanted == cpu->measures;
}

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
    cs_cpu *cpu = state;
    const cs_packed *packed = &cpu->packed;
    int finite = 1;
    if (!cpu->measures) return 0;
    *map = CS_NO_DEFECT;
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        int64_t first = packed->problem->block_group[g].first_block;
        if (call->new_scale && group->speed)
            cs_pack_block_numbers(packed, g, call->scale + first, group->speed);
        measuring m;
        m.packed = packed;
        m.group = group;
        m.bounds = (cs_map_bounds){call->rtol, call->atol, call->scale ? call->scale[0] : 0};
        cs_loop(cs_packed_threads(packed), group->slots, measure_piece, &m);
        finite &= add_pieces(&m, map);
    }
    return finite;
}

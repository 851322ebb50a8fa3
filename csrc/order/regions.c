/* Coloured Gauss-Seidel by regions: the bodies are divided into regions, and the contacts inside regions are visited
 * before those between them. Every stage is a colour. In the stages of the contacts inside, each region has a part of its
 * own, so that a block of threads of a GPU can keep the velocities of its region (cuda/regions.inc). */
#include "core/error.h"
#include "order/graph_partition.h"
#include "order/greedy_palette.h"

enum { COUNT, OPTIONS };

/* With "auto": contacts for each region, and the most regions. */
enum { CONTACTS_OF_REGION = 256, MOST_REGIONS = 128 };

static const char *const counts[] = {"auto", NULL};

static const cs_option options_of_regions[OPTIONS] = {
    [COUNT] = {.name = "count",
               .summary = "the number of regions, at most one for each body; \"auto\": one for "
                          "every 256 contacts, but no more than 128, which the large GPUs can "
                          "sweep at the same time",
               .kind = CS_COUNT,
               .words = counts,
               .least = 1,
               .most = 2e9},
};

/* The number of regions that the options ask for. */
static int64_t count_of(const cs_problem *problem, const cs_order_options *options)
{
    int64_t count = (int64_t)cs_order_value(options, COUNT);
    if (count > 0) return count;
    count = (problem->blocks + CONTACTS_OF_REGION - 1) / CONTACTS_OF_REGION;
    return count < 1 ? 1 : count > MOST_REGIONS ? MOST_REGIONS : count;
}

/* Sorts the blocks first ... end - 1 of the plan by colour, in a stage for each. `before`: colours of the plan so far. */
static void plan_colors(cs_greedy_palette *palette, int64_t first, int64_t end, int64_t before,
                        cs_plan *plan)
{
    int64_t colors = cs_greedy_palette_sort(palette, plan->block + first, end - first);
    for (int64_t c = 0; c < colors; c++) {
        cs_plan_add_to_color(plan, before + c, cs_greedy_palette_size(palette, c));
        cs_plan_close(plan, CS_INDEPENDENT, first + palette->end[c]);
    }
}

/* Cuts the stages into parts: those of inner stages where the next region begins, others after CS_CHUNK blocks. */
static void cut_stages(cs_plan *plan)
{
    plan->divided = 1;
    for (int64_t s = 0; s < plan->stages; s++)
        for (int64_t first = plan->start[s], i = first; i < plan->start[s + 1]; i++) {
            const int64_t *block = plan->block + i;
            plan->cut[i] = s < plan->inner_stages
                               ? i == first || plan->region[block[0]] != plan->region[block[-1]]
                               : (i - first) % CS_CHUNK == 0;
        }
}

static cs_status plan_regions(const cs_problem *problem, const cs_order_options *options,
                              cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* Divide the bodies into regions. */
    cs_graph graph;
    cs_parts parts;
    int64_t blocks = problem->blocks;
    cs_status status = cs_graph_share(problem, options, scratch, &graph, error);
    if (!status)
        status =
            cs_parts_bisect(&graph, options, count_of(problem, options), scratch, &parts, error);
    if (status) return status;

    /* Sort the blocks by region, with those between regions last. */
    int64_t *sequence = cs_arena_take(scratch, blocks, sizeof(int64_t));
    int64_t *start = cs_arena_take(scratch, parts.count + 2, sizeof(int64_t));
    plan->region = cs_arena_take(scratch, blocks, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the regions of a sweep");
    for (int64_t i = 0; i < blocks; i++) sequence[i] = i;
    status = cs_sort_by_interior(&graph, &parts, sequence, start, plan->block, scratch, error);
    if (status) return status;
    int64_t border = start[parts.count];
    for (int64_t p = 0; p < parts.count; p++)
        for (int64_t i = start[p]; i < start[p + 1]; i++) plan->region[plan->block[i]] = p;

    /* Colour the contacts inside all regions together, then those between them. Sorting is stable: the blocks of a colour
     * stay sorted by region. */
    cs_greedy_palette palette;
    status = cs_greedy_palette_new(&graph, border > blocks - border ? border : blocks - border,
                                   scratch, &palette, error);
    if (status) return status;
    plan_colors(&palette, 0, border, 0, plan);
    plan->inner_stages = plan->stages;
    plan_colors(&palette, border, blocks, plan->stages, plan);
    plan->divided_into = parts.count;
    cut_stages(plan);
    return CS_OK;
}

const cs_order cs_order_regions = {
    .name = "regions",
    .summary = "colour by colour, inside regions of bodies, and then between these",
    .about = "The bodies are divided into regions by repeated bisection of the contact graph. The "
             "contacts whose moving bodies all belong to one region are coloured first, those "
             "between regions get further colours, and each colour is a stage, as in the order "
             "colored. On a device, device_sweeps='regions' sweeps each region by a block of "
             "threads that keeps the velocities of its bodies. The solver's option parts has no "
             "effect.",
    .option = options_of_regions,
    .options = OPTIONS,
    .fills_lanes = 1,
    .plan = plan_regions,
};

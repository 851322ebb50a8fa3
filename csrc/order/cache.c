/* The order "cache" is made for speed. Contacts follow their bodies in memory and are cut into chunks whose
 * bodies fit a cache. Each chunk is sorted by colour, so that consecutive visits do not depend on each
 * other and can fill the lanes of a vector.
 *
 *     domains     The bodies are cut into contiguous domains, one per part. All parts sweep their inner
 *                 contacts at once, chunk by chunk; then they sweep the contacts between domains, in the
 *                 stages of a checkerboard: two or three synchronisations per sweep.
 *     no domains  Each colour of each chunk is a stage: one synchronisation each.
 */
#include "order/cache.h"

#include "core/error.h"
#include "core/loop.h"
#include "core/counting_sort.h"
#include "order/greedy_palette.h"
#include "order/graph_partition.h"

#include <string.h>

/* A chunk of a thousand contacts has a few colours, each large enough to fill 16 lanes, and its bodies fit
 * the first-level cache. All sizes from 512 to 8192 are equally fast (docs/performance.md). */
enum { CHUNK = 1024 };

/* To judge an order of the bodies, it is cut into this many pieces; the fewer contacts lie between pieces,
 * the better. In a grid, body numbers leave 1 contact in 10 between pieces; random numbers leave 7 in 8. */
enum { PIECES = 8 };

/* levels->vertex <- the vertices with edges, in ascending order of their numbers. */
static cs_status number_vertices(const cs_graph *graph, cs_arena *scratch, cs_levels *levels,
                                 cs_error *error)
{
    *levels = (cs_levels){0};
    levels->vertex = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    if (!levels->vertex) return cs_no_memory(error, "the order");
    for (int64_t v = 0; v < graph->vertices; v++)
        if (cs_graph_degree(graph, v)) levels->vertex[levels->count++] = v;
    return CS_OK;
}

/* The number of contacts between pieces when the vertices, in this order, are cut into PIECES pieces.
 * `label` (vertices) is scratch. */
static int64_t between_pieces(const cs_graph *graph, const cs_levels *levels, int64_t *label)
{
    cs_parts pieces = {.count = PIECES, .label = label};
    cs_parts_cut(graph, levels->vertex, NULL, levels->count, &pieces);
    return cs_parts_border(graph, &pieces);
}

/* levels->vertex <- the vertices with edges, in the order that `bodies` asks for. `label` (vertices) is
 * scratch. */
static cs_status order_vertices(const cs_graph *graph, cs_body_order bodies, int64_t *label,
                                cs_arena *scratch, cs_levels *levels, cs_error *error)
{
    cs_levels numbered, *first = bodies == CS_BODIES_AS_FITS ? &numbered : levels;

    /* Order them by number, unless the caller asks for levels only. */
    cs_status status = CS_OK;
    if (bodies != CS_BODIES_BREADTH_FIRST) status = number_vertices(graph, scratch, first, error);
    if (status || bodies == CS_BODIES_NATURAL) return status;

    /* Numbers are good enough if they leave at most half of the contacts between pieces. */
    int64_t between = first == levels ? 0 : between_pieces(graph, &numbered, label);
    *levels = numbered;
    if (first != levels && 2 * between <= graph->problem->blocks) return CS_OK;

    /* Otherwise take the levels, provided that they leave fewer contacts between pieces. */
    status = cs_graph_levels(graph, scratch, levels, error);
    if (!status && first != levels && between_pieces(graph, levels, label) >= between)
        *levels = numbered;
    return status;
}

/* The keys by which blocks are sorted. */
typedef struct block_keys {
    const cs_graph *graph;
    int64_t *place; /* (vertices): 1, 2, ... in the sequence of the levels; 0: without edges */
    int64_t *key;   /* (blocks): the place of the block's later vertex, 0 without one */
} block_keys;

static void find_keys(void *context, int64_t piece, int64_t first, int64_t end)
{
    (void)piece;
    const block_keys *k = context;
    for (int64_t block = first; block < end; block++) {
        int64_t vertex[CS_MAX_PARTNERS] = {0}, own = 0;
        int ends = cs_graph_ends(k->graph, block, vertex);
        for (int i = 0; i < ends; i++)
            if (k->place[vertex[i]] > own) own = k->place[vertex[i]];
        k->key[block] = own;
    }
}

/* sequence (count) <- 0, 1, ... as long as the keys ascend. Returns whether all of them do. */
static int list_ascending(const int64_t *key, int64_t count, int64_t *sequence)
{
    for (int64_t i = 0; i < count; i++) {
        if (i && key[i] < key[i - 1]) return 0;
        sequence[i] = i;
    }
    return 1;
}

/* sequence (blocks) <- the blocks, sorted by the later of their vertices in `levels`. Blocks without
 * vertices, between immovable bodies, come first. */
static cs_status sort_blocks(const cs_graph *graph, const cs_levels *levels, cs_arena *scratch,
                             int64_t **sequence, cs_error *error)
{
    int64_t blocks = graph->problem->blocks;
    block_keys keys = {
        .graph = graph,
        .place = cs_arena_take(scratch, graph->vertices, sizeof(int64_t)),
        .key = cs_arena_take_unset(scratch, blocks, sizeof(int64_t)),
    };
    *sequence = cs_arena_take_unset(scratch, blocks, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the order");

    for (int64_t i = 0; i < levels->count; i++) keys.place[levels->vertex[i]] = i + 1;
    cs_loop(graph->threads, blocks, find_keys, &keys);

    /* Blocks that follow their bodies already, as those of a step of a world do, need no sort. */
    if (list_ascending(keys.key, blocks, *sequence)) return CS_OK;
    cs_counting_sort sort = {
        .threads = graph->threads,
        .count = blocks,
        .key = keys.key,
        .keys = levels->count + 1,
        .sorted = *sequence,
    };
    return cs_sort_by_key(&sort, scratch, error);
}

/* The plan without domains: each colour of each chunk is an independent stage. */
static cs_status plan_chunks(const cs_graph *graph, const int64_t *sequence, int64_t chunk,
                             cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* Copy the sequence. */
    cs_greedy_palette palette;
    int64_t blocks = graph->problem->blocks;
    cs_status status = cs_greedy_palette_new(graph, chunk, scratch, &palette, error);
    if (status) return status;
    memcpy(plan->block, sequence, sizeof(int64_t) * (size_t)blocks);

    /* Sort each chunk by colour, and close a stage after each colour. */
    for (int64_t at = 0; at < blocks; at += chunk) {
        int64_t count = blocks - at < chunk ? blocks - at : chunk;
        int64_t colors = cs_greedy_palette_sort(&palette, plan->block + at, count);
        for (int64_t c = 0; c < colors; c++) {
            cs_plan_add_to_color(plan, c, cs_greedy_palette_size(&palette, c));
            cs_plan_close(plan, CS_INDEPENDENT, at + palette.end[c]);
        }
    }
    return CS_OK;
}

cs_cache_options cs_cache_options_default(void)
{
    return (cs_cache_options){.bodies = CS_BODIES_AS_FITS, .chunk = CHUNK, .domains = 1};
}

cs_status cs_plan_cache(const cs_graph *graph, const cs_order_options *options,
                        const cs_cache_options *how, cs_arena *scratch, cs_plan *plan,
                        cs_error *error)
{
    cs_levels levels;
    int64_t *sequence, chunk = how->chunk;
    int64_t blocks = graph->problem->blocks;
    if (chunk > blocks) chunk = blocks + 1;

    /* Sort the bodies, and the blocks by their bodies. */
    cs_parts parts = {.count = cs_parts_wanted(graph, options)};
    parts.label = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    if (!parts.label) return cs_no_memory(error, "the order");
    cs_status status = order_vertices(graph, how->bodies, parts.label, scratch, &levels, error);
    if (!status) status = sort_blocks(graph, &levels, scratch, &sequence, error);
    if (status) return status;

    /* Write the stages: chunk by chunk, or domain by domain. */
    if (!how->domains) return plan_chunks(graph, sequence, chunk, scratch, plan, error);
    cs_parts_cut(graph, levels.vertex, NULL, levels.count, &parts);
    return cs_plan_parts(graph, &parts, sequence, chunk, CS_BORDER_CHECKERBOARD, scratch, plan,
                         error);
}

enum { BODIES, CHUNK_SIZE, DOMAINS, OPTIONS };

/* In the sequence of cs_body_order. */
static const char *const body_orders[] = {"natural", "breadth_first", "auto", NULL};

static const cs_option options_of_cache[OPTIONS] = {
    [BODIES] = {.name = "bodies",
                .summary =
                    "order of the bodies: \"natural\"; \"breadth_first\" (Cuthill and McKee); or "
                    "\"auto\", which is breadth-first if a division of the body numbers into 8 "
                    "ranges leaves most contacts between ranges, and a division in breadth-first "
                    "order leaves fewer. A contact takes the place of the later of its bodies",
                .kind = CS_WORD,
                .words = body_orders,
                .usual = CS_BODIES_AS_FITS},
    [CHUNK_SIZE] =
        CS_COUNT_OPTION("chunk", CHUNK, 1, "number of contacts that are coloured together"),
    [DOMAINS] = CS_FLAG_OPTION(
        "domains", 1,
        "divide the bodies into contiguous domains, as many as the solver's option parts, with "
        "about equal numbers of contacts, and sweep the interiors of all domains in parallel, "
        "chunk by chunk. The contacts between domains follow, as in the order partition with "
        "border=\"checkerboard\", or by colours if they are most of all contacts. Otherwise each "
        "colour of each chunk is a stage for all threads, and results do not depend on parts"),
};

/* Builds the graph and plans with the values of the user's options. */
static cs_status plan_cache(const cs_problem *problem, const cs_order_options *options,
                            cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    cs_graph graph;
    cs_cache_options how = {
        .bodies = (cs_body_order)cs_order_value(options, BODIES),
        .chunk = (int64_t)cs_order_value(options, CHUNK_SIZE),
        .domains = cs_order_value(options, DOMAINS) != 0,
    };
    cs_status status = cs_graph_share(problem, options, scratch, &graph, error);
    return status ? status : cs_plan_cache(&graph, options, &how, scratch, plan, error);
}

const cs_order cs_order_cache = {
    .name = "cache",
    .summary = "for speed: contacts in the memory order of their bodies, coloured in small chunks",
    .option = options_of_cache,
    .options = OPTIONS,
    .parts_by_size = 1,
    .plan = plan_cache,
};

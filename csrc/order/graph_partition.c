#include "order/graph_partition.h"

#include "core/ascending.h"
#include "core/error.h"
#include "core/loop.h"
#include "core/parallel.h"
#include "core/counting_sort.h"
#include "order/greedy_palette.h"
#include "order/priority.h"

#include <stdatomic.h>
#include <string.h>

/* ---- labels ---------------------------------------------------------------------------------- */

int64_t cs_parts_wanted(const cs_graph *graph, const cs_order_options *options)
{
    int64_t most = graph->problem->blocks > 0 ? graph->problem->blocks : 1;
    return options->parts < most ? options->parts : most;
}

void cs_parts_cut(const cs_graph *graph, const int64_t *vertex, const int64_t *start, int64_t runs,
                  cs_parts *parts)
{
    /* The weight of a vertex is its degree, the number of its contacts. Middles below `safe` are in the present part
     * for certain, whatever the rounding of their positions. */
    int64_t label = 0;
    double total = (double)graph->start[graph->vertices], before = 0, safe = -1;
    for (int64_t run = 0; run < runs; run++) {
        int64_t first = start ? start[run] : run, end = start ? start[run + 1] : run + 1;
        double weight = 0;
        for (int64_t i = first; i < end; i++) weight += (double)cs_graph_degree(graph, vertex[i]);

        /* Part p covers the fraction from p / count to (p + 1) / count of the total weight. The run goes to
         * the part that contains its middle. */
        if (!(before + weight < safe)) {
            double position = total > 0 ? (before + weight / 2) / total : 0;
            label = (int64_t)(position * (double)parts->count);
            if (label >= parts->count) label = parts->count - 1;
            safe = total / (double)parts->count * (double)(label + 1) - 1;
        }
        for (int64_t i = first; i < end; i++) parts->label[vertex[i]] = label;
        before += weight;
    }
}

/* Copies the user's labels, after checking them. */
static cs_status copy_labels(const cs_graph *graph, const int64_t *given, cs_parts *parts,
                             cs_error *error)
{
    parts->count = 1;
    for (int64_t v = 0; v < graph->vertices; v++) {
        if (!cs_graph_degree(graph, v))
            continue; /* immovable or without contacts: the label has no effect */
        if (given[v] < 0 || given[v] >= graph->vertices)
            return cs_fail(error, CS_INVALID,
                           "labels[%lld] is %lld: parts are numbered from 0 to %lld at most",
                           (long long)v, (long long)given[v], (long long)graph->vertices - 1);
        parts->label[v] = given[v];
        if (given[v] >= parts->count) parts->count = given[v] + 1;
    }
    return CS_OK;
}

/* Labels contiguous ranges of vertex numbers. */
static cs_status label_ranges(const cs_graph *graph, cs_arena *scratch, cs_parts *parts,
                              cs_error *error)
{
    int64_t *vertex = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    if (!vertex) return cs_no_memory(error, "the parts of a sweep");
    for (int64_t v = 0; v < graph->vertices; v++) vertex[v] = v;
    cs_parts_cut(graph, vertex, NULL, graph->vertices, parts);
    return CS_OK;
}

/* Labels slices of breadth-first levels, each adjacent to the previous and next ones only.  S1 Fig. 4.3 (b) */
static cs_status label_slices(const cs_graph *graph, cs_arena *scratch, cs_parts *parts,
                              cs_error *error)
{
    cs_levels levels;
    cs_status status = cs_graph_levels(graph, scratch, &levels, error);
    if (!status) cs_parts_cut(graph, levels.vertex, levels.start, levels.levels, parts);
    return status;
}

/* Labels slices, or ranges if these have the smaller border. */
static cs_status label_smaller_border(const cs_graph *graph, cs_arena *scratch, cs_parts *parts,
                                      cs_error *error)
{
    cs_parts ranges = {parts->count, cs_arena_take(scratch, graph->vertices, sizeof(int64_t))};
    if (!ranges.label) return cs_no_memory(error, "the parts of a sweep");
    cs_status status = label_slices(graph, scratch, parts, error);
    if (!status) status = label_ranges(graph, scratch, &ranges, error);
    if (!status && cs_parts_border(graph, &ranges) < cs_parts_border(graph, parts)) *parts = ranges;
    return status;
}

cs_status cs_parts_label(const cs_graph *graph, const cs_order_options *options,
                         cs_labelling labelling, cs_arena *scratch, cs_parts *parts,
                         cs_error *error)
{
    *parts = (cs_parts){.count = cs_parts_wanted(graph, options)};
    parts->label = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    if (!parts->label) return cs_no_memory(error, "the parts of a sweep");
    if (options->labels) return copy_labels(graph, options->labels, parts, error);
    switch (labelling) {
    case CS_LABELS_SLICES: return label_slices(graph, scratch, parts, error);
    case CS_LABELS_RANGES: return label_ranges(graph, scratch, parts, error);
    case CS_LABELS_AS_FIT: break;
    }
    return label_smaller_border(graph, scratch, parts, error);
}

/* ---- interiors and border -------------------------------------------------------------------- */

/* The part to whose interior a block belongs, or parts->count on the border. */
static int64_t interior_of(const cs_graph *graph, const cs_parts *parts, int64_t block)
{
    const int64_t *label = parts->label;

    /* A given A: the border holds the block with the higher label. */
    if (graph->column) {
        for (int64_t e = graph->start[block]; e < graph->start[block + 1]; e++)
            if (label[graph->column[e]] < label[block]) return parts->count;
        return label[block];
    }

    /* Bodies: the border holds the blocks between bodies of different parts. */
    int64_t end[CS_MAX_PARTNERS];
    int ends = cs_graph_ends(graph, block, end);
    for (int i = 1; i < ends; i++)
        if (label[end[i]] != label[end[0]]) return parts->count;
    if (ends) return label[end[0]];
    return block % parts->count; /* between immovable bodies: any part */
}

/* The interiors of all blocks, and how many blocks are on the border in each piece of them. */
typedef struct interiors {
    const cs_graph *graph;
    const cs_parts *parts;
    int64_t *interior; /* (blocks): or NULL to count only */
    int64_t border[CS_LOOP_PIECES];
} interiors;

static void find_interiors(void *context, int64_t piece, int64_t first, int64_t end)
{
    interiors *all = context;
    int64_t border = 0;
    for (int64_t block = first; block < end; block++) {
        int64_t own = interior_of(all->graph, all->parts, block);
        border += own == all->parts->count;
        if (all->interior) all->interior[block] = own;
    }
    all->border[piece] = border;
}

int64_t cs_parts_border(const cs_graph *graph, const cs_parts *parts)
{
    interiors all = {.graph = graph, .parts = parts};
    int64_t blocks = graph->problem->blocks, count = 0;
    cs_loop(graph->threads, blocks, find_interiors, &all);
    for (int64_t p = 0; p < cs_loop_pieces(blocks); p++) count += all.border[p];
    return count;
}

cs_status cs_sort_by_interior(const cs_graph *graph, const cs_parts *parts, const int64_t *sequence,
                              int64_t *start, int64_t *visits, cs_arena *scratch, cs_error *error)
{
    int64_t blocks = graph->problem->blocks;
    interiors all = {.graph = graph, .parts = parts};
    all.interior = cs_arena_take_unset(scratch, blocks, sizeof(int64_t));
    if (!all.interior) return cs_no_memory(error, "the parts of a sweep");
    cs_loop(graph->threads, blocks, find_interiors, &all);
    cs_counting_sort sort = {
        .threads = graph->threads,
        .count = blocks,
        .item = sequence,
        .key = all.interior,
        .keys = parts->count + 1,
        .sorted = visits,
        .start = start,
    };
    return cs_sort_by_key(&sort, scratch, error);
}

/* Sorts the border by colour and makes each colour an independent stage. */
static void plan_colors(cs_greedy_palette *palette, int64_t first, int64_t end, cs_plan *plan)
{
    int64_t colors = cs_greedy_palette_sort(palette, plan->block + first, end - first);
    for (int64_t c = 0; c < colors; c++) {
        cs_plan_add_to_color(plan, c, cs_greedy_palette_size(palette, c));
        cs_plan_close(plan, CS_INDEPENDENT, first + palette->end[c]);
    }
}

/* The same in the sequence of the blocks' hashes. The blocks of each colour are visited in natural order. */
static cs_status plan_hashed_colors(cs_greedy_palette *palette, int64_t first, int64_t end,
                                    cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* Sort the border by hash. */
    int64_t count = end - first, *border = plan->block + first;
    int64_t *sequence = cs_arena_take_unset(scratch, count, sizeof(int64_t));
    int64_t *sorted = cs_arena_take_unset(scratch, count, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the border of the parts");
    cs_status status = cs_sort_by_hash(border, count, sequence, scratch, error);
    if (status) return status;
    for (int64_t i = 0; i < count; i++) sorted[i] = border[sequence[i]];
    memcpy(border, sorted, sizeof(int64_t) * (size_t)count);

    /* Colour it. */
    plan_colors(palette, first, end, plan);
    for (int c = 0; c < plan->colors; c++) {
        int64_t begin = c ? palette->end[c - 1] : 0;
        cs_sort_64(border + begin, palette->end[c] - begin);
    }
    return CS_OK;
}

/* Sorts a chunk by groups and the contacts of each group by colour, because the lanes of a vector take contacts
 * of one group only. `scratch` (count). */
static void sort_chunk(cs_greedy_palette *palette, int64_t *block, int64_t count, int64_t *scratch)
{
    const cs_problem *problem = palette->graph->problem;
    int64_t start[CS_MAX_GROUPS + 1] = {0}, next[CS_MAX_GROUPS];
    if (problem->block_groups == 1) {
        cs_greedy_palette_sort(palette, block, count);
        return;
    }

    /* Counting sort by group, stable. */
    for (int64_t i = 0; i < count; i++) start[cs_group_number(problem, block[i]) + 1]++;
    for (int g = 0; g < problem->block_groups; g++) next[g] = start[g + 1] += start[g];
    for (int64_t i = count; i-- > 0;)
        scratch[--next[cs_group_number(problem, block[i])]] = block[i];
    memcpy(block, scratch, sizeof *block * (size_t)count);

    /* Sort each group by colour. */
    for (int g = 0; g < problem->block_groups; g++)
        if (start[g] < start[g + 1])
            cs_greedy_palette_sort(palette, block + start[g], start[g + 1] - start[g]);
}

/* Chunks of visits that are sorted by colour, each by itself. Threads take them in turn, each with a palette. */
typedef struct chunks {
    cs_plan *plan;
    int64_t count;
    int64_t *start;             /* (count + 1) */
    cs_greedy_palette *palette; /* (threads) */
    int64_t *scratch;           /* (threads, most) */
    int64_t most;               /* visits of a chunk */
    atomic_llong next;
} chunks;

static void sort_some_chunks(void *context, int thread)
{
    chunks *all = context;
    for (;;) {
        int64_t c = atomic_fetch_add_explicit(&all->next, 1, memory_order_relaxed);
        if (c >= all->count) return;
        sort_chunk(&all->palette[thread], all->plan->block + all->start[c],
                   all->start[c + 1] - all->start[c], all->scratch + thread * all->most);
    }
}

/* Cuts the visits before `end` into chunks of at most all->most, none across a boundary of parts. */
static void cut_chunks(chunks *all, int64_t end)
{
    for (int64_t at = 0; at < end;) {
        int64_t most = end - at < all->most ? end - at : all->most;
        const unsigned char *cut = all->plan->cut + at;
        const unsigned char *next = memchr(cut + 1, 1, (size_t)(most - 1));
        all->start[all->count++] = at;
        at += next ? next - cut : most;
    }
    all->start[all->count] = end;
}

/* Sorts the visits before `end` by colour, chunk by chunk. `palette` is that of the first thread. */
static cs_status sort_chunks(const cs_graph *graph, const cs_greedy_palette *palette, int64_t end,
                             int64_t chunk, cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* The chunks. There are fewer than one for each `chunk` visits and one for each part. */
    chunks all = {.plan = plan, .most = chunk < end ? chunk : end};
    int64_t most = 1;
    for (int64_t i = 0; i < end; i++) most += plan->cut[i];
    if (!end) return CS_OK;
    all.start = cs_arena_take_unset(scratch, most + end / all.most + 1, sizeof(int64_t));
    if (!all.start) return cs_no_memory(error, "the parts of a sweep");
    cut_chunks(&all, end);

    /* What each thread needs. */
    int threads = all.count < graph->threads ? (int)all.count : graph->threads;
    cs_status status = CS_OK;
    all.palette = cs_arena_take(scratch, threads, sizeof *all.palette);
    all.scratch = cs_arena_take_unset(scratch, threads * all.most, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the parts of a sweep");
    all.palette[0] = *palette;
    for (int t = 1; t < threads && !status; t++)
        status = cs_greedy_palette_new(graph, all.most, scratch, &all.palette[t], error);
    if (status) return status;

    if (threads == 1) sort_some_chunks(&all, 0);
    else cs_parallel(threads, sort_some_chunks, &all);
    return CS_OK;
}

cs_status cs_plan_parts(const cs_graph *graph, const cs_parts *parts, const int64_t *sequence,
                        int64_t chunk, cs_border border, cs_arena *scratch, cs_plan *plan,
                        cs_error *error)
{
    /* Sort the blocks by interior. */
    int64_t blocks = graph->problem->blocks;
    int64_t *start = cs_arena_take(scratch, parts->count + 2, sizeof(int64_t));
    if (!start) return cs_no_memory(error, "the parts of a sweep");
    cs_status status =
        cs_sort_by_interior(graph, parts, sequence, start, plan->block, scratch, error);
    if (status) return status;
    int64_t first = start[parts->count]; /* first visit of the border */

    /* A palette is needed to sort chunks, or to colour the border. */
    cs_greedy_palette palette = {0};
    int64_t most = blocks - first > chunk ? blocks - first : chunk;
    if (chunk || border == CS_BORDER_COLORED || border == CS_BORDER_HASHED)
        status = cs_greedy_palette_new(graph, most, scratch, &palette, error);
    if (status) return status;

    /* Make the interiors one disjoint stage. */
    plan->divided_into = parts->count;
    for (int64_t p = 0; p < parts->count; p++)
        if (start[p] < start[p + 1]) plan->cut[start[p]] = 1;
    cs_plan_close(plan, CS_DISJOINT, first);

    /* Make the stages of the border. If it holds most blocks, colours share the work best. */
    if (chunk && 2 * (blocks - first) > blocks) border = CS_BORDER_COLORED;
    switch (border) {
    case CS_BORDER_COLORED: plan_colors(&palette, first, blocks, plan); break;
    case CS_BORDER_HASHED:
        status = plan_hashed_colors(&palette, first, blocks, scratch, plan, error);
        break;
    case CS_BORDER_SEQUENTIAL: cs_plan_close(plan, CS_SEQUENTIAL, blocks); break;
    case CS_BORDER_CHECKERBOARD:
        status = cs_plan_checkerboard(graph, parts, first, scratch, plan, error);
        break;
    case CS_BORDER_CONCURRENT:
        status = cs_plan_concurrent_border(graph, parts, first, scratch, plan, error);
    }

    /* Sort chunks by colour: in the interiors, and in the border if it is a checkerboard. */
    if (!status && chunk)
        status = sort_chunks(graph, &palette, border == CS_BORDER_CHECKERBOARD ? blocks : first,
                             chunk, scratch, plan, error);
    return status;
}

/* Partitions of the contact graph (S1 sections 4.2, 8.2). Threads sweep the interiors of all parts at once,
 * and then the border between them.
 *
 *     labels      the part that each body belongs to; for a given A, that each block belongs to
 *     interiors   the blocks whose movable bodies belong to one part; all interiors form a disjoint stage
 *     border      all other blocks: coloured, one after another, in a checkerboard of whole parts, or by all parts at once
 *
 * For a given A, a block is on the border if it is coupled to a block with a lower label: it suffices that the
 * border holds one of two coupled blocks in different parts. */
#ifndef CS_GRAPH_PARTITION_H
#define CS_GRAPH_PARTITION_H

#include "order/graph.h"

/* How the border is visited. */
typedef enum cs_border {
    CS_BORDER_COLORED,
    CS_BORDER_SEQUENTIAL,
    CS_BORDER_CHECKERBOARD,
    CS_BORDER_CONCURRENT,
    CS_BORDER_HASHED /* coloured in the sequence of hashes (order/priority.h) */
} cs_border;

/* How vertices are labelled. */
typedef enum cs_labelling {
    CS_LABELS_AS_FIT, /* slices or ranges, whichever has the smaller border */
    CS_LABELS_SLICES, /* slices of breadth-first levels, each adjacent to at most two others */
    CS_LABELS_RANGES, /* contiguous ranges of vertex numbers */
} cs_labelling;

typedef struct cs_parts {
    int64_t count;
    int64_t *label; /* (vertices): 0 to count - 1 */
} cs_parts;

/* The number of parts: options->parts, but at most one per block, and at least one. */
int64_t cs_parts_wanted(const cs_graph *graph, const cs_order_options *options);

/* Labels a list of vertices with `parts->count` contiguous parts whose degrees have nearly equal sums. Run i
 * is vertex[start[i]] ... vertex[start[i + 1] - 1], and a run is never cut; if `start` is NULL, every vertex
 * is a run of its own. */
void cs_parts_cut(const cs_graph *graph, const int64_t *vertex, const int64_t *start, int64_t runs,
                  cs_parts *parts);

/* parts <- the labels that the options give, or else options->parts parts by `labelling`. */
cs_status cs_parts_label(const cs_graph *graph, const cs_order_options *options,
                         cs_labelling labelling, cs_arena *scratch, cs_parts *parts,
                         cs_error *error);

/* parts <- at most `count` parts of nearly equal weight, by repeated bisection of the graph: a part is what a
 * breadth-first search from an outermost vertex finds first, and is connected where the graph is; what is left may
 * not be. Or the labels that the options give. */
cs_status cs_parts_bisect(const cs_graph *graph, const cs_order_options *options, int64_t count,
                          cs_arena *scratch, cs_parts *parts, cs_error *error);

/* visits (blocks) <- `sequence`, sorted stably by interior, with the border last. start (count + 2) <- the
 * first visit of each interior, then that of the border. */
cs_status cs_sort_by_interior(const cs_graph *graph, const cs_parts *parts, const int64_t *sequence,
                              int64_t *start, int64_t *visits, cs_arena *scratch, cs_error *error);

/* The number of blocks on the border. */
int64_t cs_parts_border(const cs_graph *graph, const cs_parts *parts);

/* Fills the plan: the interiors, then the border, each in the order of `sequence` (blocks). With a `chunk`,
 * each run of `chunk` blocks of a part is sorted by colour; and if the border holds most blocks, it is
 * coloured instead of a checkerboard, because all threads can share a coloured stage. */
cs_status cs_plan_parts(const cs_graph *graph, const cs_parts *parts, const int64_t *sequence,
                        int64_t chunk, cs_border border, cs_arena *scratch, cs_plan *plan,
                        cs_error *error);

/* Orders the border, the blocks of the plan from visit `first` on, as a checkerboard: each block goes to one
 * of the parts that it lies between, the parts are coloured so that border blocks of two parts with the same
 * colour share no vertex, and each colour is a disjoint stage. */
cs_status cs_plan_checkerboard(const cs_graph *graph, const cs_parts *parts, int64_t first,
                               cs_arena *scratch, cs_plan *plan, cs_error *error);

/* Makes the border one concurrent stage: each block goes to the lowest part that it lies between.  S1 section 7.1 */
cs_status cs_plan_concurrent_border(const cs_graph *graph, const cs_parts *parts, int64_t first,
                                    cs_arena *scratch, cs_plan *plan, cs_error *error);

#endif

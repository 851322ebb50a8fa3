/* Cutting a sweep into parts that do not meet, and what lies between them (S1 sections 4.2, 8.2).
 *
 *     labels      which part a body belongs to (for a given A: a block)
 *     interiors   the blocks whose moving bodies all belong to one part: one disjoint stage
 *     border      the others: coloured, in turn, or by whole parts as on a checkerboard
 *
 * For a given A a block lies on the border where it is coupled to a block of a lower label: one side
 * of each cut is enough. */
#ifndef CS_PARTS_H
#define CS_PARTS_H

#include "order/graph.h"

/* How the blocks between parts are visited. */
typedef enum cs_border {
    CS_BORDER_COLORED,
    CS_BORDER_SEQUENTIAL,
    CS_BORDER_CHECKERBOARD
} cs_border;

/* How vertices are labelled. */
typedef enum cs_labelling {
    CS_LABELS_AS_FIT, /* the one of the two that leaves fewer blocks between parts */
    CS_LABELS_SLICES, /* slices of breadth-first levels, each touching two others at most */
    CS_LABELS_RANGES, /* contiguous ranges of numbers */
} cs_labelling;

typedef struct cs_parts {
    int64_t count;
    int64_t *label; /* (vertices): 0 to count - 1 */
} cs_parts;

/* No more parts than there are blocks to share out; at least one. */
int64_t cs_parts_wanted(const cs_graph *graph, const cs_order_options *options);

/* Cuts a list of vertices into `parts->count` parts of about equal degrees; run i of the list,
 * from `start[i]` to `start[i + 1]`, stays together. `start` may be NULL: every vertex by itself. */
void cs_parts_cut(const cs_graph *graph, const int64_t *vertex, const int64_t *start, int64_t runs,
                  cs_parts *parts);

/* options->parts labels by `labelling`, unless the options give them. */
cs_status cs_parts_label(const cs_graph *graph, const cs_order_options *options,
                         cs_labelling labelling, cs_arena *scratch, cs_parts *parts,
                         cs_error *error);

/* How many blocks lie on the border of the parts. */
int64_t cs_parts_border(const cs_graph *graph, const cs_parts *parts);

/* Writes the plan: interiors, then the border. Inside each of them the blocks stand as in
 * `sequence` (blocks). With a `chunk`, every so many blocks of a part are
 * sorted by colour, and a checkerboard is a coloured border where that holds most blocks: all threads
 * share its stages then. */
cs_status cs_plan_parts(const cs_graph *graph, const cs_parts *parts, const int64_t *sequence,
                        int64_t chunk, cs_border border, cs_arena *scratch, cs_plan *plan,
                        cs_error *error);

/* Visits the border, whose blocks stand in the plan from `first` on, by whole parts: each block
 * belongs to one of the parts that it lies between, and parts of one colour, whose blocks of the
 * border do not meet, are one disjoint stage. */
cs_status cs_plan_checkerboard(const cs_graph *graph, const cs_parts *parts, int64_t first,
                               cs_arena *scratch, cs_plan *plan, cs_error *error);

#endif

#include "bvh/tree.h"

#include "bvh/tree_kernels.h"
#include "core/ascending.h"
#include "core/error.h"
#include "core/instructions.h"
#include "core/loop.h"
#include "core/parallel.h"
#include "core/phases.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* ---- directions and kernels -------------------------------------------------------------------------------- */

const signed char *cs_dop_direction(int k, int d)
{
    static const signed char axis[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const signed char corner[4][3] = {{1, 1, 1}, {1, 1, -1}, {1, -1, 1}, {1, -1, -1}};
    static const signed char edge[6][3] = {{1, 1, 0},  {1, -1, 0}, {1, 0, 1},
                                           {1, 0, -1}, {0, 1, 1},  {0, 1, -1}};
    int corners = k == 14 || k == 26 ? 4 : 0;
    if (d < 3) return axis[d];
    return d < 3 + corners ? corner[d - 3] : edge[d - 3 - corners];
}

#define CS_INSTRUCTIONS(name, summary) extern const cs_tree_kernels cs_tree_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_tree_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_tree_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

const cs_tree_kernels *cs_tree_kernels_here(void) { return builds[cs_instructions_widest()]; }

const cs_tree_kernels *cs_tree_kernels_of(int instructions)
{
    return instructions >= 0 && instructions < CS_INSTRUCTION_SETS ? builds[instructions] : NULL;
}

/* ---- the mesh -------------------------------------------------------------------------------------------- */

/* Indices are int32_t, and places in a leaf and directions have to fit in as well. */
#define MOST (INT64_C(1) << 27)

static cs_status check_shape(int k, int arity, int64_t vertices, int64_t faces, cs_error *error)
{
    if (k != 6 && k != 14 && k != 18 && k != 26)
        return cs_fail(error, CS_INVALID, "k is %d: 6, 14, 18 or 26 is needed", k);
    if (arity != 2 && arity != 4)
        return cs_fail(error, CS_INVALID, "arity is %d: 2 or 4 is needed", arity);
    if (vertices < 1) return cs_fail(error, CS_INVALID, "vertices is empty: a tree needs some");
    if (faces < 1) return cs_fail(error, CS_INVALID, "faces is empty: a tree needs some");
    if (vertices > MOST || faces > MOST)
        return cs_fail(error, CS_INVALID, "%lld vertices and %lld faces: %lld at most",
                       (long long)vertices, (long long)faces, (long long)MOST);
    return CS_OK;
}

static cs_status check_faces(const cs_tree *tree, const int64_t *face, cs_error *error)
{
    for (int64_t t = 0; t < tree->faces; t++) {
        const int64_t *v = face + 3 * t;
        for (int c = 0; c < 3; c++) {
            if (v[c] < 0 || v[c] >= tree->vertices)
                return cs_fail(error, CS_INVALID,
                               "faces[%lld, %d] is %lld: there are vertices 0 to %lld",
                               (long long)t, c, (long long)v[c], (long long)(tree->vertices - 1));
            if (v[c] == v[(c + 1) % 3])
                return cs_fail(error, CS_INVALID, "faces[%lld] has vertex %lld twice", (long long)t,
                               (long long)v[c]);
        }
    }
    return CS_OK;
}

/* The edges, ends ascending, sorted. */
static cs_status find_edges(cs_tree *tree, cs_error *error)
{
    cs_arena scratch = {0};
    int64_t *start = cs_arena_take(&scratch, tree->vertices + 1, sizeof *start);
    int64_t *count = cs_arena_take(&scratch, tree->vertices, sizeof *count);
    int32_t *end = cs_arena_take_unset(&scratch, 3 * tree->faces, sizeof *end);
    cs_status status =
        cs_arena_status(&scratch, error, "edges of %lld faces", (long long)tree->faces);
    if (status) goto out;

    /* Room for the sides of all faces, by the lower end; then each end once. */
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t t = 0; t < tree->faces; t++)
            for (int c = 0; c < 3; c++) {
                int32_t a = tree->face[3 * t + c], b = tree->face[3 * t + (c + 1) % 3];
                int32_t low = a < b ? a : b, high = a < b ? b : a;
                if (pass) end[start[low] + count[low]++] = high;
                else start[low + 1]++;
            }
        for (int64_t i = 0; !pass && i < tree->vertices; i++) start[i + 1] += start[i];
    }
    for (int64_t i = 0; i < tree->vertices; i++) {
        count[i] = cs_sort_distinct_32(end + start[i], count[i]);
        tree->edges += count[i];
    }
    int32_t *edge = cs_arena_take_unset(&tree->arena, 2 * tree->edges, sizeof *edge);
    status = cs_arena_status(&tree->arena, error, "%lld edges", (long long)tree->edges);
    if (status) goto out;
    tree->edge = edge;
    for (int64_t i = 0; i < tree->vertices; i++)
        for (int64_t e = 0; e < count[i]; e++, edge += 2)
            edge[0] = (int32_t)i, edge[1] = end[start[i] + e];
out:
    cs_arena_clear(&scratch);
    return status;
}

cs_status cs_tree_make(cs_tree *tree, int k, int arity, int single, int64_t vertices,
                       const double *x, const int64_t *face, int64_t faces, cs_error *error)
{
    static atomic_llong serial;
    *tree = (cs_tree){.k = k,
                      .arity = arity,
                      .single = single,
                      .vertices = vertices,
                      .faces = faces,
                      .serial = atomic_fetch_add(&serial, 1),
                      .stride = (k + 3) / 4 * 4};
    cs_status status = check_shape(k, arity, vertices, faces, error);
    if (!status) status = check_faces(tree, face, error);
    if (status) return status;

    size_t number = single ? sizeof(float) : sizeof(double);
    int32_t *own = cs_arena_take_unset(&tree->arena, 3 * faces, sizeof *own);
    tree->vertex_box = cs_arena_take(&tree->arena, vertices * tree->stride, number);
    tree->face = own;
    status = cs_arena_status(&tree->arena, error, "boxes of %lld vertices", (long long)vertices);
    if (!status) {
        for (int64_t i = 0; i < 3 * faces; i++) own[i] = (int32_t)face[i];
        status = find_edges(tree, error);
    }
    if (!status) status = cs_tree_refit(tree, x, NULL, 0, 1, error);
    if (status) cs_tree_clear(tree);
    return status;
}

void cs_tree_clear(cs_tree *tree)
{
    for (int kind = 0; kind < CS_TREE_KINDS; kind++) cs_arena_clear(&tree->of[kind].arena);
    cs_arena_clear(&tree->arena);
    *tree = (cs_tree){0};
}

int64_t cs_tree_count(const cs_tree *tree, cs_primitive kind)
{
    return kind == CS_VERTICES ? tree->vertices : kind == CS_EDGES ? tree->edges : tree->faces;
}

int64_t cs_tree_bytes(const cs_tree *tree)
{
    int64_t numbers = tree->vertices * tree->stride;
    for (int kind = 0; kind < CS_TREE_KINDS; kind++)
        numbers += tree->of[kind].nodes * tree->k * tree->arity;
    return numbers * (int64_t)(tree->single ? sizeof(float) : sizeof(double));
}

/* ---- refit ------------------------------------------------------------------------------------------------- */

enum { MOST_PHASES = 2 + CS_TREE_KINDS * (CS_MOST_LEVELS + 1), A_PIECE = 128, BRIEF = 64 };

/* Nodes begin ... end - 1 of a hierarchy, or vertices, or faces, in pieces. */
typedef struct stretch {
    cs_hierarchy *h; /* NULL: vertices if `motion`, else faces */
    int is_motion;
    int64_t begin, end, pieces;
    double *sum; /* (pieces) */
} stretch;

typedef struct refitting {
    const cs_tree_kernels *kernels;
    cs_tree *tree;
    cs_tree_motion motion;
    int count;
    stretch stretch[MOST_PHASES];
    cs_phase phase[MOST_PHASES];
} refitting;

static void run_piece(void *context, int64_t phase, int64_t piece)
{
    const refitting *r = context;
    const stretch *s = &r->stretch[phase];
    int64_t nodes = s->end - s->begin;
    int64_t begin = s->begin + nodes * piece / s->pieces;
    int64_t end = s->begin + nodes * (piece + 1) / s->pieces;
    int single = r->tree->single;
    if (s->is_motion) r->kernels->fill_vertices[single](r->tree, &r->motion, begin, end);
    else if (!s->h) s->sum[piece] = r->kernels->face_extents[single](r->tree, begin, end);
    else if (begin < s->h->leaves)
        s->sum[piece] = r->kernels->fill_leaves[single](r->tree, s->h, begin, end);
    else s->sum[piece] = r->kernels->fill_branches[single](r->tree, s->h, begin, end);
}

/* Appends a stretch; what it is made of must be known before. */
static void add_stretch(refitting *r, stretch s, cs_arena *scratch)
{
    s.pieces = (s.end - s.begin) / A_PIECE + 1;
    if (s.pieces > CS_LOOP_PIECES) s.pieces = CS_LOOP_PIECES;
    s.sum = cs_arena_take(scratch, s.pieces, sizeof *s.sum);
    r->phase[r->count] = (cs_phase){.tasks = s.pieces, .brief = s.end - s.begin < BRIEF};
    r->stretch[r->count++] = s;
}

/* Leaves, then branches level by level from below: a level's boxes are those of its children. */
static void add_hierarchy(refitting *r, cs_hierarchy *h, cs_arena *scratch)
{
    if (!h->nodes) return;
    add_stretch(r, (stretch){.h = h, .begin = 0, .end = h->leaves}, scratch);
    for (int l = 0; l < h->levels; l++)
        add_stretch(r, (stretch){.h = h, .begin = h->level[l], .end = h->level[l + 1]}, scratch);
}

/* Sums over pieces in their order: the same on any number of threads. */
static void sum_extents(refitting *r)
{
    cs_tree *tree = r->tree;
    for (int kind = 0; kind < CS_TREE_KINDS; kind++) tree->of[kind].cost = 0;
    for (int n = 0; n < r->count; n++) {
        const stretch *s = &r->stretch[n];
        double sum = 0;
        for (int64_t piece = 0; piece < s->pieces; piece++) sum += s->sum[piece];
        if (s->h) s->h->cost += sum;
        else if (!s->is_motion) tree->extents = sum;
    }
}

/* The boxes of the vertices, if there is a motion, and of those hierarchies whose bit is set in `which`. */
static cs_status fill(cs_tree *tree, const cs_tree_motion *motion, unsigned which, int threads,
                      cs_error *error)
{
    cs_arena scratch = {0};
    refitting *r = cs_arena_take(&scratch, 1, sizeof *r);
    if (!r) return cs_no_memory(error, "a refit");
    *r = (refitting){.kernels = cs_tree_kernels_here(), .tree = tree};
    if (motion) {
        r->motion = *motion;
        add_stretch(r, (stretch){.is_motion = 1, .end = tree->vertices}, &scratch);
    }
    add_stretch(r, (stretch){.end = tree->faces}, &scratch);
    double kept[CS_TREE_KINDS];
    for (int kind = 0; kind < CS_TREE_KINDS; kind++) {
        kept[kind] = tree->of[kind].cost;
        if (which >> kind & 1) add_hierarchy(r, &tree->of[kind], &scratch);
    }
    cs_status status = cs_arena_status(&scratch, error, "a refit");
    if (!status) {
        threads = cs_threads_for(threads, tree->vertices, CS_WORTH_THREADS_REFIT, CS_LOOP_PIECES);
        cs_phases_run(&(cs_phases){r->count, r->phase, run_piece, r}, threads);
        sum_extents(r);
        for (int kind = 0; kind < CS_TREE_KINDS; kind++)
            if (!(which >> kind & 1)) tree->of[kind].cost = kept[kind];
    }
    cs_arena_clear(&scratch);
    return status;
}

/* Cost relative to the size of the mesh; that of a mesh without extents is 1. */
static double relative_cost(const cs_tree *tree, const cs_hierarchy *h)
{
    return tree->extents > 0 ? h->cost / tree->extents : 1;
}

static cs_status build(cs_tree *tree, unsigned which, int threads, cs_error *error)
{
    cs_status status = CS_OK;
    for (int kind = 0; kind < CS_TREE_KINDS && !status; kind++)
        if (which >> kind & 1)
            status = cs_hierarchy_build(&tree->of[kind], tree, (cs_primitive)kind, error);
    if (!status) status = fill(tree, NULL, which, threads, error);
    for (int kind = 0; kind < CS_TREE_KINDS; kind++) {
        cs_hierarchy *h = &tree->of[kind];
        if (!(which >> kind & 1)) continue;
        if (status) h->nodes = 0;
        h->built = relative_cost(tree, h);
        h->quality = 1;
    }
    return status;
}

/* The hierarchies that are there. */
static unsigned built(const cs_tree *tree)
{
    unsigned which = 0;
    for (int kind = 0; kind < CS_TREE_KINDS; kind++)
        which |= (unsigned)(tree->of[kind].nodes > 0) << kind;
    return which;
}

cs_status cs_tree_refit(cs_tree *tree, const double *x0, const double *x1, double margin,
                        int threads, cs_error *error)
{
    if (!(margin >= 0) || isinf(margin))
        return cs_fail(error, CS_INVALID,
                       "margin is %s: a finite number that is not negative is needed",
                       cs_number(margin).text);

    /* Products with a number below the normal ones have no bound of their rounding. */
    if (margin > 0 && margin < DBL_MIN) margin = DBL_MIN;
    const cs_tree_motion motion = {x0, x1 ? x1 : x0, margin};
    cs_status status = fill(tree, &motion, built(tree), threads, error);
    if (status) return status;

    /* Quality falls if primitives that lie beside each other in the tree no longer do in space. */
    unsigned worn = 0;
    for (int kind = 0; kind < CS_TREE_KINDS; kind++) {
        cs_hierarchy *h = &tree->of[kind];
        double cost = relative_cost(tree, h);
        if (!h->nodes) continue;
        h->quality = cost > 0 ? h->built / cost : 1;
        if (h->quality < CS_TREE_WORN) worn |= 1u << kind;
    }
    if (!worn) return CS_OK;
    tree->rebuilds++;
    return build(tree, worn, threads, error);
}

cs_status cs_tree_rebuild(cs_tree *tree, int threads, cs_error *error)
{
    tree->rebuilds++;
    return build(tree, built(tree), threads, error);
}

cs_status cs_tree_need(cs_tree *tree, cs_primitive kind, int threads, cs_error *error)
{
    return tree->of[kind].nodes ? CS_OK : build(tree, 1u << kind, threads, error);
}

/* ---- boxes as arrays ------------------------------------------------------------------------------------- */

/* One row of a vertex's box, as a double: all numbers of both precisions are. */
static double row_of(const cs_tree *tree, int64_t vertex, int row)
{
    int64_t at = tree->stride * vertex + row;
    return tree->single ? (double)((const float *)tree->vertex_box)[at]
                        : ((const double *)tree->vertex_box)[at];
}

static void put(void *array, int single, int64_t at, double value)
{
    if (single) ((float *)array)[at] = (float)value;
    else ((double *)array)[at] = value;
}

void cs_tree_boxes(const cs_tree *tree, cs_primitive kind, void *lower, void *upper)
{
    int directions = tree->k / 2;
    for (int64_t i = 0; i < cs_tree_count(tree, kind); i++) {
        int32_t own;
        const int32_t *corner = cs_corners_of(tree, kind, i, &own);
        for (int d = 0; d < directions; d++) {
            double least[2] = {INFINITY, INFINITY};
            for (int c = 0; c <= (int)kind; c++)
                for (int side = 0; side < 2; side++)
                    least[side] = fmin(least[side], row_of(tree, corner[c], 2 * d + side));
            put(lower, tree->single, directions * i + d, least[0]);
            put(upper, tree->single, directions * i + d, -least[1]);
        }
    }
}

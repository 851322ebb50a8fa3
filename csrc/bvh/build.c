/* Top-down build: the leaves' primitives are halved at the median of their centres, across the direction in which these lie
 * farthest apart; a branch of four children is two such steps. The same mesh and boxes give the same tree. */
#include "bvh/tree.h"
#include "core/error.h"

#include <math.h>
#include <string.h>

typedef struct item {
    float center[3];
    int32_t primitive;
} item;

/* Leaves first ... end - 1 are below a branch. */
typedef struct range {
    int64_t first, end;
} range;

typedef struct building {
    cs_hierarchy *h;
    item *item;     /* (primitives) */
    range *branch;  /* (leaves): in the order of levels, the root first */
    int64_t *child; /* (arity leaves): leaf, or -2 - n for branch[n]; -1: none */
    int64_t branches;
    uint64_t random;
    double middle[3],
        unit; /* of all vertices: centres are told from there, in parts of their extent */
} building;

/* ---- medians ------------------------------------------------------------------------------------------ */

/* Whether x comes before y: no two items are equal. */
static int precedes(const item *x, const item *y, int axis)
{
    if (x->center[axis] != y->center[axis]) return x->center[axis] < y->center[axis];
    return x->primitive < y->primitive;
}

static void exchange(item *x, item *y)
{
    item kept = *x;
    *x = *y;
    *y = kept;
}

/* A place among `count`, which no order of the items makes a bad one again and again. */
static int64_t draw(building *b, int64_t count)
{
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((b->random >> 33) % (uint64_t)count);
}

/* Moves items so that the first `nth` precede all others.  Hoare 1961 */
static void select_first(building *b, item *items, int64_t count, int64_t nth, int axis)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        item pivot = items[low + draw(b, high - low + 1)];
        int64_t i = low, j = high;
        while (i <= j) {
            while (precedes(&items[i], &pivot, axis)) i++;
            while (precedes(&pivot, &items[j], axis)) j--;
            if (i <= j) exchange(&items[i++], &items[j--]);
        }
        if (nth <= j) high = j;
        else if (nth >= i) low = i;
        else return;
    }
}

/* The direction in which centres lie farthest apart. */
static int widest_axis(const item *items, int64_t count)
{
    float low[3], high[3];
    memcpy(low, items->center, sizeof low);
    memcpy(high, items->center, sizeof high);
    for (int64_t i = 1; i < count; i++)
        for (int a = 0; a < 3; a++) {
            float x = items[i].center[a];
            low[a] = x < low[a] ? x : low[a];
            high[a] = x > high[a] ? x : high[a];
        }
    int axis = 0;
    for (int a = 1; a < 3; a++)
        if (high[a] - low[a] > high[axis] - low[axis]) axis = a;
    return axis;
}

/* The middle of a range of leaves, whose items it divides. */
static int64_t halve(building *b, range r)
{
    const cs_hierarchy *h = b->h;
    int64_t middle = (r.first + r.end) / 2, begin = h->arity * r.first, end = h->arity * r.end;
    if (end > h->primitives) end = h->primitives;
    item *items = b->item + begin;
    select_first(b, items, end - begin, h->arity * middle - begin, widest_axis(items, end - begin));
    return middle;
}

/* ---- branches ----------------------------------------------------------------------------------------- */

/* Divides a branch into up to `arity` ranges. Returns their number. */
static int divide(building *b, range r, range *part)
{
    int64_t middle = halve(b, r);
    range half[2] = {{r.first, middle}, {middle, r.end}};
    int parts = 0;
    for (int n = 0; n < 2; n++) {
        if (b->h->arity == 2 || half[n].end - half[n].first == 1) {
            part[parts++] = half[n];
            continue;
        }
        middle = halve(b, half[n]);
        part[parts++] = (range){half[n].first, middle};
        part[parts++] = (range){middle, half[n].end};
    }
    return parts;
}

/* Lists the branches level by level. */
static void divide_all(building *b, int64_t *level)
{
    cs_hierarchy *h = b->h;
    int64_t done = 0;
    b->branch[0] = (range){0, h->leaves};
    b->branches = h->leaves > 1;
    for (h->levels = 0; done < b->branches; h->levels++) {
        level[h->levels] = done;
        for (int64_t end = b->branches; done < end; done++) {
            range part[CS_MOST_ARITY];
            int parts = divide(b, b->branch[done], part);
            int64_t *child = b->child + h->arity * done;
            for (int i = 0; i < h->arity; i++) child[i] = -1;
            for (int i = 0; i < parts; i++) {
                child[i] = part[i].first;
                if (part[i].end - part[i].first == 1) continue;
                child[i] = -2 - b->branches;
                b->branch[b->branches++] = part[i];
            }
        }
    }
    level[h->levels] = done;
}

/* The number of what divide_all has called `child`: branches are numbered from the last one. */
static int32_t node_of(const building *b, int64_t child)
{
    return (int32_t)(child < -1 ? b->h->nodes - 1 - (-2 - child) : child);
}

/* Numbers the nodes: leaves, then branches from the deepest level to the root. */
static void number_nodes(const building *b, const int64_t *level)
{
    cs_hierarchy *h = b->h;
    for (int l = 0; l <= h->levels; l++) h->level[l] = h->nodes - level[h->levels - l];
    for (int64_t leaf = 0; leaf < h->leaves; leaf++) h->size[leaf] = 1;
    h->parent[h->nodes - 1] = -1;
    for (int64_t node = h->leaves; node < h->nodes; node++) {
        int64_t n = h->nodes - 1 - node;
        h->size[node] = (int32_t)(b->branch[n].end - b->branch[n].first);
        for (int i = 0; i < h->arity; i++) {
            int32_t child = node_of(b, b->child[h->arity * n + i]);
            h->child[(node - h->leaves) * h->arity + i] = child;
            if (child >= 0) h->parent[child] = (int32_t)(node * h->arity + i);
        }
    }
}

/* ---- primitives --------------------------------------------------------------------------------------- */

/* The centre of a vertex along an axis; NaN or infinite where its box is. */
static double center_of(const cs_tree *tree, int64_t vertex, int axis)
{
    int64_t at = tree->stride * vertex + 2 * axis;
    if (tree->single) {
        const float *box = tree->vertex_box;
        return 0.5 * (double)box[at] - 0.5 * (double)box[at + 1];
    }
    const double *box = tree->vertex_box;
    return 0.5 * box[at] - 0.5 * box[at + 1];
}

/* Finds middle and unit: in floats, places far from the origin, or tiny and huge ones, would be one. */
static void measure(building *b, const cs_tree *tree)
{
    double most = 0;
    for (int a = 0; a < 3; a++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < tree->vertices; i++) {
            double x = center_of(tree, i, a);
            if (!isfinite(x)) continue;
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        b->middle[a] = low <= high ? 0.5 * low + 0.5 * high : 0;
        double half = low <= high ? 0.5 * high - 0.5 * low : 0;
        most = half > most ? half : most;
    }
    b->unit = most > 0 ? most : 1;
}

/* 0 where the centre is not finite. */
static float place_of(const building *b, const cs_tree *tree, int64_t vertex, int axis)
{
    double place = (center_of(tree, vertex, axis) - b->middle[axis]) / b->unit;
    return isfinite(place) ? (float)place : 0;
}

static void list_items(building *b, const cs_tree *tree, cs_primitive kind)
{
    const cs_hierarchy *h = b->h;
    for (int64_t i = 0; i < h->primitives; i++) {
        int32_t own;
        const int32_t *corner = cs_corners_of(tree, kind, i, &own);
        item *put = &b->item[i];
        *put = (item){.primitive = (int32_t)i};
        for (int c = 0; c < h->corners; c++)
            for (int a = 0; a < 3; a++) put->center[a] += place_of(b, tree, corner[c], a);
    }
}

/* Places behind the last primitive have its vertices, and no primitive. */
static void place_primitives(const building *b, const cs_tree *tree, cs_primitive kind)
{
    cs_hierarchy *h = b->h;
    for (int64_t place = 0; place < h->arity * h->leaves; place++) {
        int64_t last = place < h->primitives ? place : h->primitives - 1;
        int32_t own, i = b->item[last].primitive;
        const int32_t *corner = cs_corners_of(tree, kind, i, &own);
        h->primitive[place] = place == last ? i : -1;
        int32_t *vertex = h->vertex + place / h->arity * h->arity * h->corners + place % h->arity;
        for (int c = 0; c < h->corners; c++) vertex[h->arity * c] = corner[c];
    }
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static cs_status take(building *b, cs_arena *scratch, cs_error *error)
{
    cs_hierarchy *h = b->h;
    int64_t leaves = h->leaves, most = leaves - 1; /* branches: each has two or more children */
    b->item = cs_arena_take_unset(scratch, h->primitives, sizeof *b->item);
    b->branch = cs_arena_take_unset(scratch, leaves, sizeof *b->branch);
    b->child = cs_arena_take_unset(scratch, h->arity * leaves, sizeof *b->child);
    h->primitive = cs_arena_take_unset(&h->arena, h->arity * leaves, sizeof *h->primitive);
    h->vertex = cs_arena_take_unset(&h->arena, h->arity * leaves * h->corners, sizeof *h->vertex);
    h->child = cs_arena_take_unset(&h->arena, h->arity * most, sizeof *h->child);
    h->parent = cs_arena_take_unset(&h->arena, leaves + most, sizeof *h->parent);
    h->size = cs_arena_take_unset(&h->arena, leaves + most, sizeof *h->size);
    cs_status status =
        cs_arena_status(scratch, error, "a tree of %lld primitives", (long long)h->primitives);
    return status ? status
                  : cs_arena_status(&h->arena, error, "a tree of %lld primitives",
                                    (long long)h->primitives);
}

cs_status cs_hierarchy_build(cs_hierarchy *h, const cs_tree *tree, cs_primitive kind,
                             cs_error *error)
{
    int64_t level[CS_MOST_LEVELS + 1];
    cs_arena scratch = {0};
    building b = {.h = h};

    /* Take. */
    cs_arena_clear(&h->arena);
    h->k = tree->k;
    h->arity = tree->arity;
    h->corners = (int)kind + 1;
    h->primitives = cs_tree_count(tree, kind);
    h->leaves = (h->primitives + h->arity - 1) / h->arity;
    h->nodes = 0;
    cs_status status = take(&b, &scratch, error);
    if (status) goto out;

    /* Divide, then number. */
    measure(&b, tree);
    list_items(&b, tree, kind);
    divide_all(&b, level);
    int64_t nodes = h->leaves + b.branches;
    size_t number = tree->single ? sizeof(float) : sizeof(double);
    h->box = cs_arena_take_unset(&h->arena, nodes * h->k * h->arity, number);
    status = cs_arena_status(&h->arena, error, "boxes of %lld nodes", (long long)nodes);
    if (status) goto out;
    h->nodes = nodes;
    number_nodes(&b, level);
    place_primitives(&b, tree, kind);
    h->builds++;
out:
    cs_arena_clear(&scratch);
    if (status) cs_arena_clear(&h->arena);
    return status;
}

/* Trees of boxes: pairs of a random soup, with itself and with another, against all pairs, for every rule and number of threads;
 * compiled with ThreadSanitizer, no two threads meet. Kernels of every instruction set agree. Every allocation fails once. */
#include "bvh/query.h"
#include "bvh/tree_kernels.h"
#include "core/instructions.h"
#include "testing.h"

#include <string.h>

enum { FACES = 500, VERTICES = 3 * FACES, FEW = 40, MOST_PAIRS = 1 << 18, THREADS = 4 };

static double x0[3 * VERTICES], x1[3 * VERTICES];
static int64_t face[3 * FACES], wanted[2 * MOST_PAIRS], found[2 * MOST_PAIRS];
static double lower[2][VERTICES * CS_MOST_DOP], upper[2][VERTICES * CS_MOST_DOP];

/* Small triangles in a cube, of which every third has a vertex of the one before. */
static void make_soup(void)
{
    uint64_t state = 3;
    for (int64_t t = 0; t < FACES; t++) {
        double center[3];
        for (int a = 0; a < 3; a++) center[a] = 4 * test_random(&state);
        for (int64_t c = 3 * t; c < 3 * t + 3; c++)
            for (int a = 0; a < 3; a++) {
                x0[3 * c + a] = center[a] + 0.3 * test_random(&state);
                x1[3 * c + a] = x0[3 * c + a] + 0.1 * test_random(&state);
            }
        for (int c = 0; c < 3; c++) face[3 * t + c] = 3 * t + c;
        if (t % 3 == 2) face[3 * t] = face[3 * t - 1];
    }
}

/* ---- all pairs ----------------------------------------------------------------------------------------- */

static double number_at(const double *numbers, int single, int64_t at)
{
    return single ? (double)((const float *)numbers)[at] : numbers[at];
}

static int overlaps(const cs_tree *tree, int64_t i, int64_t j)
{
    int directions = tree->k / 2;
    for (int64_t d = 0; d < directions; d++) {
        int64_t p = directions * i + d, q = directions * j + d;
        if (!(number_at(lower[0], tree->single, p) <= number_at(upper[1], tree->single, q)))
            return 0;
        if (!(number_at(lower[1], tree->single, q) <= number_at(upper[0], tree->single, p)))
            return 0;
    }
    return 1;
}

static int are_neighbours(const cs_tree *tree, cs_primitive first, int64_t i, cs_primitive second,
                          int64_t j)
{
    int32_t own[2];
    const int32_t *v = cs_corners_of(tree, first, i, &own[0]);
    const int32_t *w = cs_corners_of(tree, second, j, &own[1]);
    for (int n = 0; n <= (int)first; n++)
        for (int m = 0; m <= (int)second; m++)
            if (v[n] == w[m]) return 1;
    return 0;
}

/* wanted <- all pairs of the kind, in order. Returns their number. */
static int64_t compare_all(const cs_tree *tree, const cs_tree *other, cs_pairs_kind kind)
{
    static const cs_primitive first[] = {CS_FACES, CS_VERTICES, CS_EDGES};
    cs_primitive one = first[kind], two = kind == CS_PAIRS_VERTEX_FACE ? CS_FACES : one;
    int64_t count = 0;
    cs_tree_boxes(tree, one, lower[0], upper[0]);
    cs_tree_boxes(other, two, lower[1], upper[1]);
    for (int64_t i = 0; i < cs_tree_count(tree, one); i++)
        for (int64_t j = 0; j < cs_tree_count(other, two); j++) {
            if (tree == other && one == two && i >= j) continue;
            if (tree == other && are_neighbours(tree, one, i, two, j)) continue;
            if (!overlaps(tree, i, j) || count == MOST_PAIRS) continue;
            wanted[2 * count] = i;
            wanted[2 * count++ + 1] = j;
        }
    return count;
}

/* ---- queries ------------------------------------------------------------------------------------------- */

static cs_status make(cs_tree *tree, int k, int arity, int single, int64_t faces, cs_error *error)
{
    cs_status status = cs_tree_make(tree, k, arity, single, 3 * faces, x0, face, faces, error);
    return status ? status : cs_tree_refit(tree, x0, x1, 0.05, 2, error);
}

static cs_status ask(cs_query *query, cs_tree *tree, cs_tree *other, cs_query_options options,
                     cs_error *error)
{
    cs_status status = cs_query_run(query, tree, other, &options, error);
    if (!status && query->report.pairs > MOST_PAIRS) return CS_INVALID;
    return status ? status : cs_query_write(query, found, error);
}

static void check_pairs(const cs_query *query, int64_t count)
{
    CHECK(query->report.pairs == count);
    CHECK(!memcmp(found, wanted, sizeof *found * (size_t)(2 * count)));
}

/* With tasks for one thread as well; more threads than there are processors give the same. */
static void pairs_are_those_of_all(int k, int arity, int single)
{
    cs_tree tree, other;
    cs_query query = {0};
    cs_error error = {0};
    CHECK_STATUS(make(&tree, k, arity, single, FACES, &error), CS_OK, &error);
    CHECK_STATUS(make(&other, k, arity, single, FEW, &error), CS_OK, &error);
    for (int kind = 0; kind < CS_PAIRS_KINDS; kind++) {
        int64_t count = compare_all(&tree, &tree, (cs_pairs_kind)kind);
        CHECK(count > 100 && count < MOST_PAIRS);
        for (int n = 0; cs_split_rule_at(n); n++)
            for (int threads = 1; threads <= THREADS; threads++) {
                cs_query_options options = {
                    (cs_pairs_kind)kind, cs_split_rule_at(n), 5, -1, threads, threads % 2, NULL};
                CHECK_STATUS(ask(&query, &tree, NULL, options, &error), CS_OK, &error);
                check_pairs(&query, count);
            }
        cs_query_options options = {(cs_pairs_kind)kind, cs_split_rule_at(0), 0, -1, 2, 1, NULL};
        count = compare_all(&tree, &other, (cs_pairs_kind)kind);
        CHECK_STATUS(ask(&query, &tree, &other, options, &error), CS_OK, &error);
        check_pairs(&query, count);
    }
    cs_query_clear(&query);
    cs_tree_clear(&tree);
    cs_tree_clear(&other);
}

static void refits_have_the_same_bits_on_all_threads(int single)
{
    static double alone[2][3 * FACES * CS_MOST_DOP];
    cs_error error = {0};
    double quality = 0;
    for (int threads = 1; threads <= THREADS; threads++) {
        cs_tree tree;
        CHECK_STATUS(make(&tree, 26, 4, single, FACES, &error), CS_OK, &error);
        for (int kind = 0; kind < CS_TREE_KINDS; kind++)
            CHECK_STATUS(cs_tree_need(&tree, (cs_primitive)kind, threads, &error), CS_OK, &error);
        CHECK_STATUS(cs_tree_refit(&tree, x1, x0, 0.1, threads, &error), CS_OK, &error);
        cs_tree_boxes(&tree, CS_EDGES, lower[0], upper[0]);
        if (threads == 1) {
            memcpy(alone[0], lower[0], sizeof lower[0]);
            quality = tree.of[CS_FACES].quality;
        }
        CHECK(!memcmp(alone[0], lower[0], sizeof lower[0]));
        CHECK(tree.of[CS_FACES].quality == quality);
        cs_tree_clear(&tree);
    }
}

/* ---- kernels --------------------------------------------------------------------------------------------- */

/* The nodes' boxes by the kernels of every instruction set, and what their tests find. */
static void kernels_agree(int k, int arity, int single)
{
    cs_tree tree;
    cs_error error = {0};
    CHECK_STATUS(make(&tree, k, arity, single, FEW, &error), CS_OK, &error);
    CHECK_STATUS(cs_tree_need(&tree, CS_EDGES, 1, &error), CS_OK, &error);
    cs_hierarchy *h = &tree.of[CS_EDGES];
    size_t bytes = (size_t)(k * arity) * (single ? sizeof(float) : sizeof(double));
    size_t size = bytes * (size_t)h->nodes;
    char *boxes = cs_arena_take(&tree.arena, (int64_t)size, 1);
    memcpy(boxes, h->box, size);
    const cs_tree_kernels *plain = cs_tree_kernels_of(0), *kernels;
    for (int set = 0; (kernels = cs_tree_kernels_of(set)); set++) {
        if (!cs_instructions_run(set)) continue;
        const cs_tree_motion motion = {x0, x1, 0.05};
        memset(h->box, 0, size);
        kernels->fill_vertices[single](&tree, &motion, 0, tree.vertices);
        double cost = kernels->fill_leaves[single](&tree, h, 0, h->leaves) +
                      kernels->fill_branches[single](&tree, h, h->leaves, h->nodes);
        CHECK(!memcmp(boxes, h->box, size));
        CHECK_NEAR(cost, h->cost, 1e-9 * h->cost);
        cs_tree_overlap overlap = kernels->overlap[single](k, arity);
        cs_tree_overlap one = plain->overlap[single](k, arity);
        cs_tree_sharing sharing = kernels->sharing(2, arity), two = plain->sharing(2, arity);
        for (int64_t a = 0; a < h->leaves; a++)
            for (int64_t b = 0; b < h->leaves; b++) {
                const int32_t *v = h->vertex + 2 * arity * a, *w = h->vertex + 2 * arity * b;
                CHECK(overlap(boxes + bytes * (size_t)a, boxes + bytes * (size_t)b) ==
                      one(boxes + bytes * (size_t)a, boxes + bytes * (size_t)b));
                CHECK(sharing(v, w) == two(v, w));
            }
    }
    cs_tree_clear(&tree);
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

static cs_status all_calls(cs_error *error)
{
    cs_tree tree = {0};
    cs_query query = {0};
    cs_query_options options = {CS_PAIRS_EDGE_EDGE, cs_split_rule_find("truth"), 0, -1, 3, 1, NULL};
    cs_status status = make(&tree, 18, 4, 1, FEW, error);
    if (!status) status = ask(&query, &tree, NULL, options, error);
    if (!status) status = cs_tree_rebuild(&tree, 2, error);
    if (!status) status = ask(&query, &tree, NULL, options, error);
    cs_query_clear(&query);
    cs_tree_clear(&tree);
    return status;
}

/* Each call's n-th allocation fails, until there are no more. */
static void no_failed_allocation_leaves_anything(void)
{
    int64_t before = cs_memory_live(), n = 0;
    cs_status status = CS_NO_MEMORY;
    for (; status && n < 500; n++) {
        cs_error error = {0};
        cs_memory_fail_after(n);
        status = all_calls(&error);
        cs_memory_fail_after(-1);
        CHECK(!status || (status == CS_NO_MEMORY && error.message[0]));
        CHECK(cs_memory_live() == before);
    }
    CHECK(!status && n > 10);
}

static int always(void *context)
{
    (void)context;
    return 1;
}

static void a_query_is_cancelled(void)
{
    cs_tree tree;
    cs_query query = {0};
    cs_error error = {0};
    CHECK_STATUS(make(&tree, 6, 4, 1, FACES, &error), CS_OK, &error);
    CHECK_STATUS(cs_tree_refit(&tree, x0, x1, 10, 1, &error), CS_OK, &error);
    for (int threads = 1; threads <= 2; threads++) {
        cs_cancellation cancellation = {.is_cancelled = always, .work = CS_CANCELLATION_WORK};
        cs_query_options options = {CS_PAIRS_FACES, cs_split_rule_at(0), 0, 0, threads, 1,
                                    &cancellation};
        CHECK_STATUS(cs_query_run(&query, &tree, NULL, &options, &error), CS_INTERRUPTED, &error);
    }
    cs_query_clear(&query);
    cs_tree_clear(&tree);
}

int main(void)
{
    static const int dops[] = {6, 14, 18, 26};
    make_soup();
    for (int single = 0; single < 2; single++) {
        for (int n = 0; n < 4; n++)
            for (int arity = 2; arity <= 4; arity += 2) kernels_agree(dops[n], arity, single);
        pairs_are_those_of_all(18, 4, single);
        refits_have_the_same_bits_on_all_threads(single);
    }
    pairs_are_those_of_all(14, 2, 1);
    no_failed_allocation_leaves_anything();
    a_query_is_cancelled();
    return test_result();
}

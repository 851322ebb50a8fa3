/* Every order, on graphs of all kinds: each block is visited once, and what runs at once shares no
 * moving body (for a given A: no two blocks are coupled). */
#include "order/components.h"
#include "order/greedy_palette.h"
#include "order/graph_partition.h"
#include "testing.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 900, MOST_BODIES = 400 };

/* ---- problems -------------------------------------------------------------------------------- */

typedef struct graph_case {
    const char *name;
    int64_t bodies, blocks;
    int64_t pair[2 * MOST_BLOCKS];
    double mass[MOST_BODIES]; /* of one degree of freedom; 0: immovable */
} graph_case;

static graph_case g;

static int64_t below(uint64_t *random, int64_t limit)
{
    return (int64_t)((test_random(random) + 1) / 2 * (double)limit);
}

static void add(int64_t a, int64_t b)
{
    g.pair[2 * g.blocks] = a;
    g.pair[2 * g.blocks + 1] = b;
    g.blocks++;
}

static void begin(const char *name, int64_t bodies)
{
    g.name = name;
    g.bodies = bodies;
    g.blocks = 0;
    for (int64_t i = 0; i < bodies; i++) g.mass[i] = 1;
}

static void make_random(int64_t bodies, int64_t blocks, uint64_t seed)
{
    begin("random", bodies);
    for (int64_t k = 0; k < blocks; k++)
        add(below(&seed, bodies + 1) - 1, below(&seed, bodies + 1) - 1);
    for (int64_t i = 0; i < bodies; i += 7) g.mass[i] = 0;
}

static void make_chains(int64_t bodies)
{
    begin("chains", bodies);
    for (int64_t i = 0; i + 1 < bodies; i++)
        if (i % 50 != 49) add(i * 7 % bodies, (i + 1) * 7 % bodies);
    for (int64_t i = 0; i < bodies; i += 40) add(-1, i);
}

static void make_star(int64_t leaves, int64_t hub)
{
    begin("star", leaves + 1);
    for (int64_t i = 0; i <= leaves; i++)
        if (i != hub) add(hub, i);
    for (int64_t i = 0; i < leaves; i += 3) add(i, i + 1); /* some leaves touch */
}

static void make_clique(int64_t bodies)
{
    begin("clique", bodies);
    for (int64_t i = 0; i < bodies; i++)
        for (int64_t j = 0; j < i; j++) add(i, j);
}

static void make_pairs(void)
{
    begin("pairs", 6);
    for (int64_t k = 0; k < 90; k++) add(k % 2 ? 2 : 3, k % 2 ? 3 : 2); /* either way round */
    for (int64_t k = 0; k < 20; k++) add(4, 4);
    for (int64_t k = 0; k < 20; k++) add(k % 2 ? -1 : 0, k % 2 ? 0 : -1);
    for (int64_t k = 0; k < 9; k++) add(5, 1), add(-1, -1), add(2, 5);
    g.mass[5] = 0;
}

static void make_world(int64_t blocks)
{
    begin("world", 1);
    for (int64_t k = 0; k < blocks; k++) add(-1, -1);
}

static cs_problem *problem_of_graph(void)
{
    static double jacobian[2 * MOST_BLOCKS], b[MOST_BLOCKS];
    cs_problem *problem = NULL;
    cs_error error;
    for (int i = 0; i < 2 * MOST_BLOCKS; i++) jacobian[i] = i % 2 ? 1 : -1;
    cs_bodies bodies = {g.bodies, 1, 1, g.mass};
    int64_t half = g.blocks / 2; /* two groups, so that ranges end in the middle of stages */
    CHECK_STATUS(cs_problem_create(&problem, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_add_bodies(problem, &bodies, &error), CS_OK, &error);
    for (int i = 0; i < 2; i++) {
        int64_t first = i ? half : 0, count = i ? g.blocks - half : half;
        cs_blocks blocks = {.count = count,
                            .rows = 1,
                            .dof = {1, 1},
                            .jacobian = jacobian,
                            .bodies = g.pair + 2 * first,
                            .b = b,
                            .set = "half_line"};
        CHECK_STATUS(cs_problem_add_blocks(problem, &blocks, &error), CS_OK, &error);
    }
    return problem;
}

/* A given A whose pattern is unsymmetric: row k reaches block l > k only, by the graph's bodies. */
static cs_problem *problem_of_matrix(void)
{
    static double value[MOST_BLOCKS * 40], b[MOST_BLOCKS];
    static int64_t start[MOST_BLOCKS + 1], column[MOST_BLOCKS * 40];
    cs_problem *problem = NULL;
    cs_error error;
    int64_t count = 0;
    for (int64_t k = 0; k < g.blocks; k++) {
        int64_t in_row = 0;
        for (int64_t l = k; l < g.blocks && in_row < 40; l++) {
            int touch = g.pair[2 * k] == g.pair[2 * l] || g.pair[2 * k + 1] == g.pair[2 * l + 1];
            if (!touch) continue;
            in_row++;
            column[count] = l;
            value[count++] = 1;
        }
        start[k + 1] = count;
    }
    cs_csr matrix = {g.blocks, start, column, value};
    cs_blocks blocks = {.count = g.blocks, .rows = 1, .b = b, .set = "half_line"};
    CHECK_STATUS(cs_problem_create(&problem, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_add_blocks(problem, &blocks, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_set_matrix(problem, &matrix, &error), CS_OK, &error);
    return problem;
}

/* ---- what must hold -------------------------------------------------------------------------- */

static int share_a_body(const cs_problem *problem, int64_t k, int64_t l)
{
    if (problem->matrix) {
        const cs_block_matrix *A = problem->matrix;
        for (int64_t e = A->start[k]; e < A->start[k + 1]; e++)
            if (A->column[e] == l) return 1;
        for (int64_t e = A->start[l]; e < A->start[l + 1]; e++)
            if (A->column[e] == k) return 1;
        return 0;
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            int64_t body = g.pair[2 * k + i];
            if (body >= 0 && g.mass[body] > 0 && body == g.pair[2 * l + j]) return 1;
        }
    return 0;
}

typedef struct visits {
    int64_t block[MOST_BLOCKS], stage[MOST_BLOCKS], part[MOST_BLOCKS], count;
} visits;

/* The blocks as the schedule visits them, stage by stage, part by part. */
static void walk(const cs_problem *problem, const cs_schedule *schedule, visits *v)
{
    v->count = 0;
    for (int64_t s = 0; s < schedule->stages; s++)
        for (int64_t p = 0; p < schedule->stage[s].parts; p++) {
            const int64_t *part = schedule->part + schedule->stage[s].first_part + p;
            CHECK(part[0] < part[1]);
            for (int64_t r = part[0]; r < part[1]; r++) {
                const cs_range *range = &schedule->range[r];
                for (int64_t i = 0; i < range->count && v->count < MOST_BLOCKS; i++) {
                    v->block[v->count] = problem->block_group[range->group].first_block +
                                         schedule->visit[range->group][range->first + i];
                    v->stage[v->count] = s;
                    v->part[v->count++] = p;
                }
            }
        }
}

static int is_valid(const cs_problem *problem, const cs_schedule *schedule, const visits *v)
{
    static int seen[MOST_BLOCKS];
    memset(seen, 0, sizeof seen);
    int valid = v->count == problem->blocks;
    for (int64_t i = 0; i < v->count; i++) valid = valid && ++seen[v->block[i]] == 1;
    for (int64_t i = 0; i < v->count && valid; i++)
        for (int64_t j = i + 1; j < v->count && v->stage[j] == v->stage[i]; j++) {
            cs_stage_kind kind = schedule->stage[v->stage[i]].kind;
            int apart = kind == CS_INDEPENDENT || (kind == CS_DISJOINT && v->part[i] != v->part[j]);
            if (apart && share_a_body(problem, v->block[i], v->block[j])) valid = 0;
        }
    return valid;
}

static visits v;

/* Plans and lays out; leaves the visits in `v` and returns the schedule. */
static cs_schedule lay(const cs_problem *problem, const char *order,
                       const cs_order_options *options, cs_arena *arena)
{
    cs_schedule schedule = {0};
    cs_error error;
    cs_plan *plan;
    v.count = 0;
    cs_status status =
        cs_plan_make(problem, cs_order_find(order), 0, options, arena, &plan, &error);
    CHECK_STATUS(status, CS_OK, &error);
    if (status) return schedule;
    CHECK_STATUS(cs_schedule_lay(problem, plan, arena, &schedule, &error), CS_OK, &error);
    walk(problem, &schedule, &v);
    return schedule;
}

static void check_order(const cs_problem *problem, const char *order, cs_order_options options)
{
    cs_arena arena = {0};
    cs_schedule schedule = lay(problem, order, &options, &arena);
    CHECK(is_valid(problem, &schedule, &v));
    if (!is_valid(problem, &schedule, &v))
        fprintf(stderr, "    order %s, graph %s\n", order, g.name);
    cs_arena_clear(&arena);
}

static const int part_counts[] = {1, 2, 3, 8, 1000000000};

static void check_options(const cs_problem *problem, int parts, const int64_t *labels)
{
    static const char *const borders[] = {"colored", "sequential", "checkerboard"};
    static const char *const strategies[] = {"auto", "slices", "natural"};
    static const char *const bodies[] = {"natural", "breadth_first", "auto"};
    cs_order_options plain = {.parts = parts}, options;
    static const char *const simple[] = {"natural", "reverse", "random", "ranges", "colored"};
    for (int i = 0; i < 5; i++) check_order(problem, simple[i], plain);
    for (int i = 0; i < 9; i++) {
        options = plain;
        cs_setting own[] = {{.name = "border", .word = borders[i % 3]},
                            {.name = "strategy", .word = strategies[i / 3]}};
        options.settings = own;
        options.setting_count = 2;
        options.labels = i / 3 == 2 ? labels : NULL;
        check_order(problem, "partition", options);
    }
    for (int i = 0; i < 4; i++) {
        options = plain;
        cs_setting own = {.name = "count", .number = i < 2 ? 1 + 4 * i : parts};
        options.settings = &own;
        options.setting_count = 1;
        options.labels = i == 3 ? labels : NULL;
        check_order(problem, "regions", options);
    }
    for (int i = 0; i < 8; i++) {
        options = plain;
        cs_setting own[] = {{.name = "bodies", .word = bodies[i % 3]},
                            {.name = "domains", .number = !(i & 4)},
                            {.name = "chunk", .number = 20}};
        options.settings = own;
        options.setting_count = i & 1 ? 3 : 2;
        check_order(problem, "cache", options);
    }
    for (int i = 0; i < 4; i++) {
        options = plain;
        cs_setting own[] = {{.name = "inside", .word = i & 1 ? "simultaneous" : "sequential"},
                            {.name = "colored", .number = (i & 2) / 2}};
        options.settings = own;
        options.setting_count = 2;
        check_order(problem, "contact_sets", options);
    }
    for (int i = 0; i < 2; i++) {
        options = plain;
        cs_setting own[] = {{.name = "unsafe", .word = "groups"},
                            {.name = "unsafe_below", .number = i ? 5 : MOST_BLOCKS},
                            {.name = "first", .number = i},
                            {.name = "fixed_as_body", .number = 1}};
        options.settings = own;
        options.setting_count = 4;
        check_order(problem, "colored", options);
    }
}

static void check_graph(void)
{
    static int64_t labels[MOST_BLOCKS];
    uint64_t seed = 5;
    for (int given = 0; given < 2; given++) {
        cs_problem *problem = given ? problem_of_matrix() : problem_of_graph();
        int64_t vertices = cs_problem_vertices(problem);
        for (int64_t i = 0; i < vertices; i++)
            labels[i] = below(&seed, vertices < 6 ? vertices : 6);
        for (size_t i = 0; i < sizeof part_counts / sizeof *part_counts; i++)
            check_options(problem, part_counts[i], labels);
        cs_problem_destroy(problem);
    }
}

static void orders_are_valid(void)
{
    make_random(40, 100, 1);
    check_graph();
    make_random(200, 400, 2);
    check_graph();
    make_random(3, 80, 3);
    check_graph();
    make_chains(300);
    check_graph();
    make_star(200, 0);
    check_graph();
    make_star(200, 200);
    check_graph();
    make_clique(24);
    check_graph();
    make_pairs();
    check_graph();
    make_world(10);
    check_graph();
    begin("empty", 3);
    check_graph();
    begin("one", 2);
    add(0, 1);
    check_graph();
}

/* ---- single orders --------------------------------------------------------------------------- */

/* S1 Fig. 4.3 (b): a slice touches at most two others, in every component. */
static void slices_touch_their_neighbours(void)
{
    make_chains(300);
    cs_problem *problem = problem_of_graph();
    cs_error error;
    int64_t labels[MOST_BODIES], least = MOST_BLOCKS, size[8] = {0};
    cs_setting own = {.name = "strategy", .word = "slices"};
    cs_order_options options = {.parts = 8, .settings = &own, .setting_count = 1};
    CHECK_STATUS(cs_partition_labels(problem, &options, labels, &error), CS_OK, &error);
    for (int64_t k = 0; k < g.blocks; k++) {
        const int64_t *pair = g.pair + 2 * k;
        if (pair[0] >= 0) CHECK(llabs(labels[pair[0]] - labels[pair[1]]) <= 1);
        size[labels[pair[1]]]++;
    }
    for (int p = 0; p < 8; p++)
        if (size[p] < least) least = size[p];
    CHECK(least * 8 > g.blocks * 3 / 4);
    cs_arena arena = {0};
    cs_schedule schedule = lay(problem, "partition", &options, &arena);
    CHECK(schedule.stage[0].kind == CS_DISJOINT && schedule.stage[0].parts == 8);
    cs_arena_clear(&arena);

    /* Left open, there are as many parts as the size gives. */
    int64_t open[MOST_BODIES];
    CHECK(cs_problem_parts(problem) == 8);
    options.parts = 0;
    CHECK_STATUS(cs_partition_labels(problem, &options, open, &error), CS_OK, &error);
    CHECK(memcmp(open, labels, sizeof(int64_t) * (size_t)cs_problem_vertices(problem)) == 0);
    options.parts = -1;
    CHECK(cs_partition_labels(problem, &options, labels, &error) == CS_INVALID);
    cs_problem_destroy(problem);
}

/* A chain in scrambled numbers: breadth-first, contacts follow it from end to end. */
static void breadth_first_unscrambles(void)
{
    begin("scrambled", 211);
    for (int64_t i = 0; i < 210; i++) add(i * 17 % 211, (i + 1) * 17 % 211);
    cs_problem *problem = problem_of_graph();
    cs_arena arena = {0};
    cs_setting own[] = {{.name = "chunk", .number = 1},
                        {.name = "bodies", .word = "breadth_first"}};
    cs_order_options options = {.parts = 1, .settings = own, .setting_count = 2};
    lay(problem, "cache", &options, &arena);
    for (int64_t i = 1; i < v.count; i++) CHECK(llabs(v.block[i] - v.block[i - 1]) == 1);
    own[1].word = "natural";
    lay(problem, "cache", &options, &arena);
    for (int64_t i = 1; i < v.count; i++) {
        const int64_t *a = g.pair + 2 * v.block[i - 1], *b = g.pair + 2 * v.block[i];
        CHECK((a[0] > a[1] ? a[0] : a[1]) <= (b[0] > b[1] ? b[0] : b[1]));
    }
    cs_arena_clear(&arena);
    cs_problem_destroy(problem);
}

/* The blocks of a pair stand together, whichever way round, and pairs by their first contacts. */
static void sets_stay_together(void)
{
    make_pairs();
    cs_problem *problem = problem_of_graph();
    cs_arena arena = {0};
    cs_order_options options = {.parts = 8};
    cs_schedule schedule = lay(problem, "contact_sets", &options, &arena);
    CHECK(schedule.stages == 1 && schedule.stage[0].kind == CS_SEQUENTIAL);
    int64_t changes = 0;
    for (int64_t i = 1; i < v.count; i++) {
        const int64_t *a = g.pair + 2 * v.block[i - 1], *b = g.pair + 2 * v.block[i];
        int same = (a[0] == b[0] && a[1] == b[1]) || (a[0] == b[1] && a[1] == b[0]);
        changes += !same;
        if (same) CHECK(v.block[i] > v.block[i - 1]);
    }
    CHECK(changes == 5); /* six pairs: 2-3, 4-4, 0-world, 5-1, world-world, 2-5 */
    CHECK(v.block[0] == 0 && v.block[90] == 90);

    /* simultaneous: 2-5 shares body 2 with 2-3, the other pairs share nothing that moves */
    cs_setting inside = {.name = "inside", .word = "simultaneous"};
    options.settings = &inside;
    options.setting_count = 1;
    schedule = lay(problem, "contact_sets", &options, &arena);
    CHECK(schedule.stages == 2 && schedule.stage[1].blocks == 9);

    /* coloured: a set is never cut, and pieces hold no more than they should */
    cs_setting colored = {.name = "colored", .number = 1};
    options.settings = &colored;
    schedule = lay(problem, "contact_sets", &options, &arena);
    CHECK(schedule.stages == 2 && schedule.colors == 2);
    CHECK(schedule.stage[0].kind == CS_DISJOINT);
    cs_arena_clear(&arena);
    cs_problem_destroy(problem);
}

/* Sets beyond CS_CHUNK blocks are cut between sets only. */
static void pieces_hold_whole_sets(void)
{
    begin("sets", 300);
    for (int64_t i = 0; i < 300; i++)
        for (int j = 0; j < 3; j++) add(-1, i);
    cs_problem *problem = problem_of_graph();
    cs_arena arena = {0};
    cs_setting colored = {.name = "colored", .number = 1};
    cs_order_options options = {.parts = 8, .settings = &colored, .setting_count = 1};
    cs_schedule schedule = lay(problem, "contact_sets", &options, &arena);
    CHECK(schedule.stages == 1 && schedule.parts == 2);
    CHECK(v.part[CS_CHUNK / 3 * 3 - 1] == 0 && v.part[CS_CHUNK / 3 * 3] == 1);
    cs_arena_clear(&arena);
    cs_problem_destroy(problem);
}

/* Components of 1, 2, ..., 24 contacts in 4 parts: no part has much more than another. */
static void groups_are_even(void)
{
    begin("ladder", 0);
    int64_t body = 0, most = 0, load[4] = {0};
    for (int64_t length = 1; length <= 24; length++, body++)
        for (int64_t i = 0; i < length; i++, body++) add(body, body + 1);
    begin("ladder", body);
    g.blocks = 300;
    cs_problem *problem = problem_of_graph();
    cs_arena arena = {0};
    cs_setting own[] = {{.name = "unsafe", .word = "groups"},
                        {.name = "unsafe_below", .number = MOST_BLOCKS}};
    cs_order_options options = {.parts = 4, .settings = own, .setting_count = 2};
    cs_schedule schedule = lay(problem, "colored", &options, &arena);
    CHECK(schedule.stages == 1 && schedule.stage[0].parts == 4);
    for (int64_t i = 0; i < v.count; i++) load[v.part[i]]++;
    for (int p = 0; p < 4; p++)
        if (load[p] > most) most = load[p];
    CHECK(most <= 76);
    cs_arena_clear(&arena);
    cs_problem_destroy(problem);
}

/* The palette finds the colours of cs_color, and more than 64 where a body asks for them. */
static void palettes_color_greedily(void)
{
    make_star(200, 100);
    cs_problem *problem = problem_of_graph();
    cs_arena arena = {0};
    cs_graph graph;
    cs_greedy_palette palette;
    cs_error error;
    int64_t block[MOST_BLOCKS];
    for (int64_t i = 0; i < g.blocks; i++) block[i] = i;
    CHECK_STATUS(cs_graph_build(problem, &arena, &graph, &error), CS_OK, &error);
    CHECK_STATUS(cs_greedy_palette_new(&graph, g.blocks, &arena, &palette, &error), CS_OK, &error);
    for (int round = 0; round < 2; round++) {
        CHECK(cs_greedy_palette_color(&palette, block, g.blocks) == 201); /* 99 twice */
        CHECK(palette.end[200] == g.blocks);
    }
    CHECK(cs_greedy_palette_color(&palette, block + 3, 1) == 1);
    cs_arena_clear(&arena);
    cs_problem_destroy(problem);
}

/* The message of a plan that must fail. */
static void refuse(const cs_problem *problem, const char *order, const cs_order_options *options,
                   const char *message)
{
    cs_arena arena = {0};
    cs_plan *plan;
    cs_error error = {0};
    CHECK(cs_plan_make(problem, cs_order_find(order), 0, options, &arena, &plan, &error) != CS_OK);
    CHECK(!strcmp(error.message, message));
    if (strcmp(error.message, message)) fprintf(stderr, "    '%s'\n", error.message);
    cs_arena_clear(&arena);
}

/* Wrong labels, borders and chunks are named; those of immovable bodies do not matter. */
static void labels_are_checked(void)
{
    make_pairs();
    cs_problem *problem = problem_of_graph();
    cs_arena arena = {0};
    int64_t labels[6] = {0, 0, 1, 2, 6, -5};
    cs_setting own = {.name = "border", .word = "none"};
    cs_order_options options = {.parts = 8, .labels = labels, .settings = &own};
    refuse(problem, "partition", &options,
           "labels[4] is 6: parts are numbered from 0 to 5 at most");
    labels[4] = 5;
    lay(problem, "partition", &options, &arena);
    options.setting_count = 1;
    refuse(problem, "partition", &options,
           "border: 'none' is unknown; known: colored, sequential, checkerboard, concurrent");
    own = (cs_setting){.name = "chunk", .number = 0};
    refuse(problem, "cache", &options, "chunk is 0: it must be at least 1");
    refuse(problem, "natural", &options, "chunk: order='natural' has no options of its own");
    cs_arena_clear(&arena);
    cs_problem_destroy(problem);
}

/* What refines another option is refused where that one is not as it must be. */
static void options_without_effect_are_refused(void)
{
    make_pairs();
    cs_problem *problem = problem_of_graph();
    cs_arena arena = {0};
    cs_setting own[] = {{.name = "colors", .number = 3}, {.name = "strategy", .word = "balanced"}};
    cs_order_options options = {.parts = 8, .settings = own, .setting_count = 1};
    refuse(problem, "colored", &options,
           "colors is for strategy='balanced' of order='colored': it has no effect here");
    options.setting_count = 2;
    lay(problem, "colored", &options, &arena);
    own[0] = (cs_setting){.name = "first", .number = 1};
    refuse(problem, "colored", &options,
           "first is for order='colored' with unsafe_below: it has no effect here");
    own[1] = (cs_setting){.name = "unsafe_below", .number = 0};
    lay(problem, "colored", &options, &arena);
    cs_arena_clear(&arena);
    cs_problem_destroy(problem);
}

int main(void)
{
    orders_are_valid();
    slices_touch_their_neighbours();
    breadth_first_unscrambles();
    sets_stay_together();
    pieces_hold_whole_sets();
    groups_are_even();
    palettes_color_greedily();
    labels_are_checked();
    options_without_effect_are_refused();
    return test_result();
}

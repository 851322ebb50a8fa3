/* Sets up a colouring: ranges, threads, hubs and the target number of colours. order/coloring_rounds.c colours. */
#include "order/coloring.h"

#include "core/error.h"
#include "core/parallel.h"
#include "order/coloring_rounds.h"

#include <string.h>

/* A body with more blocks than this is a hub and stores the set of its colours. Looking through all of its
 * blocks for each of them would take quadratic time. */
enum { HUB = 128 };

/* Sets the number of threads, and from how many blocks on they are used. */
static void choose_threads(cs_coloring_state *state, const cs_coloring_options *options)
{
    state->worth_threads = options->exact_threads ? 0 : CS_WORTH_THREADS_COLORS;
    state->threads = options->exact_threads ? cs_threads_exactly(options->threads, state->ranges)
                                            : cs_threads_for(options->threads, 0, 0, state->ranges);
}

/* Numbers the hubs and allocates their colour sets. */
static void find_hubs(cs_coloring_state *state)
{
    const cs_problem *problem = state->conflict.problem;
    state->hub_of = cs_arena_take(state->scratch, problem->bodies, sizeof(int64_t));
    if (!state->hub_of) return;
    for (int64_t body = 0; body < problem->bodies; body++) {
        const int64_t *start = state->conflict.adjacency.start;
        int many = !problem->matrix && start[body + 1] - start[body] > HUB;
        state->hub_of[body] = many ? state->hubs++ : -1;
    }
    state->settled = cs_arena_take(state->scratch, state->hubs, sizeof(cs_color_set));
    state->settled_below = cs_arena_take(state->scratch, state->hubs, sizeof(int64_t));
}

/* Cuts the blocks into ranges and allocates the scratch memory of ranges and threads. */
static void make_ranges(cs_coloring_state *state)
{
    int64_t blocks = state->conflict.problem->blocks;
    state->range = cs_arena_take(state->scratch, state->ranges, sizeof(cs_color_range));
    state->marks = cs_arena_take(state->scratch, state->threads, sizeof(cs_color_marks));
    if (cs_arena_failed(state->scratch)) return;
    for (int64_t n = 0; n < state->ranges; n++) {
        cs_color_range *r = &state->range[n];
        r->first = blocks * n / state->ranges;
        r->end = blocks * (n + 1) / state->ranges;
        r->hub = cs_arena_take(state->scratch, state->hubs, sizeof(cs_hub_view));
    }
    for (int t = 0; t < state->threads; t++)
        state->marks[t].found_by = cs_arena_take(state->scratch, state->capacity, sizeof(int64_t));
}

/* The status of all requests for memory so far. */
static cs_status memory_status(const cs_coloring_state *state, cs_error *error)
{
    return cs_arena_status(state->scratch, error, "colouring %lld contacts",
                           (long long)state->conflict.problem->blocks);
}

/* Prepares everything but the target of a balanced colouring. `degree`: highest number of conflicts of a block. */
static cs_status set_up(cs_coloring_state *state, const cs_coloring_options *options,
                        int64_t degree, cs_error *error)
{
    /* A block has at most `degree` conflicts; a balanced colouring may use more colours than it needs. */
    int64_t blocks = state->conflict.problem->blocks;
    state->capacity = 2 * degree + 2;
    if (options->colors > 0) state->capacity += options->colors < blocks ? options->colors : blocks;
    if (options->multiple_of_parts)
        state->capacity += options->parts < blocks ? options->parts : blocks;
    state->pages = cs_color_pages(state->capacity);

    /* Choose the ranges and threads. */
    state->ranges = options->parallel ? options->parts : 1;
    if (state->ranges > blocks) state->ranges = blocks > 0 ? blocks : 1;
    choose_threads(state, options);

    /* Allocate. */
    state->coloring->color = cs_arena_take(state->scratch, blocks, sizeof(int64_t));
    state->coloring->size = cs_arena_take(state->scratch, state->capacity, sizeof(int64_t));
    state->tentative = cs_arena_take(state->scratch, blocks, sizeof(int64_t));
    state->queue = cs_arena_take(state->scratch, blocks, sizeof(int64_t));
    state->lost = cs_arena_take(state->scratch, blocks, 1);
    find_hubs(state);
    make_ranges(state);
    cs_status status = memory_status(state, error);

    /* Sort the blocks by priority. */
    if (status || options->priority == CS_PRIORITY_NATURAL) return status;
    state->sequence = cs_arena_take_unset(state->scratch, blocks, sizeof(int64_t));
    if (!state->sequence) return memory_status(state, error);
    return cs_sort_by_hash(NULL, blocks, state->sequence, state->scratch, error);
}

/* The target number of colours of a balanced colouring (S1 section 4.3); -1 if memory runs out. */
static int64_t find_target(cs_coloring_state *state, const cs_coloring_options *options,
                           int64_t degree)
{
    /* By default the highest number of conflicts, otherwise the number that the user chose. */
    int64_t colors = degree > 0 ? degree : 1, blocks = state->conflict.problem->blocks;
    if (options->colors > 0) colors = options->colors < blocks ? options->colors : blocks;

    /* Or as many as a greedy colouring needs. */
    if (options->colors < 0) {
        if (cs_color_in_rounds(state)) return -1;
        colors = state->coloring->colors;
        cs_coloring_reset(state);
    }

    /* Round up; but more colours than blocks change nothing. */
    if (options->multiple_of_parts)
        colors = (colors + options->parts - 1) / options->parts * options->parts;
    if (options->multiple_of_parts && colors > blocks) colors = blocks > 0 ? blocks : 1;
    return colors;
}

/* Sets the target number of a balanced colouring and allocates the usage counts. */
static cs_status set_target(cs_coloring_state *state, const cs_coloring_options *options,
                            int64_t degree, cs_error *error)
{
    int64_t target = find_target(state, options, degree);
    if (target < 0)
        return cs_no_memory(error, "colouring %lld contacts",
                            (long long)state->conflict.problem->blocks);
    for (int64_t n = 0; n < state->ranges; n++)
        state->range[n].used.count = cs_arena_take(state->scratch, target, sizeof(int64_t));
    state->target = target;
    return memory_status(state, error);
}

/* Removes the colours without blocks, all of which have lost them, and renumbers the others. */
static void remove_empty_colors(cs_coloring_state *state)
{
    cs_coloring *coloring = state->coloring;
    int64_t used = 0, *number = state->marks[0].found_by;
    for (int64_t color = 0; color < coloring->colors; color++) {
        number[color] = used;
        coloring->size[used] = coloring->size[color];
        used += coloring->size[color] > 0;
    }
    coloring->colors = used;
    for (int64_t block = 0; block < state->conflict.problem->blocks; block++)
        coloring->color[block] = number[coloring->color[block]];
}

cs_status cs_color(const cs_problem *problem, const cs_coloring_options *options, cs_arena *scratch,
                   cs_coloring *coloring, cs_error *error)
{
    cs_coloring_state state = {.coloring = coloring, .scratch = scratch};
    *coloring = (cs_coloring){0};

    /* Set up. */
    cs_status status =
        cs_conflicts_build(problem, options->fixed_as_body, scratch, &state.conflict, error);
    if (status) return status;
    int64_t degree = cs_highest_degree(&state.conflict);
    status = set_up(&state, options, degree, error);
    if (status) return status;
    cs_coloring_reset(&state);
    if (options->balanced) status = set_target(&state, options, degree, error);

    /* Colour. */
    if (!status && cs_color_in_rounds(&state))
        status = cs_no_memory(error, "colouring %lld contacts",
                              (long long)state.conflict.problem->blocks);
    if (!status && coloring->rounds > 1) remove_empty_colors(&state);
    for (int64_t n = 0; n < state.ranges; n++) cs_arena_clear(&state.range[n].arena);
    return status;
}

int cs_sort_colors(const cs_problem *problem, const cs_coloring *coloring, cs_arena *scratch,
                   int64_t **sorted, int64_t **start)
{
    *sorted = cs_arena_take(scratch, problem->blocks, sizeof(int64_t));
    *start = cs_arena_take(scratch, coloring->colors + 2, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return -1;
    int64_t *next = *start + 1;
    for (int64_t c = 0; c < coloring->colors; c++) next[c + 1] = next[c] + coloring->size[c];
    for (int64_t block = 0; block < problem->blocks; block++)
        (*sorted)[next[coloring->color[block]]++] = block;
    return 0;
}

int64_t cs_plan_color(const cs_coloring *coloring, int64_t color, const int64_t *sorted,
                      const int64_t *start, cs_plan *plan, int64_t at)
{
    memcpy(plan->block + at, sorted + start[color],
           sizeof(int64_t) * (size_t)coloring->size[color]);
    return at + coloring->size[color];
}

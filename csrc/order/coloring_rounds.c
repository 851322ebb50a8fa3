#include "order/coloring_rounds.h"

#include "core/parallel.h"

#include <stdatomic.h>
#include <string.h>

/* ---- step 1: tentative colours --------------------------------------------------------------- */

/* A range's view of a hub, reset at its first use in a round. */
static cs_hub_view *view_of(const cs_coloring_state *state, cs_color_range *r, int64_t hub)
{
    cs_hub_view *view = &r->hub[hub];
    if (view->round != state->round) {
        cs_color_set_clear(&view->own, state->pages);
        view->taken_below = state->settled_below[hub];
        view->round = state->round;
    }
    return view;
}

/* hubs <- the hubs among a block's bodies; returns their number. Marks the colours of the conflicting blocks at
 * its other bodies as found by this visit. */
static int find_taken(const cs_coloring_state *state, const cs_color_range *r, cs_color_marks *h,
                      int64_t block, int64_t *hubs)
{
    cs_conflict_list list[CS_MAX_PARTNERS];
    int lists = cs_conflicts_of(&state->conflict, block, list), count = 0;
    h->visits++;
    for (int i = 0; i < lists; i++) {
        /* A hub has its own set of colours. */
        int64_t hub = list[i].body >= 0 ? state->hub_of[list[i].body] : -1;
        if (hub >= 0) {
            hubs[count++] = hub;
            continue;
        }

        /* Blocks of other ranges count only with their settled colours. */
        for (int64_t e = 0; e < list[i].count; e++) {
            int64_t other = list[i].entry[e] >> list[i].shift;
            int own = other >= r->first && other < r->end;
            int64_t color = own ? state->tentative[other] : state->coloring->color[other];
            if (color >= 0) h->found_by[color] = h->visits;
        }
    }
    return count;
}

/* The data to choose the colour of one block: the hubs among its bodies, and the marks of its other conflicts. */
typedef struct color_choice {
    const cs_coloring_state *state;
    cs_color_range *r;
    const cs_color_marks *h;
    int64_t hub[CS_MAX_PARTNERS];
    int hubs;
} color_choice;

/* Whether a block at the hub has the colour. */
static int is_taken(const color_choice *c, int64_t hub, int64_t color)
{
    return cs_color_set_has(&c->r->hub[hub].own, color) ||
           cs_color_set_has(&c->state->settled[hub], color);
}

/* Whether no conflicting block has the colour. */
static int is_free(const color_choice *c, int64_t color)
{
    if (c->h->found_by[color] == c->h->visits) return 0;
    for (int i = 0; i < c->hubs; i++)
        if (is_taken(c, c->hub[i], color)) return 0;
    return 1;
}

/* The lowest colour from `color` on that no conflicting block has. */
static int64_t lowest_free(const color_choice *c, int64_t color)
{
    for (int i = 0; i < c->hubs; i++) {
        int64_t taken_below = view_of(c->state, c->r, c->hub[i])->taken_below;
        if (taken_below > color) color = taken_below;
    }
    while (!is_free(c, color)) color++;
    return color;
}

/* The least used free colour below the target number, the lowest one of several; a new colour if none is
 * free. */
static int64_t least_used(const color_choice *c)
{
    cs_color_usage *used = &c->r->used;
    int64_t target = c->state->target, best = -1;
    for (int i = 0; i < c->hubs; i++) view_of(c->state, c->r, c->hub[i]);

    /* Usually one of the colours with the fewest uses is free. */
    while (used->first < target && used->count[used->first] > used->least) used->first++;
    for (int64_t color = used->first; color < target; color++)
        if (used->count[color] == used->least && is_free(c, color)) return color;

    /* Otherwise search all of them. */
    for (int64_t color = 0; color < target; color++) {
        if (best >= 0 && used->count[color] >= used->count[best]) continue;
        if (is_free(c, color)) best = color;
    }
    return best >= 0 ? best : lowest_free(c, target);
}

/* Counts one more use of a colour. */
static void count_use(const cs_coloring_state *state, cs_color_usage *used, int64_t color)
{
    if (color >= state->target) return;
    used->above += used->count[color]++ == used->least;
    if (used->above < state->target) return;

    /* All colours have more uses now: the least number of uses is one higher. */
    used->least++;
    used->above = used->first = 0;
    for (int64_t c = 0; c < state->target; c++) used->above += used->count[c] > used->least;
}

/* Sets the uses to those of the settled blocks. */
static void reset_usage(const cs_coloring_state *state, cs_color_usage *used)
{
    const int64_t *size = state->coloring->size;
    memcpy(used->count, size, sizeof(int64_t) * (size_t)state->target);
    used->least = state->target ? size[0] : 0;
    used->above = used->first = 0;
    for (int64_t c = 0; c < state->target; c++)
        if (size[c] < used->least) used->least = size[c];
    for (int64_t c = 0; c < state->target; c++) used->above += size[c] > used->least;
}

/* Step 1: gives tentative colours to the range's uncoloured blocks. */
static void color_tentatively(cs_coloring_state *state, cs_color_range *r, cs_color_marks *h)
{
    if (state->target) reset_usage(state, &r->used);
    for (int64_t i = r->first; i < r->first + r->uncolored && !cs_arena_failed(&r->arena); i++) {
        /* Choose a colour. */
        int64_t block = state->queue[i];
        color_choice c = {.state = state, .r = r, .h = h};
        c.hubs = find_taken(state, r, h, block, c.hub);
        int64_t color = state->target ? least_used(&c) : lowest_free(&c, 0);
        state->tentative[block] = color;
        if (state->target) count_use(state, &r->used, color);

        /* Add the colour to the block's hubs. */
        for (int k = 0; k < c.hubs; k++) {
            cs_hub_view *view = view_of(state, r, c.hub[k]);
            cs_color_set_add(&view->own, color, state->pages, &r->arena);
            while (view->taken_below < state->capacity && is_taken(&c, c.hub[k], view->taken_below))
                view->taken_below++;
        }
    }
}

/* ---- steps 2 and 3: comparing and settling --------------------------------------------------- */

/* Step 2: marks the blocks that have the same colour as a conflicting block of an earlier range, except for
 * conflicts at hubs, which `accept_colors` finds. */
static void mark_conflicts(cs_coloring_state *state, cs_color_range *r, cs_color_marks *h)
{
    (void)h;
    for (int64_t i = r->first; i < r->first + r->uncolored; i++) {
        int64_t block = state->queue[i];
        cs_conflict_list list[CS_MAX_PARTNERS];
        int lists = cs_conflicts_of(&state->conflict, block, list);
        for (int k = 0; k < lists; k++) {
            if (list[k].body >= 0 && state->hub_of[list[k].body] >= 0) continue;
            for (int64_t e = 0; e < list[k].count; e++) {
                int64_t other = list[k].entry[e] >> list[k].shift;
                if (other < r->first && state->tentative[other] == state->tentative[block])
                    state->lost[block] = 1;
            }
        }
    }
}

/* Adds a colour to the sets of a block's hubs. Returns 1, and adds nothing, if one of them has the colour from
 * an earlier range; -1 if memory runs out. */
static int add_to_hubs(cs_coloring_state *state, int64_t block, int64_t color)
{
    cs_conflict_list list[CS_MAX_PARTNERS];
    int lists = cs_conflicts_of(&state->conflict, block, list);

    /* The first pass only compares, the second one adds. */
    for (int adding = 0; adding < 2; adding++)
        for (int k = 0; k < lists; k++) {
            int64_t hub = state->hub_of[list[k].body];
            if (hub < 0) continue;
            cs_color_set *set = &state->settled[hub];
            if (!adding && cs_color_set_has(set, color)) return 1;
            if (!adding) continue;
            cs_color_set_add(set, color, state->pages, state->scratch);
            if (cs_arena_failed(state->scratch)) return -1;
            int64_t *taken_below = &state->settled_below[hub];
            while (*taken_below < state->capacity && cs_color_set_has(set, *taken_below))
                ++*taken_below;
        }
    return 0;
}

/* Adds the tentative colours that become final to the hubs and to the sizes of the colours. Runs range by range on
 * one thread, because ranges share both. Returns -1 if memory runs out. */
static int accept_colors(cs_coloring_state *state)
{
    cs_coloring *coloring = state->coloring;
    for (int64_t n = 0; n < state->ranges; n++)
        for (int64_t i = state->range[n].first;
             i < state->range[n].first + state->range[n].uncolored; i++) {
            int64_t block = state->queue[i], color = state->tentative[block];
            if (state->lost[block]) continue;

            /* The block loses its colour if a hub has the colour from an earlier range. */
            if (state->hubs && state->ranges > 1) {
                int taken = add_to_hubs(state, block, color);
                if (taken < 0) return -1;
                state->lost[block] = (unsigned char)taken;
                if (taken) continue;
            }

            /* Otherwise count it. */
            coloring->size[color]++;
            if (color >= coloring->colors) coloring->colors = color + 1;
        }
    return 0;
}

/* Step 3: makes the remaining colours final and collects the uncoloured blocks for the next round. */
static void settle(cs_coloring_state *state, cs_color_range *r, cs_color_marks *h)
{
    (void)h;
    int64_t uncolored = 0;
    for (int64_t i = r->first; i < r->first + r->uncolored; i++) {
        int64_t block = state->queue[i];
        if (state->lost[block]) {
            state->lost[block] = 0;
            state->tentative[block] = -1;
            state->queue[r->first + uncolored++] = block;
        } else state->coloring->color[block] = state->tentative[block];
    }
    r->uncolored = uncolored;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* One step of a round, which threads run for all ranges. */
typedef struct range_step {
    cs_coloring_state *state;
    void (*run)(cs_coloring_state *state, cs_color_range *r, cs_color_marks *h);
    atomic_llong taken_ranges;
} range_step;

/* One thread's work in a step: takes ranges until none is left. */
static void take_ranges(void *context, int thread)
{
    range_step *s = context;
    for (;;) {
        int64_t n = atomic_fetch_add_explicit(&s->taken_ranges, 1, memory_order_relaxed);
        if (n >= s->state->ranges) return;
        s->run(s->state, &s->state->range[n], &s->state->marks[thread]);
    }
}

/* The number of blocks of all ranges that have no settled colour. */
static int64_t count_uncolored(const cs_coloring_state *state)
{
    int64_t uncolored = 0;
    for (int64_t n = 0; n < state->ranges; n++) uncolored += state->range[n].uncolored;
    return uncolored;
}

/* Runs a step for all ranges, with threads if there is enough work. */
static void each_range(cs_coloring_state *state,
                       void (*run)(cs_coloring_state *state, cs_color_range *r, cs_color_marks *h))
{
    range_step s = {.state = state, .run = run};
    if (state->threads > 1 && count_uncolored(state) >= state->worth_threads)
        cs_parallel(state->threads, take_ranges, &s);
    else take_ranges(&s, 0);
}

int cs_color_in_rounds(cs_coloring_state *state)
{
    while (count_uncolored(state)) {
        /* Step 1; threads record in their arenas that memory has run out. */
        state->round++;
        state->coloring->rounds++;
        each_range(state, color_tentatively);
        for (int64_t n = 0; n < state->ranges; n++)
            if (cs_arena_failed(&state->range[n].arena)) return -1;

        /* Steps 2 and 3. */
        if (state->ranges > 1) each_range(state, mark_conflicts);
        if (accept_colors(state)) return -1;
        each_range(state, settle);
    }
    return 0;
}

void cs_coloring_reset(cs_coloring_state *state)
{
    /* Queue all blocks. */
    for (int64_t n = 0; n < state->ranges; n++) {
        cs_color_range *r = &state->range[n];
        r->uncolored = r->end - r->first;
        for (int64_t block = r->first; block < r->end; block++) {
            state->queue[block] = state->sequence ? state->sequence[block] : block;
            state->tentative[block] = state->coloring->color[block] = -1;
        }
    }

    /* Clear the hubs and the sizes. */
    for (int64_t hub = 0; hub < state->hubs; hub++) {
        cs_color_set_clear(&state->settled[hub], state->pages);
        state->settled_below[hub] = 0;
    }
    memset(state->coloring->size, 0, sizeof(int64_t) * (size_t)state->capacity);
    state->coloring->colors = state->coloring->rounds = 0;
}

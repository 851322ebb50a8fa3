/* Speculative parallel colouring in rounds (S1 section 4.3, after Bozdag et al. 2005). The blocks are cut into
 * contiguous ranges. Each round has three steps:
 *
 *     paint    each range gives its uncoloured blocks tentative colours; it respects its own colours and all
 *              settled ones, and ignores the tentative colours of other ranges
 *     compare  a block loses its colour if a conflicting block of an earlier range has the same one
 *     settle   all other tentative colours become final; blocks without a colour wait for the next round
 *
 * The first range never loses a colour, the second one loses none after the first has settled, and so on, so
 * that there are at most as many rounds as ranges. With a single range this is S1's sequential colouring.
 * During a step a range reads nothing that another range writes, so that threads may run ranges at once. */
#include "order/coloring.h"

#include "core/error.h"
#include "core/parallel.h"
#include "order/color_set.h"
#include "order/conflicts.h"

#include <stdatomic.h>
#include <string.h>

/* A body with more blocks than this is a hub and stores the set of its colours. Looking through all of its
 * blocks for each of them would take quadratic time. */
enum { HUB = 128 };

/* A range's view of a hub: the tentative colours of its own blocks there in this round. */
typedef struct hub_view {
    cs_color_set own;
    int64_t full;  /* all colours below are taken, by own or settled blocks */
    int64_t round; /* the round that this view belongs to */
} hub_view;

/* How often each colour of a balanced colouring is used, from the view of one range. */
typedef struct usage {
    int64_t *count; /* (target number of colours): uses of each colour */
    int64_t least;  /* uses of the least used colour */
    int64_t above;  /* number of colours with more uses */
    int64_t first;  /* all colours below have more uses */
} usage;

typedef struct range {
    int64_t first, end; /* blocks */
    int64_t left;  /* blocks without a settled colour: work[first] ... work[first + left - 1] */
    hub_view *hub; /* (hubs) */
    usage used;
    cs_arena arena; /* of its own, because threads run ranges at once */
} range;

/* The scratch memory of one thread. */
typedef struct helper {
    int64_t *met; /* (capacity): the last visit that found the colour at a conflicting block */
    int64_t visits;
} helper;

typedef struct painter {
    cs_conflicts conflict;
    cs_coloring *coloring;
    cs_arena *scratch;
    int threads;
    int64_t worth_threads; /* number of uncoloured blocks from which threads save time */
    int64_t capacity;      /* upper bound of the number of colours */
    int64_t pages;         /* pages of a colour set */
    int64_t aim; /* target number of colours of a balanced colouring; 0 for a greedy one */
    int64_t round;
    int64_t ranges;
    range *range;
    helper *helper;      /* (threads) */
    int64_t *tentative;  /* (blocks): tentative or settled colour; -1 without one */
    int64_t *work;       /* (blocks): uncoloured blocks of each range; see range.left */
    unsigned char *lost; /* (blocks): whether the block loses its tentative colour */
    int64_t hubs;
    int64_t *hub_of;       /* (bodies): the number of the hub that the body is, or -1 */
    cs_color_set *settled; /* (hubs): colours of settled blocks; unused with a single range */
    int64_t *settled_full; /* (hubs): all colours below are settled */
} painter;

/* ---- painting -------------------------------------------------------------------------------- */

/* A range's view of a hub, reset at its first use in a round. */
static hub_view *view_of(const painter *p, range *r, int64_t hub)
{
    hub_view *view = &r->hub[hub];
    if (view->round != p->round) {
        cs_color_set_clear(&view->own, p->pages);
        view->full = p->settled_full[hub];
        view->round = p->round;
    }
    return view;
}

/* hubs <- the hubs among a block's bodies; returns their number. Marks the colours of conflicting blocks on the
 * other bodies as met. */
static int meet(const painter *p, const range *r, helper *h, int64_t block, int64_t *hubs)
{
    cs_conflict_list list[2];
    int lists = cs_conflicts_of(&p->conflict, block, list), count = 0;
    h->visits++;
    for (int i = 0; i < lists; i++) {
        int64_t hub = list[i].body >= 0 ? p->hub_of[list[i].body] : -1;
        if (hub >= 0) {
            hubs[count++] = hub;
            continue;
        }
        for (int64_t e = 0; e < list[i].count; e++) {
            int64_t other = list[i].entry[e] >> list[i].shift;
            int own = other >= r->first && other < r->end;
            int64_t color = own ? p->tentative[other] : p->coloring->color[other];
            if (color >= 0) h->met[color] = h->visits;
        }
    }
    return count;
}

/* The data to choose the colour of one block: the hubs among its bodies and the colours it has met. */
typedef struct choice {
    const painter *p;
    range *r;
    const helper *h;
    int64_t hub[2];
    int hubs;
} choice;

static int is_taken(const choice *c, int64_t hub, int64_t color)
{
    return cs_color_set_has(&c->r->hub[hub].own, color) ||
           cs_color_set_has(&c->p->settled[hub], color);
}

static int is_free(const choice *c, int64_t color)
{
    if (c->h->met[color] == c->h->visits) return 0;
    for (int i = 0; i < c->hubs; i++)
        if (is_taken(c, c->hub[i], color)) return 0;
    return 1;
}

/* The lowest colour from `color` on that no conflicting block has. */
static int64_t lowest_free(const choice *c, int64_t color)
{
    for (int i = 0; i < c->hubs; i++) {
        int64_t full = view_of(c->p, c->r, c->hub[i])->full;
        if (full > color) color = full;
    }
    while (!is_free(c, color)) color++;
    return color;
}

/* The least used free colour below the target number, the lowest one of several; a new colour if none is
 * free. */
static int64_t least_used(const choice *c)
{
    usage *used = &c->r->used;
    int64_t aim = c->p->aim, best = -1;
    for (int i = 0; i < c->hubs; i++) view_of(c->p, c->r, c->hub[i]);

    /* Mostly one of the colours with the fewest uses is free. */
    while (used->first < aim && used->count[used->first] > used->least) used->first++;
    for (int64_t color = used->first; color < aim; color++)
        if (used->count[color] == used->least && is_free(c, color)) return color;

    /* Otherwise search all of them. */
    for (int64_t color = 0; color < aim; color++) {
        if (best >= 0 && used->count[color] >= used->count[best]) continue;
        if (is_free(c, color)) best = color;
    }
    return best >= 0 ? best : lowest_free(c, aim);
}

/* Counts one more use of a colour. */
static void use(const painter *p, usage *used, int64_t color)
{
    if (color >= p->aim) return;
    used->above += used->count[color]++ == used->least;
    if (used->above < p->aim) return;

    /* All colours have more uses now: the least number of uses is one higher. */
    used->least++;
    used->above = used->first = 0;
    for (int64_t c = 0; c < p->aim; c++) used->above += used->count[c] > used->least;
}

/* Sets the uses to those of the settled blocks. */
static void begin_usage(const painter *p, usage *used)
{
    const int64_t *size = p->coloring->size;
    memcpy(used->count, size, sizeof(int64_t) * (size_t)p->aim);
    used->least = p->aim ? size[0] : 0;
    used->above = used->first = 0;
    for (int64_t c = 0; c < p->aim; c++)
        if (size[c] < used->least) used->least = size[c];
    for (int64_t c = 0; c < p->aim; c++) used->above += size[c] > used->least;
}

/* Step 1: gives tentative colours to the range's uncoloured blocks. */
static void paint(painter *p, range *r, helper *h)
{
    if (p->aim) begin_usage(p, &r->used);
    for (int64_t i = r->first; i < r->first + r->left && !cs_arena_failed(&r->arena); i++) {
        int64_t block = p->work[i];
        choice c = {.p = p, .r = r, .h = h};
        c.hubs = meet(p, r, h, block, c.hub);
        int64_t color = p->aim ? least_used(&c) : lowest_free(&c, 0);
        p->tentative[block] = color;
        if (p->aim) use(p, &r->used, color);

        /* Enter the colour at the block's hubs. */
        for (int k = 0; k < c.hubs; k++) {
            hub_view *view = view_of(p, r, c.hub[k]);
            cs_color_set_add(&view->own, color, p->pages, &r->arena);
            while (view->full < p->capacity && is_taken(&c, c.hub[k], view->full)) view->full++;
        }
    }
}

/* ---- comparing and settling ------------------------------------------------------------------ */

/* Step 2: marks the blocks that have the same colour as a conflicting block of an earlier range, except for
 * conflicts at hubs, which `keep` finds. */
static void compare(painter *p, range *r, helper *h)
{
    (void)h;
    for (int64_t i = r->first; i < r->first + r->left; i++) {
        int64_t block = p->work[i];
        cs_conflict_list list[2];
        int lists = cs_conflicts_of(&p->conflict, block, list);
        for (int k = 0; k < lists; k++) {
            if (list[k].body >= 0 && p->hub_of[list[k].body] >= 0) continue;
            for (int64_t e = 0; e < list[k].count; e++) {
                int64_t other = list[k].entry[e] >> list[k].shift;
                if (other < r->first && p->tentative[other] == p->tentative[block])
                    p->lost[block] = 1;
            }
        }
    }
}

/* Adds a colour to the sets of a block's hubs. Returns 1, and adds nothing, if one of them has the colour from
 * an earlier range; -1 if memory runs out. */
static int keep_on_hubs(painter *p, int64_t block, int64_t color)
{
    cs_conflict_list list[2];
    int lists = cs_conflicts_of(&p->conflict, block, list);
    for (int adding = 0; adding < 2; adding++)
        for (int k = 0; k < lists; k++) {
            int64_t hub = p->hub_of[list[k].body];
            if (hub < 0) continue;
            cs_color_set *set = &p->settled[hub];
            if (!adding && cs_color_set_has(set, color)) return 1;
            if (!adding) continue;
            cs_color_set_add(set, color, p->pages, p->scratch);
            if (cs_arena_failed(p->scratch)) return -1;
            int64_t *full = &p->settled_full[hub];
            while (*full < p->capacity && cs_color_set_has(set, *full)) ++*full;
        }
    return 0;
}

/* Enters the tentative colours that are final at the hubs and into the sizes. Runs range by range on one thread,
 * because ranges share both. Returns -1 if memory runs out. */
static int keep(painter *p)
{
    cs_coloring *coloring = p->coloring;
    for (int64_t n = 0; n < p->ranges; n++)
        for (int64_t i = p->range[n].first; i < p->range[n].first + p->range[n].left; i++) {
            int64_t block = p->work[i], color = p->tentative[block];
            if (p->lost[block]) continue;
            if (p->hubs && p->ranges > 1) {
                int taken = keep_on_hubs(p, block, color);
                if (taken < 0) return -1;
                p->lost[block] = (unsigned char)taken;
                if (taken) continue;
            }
            coloring->size[color]++;
            if (color >= coloring->colors) coloring->colors = color + 1;
        }
    return 0;
}

/* Step 3: makes the remaining colours final and collects the uncoloured blocks for the next round. */
static void settle(painter *p, range *r, helper *h)
{
    (void)h;
    int64_t left = 0;
    for (int64_t i = r->first; i < r->first + r->left; i++) {
        int64_t block = p->work[i];
        if (p->lost[block]) {
            p->lost[block] = 0;
            p->tentative[block] = -1;
            p->work[r->first + left++] = block;
        } else p->coloring->color[block] = p->tentative[block];
    }
    r->left = left;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

typedef struct step {
    painter *p;
    void (*act)(painter *p, range *r, helper *h);
    atomic_llong begun;
} step;

/* One thread's work in a step: takes ranges until none is left. */
static void take_ranges(void *context, int thread)
{
    step *s = context;
    for (;;) {
        int64_t n = atomic_fetch_add_explicit(&s->begun, 1, memory_order_relaxed);
        if (n >= s->p->ranges) return;
        s->act(s->p, &s->p->range[n], &s->p->helper[thread]);
    }
}

static int64_t work_left(const painter *p)
{
    int64_t left = 0;
    for (int64_t n = 0; n < p->ranges; n++) left += p->range[n].left;
    return left;
}

/* Runs a step for all ranges, with threads if there is enough work. */
static void each_range(painter *p, void (*act)(painter *p, range *r, helper *h))
{
    step s = {.p = p, .act = act};
    if (p->threads > 1 && work_left(p) >= p->worth_threads)
        cs_parallel(p->threads, take_ranges, &s);
    else take_ranges(&s, 0);
}

/* Colours all blocks. Returns 0, or -1 if memory runs out. */
static int color_in_rounds(painter *p)
{
    while (work_left(p)) {
        p->round++;
        p->coloring->rounds++;
        each_range(p, paint);
        for (int64_t n = 0; n < p->ranges; n++)
            if (cs_arena_failed(&p->range[n].arena)) return -1;
        if (p->ranges > 1) each_range(p, compare);
        if (keep(p)) return -1;
        each_range(p, settle);
    }
    return 0;
}

/* Makes all blocks uncoloured. */
static void forget(painter *p)
{
    for (int64_t n = 0; n < p->ranges; n++) {
        range *r = &p->range[n];
        r->left = r->end - r->first;
        for (int64_t block = r->first; block < r->end; block++) {
            p->work[block] = block;
            p->tentative[block] = p->coloring->color[block] = -1;
        }
    }
    for (int64_t hub = 0; hub < p->hubs; hub++) {
        cs_color_set_clear(&p->settled[hub], p->pages);
        p->settled_full[hub] = 0;
    }
    memset(p->coloring->size, 0, sizeof(int64_t) * (size_t)p->capacity);
    p->coloring->colors = p->coloring->rounds = 0;
}

/* ---- setting up ------------------------------------------------------------------------------ */

static void choose_threads(painter *p, const cs_coloring_options *options)
{
    p->threads = cs_threads_for(options->threads, 0, 0, p->ranges);
    p->worth_threads = options->threads ? 0 : CS_WORTH_THREADS_COLORS;
}

/* Numbers the hubs and allocates their colour sets. */
static void find_hubs(painter *p)
{
    const cs_problem *problem = p->conflict.problem;
    p->hub_of = cs_arena_take(p->scratch, problem->bodies, sizeof(int64_t));
    if (!p->hub_of) return;
    for (int64_t body = 0; body < problem->bodies; body++) {
        const int64_t *start = p->conflict.adjacency.start;
        int many = !problem->matrix && start[body + 1] - start[body] > HUB;
        p->hub_of[body] = many ? p->hubs++ : -1;
    }
    p->settled = cs_arena_take(p->scratch, p->hubs, sizeof(cs_color_set));
    p->settled_full = cs_arena_take(p->scratch, p->hubs, sizeof(int64_t));
}

/* Cuts the blocks into ranges and allocates the scratch memory of ranges and threads. */
static void make_ranges(painter *p)
{
    int64_t blocks = p->conflict.problem->blocks;
    p->range = cs_arena_take(p->scratch, p->ranges, sizeof(range));
    p->helper = cs_arena_take(p->scratch, p->threads, sizeof(helper));
    if (cs_arena_failed(p->scratch)) return;
    for (int64_t n = 0; n < p->ranges; n++) {
        range *r = &p->range[n];
        r->first = blocks * n / p->ranges;
        r->end = blocks * (n + 1) / p->ranges;
        r->hub = cs_arena_take(p->scratch, p->hubs, sizeof(hub_view));
    }
    for (int t = 0; t < p->threads; t++)
        p->helper[t].met = cs_arena_take(p->scratch, p->capacity, sizeof(int64_t));
}

static cs_status taken(const painter *p, cs_error *error)
{
    return cs_arena_status(p->scratch, error, "colouring %lld contacts",
                           (long long)p->conflict.problem->blocks);
}

static cs_status set_up(painter *p, const cs_coloring_options *options, int64_t degree,
                        cs_error *error)
{
    /* A block has at most `degree` conflicts; a balanced colouring may use more colours than it needs. */
    int64_t blocks = p->conflict.problem->blocks;
    p->capacity = 2 * degree + 2;
    if (options->colors > 0) p->capacity += options->colors < blocks ? options->colors : blocks;
    if (options->multiple_of_parts)
        p->capacity += options->parts < blocks ? options->parts : blocks;
    p->pages = cs_color_pages(p->capacity);

    /* Ranges and threads. */
    p->ranges = options->parallel ? options->parts : 1;
    if (p->ranges > blocks) p->ranges = blocks > 0 ? blocks : 1;
    choose_threads(p, options);

    /* Arrays. */
    p->coloring->color = cs_arena_take(p->scratch, blocks, sizeof(int64_t));
    p->coloring->size = cs_arena_take(p->scratch, p->capacity, sizeof(int64_t));
    p->tentative = cs_arena_take(p->scratch, blocks, sizeof(int64_t));
    p->work = cs_arena_take(p->scratch, blocks, sizeof(int64_t));
    p->lost = cs_arena_take(p->scratch, blocks, 1);
    find_hubs(p);
    make_ranges(p);
    return taken(p, error);
}

/* The target number of colours of a balanced colouring (S1 section 4.3); -1 if memory runs out. */
static int64_t aim_of(painter *p, const cs_coloring_options *options, int64_t degree)
{
    int64_t colors = degree > 0 ? degree : 1, blocks = p->conflict.problem->blocks;
    if (options->colors > 0) colors = options->colors < blocks ? options->colors : blocks;

    /* As many as a greedy colouring needs. */
    if (options->colors < 0) {
        if (color_in_rounds(p)) return -1;
        colors = p->coloring->colors;
        forget(p);
    }

    /* Round up; but more colours than blocks change nothing. */
    if (options->multiple_of_parts)
        colors = (colors + options->parts - 1) / options->parts * options->parts;
    if (options->multiple_of_parts && colors > blocks) colors = blocks > 0 ? blocks : 1;
    return colors;
}

/* Sets the target number of a balanced colouring and allocates the usage counts. */
static cs_status aim_evenly(painter *p, const cs_coloring_options *options, int64_t degree,
                            cs_error *error)
{
    int64_t aim = aim_of(p, options, degree);
    if (aim < 0)
        return cs_no_memory(error, "colouring %lld contacts",
                            (long long)p->conflict.problem->blocks);
    for (int64_t n = 0; n < p->ranges; n++)
        p->range[n].used.count = cs_arena_take(p->scratch, aim, sizeof(int64_t));
    p->aim = aim;
    return taken(p, error);
}

/* Renumbers the colours without those that all of their blocks have lost. */
static void close_gaps(painter *p)
{
    cs_coloring *coloring = p->coloring;
    int64_t used = 0, *number = p->helper[0].met;
    for (int64_t color = 0; color < coloring->colors; color++) {
        number[color] = used;
        coloring->size[used] = coloring->size[color];
        used += coloring->size[color] > 0;
    }
    coloring->colors = used;
    for (int64_t block = 0; block < p->conflict.problem->blocks; block++)
        coloring->color[block] = number[coloring->color[block]];
}

cs_status cs_color(const cs_problem *problem, const cs_coloring_options *options, cs_arena *scratch,
                   cs_coloring *coloring, cs_error *error)
{
    painter p = {.coloring = coloring, .scratch = scratch};
    *coloring = (cs_coloring){0};

    /* Set up. */
    cs_status status =
        cs_conflicts_build(problem, options->fixed_as_body, scratch, &p.conflict, error);
    if (status) return status;
    int64_t degree = cs_highest_degree(&p.conflict);
    status = set_up(&p, options, degree, error);
    if (status) return status;
    forget(&p);
    if (options->balanced) status = aim_evenly(&p, options, degree, error);

    /* Colour. */
    if (!status && color_in_rounds(&p))
        status =
            cs_no_memory(error, "colouring %lld contacts", (long long)p.conflict.problem->blocks);
    if (!status && coloring->rounds > 1) close_gaps(&p);
    for (int64_t n = 0; n < p.ranges; n++) cs_arena_clear(&p.range[n].arena);
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

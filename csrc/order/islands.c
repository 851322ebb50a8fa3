/* The islands of a problem with Jacobians: a disjoint-set forest of bodies, which threads build together.
 *
 *     unite     each block joins the trees of its movable bodies
 *     flatten   each body gets the root of its tree
 *     list      each piece of the blocks lists the roots that it meets, in the order of its blocks
 *     number    piece by piece: islands are numbered by their first blocks
 *     label     each block gets the number of its island
 *
 * A tree's root is its lowest body, whatever the sequence in which trees are joined, so that the labels do not depend
 * on the threads. They join trees without locks: a root points to a lower root by an atomic exchange, which fails if
 * another thread has joined it meanwhile (Jayanti and Tarjan, "Concurrent disjoint set union", 2021). */
#include "core/costs.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/phases.h"
#include "order/components.h"

#include <stdatomic.h>

typedef struct forest {
    const cs_problem *problem;
    int pieces;
    atomic_llong *parent; /* (bodies): a root is its own parent, other bodies have a lower one */
    int64_t *root;        /* (bodies) */
    int64_t *number;      /* (bodies): the island of a root; -1 before it has one */
    int64_t *met;         /* (pieces, bodies): the roots that a piece meets, as a list */
    int64_t *count;       /* (pieces): how many these are */
    unsigned char *seen;  /* (pieces, bodies): whether the piece has met the root */
    int64_t *label;       /* (blocks): the root of each block, and then its island */
    int64_t islands;
} forest;

/* Where a piece of the items begins. */
static int64_t piece_begin(const forest *f, int64_t piece, int64_t items)
{
    return items * piece / f->pieces;
}

static int64_t parent_of(const forest *f, int64_t body)
{
    return atomic_load_explicit(&f->parent[body], memory_order_relaxed);
}

/* The root of a body; halves the path on the way. Another thread may do the same: every value that is written here
 * is an ancestor of the body. */
static int64_t root_of(const forest *f, int64_t body)
{
    for (int64_t parent = parent_of(f, body); parent != body; parent = parent_of(f, body)) {
        int64_t above = parent_of(f, parent);
        if (above != parent) atomic_store_explicit(&f->parent[body], above, memory_order_relaxed);
        body = parent;
    }
    return body;
}

/* Joins the trees of two bodies. */
static void join(const forest *f, int64_t a, int64_t b)
{
    for (;;) {
        /* The higher root becomes a child of the lower one, unless it is no root any more. */
        a = root_of(f, a);
        b = root_of(f, b);
        if (a == b) return;
        long long high = a > b ? a : b, low = a > b ? b : a;
        if (atomic_compare_exchange_strong_explicit(&f->parent[high], &(long long){high}, low,
                                                    memory_order_relaxed, memory_order_relaxed))
            return;
    }
}

/* Joins the bodies of the blocks first ... end - 1 of a group. */
static void unite(const forest *f, const cs_block_group *group, int64_t first, int64_t end)
{
    for (int64_t k = first; k < end; k++) {
        int64_t one = -1;
        for (int s = 0; s < group->partners; s++) {
            int64_t body = cs_partner_body(group, k, s);
            if (!cs_partner_moves(group, k, s)) continue;
            if (one >= 0 && body != one) join(f, one, body);
            one = body;
        }
    }
}

/* Lists the roots of some blocks of a group, and labels the blocks with them; -1 between immovable bodies. */
static void list(forest *f, const cs_block_group *group, int piece, int64_t first, int64_t end)
{
    int64_t *met = f->met + piece * f->problem->bodies, *label = f->label + group->first_block;
    unsigned char *seen = f->seen + piece * f->problem->bodies;
    int64_t count = f->count[piece];
    for (int64_t k = first; k < end; k++) {
        int partner = 0;
        while (partner < group->partners && !cs_partner_moves(group, k, partner)) partner++;
        label[k] = -1;
        if (partner == group->partners) continue;
        int64_t root = label[k] = f->root[cs_partner_body(group, k, partner)];
        if (seen[root]) continue;
        seen[root] = 1;
        met[count++] = root;
    }
    f->count[piece] = count;
}

/* Numbers the roots in the sequence in which the pieces met them. */
static void number(forest *f)
{
    for (int piece = 0; piece < f->pieces; piece++)
        for (int64_t i = 0; i < f->count[piece]; i++) {
            int64_t root = f->met[piece * f->problem->bodies + i];
            if (f->number[root] < 0) f->number[root] = f->islands++;
        }
}

enum { UNITE, FLATTEN, LIST, NUMBER, LABEL, PHASES };

/* The blocks of one piece, group by group: unites or lists them. */
static void take_blocks(forest *f, int64_t phase, int piece)
{
    const cs_problem *problem = f->problem;
    int64_t begin = piece_begin(f, piece, problem->blocks);
    int64_t end = piece_begin(f, piece + 1, problem->blocks);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int64_t first = begin - group->first_block, last = end - group->first_block;
        if (first < 0) first = 0;
        if (last > group->count) last = group->count;
        if (phase == UNITE) unite(f, group, first, last);
        else if (first < last) list(f, group, piece, first, last);
    }
}

static void run(void *context, int64_t phase, int64_t piece)
{
    forest *f = context;
    int64_t items = phase == FLATTEN ? f->problem->bodies : f->problem->blocks;
    int64_t first = piece_begin(f, piece, items);
    int64_t end = piece_begin(f, piece + 1, items);
    switch (phase) {
    case FLATTEN:
        for (int64_t body = first; body < end; body++) {
            f->root[body] = root_of(f, body);
            f->number[body] = -1;
        }
        break;
    case NUMBER: number(f); break;
    case LABEL:
        for (int64_t k = first; k < end; k++)
            if (f->label[k] >= 0) f->label[k] = f->number[f->label[k]];
        break;
    default: take_blocks(f, phase, (int)piece);
    }
}

static cs_status islands_of_bodies(const cs_problem *problem, int threads, int64_t *label,
                                   int64_t *islands, cs_error *error)
{
    /* Allocate. */
    cs_arena scratch = {0};
    forest f = {.problem = problem, .pieces = cs_pieces(threads, problem->blocks), .label = label};
    int64_t bodies = problem->bodies;
    f.parent = cs_arena_take_unset(&scratch, bodies, sizeof *f.parent);
    f.root = cs_arena_take_unset(&scratch, bodies, sizeof(int64_t));
    f.number = cs_arena_take_unset(&scratch, bodies, sizeof(int64_t));
    f.met = cs_arena_take_unset(&scratch, f.pieces * bodies, sizeof(int64_t));
    f.count = cs_arena_take(&scratch, f.pieces, sizeof(int64_t));
    f.seen = cs_arena_take(&scratch, f.pieces * bodies, 1);
    cs_status status = cs_arena_status(&scratch, error, "islands");

    /* Run the phases. */
    if (!status) {
        cs_phase phase[PHASES] = {0};
        for (int p = 0; p < PHASES; p++) phase[p].tasks = p == NUMBER ? 1 : f.pieces;
        for (int64_t body = 0; body < bodies; body++) atomic_init(&f.parent[body], body);
        cs_phases_run(&(cs_phases){PHASES, phase, run, &f}, f.pieces);
        *islands = f.islands;
    }
    cs_arena_clear(&scratch);
    return status;
}

cs_status cs_find_islands(const cs_problem *problem, int threads, int64_t *label, int64_t *islands,
                          cs_error *error)
{
    if (problem->matrix) return cs_islands_of_matrix(problem, label, islands, error);
    return islands_of_bodies(problem, threads, label, islands, error);
}

cs_status cs_problem_islands(const cs_problem *problem, int64_t *label, int64_t *islands,
                             cs_error *error)
{
    int threads = cs_threads_for(0, problem->blocks, CS_WORTH_THREADS_SETUP, CS_MOST_PIECES);
    return cs_find_islands(problem, threads, label, islands, error);
}

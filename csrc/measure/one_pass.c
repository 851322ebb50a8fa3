#include "measure/one_pass.h"

#include "core/counting_sort.h"

#include <string.h>

enum { PIECE = CS_ONE_PASS_PIECE };

/* last (bodies) <- the last piece that acts on each body; `pieces` for bodies of other ranks. */
static void find_last(const cs_problem *problem, const cs_ranks *ranks, int64_t pieces,
                      int64_t *last)
{
    for (int64_t body = 0; body < problem->bodies; body++) last[body] = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++)
            for (int side = 0; side < group->partners; side++)
                if (cs_partner_moves(group, k, side)) {
                    int64_t body = cs_partner_body(group, k, side);
                    int ghost = !cs_ranks_own_body(ranks, body);
                    last[body] = ghost ? pieces : (group->first_block + k) / PIECE;
                }
    }
}

/* ready (pieces) <- the last of the pieces that act on the bodies of each piece. */
static void find_ready(const cs_problem *problem, const int64_t *last, int64_t *ready)
{
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t piece = (group->first_block + k) / PIECE;
            if (ready[piece] < piece) ready[piece] = piece;
            for (int side = 0; side < group->partners; side++)
                if (cs_partner_moves(group, k, side)) {
                    int64_t of_body = last[cs_partner_body(group, k, side)];
                    if (of_body > ready[piece]) ready[piece] = of_body;
                }
        }
    }
}

cs_status cs_one_pass_make(cs_one_pass *pass, const cs_problem *problem, const cs_ranks *ranks,
                           cs_arena *arena, cs_error *error)
{
    /* Room; bodies of other ranks are listed behind, and left out. */
    cs_arena scratch = {0};
    int64_t pieces = (problem->blocks + PIECE - 1) / PIECE;
    *pass = (cs_one_pass){
        .pieces = pieces,
        .first_body = cs_arena_take(arena, pieces + 2, sizeof(int64_t)),
        .body = cs_arena_take(arena, problem->bodies, sizeof(int64_t)),
        .first_ready = cs_arena_take(arena, pieces + 2, sizeof(int64_t)),
        .ready = cs_arena_take(arena, pieces, sizeof(int64_t)),
        .map = cs_arena_take(arena, pieces, sizeof(cs_natural_map)),
    };
    int64_t *last = cs_arena_take(&scratch, problem->bodies, sizeof(int64_t));
    int64_t *ready = cs_arena_take(&scratch, pieces, sizeof(int64_t));
    cs_status status = cs_arena_status(arena, error, "the workspace");
    if (!status) status = cs_arena_status(&scratch, error, "the workspace");
    if (!status) {
        find_last(problem, ranks, pieces, last);
        find_ready(problem, last, ready);
        cs_counting_sort bodies = {
            .threads = 1,
            .count = problem->bodies,
            .key = last,
            .keys = pieces + 1,
            .sorted = pass->body,
            .start = pass->first_body,
        };
        cs_counting_sort ends = {
            .threads = 1,
            .count = pieces,
            .key = ready,
            .keys = pieces + 1,
            .sorted = pass->ready,
            .start = pass->first_ready,
        };
        status = cs_sort_by_key(&bodies, &scratch, error);
        if (!status) status = cs_sort_by_key(&ends, &scratch, error);
    }
    cs_arena_clear(&scratch);
    return status;
}

/* xi and the maps of the pieces that are ready after a piece. */
static void map_ready(const cs_one_pass *pass, const cs_state *state, int64_t after,
                      const double *velocity, double *xi)
{
    int64_t blocks = state->problem->blocks;
    for (int64_t i = pass->first_ready[after]; i < pass->first_ready[after + 1]; i++) {
        int64_t begin = pass->ready[i] * PIECE;
        int64_t end = blocks - begin < PIECE ? blocks : begin + PIECE;
        cs_residual_of_blocks(state->problem, state->lambda, state->b, velocity, begin, end, xi);
        pass->map[pass->ready[i]] = cs_no_defect();
        cs_add_defects(state, begin, end, &pass->map[pass->ready[i]]);
    }
}

const cs_natural_map *cs_one_pass_run(const cs_one_pass *pass, cs_state *state,
                                      const cs_shared_products *shared, double *velocity,
                                      double *xi)
{
    const cs_problem *problem = state->problem;
    int64_t blocks = problem->blocks;
    memset(velocity, 0, sizeof(double) * (size_t)problem->velocities);
    for (int64_t p = 0; p < pass->pieces; p++) {
        int64_t begin = p * PIECE, end = blocks - begin < PIECE ? blocks : begin + PIECE;
        cs_add_impulses_of_blocks(problem, state->lambda, begin, end, velocity);
        for (int64_t i = pass->first_body[p]; i < pass->first_body[p + 1]; i++)
            cs_apply_inverse_mass(problem, pass->body[i], velocity);
        map_ready(pass, state, p, velocity, xi);
    }
    if (shared->complete) shared->complete(shared->context, velocity);
    map_ready(pass, state, pass->pieces, velocity, xi);
    cs_join_map_pieces(state, pass->map, pass->pieces);
    return &state->natural_map;
}

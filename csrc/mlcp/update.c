/* Replaces the matrix of a solver. Its islands, orders and patterns are kept if they have a place for each
 * entry of the new matrix; otherwise the solver is created again. */
#include "core/clock.h"
#include "core/error.h"
#include "mlcp/pivoting.h"

/* Records in `place`, by the column of the given matrix, the index of each entry of row i of the island.
 * All other places are -1. */
static void record_places(const cs_island *s, int64_t i, int64_t *place)
{
    for (int64_t e = s->start[i]; e < s->start[i + 1]; e++) place[s->user[s->column[e]]] = e;
}

/* Resets the places of row i to -1. */
static void clear_places(const cs_island *s, int64_t i, int64_t *place)
{
    for (int64_t e = s->start[i]; e < s->start[i + 1]; e++) place[s->user[s->column[e]]] = -1;
}

/* Whether the islands have a place for each non-zero entry of `next`. */
static int has_places(const cs_mlcp *mlcp, const cs_mlcp *next, int64_t *place)
{
    int all = 1;
    for (int64_t p = 0; p < mlcp->islands; p++) {
        const cs_island *s = &mlcp->island[p];
        for (int64_t i = 0; i < s->rows && all; i++) {
            int64_t row = s->user[i];
            record_places(s, i, place);
            for (int64_t e = next->start[row]; e < next->start[row + 1]; e++)
                all &= next->value[e] == 0 || place[next->column[e]] >= 0;
            clear_places(s, i, place);
        }
    }
    return all;
}

/* Copies the values of `next` into an island. */
static void replace_values(cs_island *s, const cs_mlcp *next, int64_t *place)
{
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t row = s->user[i];
        record_places(s, i, place);
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++) s->value[e] = 0;
        for (int64_t e = next->start[row]; e < next->start[row + 1]; e++)
            if (next->value[e] != 0) s->value[place[next->column[e]]] = next->value[e];
        s->diagonal[i] = next->diagonal[row];
        clear_places(s, i, place);
    }

    /* The current factor now belongs to an earlier matrix. */
    s->is_stale = s->is_factored;
    if (s->factor && s->engine->forget) s->engine->forget(s);
}

/* Moves the given matrix from `next` to `mlcp`. */
static void move_matrix(cs_mlcp *mlcp, cs_mlcp *next)
{
    cs_arena_clear(&mlcp->loaded);
    mlcp->loaded = next->loaded;
    mlcp->start = next->start;
    mlcp->column = next->column;
    mlcp->value = next->value;
    mlcp->skew = next->skew;
    mlcp->diagonal = next->diagonal;
    mlcp->asymmetry = next->asymmetry;
    next->loaded = (cs_arena){0};
}

/* Creates a new solver for the matrix, and replaces the old one by it. */
static cs_status replace_solver(cs_mlcp *mlcp, const cs_csr *matrix, cs_error *error)
{
    cs_mlcp *fresh, old = *mlcp;
    cs_status status = cs_mlcp_create(&fresh, matrix, &mlcp->options, error);
    if (status) return status;
    *mlcp = *fresh;
    *fresh = old;
    cs_mlcp_destroy(fresh);
    return CS_OK;
}

cs_status cs_mlcp_update(cs_mlcp *mlcp, const cs_csr *matrix, cs_error *error)
{
    double begin = cs_clock();
    cs_mlcp next = {0};
    cs_arena scratch = {0};
    if (matrix->rows != mlcp->rows)
        return cs_fail(error, CS_INVALID, "A has %lld rows: the solver has %lld",
                       (long long)matrix->rows, (long long)mlcp->rows);

    /* Load the new matrix. */
    int64_t *place = cs_arena_take(&scratch, mlcp->rows, sizeof(int64_t));
    cs_status status =
        place ? cs_mlcp_load(&next, matrix, error) : cs_no_memory(error, "another A");
    for (int64_t i = 0; i < mlcp->rows && !status; i++) place[i] = -1;

    /* Create the solver again, or replace the values of its islands. */
    if (!status && !has_places(mlcp, &next, place)) status = replace_solver(mlcp, matrix, error);
    else if (!status) {
        for (int64_t p = 0; p < mlcp->islands; p++) replace_values(&mlcp->island[p], &next, place);
        move_matrix(mlcp, &next);
        mlcp->seconds = cs_clock() - begin;
    }
    cs_arena_clear(&next.loaded);
    cs_arena_clear(&scratch);
    return status;
}

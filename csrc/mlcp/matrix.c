/* The matrix of a mixed LCP: checks it, takes its symmetric part and splits it into islands. */
#include "core/error.h"
#include "mlcp/pivoting.h"

#include <math.h>
#include <string.h>

/* ---- checks ---------------------------------------------------------------------------------- */

/* Fails if the row starts, column numbers or values of the matrix are invalid. */
static cs_status check(const cs_csr *matrix, cs_error *error)
{
    /* Row starts. */
    if (matrix->start[0] != 0)
        return cs_fail(error, CS_INVALID, "A.indptr[0] is %lld: it must be 0",
                       (long long)matrix->start[0]);
    for (int64_t i = 0; i < matrix->rows; i++)
        if (matrix->start[i + 1] < matrix->start[i])
            return cs_fail(error, CS_INVALID, "A.indptr[%lld] is %lld, below A.indptr[%lld] = %lld",
                           (long long)i + 1, (long long)matrix->start[i + 1], (long long)i,
                           (long long)matrix->start[i]);

    /* Entries. */
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t e = matrix->start[i]; e < matrix->start[i + 1]; e++) {
            if (matrix->column[e] < 0 || matrix->column[e] >= matrix->rows)
                return cs_fail(error, CS_INVALID,
                               "A.indices[%lld] is %lld: columns run from 0 to %lld", (long long)e,
                               (long long)matrix->column[e], (long long)matrix->rows - 1);
            if (!isfinite(matrix->value[e]))
                return cs_fail(error, CS_INVALID, "A[%lld, %lld] is %g: every entry must be finite",
                               (long long)i, (long long)matrix->column[e], matrix->value[e]);
        }
    return CS_OK;
}

/* ---- symmetric part -------------------------------------------------------------------------- */

/* Allocates the diagonal and rows that hold the entries of A and of A^T together; next[i] <- the start
 * of row i. */
static int allocate_symmetric(cs_mlcp *mlcp, const cs_csr *matrix, int64_t *next)
{
    int64_t n = matrix->rows;
    mlcp->start = cs_arena_take(&mlcp->loaded, n + 1, sizeof(int64_t));
    mlcp->diagonal = cs_arena_take(&mlcp->loaded, n, sizeof(double));
    if (cs_arena_failed(&mlcp->loaded)) return -1;

    /* Count the entries of each row: its diagonal entry, those of A and those of A^T. */
    for (int64_t i = 0; i < n; i++) {
        mlcp->start[i + 1] += 1 + matrix->start[i + 1] - matrix->start[i];
        for (int64_t e = matrix->start[i]; e < matrix->start[i + 1]; e++)
            mlcp->start[matrix->column[e] + 1]++;
    }

    /* Sum up the starts, and allocate the entries. */
    for (int64_t i = 0; i < n; i++) mlcp->start[i + 1] += mlcp->start[i];
    for (int64_t i = 0; i < n; i++) next[i] = mlcp->start[i];
    mlcp->column = cs_arena_take(&mlcp->loaded, mlcp->start[n], sizeof(int64_t));
    mlcp->value = cs_arena_take(&mlcp->loaded, mlcp->start[n], sizeof(double));
    mlcp->skew = cs_arena_take(&mlcp->loaded, mlcp->start[n], sizeof(double));
    return cs_arena_failed(&mlcp->loaded) ? -1 : 0;
}

/* Appends an entry (j, value, skew) to row i; next[i] is its end. */
static void append_entry(cs_mlcp *mlcp, int64_t *next, int64_t i, int64_t j, double value,
                         double skew)
{
    mlcp->column[next[i]] = j;
    mlcp->value[next[i]] = value;
    mlcp->skew[next[i]++] = skew;
}

/* Sums repeated entries of each row and drops zeros, except on the diagonal. Non-zero: cancelled. */
static int merge(cs_mlcp *mlcp, int64_t *place)
{
    int64_t kept = 0;
    for (int64_t j = 0; j < mlcp->rows; j++) place[j] = -1;
    for (int64_t i = 0, from = 0; i < mlcp->rows; i++) {
        int64_t end = mlcp->start[i + 1], begin = kept, last = kept;

        /* Sum repeated entries: place[j] is where column j is in this row. */
        for (int64_t e = from; e < end; e++) {
            int64_t j = mlcp->column[e];
            if (place[j] < begin) {
                place[j] = last;
                append_entry(mlcp, &last, 0, j, mlcp->value[e], mlcp->skew[e]);
                continue;
            }
            mlcp->value[place[j]] += mlcp->value[e];
            mlcp->skew[place[j]] += mlcp->skew[e];
        }

        /* Drop zeros, in place. */
        for (int64_t e = begin; e < last; e++) {
            int64_t j = mlcp->column[e];
            if (j == i) mlcp->diagonal[i] = mlcp->value[e];
            if (j == i || mlcp->value[e] != 0 || mlcp->skew[e] != 0)
                append_entry(mlcp, &kept, 0, j, mlcp->value[e], mlcp->skew[e]);
            place[j] = -1;
        }
        if (cs_is_cancelled(mlcp->cancellation, 2 * CS_ENTRY_WORK * (double)(end - from)))
            return -1;
        from = end;
        mlcp->start[i + 1] = kept;
    }
    return 0;
}

/* max |A - A^T| / max |A| */
static double asymmetry(const cs_mlcp *mlcp)
{
    double largest = 0, defect = 0;
    for (int64_t e = 0; e < mlcp->start[mlcp->rows]; e++) {
        largest = fmax(largest, fabs(mlcp->value[e] + mlcp->skew[e]));
        defect = fmax(defect, 2 * fabs(mlcp->skew[e]));
    }
    return defect > 0 ? defect / largest : 0;
}

cs_status cs_mlcp_load(cs_mlcp *mlcp, const cs_csr *matrix, cs_error *error)
{
    cs_status status = check(matrix, error);
    if (status) return status;
    cs_arena scratch = {0};
    int64_t *next = cs_arena_take(&scratch, matrix->rows, sizeof(int64_t));
    mlcp->rows = matrix->rows;
    if (!next || allocate_symmetric(mlcp, matrix, next)) {
        status = cs_mlcp_setup_failed(mlcp, "A", error);
        goto out;
    }

    /* Every row has a diagonal entry, even if the caller's matrix has none. */
    for (int64_t i = 0; i < matrix->rows; i++) append_entry(mlcp, next, i, i, 0, 0);

    /* Each entry contributes half of itself to both triangles. */
    for (int64_t i = 0; i < matrix->rows; i++) {
        double entries = (double)(matrix->start[i + 1] - matrix->start[i]);
        if (cs_is_cancelled(mlcp->cancellation, 2 * CS_ENTRY_WORK * entries)) {
            status = cs_mlcp_setup_failed(mlcp, "A", error);
            goto out;
        }
        for (int64_t e = matrix->start[i]; e < matrix->start[i + 1]; e++) {
            double half = matrix->value[e] / 2;
            append_entry(mlcp, next, i, matrix->column[e], half, half);
            append_entry(mlcp, next, matrix->column[e], i, half, -half);
        }
    }

    /* Merge repeated entries; a symmetric A needs no skew part. */
    if (merge(mlcp, next)) {
        status = cs_mlcp_setup_failed(mlcp, "A", error);
        goto out;
    }
    mlcp->asymmetry = asymmetry(mlcp);
    if (mlcp->asymmetry == 0) mlcp->skew = NULL;
out:
    cs_arena_clear(&scratch);
    return status;
}

/* ---- islands --------------------------------------------------------------------------------- */

/* Scratch memory to split the matrix into islands. */
typedef struct splitting {
    cs_mlcp *mlcp;
    cs_arena scratch;
    int64_t *part;                 /* (rows): the island of each row */
    int64_t *local;                /* (rows): its number within the island, in the given order */
    int64_t *start, *column;       /* the island's graph, in the given order */
    int64_t *order, *place, *work; /* the order of the engine; its inverse; scratch */
    int64_t *given;                /* the island's rows in the given order */
} splitting;

/* Allocates the scratch memory. */
static int allocate_splitting(splitting *c)
{
    int64_t n = c->mlcp->rows;
    int64_t **all[] = {&c->part, &c->local, &c->order, &c->place, &c->given};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = cs_arena_take(&c->scratch, n, sizeof(int64_t));
    c->start = cs_arena_take(&c->scratch, n + 1, sizeof(int64_t));
    c->column = cs_arena_take(&c->scratch, c->mlcp->start[n], sizeof(int64_t));
    c->work = cs_arena_take(&c->scratch, 3 * n, sizeof(int64_t));
    return cs_arena_failed(&c->scratch) ? -1 : 0;
}

/* The graph of the island's rows s->user, numbered from 0. */
static cs_graph local_graph(splitting *c, const cs_island *s)
{
    const cs_mlcp *mlcp = c->mlcp;
    int64_t count = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        c->start[i] = count;
        for (int64_t e = mlcp->start[s->user[i]]; e < mlcp->start[s->user[i] + 1]; e++)
            if (mlcp->value[e] != 0) c->column[count++] = c->local[mlcp->column[e]];
    }
    c->start[s->rows] = count;
    return (cs_graph){s->rows, c->start, c->column};
}

/* c->order <- an order of this kind. Returns -1 if there is no memory, or if cancelled. */
static int find_order(splitting *c, const cs_graph *graph, cs_fill_order wanted)
{
    return cs_find_order(graph, wanted, c->order, c->work, c->mlcp->cancellation);
}

/* s->start, s->column, s->value <- the island's matrix with rows in c->order. Columns ascend because rows
 * are distributed in order and the pattern is symmetric. Returns -1 if cancelled. */
static int lay_rows(splitting *c, cs_island *s, const cs_graph *graph, const int64_t *given)
{
    const cs_mlcp *mlcp = c->mlcp;

    /* The start of each row. */
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t old = c->order[i];
        s->start[i + 1] = s->start[i] + graph->start[old + 1] - graph->start[old];
        c->work[i] = s->start[i];
    }

    /* Distribute column i, which equals row i, over the rows. */
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t user = given[c->order[i]];
        for (int64_t e = mlcp->start[user]; e < mlcp->start[user + 1]; e++) {
            if (mlcp->value[e] == 0) continue;
            int64_t row = c->place[c->local[mlcp->column[e]]], at = c->work[row]++;
            s->column[at] = i;
            s->value[at] = mlcp->value[e];
        }
        s->diagonal[i] = mlcp->diagonal[user];
        double entries = (double)(mlcp->start[user + 1] - mlcp->start[user]);
        if (cs_is_cancelled(mlcp->cancellation, CS_ENTRY_WORK * entries)) return -1;
    }
    return 0;
}

/* Allocates the arrays of an island. */
static int allocate_island(cs_island *s, const cs_graph *graph, cs_arena *arena)
{
    int64_t n = s->rows, entries = graph->start[n];
    double **numbers[] = {&s->diagonal, &s->b,    &s->lo,    &s->hi,        &s->x,    &s->w,
                          &s->noise,    &s->step, &s->slope, &s->direction, &s->image};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = cs_arena_take(arena, n, sizeof(double));
    signed char **sets[] = {&s->state, &s->next, &s->factored, &s->before};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) *sets[i] = cs_arena_take(arena, n, 1);
    s->start = cs_arena_take(arena, n + 1, sizeof(int64_t));
    s->column = cs_arena_take(arena, entries, sizeof(int64_t));
    s->value = cs_arena_take(arena, entries, sizeof(double));
    s->first = cs_arena_take(arena, n, sizeof(int64_t));
    s->list = cs_arena_take(arena, n, sizeof(int64_t));
    return cs_arena_failed(arena) ? -1 : 0;
}

/* The cost of one factor by an engine. */
static double cost(const cs_engine *engine, const cs_island *s, double changed)
{
    return engine->weight * engine->work(s, changed, 0);
}

/* Puts the island into the order of its engine, and lets the engine allocate its factors. */
static int lay_island(splitting *c, cs_island *s, const cs_graph *graph, const int64_t *given)
{
    if (find_order(c, graph, s->engine->order)) return -1;
    cs_envelope(graph, c->order, c->place, s->first);
    if (lay_rows(c, s, graph, given)) return -1;
    for (int64_t i = 0; i < s->rows; i++) s->user[i] = given[c->order[i]];
    if (c->mlcp->rule->no_factors) return 0;
    s->cancellation = c->mlcp->cancellation;
    int failed = s->engine->take(s, &c->mlcp->arena);
    s->cancellation = NULL;
    return failed;
}

/* Chooses the engine with the least multiplications: a factor in the envelope; a sparse one, if that is
 * expensive; for rules that change one row at a time, also a factor that is updated. */
static int lay_cheapest(splitting *c, cs_island *s, const cs_graph *graph, const int64_t *given)
{
    const cs_engine *envelope = cs_engine_find("envelope"), *sparse = cs_engine_find("sparse");
    const cs_engine *incremental = cs_engine_find("incremental");
    s->engine = envelope;

    /* The envelope in the order of Cuthill and McKee. */
    double entries = (double)graph->start[graph->count];
    if (cs_is_cancelled(c->mlcp->cancellation, CS_ENTRY_WORK * entries)) return -1;
    if (find_order(c, graph, CS_FILL_RCM)) return -1;
    cs_envelope(graph, c->order, c->place, s->first);

    /* In this order compare a new factor with updates of one factor. */
    double least = cost(envelope, s, 1);
    if (c->mlcp->rule->single && cost(incremental, s, 1) < least) {
        s->engine = incremental;
        least = cost(incremental, s, 1);
    }
    if (least <= CS_WORTH_SPARSE_ORDER) return lay_island(c, s, graph, given);

    /* Both are expensive: try a sparse factor, and return to the other one if that is not cheaper. */
    const cs_engine *usual = s->engine;
    s->engine = sparse;
    if (lay_island(c, s, graph, given)) return -1;
    if (cost(sparse, s, 1) < least) return 0;
    s->engine = usual;
    return lay_island(c, s, graph, given);
}

/* Chooses the island's engine, and brings its matrix into the order of the engine. */
static int make_island(splitting *c, cs_island *s)
{
    const cs_mlcp *mlcp = c->mlcp;
    int64_t *given = c->given;
    double share = (double)s->rows / (double)mlcp->rows;
    s->cache_bytes = (int64_t)(share * (double)mlcp->options.cache_bytes);

    /* Allocate its arrays, and those of interior-point steps. */
    cs_graph graph = local_graph(c, s);
    if (allocate_island(s, &graph, &c->mlcp->arena)) return -1;
    if (mlcp->options.interior && strcmp(mlcp->rule->name, "bpp") == 0) {
        int64_t size = CS_INTERIOR_ARRAYS * s->rows;
        s->interior.array = cs_arena_take(&c->mlcp->arena, size, sizeof(double));
        if (!s->interior.array) return -1;
    }

    /* Order its rows for the engine asked for, or for the cheapest one. */
    if (s->rows) memcpy(given, s->user, sizeof(int64_t) * (size_t)s->rows);
    s->engine = cs_engine_find(mlcp->options.engine);
    if (mlcp->rule->no_factors) s->engine = cs_engine_find("refactor"); /* for the natural order */
    return s->engine ? lay_island(c, s, &graph, given) : lay_cheapest(c, s, &graph, given);
}

cs_status cs_mlcp_split(cs_mlcp *mlcp, cs_error *error)
{
    splitting c = {.mlcp = mlcp};
    cs_status status = CS_OK;
    int64_t *rows;
    if (allocate_splitting(&c)) goto no_memory;

    /* Number the islands; without the option, all rows are one. */
    cs_graph whole = {mlcp->rows, mlcp->start, mlcp->column};
    mlcp->islands = mlcp->rows > 0;
    if (mlcp->options.islands) mlcp->islands = cs_components(&whole, c.part, c.work);
    mlcp->island = cs_arena_take(&mlcp->arena, mlcp->islands, sizeof(cs_island));
    rows = cs_arena_take(&mlcp->arena, mlcp->rows, sizeof(int64_t));
    if (cs_arena_failed(&mlcp->arena)) goto no_memory;

    /* Give each island its part of the list of rows. */
    for (int64_t i = 0; i < mlcp->rows; i++) mlcp->island[c.part[i]].rows++;
    for (int64_t p = 0; p < mlcp->islands; p++) {
        mlcp->island[p].user = rows;
        rows += mlcp->island[p].rows;
        mlcp->island[p].rows = 0;
    }

    /* List the rows of each island, in the given order. */
    for (int64_t i = 0; i < mlcp->rows; i++) {
        cs_island *s = &mlcp->island[c.part[i]];
        c.local[i] = s->rows;
        s->user[s->rows++] = i;
    }

    for (int64_t p = 0; p < mlcp->islands; p++) {
        if (make_island(&c, &mlcp->island[p])) goto no_memory;
    }
    goto out;
no_memory:
    status = cs_mlcp_setup_failed(mlcp, "pivoting on A", error);
out:
    cs_arena_clear(&c.scratch);
    return status;
}

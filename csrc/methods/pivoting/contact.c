/* Prepares contact problems for pivoting: checks options and sets, builds A by scalar rows, and takes the
 * memory that methods need beside a cs_mlcp. */
#include "methods/pivoting/contact.h"

#include "core/error.h"
#include "problem/friction.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- supported sets and options --------------------------------------------------------------- */

/* Whether a mixed LCP with fixed friction bounds can represent the block: its bounds are one interval for
 * each row. */
static int is_taken(const cs_block_group *group)
{
    const cs_set *set = group->set;
    int plain = set->bilateral || set->bounds || cs_has_no_friction(group);
    return plain || cs_has_intervals(group);
}

/* Whether the set itself gives the polygon that bounds friction, and friction is not bounded by intervals. */
static int has_own_polygon(const cs_block_group *group)
{
    const cs_set *set = group->set;
    return set->corners && set->variable && !cs_has_balls(group);
}

/* Whether friction is solved as a polyhedral cone: the caller has set `directions`, or a set is a polygon.
 * Only the rule without factors (Lemke) can do so. */
static int wants_cone(const char *method, const cs_options *options, const cs_problem *problem)
{
    int wants = options->pivoting.directions > 0;
    for (int g = 0; g < problem->block_groups; g++)
        wants |= has_own_polygon(&problem->block_group[g]);
    return wants && cs_rule_find(method)->no_factors;
}

/* Fails if a set has no friction polygon, or needs `directions` for it and they are not given. */
static cs_status check_cone(const char *name, const cs_options *options, const cs_problem *problem,
                            cs_error *error)
{
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];

        /* The set must be representable in a polyhedral cone. */
        if (!cs_cone_takes(group))
            return cs_fail(error, CS_UNSUPPORTED,
                           "method='%s' with directions takes blocks of the sets free, box, "
                           "half_line, box_friction, disc, ellipse and polygon, and this problem "
                           "has blocks of set '%s'",
                           name, group->set->name);

        /* Discs and ellipses need `directions`. */
        int round = group->set->corners && !has_own_polygon(group) && !cs_has_intervals(group);
        if (round && options->pivoting.directions == 0)
            return cs_fail(error, CS_UNSUPPORTED,
                           "method='%s': this problem has blocks of set '%s' beside polygons: set "
                           "directions= for them",
                           name, group->set->name);
    }
    return CS_OK;
}

/* Fails if a set is not supported: by the polyhedral cone if friction is one, by the mixed LCP otherwise. */
static cs_status check_sets(const char *name, const cs_options *options, const cs_problem *problem,
                            cs_error *error)
{
    if (wants_cone(name, options, problem)) return check_cone(name, options, problem, error);

    /* Without a cone, each row must have an interval of its own. */
    for (int g = 0; g < problem->block_groups; g++)
        if (!is_taken(&problem->block_group[g]))
            return cs_fail(
                error, CS_UNSUPPORTED,
                "method='%s' takes blocks of the sets free, box, half_line and "
                "box_friction (or disc with one tangent), and this problem has blocks of "
                "set '%s' with %d rows: use sets=box_friction(mu), %sor a method that sweeps",
                name, problem->block_group[g].set->name, problem->block_group[g].rows,
                cs_rule_find(name)->no_factors ? "directions=, " : "");
    return CS_OK;
}

cs_status cs_pivoting_check_options(const cs_options *options, const char *name, cs_error *error)
{
    cs_options about_sweeps = *options;
    /* A numeric weight is not about sweeps here: it averages friction bounds. */
    if (!options->averaging_adjacent) about_sweeps.averaging = NAN;
    cs_status status = cs_refuse_sweeps(&about_sweeps, name, NULL, error);
    if (!status && strcmp(options->dtype, "float64") != 0)
        status = cs_fail(error, CS_UNSUPPORTED, "dtype='%s': method='%s' computes in float64 only",
                         options->dtype, name);
    return status;
}

cs_status cs_pivoting_check(const cs_options *options, const char *name, const cs_problem *problem,
                            cs_error *error)
{
    cs_status status = cs_pivoting_check_options(options, name, error);
    if (status) return status;
    int directions = options->pivoting.directions;
    if (directions != 0 && directions < 3)
        return cs_fail(error, CS_INVALID, "directions is %d: a friction cone has at least 3",
                       directions);
    return check_sets(name, options, problem, error);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* A by scalar rows, while it is being written. */
typedef struct scalar_rows {
    int64_t *start, *column;
    double *value;
    int64_t rows; /* written so far */
} scalar_rows;

/* Writes the rows up to `end`, which belong to no block: each gets one stored entry, a zero diagonal. */
static void put_spare_rows(scalar_rows *to, int64_t end)
{
    for (; to->rows < end; to->rows++) {
        to->column[to->start[to->rows]] = to->rows;
        to->start[to->rows + 1] = to->start[to->rows] + 1;
    }
}

/* Writes the rows of block k. */
static void put_block_rows(scalar_rows *to, const cs_problem *problem,
                           const cs_block_matrix *blocks, int64_t k)
{
    int rows = cs_block_group_of(problem, k)->rows;
    for (int i = 0; i < rows; i++) {
        int64_t at = to->start[to->rows];
        const double *block = blocks->value + blocks->first[k];
        for (int64_t e = blocks->start[k]; e < blocks->start[k + 1]; e++) {
            /* Copy row i of this block of A, which is (rows, columns) and stored row by row. */
            int columns = cs_block_group_of(problem, blocks->column[e])->rows;
            int64_t first = cs_block_row(problem, blocks->column[e]);
            for (int j = 0; j < columns; j++, at++) {
                to->column[at] = first + j;
                to->value[at] = block[i * columns + j];
            }
            block += rows * columns;
        }
        to->start[++to->rows] = at;
    }
}

/* matrix <- A by scalar rows, from A by rows of blocks. */
static cs_status expand(const cs_problem *problem, const cs_block_matrix *blocks, cs_arena *arena,
                        cs_cancellation *cancellation, cs_csr *matrix, cs_error *error)
{
    /* Each spare row has one entry. */
    int64_t entries = blocks->first[blocks->blocks] + problem->rows;
    scalar_rows to = {
        .start = cs_arena_take(arena, problem->rows + 1, sizeof(int64_t)),
        .column = cs_arena_take(arena, entries, sizeof(int64_t)),
        .value = cs_arena_take(arena, entries, sizeof(double)),
    };
    if (cs_arena_failed(arena))
        return cs_no_memory(error, "A of %lld rows", (long long)problem->rows);

    /* Write the blocks in turn, and the spare rows before, between and behind them. */
    for (int64_t k = 0; k < blocks->blocks; k++) {
        double work = CS_ENTRY_WORK * (double)(blocks->first[k + 1] - blocks->first[k]);
        if (cs_is_cancelled(cancellation, work))
            return cs_fail(error, CS_INTERRUPTED, "interrupted while laying A out");
        put_spare_rows(&to, cs_block_row(problem, k));
        put_block_rows(&to, problem, blocks, k);
    }
    put_spare_rows(&to, problem->rows);
    *matrix = (cs_csr){problem->rows, to.start, to.column, to.value};
    return CS_OK;
}

cs_status cs_pivoting_matrix(const cs_solver *solver, cs_arena *arena, const cs_budget *budget,
                             cs_csr *matrix, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_arena scratch = {0};
    cs_block_matrix *blocks = problem->matrix;
    cs_status status = CS_OK;
    if (!blocks)
        status =
            cs_assemble(problem, solver->setup_threads, &scratch, budget->control, &blocks, error);
    if (!status) status = expand(problem, blocks, arena, budget->cancellation, matrix, error);
    cs_arena_clear(&scratch);
    return status;
}

cs_status cs_pivoting_take(cs_solver *solver, cs_error *error)
{
    int64_t rows = solver->problem->rows;
    cs_arena *arena = &solver->arena;
    cs_pivoting *p = solver->own;
    p->lo = cs_arena_take(arena, rows, sizeof(double));
    p->hi = cs_arena_take(arena, rows, sizeof(double));
    p->normal = cs_arena_take(arena, rows, sizeof(double));
    p->fixed = cs_arena_take(arena, rows, sizeof(double));
    p->index_set = cs_arena_take(arena, rows, 1);
    p->previous = cs_arena_take(arena, rows, sizeof(double));
    if (cs_arena_failed(arena)) goto no_memory;

    /* Friction bounds depend on the solution if any block has friction. */
    for (int g = 0; g < solver->problem->block_groups; g++)
        p->coupled |= cs_has_intervals(&solver->problem->block_group[g]);
    return CS_OK;
no_memory:
    return cs_no_memory(error, "pivoting on %lld rows", (long long)rows);
}

/* Prepares the renewal of friction bounds; does nothing if the option averaging is given. */
static cs_status prepare_renewal(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    int64_t count = 0;
    if (!isnan(solver->options.averaging)) return CS_OK;

    /* Count the contacts with friction. */
    for (int g = 0; g < problem->block_groups; g++)
        if (cs_has_intervals(&problem->block_group[g])) count += problem->block_group[g].count;

    /* Store their normal rows. */
    cs_pivoting *p = solver->own;
    cs_renewal *renewal = p->renewal = cs_renewal_take(count, &solver->arena);
    if (!renewal)
        return cs_no_memory(error, "the friction bounds of %lld contacts", (long long)count);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; cs_has_intervals(group) && k < group->count; k++)
            renewal->row[--count] = cs_group_row(group, k);
    }
    return CS_OK;
}

/* Fails if the dictionary would exceed dictionary_bytes, before its memory is allocated. */
static cs_status check_bytes(const cs_cone *cone, const cs_mlcp_options *options, cs_error *error)
{
    int64_t unknowns;
    double bytes = cs_cone_bytes(cone, &unknowns);
    if (!(options->dictionary_bytes > 0) || bytes <= options->dictionary_bytes) return CS_OK;

    /* Name the option that makes the dictionary that large. */
    char cause[64] = "method='lemke'";
    if (options->directions > 0)
        snprintf(cause, sizeof cause, "directions is %d", options->directions);
    return cs_fail(
        error, CS_UNSUPPORTED,
        "%s: the dictionary of %lld unknowns would take %.3g bytes, and dictionary_bytes is %.3g: "
        "use fewer directions, increase dictionary_bytes, or use a method that sweeps",
        cause, (long long)unknowns, bytes, options->dictionary_bytes);
}

/* Makes the whole problem one LCP; one solve is then the answer. */
static cs_status prepare_cone(cs_solver *solver, const cs_csr *matrix, cs_error *error)
{
    cs_pivoting *p = solver->own;
    p->coupled = 0;
    p->cone =
        cs_cone_take(solver->problem, matrix, solver->options.pivoting.directions, &solver->arena);
    if (!p->cone) return cs_no_memory(error, "a friction cone's unknowns");
    return check_bytes(p->cone, &solver->options.pivoting, error);
}

void cs_pivoting_release(cs_solver *solver, int again)
{
    cs_pivoting *p = solver->own;
    /* Keep the factors for the next preparation (`again`) if they may be reused. */
    int keeps = again && p->mlcp && !p->hybrid && solver->options.pivoting.reuse > 0;
    cs_mlcp *kept = keeps ? p->mlcp : again ? p->kept : NULL;
    if (p->kept != kept) cs_mlcp_destroy(p->kept);
    if (p->mlcp != kept) cs_mlcp_destroy(p->mlcp);
    *p = (cs_pivoting){.kept = kept};
}

/* Makes the cs_mlcp that was kept, if any, the current one, with the new values of the matrix. */
static cs_status adopt_kept(cs_solver *solver, const cs_csr *matrix, cs_error *error)
{
    cs_pivoting *p = solver->own;
    cs_status status = p->kept ? cs_mlcp_update(p->kept, matrix, error) : CS_OK;
    if (status) return status;
    p->mlcp = p->kept;
    p->kept = NULL;
    return CS_OK;
}

cs_status cs_pivoting_prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    cs_pivoting *p = solver->own;
    const cs_problem *problem = solver->problem;
    cs_arena scratch = {0};
    cs_csr matrix;
    cs_mlcp_options options = solver->options.pivoting;
    /* The name of the method is that of its rule. */
    options.rule = solver->method->name;
    options.threads = solver->options.threads;
    options.exact_threads = solver->options.exact_threads;
    options.islands = solver->options.islands;

    /* A polyhedral cone needs the matrix until the end; a mixed LCP copies it. */
    int cone = wants_cone(options.rule, &solver->options, problem);
    cs_status status = cs_pivoting_take(solver, error);
    if (!status)
        status =
            cs_pivoting_matrix(solver, cone ? &solver->arena : &scratch, budget, &matrix, error);

    /* Prepare the cone or the mixed LCP. */
    if (!status && cone) status = prepare_cone(solver, &matrix, error);
    if (!status && !cone) status = prepare_renewal(solver, error);
    if (!status && !cone) status = adopt_kept(solver, &matrix, error);
    if (!status && !cone && !p->mlcp)
        status = cs_mlcp_make(&p->mlcp, &matrix, &options, budget->cancellation, error);
    cs_arena_clear(&scratch);
    return status;
}

void cs_pivoting_describe(const cs_solver *solver, cs_solver_info *info)
{
    const cs_pivoting *pivoting = solver->own;

    /* A cone has no engine. */
    if (pivoting->cone) {
        info->engine = "polyhedral";
        info->islands = pivoting->cone->islands;
        return;
    }

    /* Otherwise describe the mixed LCP. */
    cs_mlcp_info mlcp;
    cs_mlcp_describe(pivoting->mlcp, &mlcp);
    info->engine = mlcp.engine;
    info->islands = mlcp.islands;
    info->bytes += mlcp.bytes;
}

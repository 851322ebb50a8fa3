/* Block principal pivoting.  Judice and Pires 1994; S3 Algorithm 2.1
 *
 *     candidate -> infeasible rows: none? done
 *                    | fewer than ever before           -> change all of them (block pivot)
 *                    | no new minimum for p steps       -> change the last of them (Murty's rule)
 *                    | otherwise                        -> change all of them
 *
 * If stiff joints meet contacts, block pivots may jump between index sets for tens of steps without
 * progress. If they are predicted to take longer than interior-point steps, a few of these run in
 * between, and block pivots continue from the index set that they predict (interior_start.c).
 *
 * The number of steps of Murty's rule may be exponential in the number of rows. After CS_PIVOT_SINGLE_LIMIT
 * steps without progress, projected Newton steps approach the solution (descent.c), and Keller's rule
 * finishes: under it the energy decreases with every row.
 *
 * If A is positive definite, Murty's rule visits no index set twice in exact arithmetic: a repeated one
 * is due to rounding. The tolerance for rounding is then multiplied by ten, at last up to
 * CS_PIVOT_ROUGHEST; a cycle beyond that is reported. */
#include "mlcp/pivoting.h"

#include <math.h>
#include <string.h>

/* A hash of the index set. */
static uint64_t digest(const cs_island *s)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a with a final mixing step */
    for (int64_t i = 0; i < s->rows; i++)
        hash = (hash ^ (uint64_t)(s->state[i] + 1)) * 0x100000001b3u;
    return hash ^ (hash >> 29);
}

int cs_pivot_is_cycling(cs_cycle_check *c, const cs_island *s)
{
    uint64_t now = digest(s);
    if (c->age && now == c->kept) return 1;
    if (c->age++ == c->until) {
        c->kept = now;
        c->until = 2 * c->until + 1;
        c->age = 1;
    }
    return 0;
}

/* s->next <- the indices that x and w ask for; returns the number of infeasible rows, and the `last` of
 * them. */
static int64_t find_infeasible(cs_pivot_run *run, int64_t *last)
{
    cs_island *s = run->island;
    int64_t count = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        s->next[i] = cs_pivot_wanted(run, i);
        if (s->next[i] == s->state[i]) continue;
        count++;
        *last = i;
    }
    return count;
}

int cs_pivot_raise_tolerance(cs_pivot_run *run, cs_cycle_check *c)
{
    *c = (cs_cycle_check){0};
    run->tolerance *= 10;
    return run->tolerance <= CS_PIVOT_ROUGHEST;
}

/* The progress of block pivots since the start, or since the last interior-point steps. */
typedef struct progress {
    int64_t steps;         /* block steps so far */
    int64_t most, most_at; /* largest number of infeasible rows, and before which step */
    int64_t fewest, since; /* smallest number, and steps without a new minimum */
    int interiors;         /* runs of interior-point steps so far */
} progress;

enum {
    INTERIOR_AT_MOST = 6, /* maximum runs of interior-point steps */
    INTERIOR_STEPS = 10,  /* typical number of interior-point steps, each with one factor */
    RESUMED_STEPS = 3,    /* the same when they resume */
    STAGNANT = 3,         /* steps without a new minimum that count as stagnation */
    RESUMED_AFTER = 1, /* minimum number of block steps between two runs of interior-point steps */
};

/* Whether block pivots stagnate: at their rate since the maximum number of infeasible rows, the
 * remaining ones would take more steps than interior-point steps do. */
static int is_too_slow(const cs_pivot_run *run, progress *p, int64_t infeasible)
{
    const cs_island *s = run->island;
    int64_t now = p->steps++;
    if (!s->interior.array || !s->engine->anew || p->interiors == INTERIOR_AT_MOST) return 0;

    /* Update the largest and the smallest number. */
    if (infeasible > p->most) {
        p->most = infeasible;
        p->most_at = now;
    }
    p->since = now && infeasible >= p->fewest ? p->since + 1 : 0;
    if (!p->since) p->fewest = infeasible;

    /* Wait for signs of stagnation. The number of infeasible rows is then assumed to decrease
     * geometrically. */
    if (p->interiors ? now < RESUMED_AFTER : p->since < STAGNANT) return 0;
    double left = log((double)infeasible), done = log((double)p->most) - left;
    return left * (double)(now - p->most_at) >=
           (p->interiors ? RESUMED_STEPS : INTERIOR_STEPS) * done;
}

/* Replaces the index set by the one that interior-point steps predict; `changed` <- the number of rows
 * that differ. */
static cs_status predict(cs_pivot_run *run, progress *p, int64_t *changed, cs_error *error)
{
    cs_island *s = run->island;
    memcpy(s->before, s->state, (size_t)s->rows);
    cs_status status = cs_pivot_interior(run, p->interiors > 0, error);
    *changed = 0;
    for (int64_t i = 0; i < s->rows; i++) *changed += s->state[i] != s->before[i];
    *p = (progress){.interiors = p->interiors + 1};
    return status;
}

cs_status cs_pivot_blocks(cs_pivot_run *run, int64_t block_steps, int descends, cs_error *error)
{
    cs_island *s = run->island;
    int64_t fewest = s->rows + 1, patience = 0, last = -1, stalled_steps = 0;
    cs_cycle_check visits = {0};
    progress block_progress = {0};
    for (;; run->steps++) {
        cs_status status = cs_pivot_candidate(run, error);
        if (status) return status;

        /* Done if no row is infeasible, or if the steps are used up. */
        int64_t infeasible = find_infeasible(run, &last);
        if (infeasible == 0) run->outcome = CS_MLCP_CONVERGED;
        else if (run->steps == run->max_steps) run->outcome = CS_MLCP_MAX_PIVOTS;
        if (infeasible == 0 || run->steps == run->max_steps)
            return cs_pivot_step(run, infeasible, 0, error);

        /* If block pivots are too slow, continue from the index set of interior-point steps. */
        if (descends && is_too_slow(run, &block_progress, infeasible)) {
            int64_t changed;
            status = predict(run, &block_progress, &changed, error);
            if (!status) status = cs_pivot_step(run, infeasible, changed, error);
            if (status) return status;
            fewest = s->rows + 1;
            continue;
        }

        /* After a new minimum, block pivots may continue for another stall_steps. */
        int fewer = infeasible < fewest;
        if (fewer) {
            fewest = infeasible;
            patience = run->options->stall_steps;
            visits = (cs_cycle_check){0};
            stalled_steps = 0;
        }

        /* If Murty's rule stagnates, finish with rules under which the energy decreases. */
        if (descends && stalled_steps > CS_PIVOT_SINGLE_LIMIT) {
            status = cs_pivot_descend(run, error);
            return status ? status : cs_pivot_keller(run, error);
        }

        /* Change all infeasible rows, or the last one only. */
        int block = block_steps > 0 && (fewer || patience > 0);
        if (!fewer && patience > 0) patience--;
        if (block) {
            block_steps--;
            memcpy(s->state, s->next, (size_t)s->rows);
        } else {
            run->single_steps++;
            stalled_steps++;
            if (cs_pivot_is_cycling(&visits, s) && !cs_pivot_raise_tolerance(run, &visits)) {
                run->outcome = CS_MLCP_CYCLING;
                return cs_pivot_step(run, infeasible, 0, error);
            }
            s->state[last] = s->next[last];
        }

        /* Log the step; if the solve is to stop, return the candidate of the last index set. */
        status = cs_pivot_step(run, infeasible, block ? infeasible : 1, error);
        if (status) return status;
        if (run->stopped) {
            run->outcome = CS_MLCP_STOPPED;
            return cs_pivot_candidate(run, error);
        }
    }
}

/* The rule bpp: block pivots, then rules with a decreasing energy. */
static cs_status bpp(cs_pivot_run *run, cs_error *error)
{
    return cs_pivot_blocks(run, run->options->block_steps, 1, error);
}

/* The rule murty: single pivots only. */
static cs_status murty(cs_pivot_run *run, cs_error *error)
{
    return cs_pivot_blocks(run, 0, 0, error);
}

const cs_rule cs_rule_bpp = {
    .name = "bpp",
    .summary = "block principal pivoting, with Murty's rule if it stagnates (Judice and Pires; S3)",
    .solve = bpp,
};

const cs_rule cs_rule_murty = {
    .name = "murty",
    .summary = "one row at a time: the infeasible row with the highest number (Murty)",
    .single = 1,
    .solve = murty,
};

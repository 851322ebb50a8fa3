/* Block principal pivoting.  Judice and Pires 1994; S3 Algorithm 2.1
 *
 *     candidate -> rows that are not where they belong: none? done
 *                    | fewer than ever            -> all of them change (block)
 *                    | no fewer for p steps       -> the last of them changes (Murty's rule)
 *                    | else                       -> all of them change
 *
 * Index sets jump about where stiff joints meet contacts: tens of block steps bring nothing. Where they
 * would go on for longer than interior-point steps take, these come in between, once or twice, and the
 * block steps go on from the index set that they foresee (interior.c).
 *
 * Murty's rule may take a number of steps that is exponential in that of the rows. When so many have
 * brought nothing, projected Newton steps lead near the solution (descent.c), and Keller's rule, under
 * which the energy falls with every row, leads there.
 *
 * Murty's rule visits no index set twice where A is positive definite: a visit that comes again is
 * rounding at work. Then ten times more counts as rounding, and in the end the circle is reported. */
#include "mlcp/pivoting.h"

#include <math.h>
#include <string.h>

static uint64_t digest(const cs_island *s)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, mixed once more */
    for (int64_t i = 0; i < s->rows; i++)
        hash = (hash ^ (uint64_t)(s->state[i] + 1)) * 0x100000001b3u;
    return hash ^ (hash >> 29);
}

int cs_pivot_comes_again(cs_circle *c, const cs_island *s)
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

/* s->next <- where the rows belong; returns how many are elsewhere, `last` being the last of them. */
static int64_t look(cs_pivot_run *run, int64_t *last)
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

int cs_pivot_be_lenient(cs_pivot_run *run, cs_circle *c)
{
    *c = (cs_circle){0};
    run->tolerance *= 10;
    return run->tolerance <= CS_PIVOT_ROUGHEST;
}

/* How block steps get on, since the start or since interior-point steps. */
typedef struct pace {
    int64_t steps;
    int64_t most, most_at; /* rows out of place at most, and before which step */
    int64_t fewest, since; /* at least, and steps that brought no fewer since then */
    int interiors;
} pace;

enum {
    INTERIOR_AT_MOST = 6,
    INTERIOR_STEPS = 10, /* about as many factors as they take; */
    RESUMED_STEPS = 3,   /* and where they go on */
    STANDING = 3, /* steps without fewer than ever: fewer of them often come before many more go; */
    RESUMED_AFTER = 1, /* after interior-point steps so many of any kind */
};

/* Whether block steps, getting on as they have done since there was most to do, have more of them to
 * go than interior-point steps take. */
static int is_too_slow(const cs_pivot_run *run, pace *p, int64_t infeasible)
{
    const cs_island *s = run->island;
    int64_t now = p->steps++;
    if (!s->interior.array || !s->engine->anew || p->interiors == INTERIOR_AT_MOST) return 0;
    if (infeasible > p->most) {
        p->most = infeasible;
        p->most_at = now;
    }
    p->since = now && infeasible >= p->fewest ? p->since + 1 : 0;
    if (!p->since) p->fewest = infeasible;
    if (p->interiors ? now < RESUMED_AFTER : p->since < STANDING) return 0;
    double left = log((double)infeasible), done = log((double)p->most) - left;
    return left * (double)(now - p->most_at) >=
           (p->interiors ? RESUMED_STEPS : INTERIOR_STEPS) * done;
}

/* Puts what interior-point steps foresee in place of the index set; `changed` <- how many rows. */
static cs_status foresee(cs_pivot_run *run, pace *p, int64_t *changed, cs_error *error)
{
    cs_island *s = run->island;
    memcpy(s->before, s->state, (size_t)s->rows);
    cs_status status = cs_pivot_interior(run, p->interiors > 0, error);
    *changed = 0;
    for (int64_t i = 0; i < s->rows; i++) *changed += s->state[i] != s->before[i];
    *p = (pace){.interiors = p->interiors + 1};
    return status;
}

cs_status cs_pivot_blocks(cs_pivot_run *run, int64_t block_steps, int descends, cs_error *error)
{
    cs_island *s = run->island;
    int64_t fewest = s->rows + 1, patience = 0, last = -1, alone = 0;
    cs_circle visits = {0};
    pace sofar = {0};
    for (;; run->steps++) {
        cs_status status = cs_pivot_candidate(run, error);
        if (status) return status;
        int64_t infeasible = look(run, &last);
        if (infeasible == 0) run->outcome = CS_MLCP_CONVERGED;
        else if (run->steps == run->max_steps) run->outcome = CS_MLCP_MAX_PIVOTS;
        if (infeasible == 0 || run->steps == run->max_steps)
            return cs_pivot_step(run, infeasible, 0, error);
        if (descends && is_too_slow(run, &sofar, infeasible)) {
            int64_t changed;
            status = foresee(run, &sofar, &changed, error);
            if (!status) status = cs_pivot_step(run, infeasible, changed, error);
            if (status) return status;
            fewest = s->rows + 1;
            continue;
        }
        int fewer = infeasible < fewest;
        if (fewer) {
            fewest = infeasible;
            patience = run->options->stall_steps;
            visits = (cs_circle){0};
            alone = 0;
        }
        if (descends && alone > CS_PIVOT_ALONE) {
            status = cs_pivot_descend(run, error);
            return status ? status : cs_pivot_keller(run, error);
        }
        int block = block_steps > 0 && (fewer || patience > 0);
        if (!fewer && patience > 0) patience--;
        if (block) {
            block_steps--;
            memcpy(s->state, s->next, (size_t)s->rows);
        } else {
            run->single_steps++;
            alone++;
            if (cs_pivot_comes_again(&visits, s) && !cs_pivot_be_lenient(run, &visits)) {
                run->outcome = CS_MLCP_CYCLING;
                return cs_pivot_step(run, infeasible, 0, error);
            }
            s->state[last] = s->next[last];
        }
        status = cs_pivot_step(run, infeasible, block ? infeasible : 1, error);
        if (status) return status;
        if (run->stopped) {
            run->outcome = CS_MLCP_STOPPED;
            return cs_pivot_candidate(run, error);
        }
    }
}

static cs_status bpp(cs_pivot_run *run, cs_error *error)
{
    return cs_pivot_blocks(run, run->options->block_steps, 1, error);
}

static cs_status murty(cs_pivot_run *run, cs_error *error)
{
    return cs_pivot_blocks(run, 0, 0, error);
}

const cs_rule cs_rule_bpp = {
    .name = "bpp",
    .summary = "block principal pivoting, with Murty's rule where it stalls (Judice and Pires; S3)",
    .solve = bpp,
};

const cs_rule cs_rule_murty = {
    .name = "murty",
    .summary = "one row at a time, the last that is not where it belongs (Murty)",
    .single = 1,
    .solve = murty,
};

/* The policy of method="auto": the numbers that decide which link follows, when, and for how long. What work
 * costs stands in core/costs.h; here are shares of costs, limits and patience. The header of auto.c explains the
 * sequence of links. No result depends on a clock. */
#ifndef CS_CHAIN_POLICY_H
#define CS_CHAIN_POLICY_H

/* ---- the direct method ------------------------------------------------------------------------ */

enum {
    CS_DIRECT_ROWS = 4000, /* maximum rows of a problem that the direct method begins with */
    CS_DIRECT_SOLVES = 60, /* maximum direct solves, each with new friction bounds */
    CS_BRIEF_PIVOTS = 2, /* maximum pivots of the first direct solve from the start of the solve */
    CS_FIRST_SWEEPS = 120, /* maximum sweeps before the direct method */
};
#define CS_LOOSE 1e-4 /* a tolerance is loose above this fraction of the judgement of the start */

/* ---- the alternative method takes over from sweeps -------------------------------------------- */

/* An alternative method takes over after so many sweeps at least, and once these have cost a share of what it
 * will: a small share if the scaled natural map is small, CS_LATE_SHARE otherwise. What such a method finds on
 * its way is of little use before it arrives, so that sweeps that bring a small natural map come first. */
enum { CS_LEAST_SWEEPS = 40 };
#define CS_SMALL 1e-2
#define CS_EARLY_SHARE 0.25
#define CS_LATE_SHARE 1.5

/* ---- Newton's method -------------------------------------------------------------------------- */

enum {
    CS_EXPECTED_STEPS = 20,  /* expected steps of a solution by Newton's method */
    CS_NEWTON_PATIENCE = 16, /* steps without a halving in the first round */
    CS_SOONER_PATIENCE = 96, /* the same if the method took over from sweeps */
    CS_FAR_STEPS = 60, /* maximum steps of a link if steps are expensive and no solution is near */
};
/* Maximum of the expected cost of Newton's method over the cost of the sweeps so far. The second number is for
 * expensive steps far from a solution, most of which are wasted on grids. */
#define CS_STEPS_WORTH 1.5
#define CS_FAR_WORTH 0.25
#define CS_NEAR 1e-4 /* a solution is near below this fraction of the natural map at the start */
#define CS_CHEAP_STEP 100 /* maximum cost in sweeps of a Newton step that is not expensive */

/* ---- interior-point steps ----------------------------------------------------------------------- */

/* After a round that has not halved the natural map, if the expected steps, at the price of Newton's, cost at most
 * so many times what the sweeps so far have cost; after the last round at any price. */
enum {
    CS_INTERIOR_EXPECTED = 60, /* steps of Newton's method that cost as much as a solution */
    CS_INTERIOR_STEPS = 100,   /* maximum steps */
    CS_INTERIOR_PATIENCE = 15, /* steps without a halving */
};
#define CS_INTERIOR_WORTH 0.5

/* ---- rounds ----------------------------------------------------------------------------------- */

enum { CS_FRUITLESS = 6 }; /* maximum rounds in a row that do not halve the natural map */

#endif

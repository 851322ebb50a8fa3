/* Stages: a method in steps (solver/accelerate.h) that consists of several methods, which take turns in one run.
 *
 *     stage 0 ──stagnates, diverges──► stage 1 ──► ... ──► stage 0 with twice the patience ──► ...
 *
 * Each stage begins at the best iterate so far, with R as it was before rollbacks. A stage ends by the rules by which links
 * of method="auto" end: it has not halved the scaled natural map for as many iterations as it had made at its last halving,
 * and for at least `patience` ones; or its residual grows although R was halved as often as the option `rollback` allows. A
 * round has every stage once. The solve ends after a number of rounds in a row that have not halved the best natural map.
 *
 * Unlike links, stages belong to one run: its history, its best iterate and its clock go on. Nothing is decided from anything
 * but natural maps, residuals and counts of iterations, which are the same on all ranks. A checkpoint has the stages among
 * the method's variables. */
#ifndef CS_STAGES_H
#define CS_STAGES_H

#include "solver/accelerate.h"

/* A stage that has ended. */
typedef struct cs_stage_report {
    int64_t first, iterations; /* iterations before it, and made by it */
    double seconds;            /* from the end of the stage before */
    double reached;            /* cs_run.best at its end */
    int stage, outcome;        /* its place among the stages; a cs_outcome */
} cs_stage_report;

/* The method's own variables begin with these. They are zero at the beginning of a solve. */
typedef struct cs_stages {
    int stage;      /* the present one, from 0 */
    int fruitless;  /* rounds in a row that have not halved the best natural map */
    int rollbacks;  /* of the stages that have ended */
    int reports;    /* reports so far; further stages are added to the last one */
    double seconds; /* cs_seconds at the beginning of the present stage */
    cs_stage_report report[CS_MAX_LINKS];
} cs_stages;

/* The own options of methods with stages: after those of all methods in steps, of which the patience has a default. */
#define CS_STAGE_PATIENCE_OPTION                                                              \
    [CS_PATIENCE] = CS_COUNT_OPTION("patience", 400, 1,                                       \
                                    "sweeps without halving the natural map after which one " \
                                    "stage hands over to the next; it doubles in every "      \
                                    "further round")
enum { CS_ROUNDS = CS_OWN_OPTIONS, CS_STAGE_OPTIONS };
#define CS_ROUNDS_OPTION                                                                 \
    [CS_ROUNDS] = CS_COUNT_OPTION("rounds", 6, 1,                                        \
                                  "rounds of all stages in a row that do not halve the " \
                                  "natural map, after which a solve ends as stalled, "   \
                                  "wandering or diverging")

/* The figures of methods with stages; the first is that of all methods with restarts. */
enum { CS_HANDOVERS = CS_RESTARTS_FIGURES, CS_STAGE_FIGURES };
extern const cs_figure cs_stage_figure[CS_STAGE_FIGURES];

/* Bytes of solver->own of methods with stages: the links of a result. */
enum { CS_STAGES_OWN = CS_MAX_LINKS * sizeof(cs_link) };

/* Ends the present stage, which diverged or stagnates as the result says, and goes to the next one. Returns 0 if there is
 * none, because all rounds that the option `rounds` allows were in vain. */
int cs_stages_next(cs_steps_run *steps, const cs_result *result);

/* After the solve: result->link <- the stages that ran, as links; adds the rollbacks of all stages. */
void cs_stages_end(cs_steps_run *steps, cs_result *result);

#endif

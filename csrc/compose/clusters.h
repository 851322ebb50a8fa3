/* What the files behind compose/islands.h share: islands.c cuts a problem into clusters and makes a solver
 * for each, cluster_threads.c has threads work on them, cluster_solves.c solves them and puts the whole
 * together. */
#ifndef CS_CLUSTERS_H
#define CS_CLUSTERS_H

#include "compose/islands.h"

#include <stdatomic.h>

typedef struct cs_cluster {
    cs_problem *problem;
    cs_solver *solver;
    int64_t *block; /* (blocks), ascending: of the whole */
    int64_t blocks;
    double *lambda, *b, *parameters; /* of one solve */
    signed char *index_set;          /* (rows): what it begins with, where the whole does */
    cs_result result;
    double busy, unclocked; /* seconds of its solve; those that its clock left out */
    int64_t at;             /* the row of its history that is looked at */
    cs_status status;
    cs_error error;
} cs_cluster;

typedef struct cs_islands {
    int64_t clusters;
    cs_cluster *cluster;
    int64_t *in_turn; /* (clusters), as they are begun */
    int64_t largest;
    int threads;
    cs_link link[CS_MAX_LINKS]; /* of the last solve, added up */
} cs_islands;

static inline cs_islands *cs_islands_of(const cs_solver *solver) { return solver->parts; }

/* The solve of cs_composition_islands. */
cs_status cs_islands_solve(cs_solver *solver, cs_budget *budget, cs_result *result,
                           cs_error *error);

/* Clusters being worked on. */
typedef struct cs_sharing {
    cs_solver *solver;
    cs_islands *islands;
    const cs_control *control;
    const cs_budget *budget; /* of a solve; NULL of a set-up */
    cs_status (*work)(struct cs_sharing *all, cs_cluster *cluster, int thread);
    int sets_up; /* there is nothing yet to stop with: only an abort is heard */
    atomic_int halt;
    int interrupted;  /* only thread 0 asks the caller */
    int64_t shown;    /* iterations that the caller has been told of */
    double last_poll; /* of thread 0 as it waits for the others */
} cs_sharing;

/* Does the work for every cluster; fails as if the first of those that failed had been alone. An
 * interruption comes before all: what the caller has raised must not be lost. */
cs_status cs_islands_share_out(cs_sharing *all, cs_error *error);

/* What a cluster's set-up or solve on that thread asks. */
cs_control cs_islands_control(cs_sharing *all, int thread);

#endif

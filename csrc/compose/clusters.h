/* Declarations that the files behind compose/islands.h share: islands.c divides a problem into clusters and creates a
 * solver for each, cluster_threads.c distributes the clusters over threads, cluster_solves.c solves them and combines
 * their results. In these files, "the whole" is the problem that was divided, and "a part" is the problem of one
 * cluster. */
#ifndef CS_CLUSTERS_H
#define CS_CLUSTERS_H

#include "compose/islands.h"

#include <stdatomic.h>

typedef struct cs_cluster {
    cs_problem *problem;
    cs_solver *solver;
    int64_t *block; /* (blocks): the cluster's blocks of the whole, ascending */
    int64_t blocks;
    double *lambda, *b, *parameters; /* of one solve, in the order of the part */
    signed char *index_set;          /* (rows): start of the solve, if the whole starts from one */
    cs_result result;
    double busy;      /* seconds of its last solve, */
    double unclocked; /* of these what result.seconds leaves out, */
    double sweeping;  /* and what result.sweep_seconds counts */
    int64_t at;       /* the row of its history that was read last */
    cs_status status;
    cs_error error;
} cs_cluster;

/* The state of the composition: solver->parts. */
typedef struct cs_islands {
    int64_t clusters;
    cs_cluster *cluster;
    int64_t *in_turn; /* (clusters): the order in which threads take them */
    int64_t largest;  /* the cluster with the most blocks */
    int threads;
    cs_link link[CS_MAX_LINKS]; /* the links of the last solve, summed over clusters */
} cs_islands;

static inline cs_islands *cs_islands_of(const cs_solver *solver) { return solver->parts; }

/* The solve of cs_composition_islands. */
cs_status cs_islands_solve(cs_solver *solver, cs_budget *budget, cs_result *result,
                           cs_error *error);

/* Work on all clusters by several threads: their set-up, or their solves. */
typedef struct cs_sharing {
    cs_solver *solver; /* of the whole */
    cs_islands *islands;
    const cs_control *control; /* the caller's; may be NULL */
    const cs_budget *budget;   /* of the solve; NULL for a set-up */
    cs_status (*work)(struct cs_sharing *all, cs_cluster *cluster, int thread);
    int sets_up;      /* a set-up: it may be aborted, but not stopped, for lack of an iterate */
    atomic_int halt;  /* whether all threads shall end their work */
    int interrupted;  /* whether the caller aborted; only thread 0 uses it */
    int64_t shown;    /* the largest iteration that the caller has seen */
    double last_poll; /* when thread 0 last polled while it waited for the others */
} cs_sharing;

/* Calls all->work for every cluster. If the caller aborts, it fails with CS_INTERRUPTED, before any other failure,
 * because the caller's exception must not be lost; otherwise with the failure of the first cluster that failed. */
cs_status cs_islands_share_out(cs_sharing *all, cs_error *error);

/* The control for the set-up or the solve of a cluster on that thread. */
cs_control cs_islands_control(cs_sharing *all, int thread);

#endif

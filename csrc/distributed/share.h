/* A rank's share of a problem that several ranks solve together.
 *
 *     bodies     owned: of the rank's parts | ghosts: of other ranks, partners of owned bodies | immovable ones
 *     contacts   all that act on an owned body, in ascending order of their numbers in the whole problem
 *     plan       the stages of the whole problem's sweep with the rank's contacts, empty stages included
 *
 * Parts are virtual ranks: every movable body has the label of its part. A rank owns consecutive parts, and their bodies.
 * A contact between bodies of several ranks is in the share of each of them, and each of them visits it: both compute the
 * same impulse, and only velocities u = G^T lambda travel, from a body's owner to the ranks that have the body as a ghost.
 *
 * The problem of a rank has the same groups of bodies and of blocks as the whole problem, also where they are empty. */
#ifndef CS_DISTRIBUTED_SHARE_H
#define CS_DISTRIBUTED_SHARE_H

#include "order/schedule.h"

/* Arrays are the caller's, and have to live as long as the solver. Numbers of bodies and blocks index them as they are
 * numbered in the rank's problem. */
typedef struct cs_share {
    int64_t parts;          /* of all ranks; at least as many as ranks */
    int64_t all_bodies;     /* of the whole problem */
    int64_t all_contacts;   /* likewise */
    const int64_t *body;    /* (bodies): number in the whole problem, ascending in each group */
    const int64_t *contact; /* (blocks): likewise */
    const int64_t *label;   /* (bodies): part of each movable body; that of others has no effect */
    const int64_t *
        part; /* (blocks): the part that a contact belongs to: the lowest label of its movable bodies, or
                               * in a disjoint or concurrent stage the part that visits it */
    int64_t shared_islands; /* islands with contacts on several ranks */
    const int64_t
        *island; /* (blocks): 0 ... shared_islands - 1, the same number on all ranks; or -1 for an
                               * island whose contacts are on this rank alone */
    int64_t stages;       /* the same on all ranks */
    const int64_t *kind;  /* (stages): a cs_stage_kind */
    const int64_t *start; /* (stages + 1) into block: where each stage begins */
    const int64_t *block; /* (blocks): the rank's contacts in the order of their visits */
    const unsigned char *
        cut; /* (blocks): whether a part of a concurrent or disjoint stage begins here; other stages are
                               * sorted by part and cut as by cs_plan_own */
    int64_t colors;    /* of the whole plan; 0 if its order does not colour */
    double weight;     /* as in cs_plan */
    int splits_masses; /* as in cs_plan */
    const char *order; /* name of the order that made the plan */
} cs_share;

/* The rank that owns a part: rank r owns those from parts * r / ranks to parts * (r + 1) / ranks - 1. */
static inline int cs_owner_of_part(int64_t part, int64_t parts, int ranks)
{
    return (int)(((part + 1) * ranks - 1) / parts);
}

/* Fails if the share does not fit the rank's problem: the message names the array, the index and the value. */
cs_status cs_share_check(const cs_share *share, const cs_problem *problem, int ranks,
                         cs_error *error);

/* Whether all movable bodies of a block belong to the block's part. */
int cs_share_is_inside(const cs_share *share, const cs_problem *problem, int64_t block);

/* plan <- the stages of the share, in `scratch`. */
cs_status cs_share_plan(const cs_share *share, const cs_problem *problem, cs_arena *scratch,
                        cs_plan **plan, cs_error *error);

#endif

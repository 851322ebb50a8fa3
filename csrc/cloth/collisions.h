/* Collisions of a cloth with itself and with obstacles: detection, response, certificate.  S5 sections 3.4 and 5
 *
 *     near contacts ──► repulsion ──► certificate ──► impacts ──► stopping impulses ┐
 *     (at x0)           (sweeps)      (x0 → x1)       (x0 → x1)  └───◄──────────────┘
 *                                      │    ▲            │ after so many passes
 *                                  free▼    └────────────┴── rigid impact zones
 *
 * A step of the cloth gives velocities v and a motion x0 → x1 = x0 + h v along straight lines. The response changes v until
 * no two primitives meet; x0 stays. What it cannot solve is told, and the caller makes a shorter step.
 *
 *     contact     four vertices with weights w, a unit normal n and a bound:   n . u >= bound,   u = sum w_i v_i
 *     impulse     v_i += w_i / m_i P:  P . n >= 0 and |P_t| <= mu P . n
 *
 * Repulsion stops the approach of what is nearer than the thickness, and a shift undoes a part of the overlap: it moves vertices
 * in this step, and leaves them no velocity, which would add up over the layers of a stack. An impact is a pair that
 * meets within the step: its bound lets it come as near as the thickness, or not at all. All contacts of a step stay in one
 * list, in the order of their primitives; sweeps go through it by colours (cloth/visits.h), forwards and backwards, and add to
 * each impulse what its contact needs (projected Gauss-Seidel, exact for each contact since its matrix is sum w_i^2 / m_i times the identity).
 *
 * Zones are regions of vertices that hits connect: each moves as a rigid body with its momenta, or follows the obstacles and the
 * attached vertices that it touches. v_0 + w x x is an affine map at all times of a step, with a determinant of at least one, so
 * that nothing within a zone meets.
 *
 * Vertices of obstacles follow those of the cloth in all arrays. Those and attached ones have infinite mass.
 *
 * Sources: Bridson, Fedkiw and Anderson 2002 (repulsions, impacts, zones); Provot 1997 (zones); Harmon et al. 2008 (impacts are
 * constraints that stay, in place of impulses that are forgotten). */
#ifndef CS_COLLISIONS_H
#define CS_COLLISIONS_H

#include "bvh/query.h"
#include "bvh/stencil.h"
#include "cloth/visits.h"
#include "core/buffer.h"
#include "core/vector.h"

#include <float.h>

/* Contacts are found up to this distance, in thicknesses: where layers rest on each other, they stay. */
#define CS_REACH 1.25

typedef struct cs_collision_options {
    double thickness;   /* [m] */
    double mu;          /* friction */
    double push;        /* part of an overlap that repulsion undoes in a step */
    int64_t stop_after; /* iterations of repulsion before stopping impulses, at most */
    int64_t iterations; /* passes of stopping impulses, at most */
    int64_t zones;      /* passes of impact zones, at most */
    int has_self;       /* the cloth with itself, too */
    int is_allowed;     /* what touches from the beginning, or only as it is told, is left out */
    int is_problem; /* near contacts are also those that the motion would reach; the caller solves them */
    int k;          /* of the boxes */
    const cs_split_rule *rule;
} cs_collision_options;

/* A triangle mesh that moves as it is told. */
typedef struct cs_obstacle {
    int64_t first, vertices; /* its vertices in arrays over all */
    int moves;               /* in this step */
    int is_fitted;           /* boxes are those of its place */
    double impulse[3];       /* on the cloth, in the step that is being made [N s] */
    double given[3];         /* the same, in the last step that was made */
    cs_tree tree;
    cs_query query;
    int32_t *opposite;
} cs_obstacle;

/* Pairs of one kind whose boxes overlap, by their vertices. */
enum { CS_PAIR_UNTESTED, CS_PAIR_FREE, CS_PAIR_HIT };
typedef struct cs_candidates {
    int64_t count;
    cs_buffer index; /* (count, 4) of int64_t */
    cs_buffer key;   /* (count) of uint64_t: names the two primitives; ascending */
    cs_buffer state; /* (count) of uint8_t: free or hit, for the motion that was tested last */
    cs_buffer near;  /* (count) of uint8_t: nearer than the thickness at x0; or touching */
} cs_candidates;

/* The force of a contact in the last step [N]; zero if the contact was new. */
typedef struct cs_former {
    uint64_t key;
    double force[3];
} cs_former;

typedef struct cs_contact {
    uint64_t key; /* of its pair */
    int64_t vertex[4];
    double weight[4];
    double normal[3];
    double inverse;    /* of sum w_i^2 / m_i */
    int is_inside;     /* of a vertex and a face: the nearest point is in its inside */
    double bound;      /* [m/s] */
    double push;       /* of the shift [m/s] */
    double gap;        /* along the normal, at x0 */
    double impulse[3]; /* [N s] */
    double rate[3];    /* relative velocity after the step, once it is made [m/s] */
    int64_t visited;   /* clock of its last visit */
    cs_stencil_kind kind;
    int is_impact;
    int had_force;   /* it was a contact in the last step, too */
    int is_left_out; /* while near contacts are found: it will be none */
} cs_contact;

typedef struct cs_collision_report {
    int64_t candidates, contacts, impacts; /* of contacts: near ones; impacts: of all passes */
    int64_t sweeps, passes, queries;
    int64_t zones, zone_vertices; /* of the last pass of zones */
    int64_t touching;             /* pairs that were left out */
    int is_free;                  /* the certificate */
    double moved;                 /* the longest way of a vertex of an obstacle [m] */
    double candidate_seconds, narrow_seconds, response_seconds, certificate_seconds;
} cs_collision_report;

typedef struct cs_collisions {
    cs_arena arena;
    cs_collision_options options;
    int64_t cloth, vertices; /* of the cloth; of all */
    int64_t obstacles;
    int64_t room, obstacle_room; /* of arrays over all vertices; over obstacles */
    cs_obstacle *obstacle;
    cs_tree tree; /* of the cloth */
    cs_query query;
    int32_t
        *opposite; /* (edges, 2): vertices of the faces at an edge that are not on it; -1: none */

    /* A step: arrays (vertices, 3) or (vertices). */
    double h;
    double *start, *end, *velocity;
    double *shift;           /* velocities of this step alone: x1 = x0 + h (v + shift) */
    double *inverse_mass;    /* zero: told how to move */
    const double *mass;      /* (cloth): the caller's */
    const double *rest;      /* (cloth, 3): the caller's */
    int64_t *part;           /* (cloth): equal in parts of the cloth that faces connect */
    int64_t *stamp;          /* clock of the last change of the velocity */
    unsigned char *is_moved; /* the end has changed since the last test */
    int64_t *zone;           /* of vertices of the cloth: parent in the forest of zones */
    int64_t clock;           /* rises from colour to colour of each sweep (cloth/sweeps.h) */
    int is_solved;           /* the caller has given impulses */
    cs_candidates pairs[CS_STENCIL_KINDS];
    int64_t contacts, last;
    cs_buffer contact, last_contact; /* of cs_contact: of the step that is being made; last made */
    cs_visits visits;
    int64_t formers[CS_STENCIL_KINDS];
    cs_buffer former[CS_STENCIL_KINDS]; /* of near contacts in the last step, by keys */
    int64_t leaders;
    cs_buffer leader;                    /* vertices of obstacles that zones touch */
    cs_buffer scratch;                   /* of bytes */
    cs_collision_report report, present; /* of the last step made; of the one that is being made */
} cs_collisions;

/* What a response needs beside the motion. */
typedef struct cs_response_call {
    double h;
    double time; /* at the beginning of the step, for messages */
    int threads;
    cs_cancellation *cancellation;
} cs_response_call;

/* Collisions of a cloth with masses (cloth), positions x (cloth, 3), rest positions (cloth, 3) and faces; masses and rest
 * positions are the caller's. On failure, too, cs_collisions_clear releases what
 * was taken. */
cs_status cs_collisions_make(cs_collisions *c, const cs_collision_options *options, int64_t cloth,
                             const double *x, const double *rest, const double *mass,
                             const int64_t *face, int64_t faces, cs_error *error);
void cs_collisions_clear(cs_collisions *c);

/* Adds an obstacle at x (vertices, 3), after all others. */
cs_status cs_collisions_add(cs_collisions *c, int64_t vertices, const double *x,
                            const int64_t *face, int64_t faces, cs_error *error);

/* Where the n-th obstacle is at the end of the next step, x (vertices, 3); or from now on. */
void cs_collisions_move(cs_collisions *c, int64_t n, const double *x);
void cs_collisions_place(cs_collisions *c, int64_t n, const double *x);

/* Fails for the first intersection of the cloth at x (cloth, 3) with itself or with obstacles, and for the first pair that
 * touches. */
cs_status cs_collisions_check(cs_collisions *c, const double *x, int threads, cs_error *error);

/* Begins with a motion of the cloth from x0 to x1 with velocities v (cloth, 3), and finds near contacts with the impulses that they
 * have from the last step. is_fixed (cloth): attached vertices. Without `is_problem` it needs x1 and v of these alone: what
 * the others will do is told by cs_collisions_take_motion. */
cs_status cs_collisions_begin(cs_collisions *c, const double *x0, const double *x1, const double *v,
                              const unsigned char *is_fixed, const cs_response_call *call,
                              cs_error *error);

/* Changes velocities until the motion is free: then present.is_free is set, and v, x1 (cloth, 3) are the result. */
cs_status cs_collisions_respond(cs_collisions *c, double *v, double *x1,
                                const cs_response_call *call, cs_error *error);

/* right (cloth, 3) += impulses that contacts have from the last step: those of a linear system whose motion is then taken. */
void cs_add_former_impulses(const cs_collisions *c, double *right);
/* Takes the motion x1 with velocities v (cloth, 3), of which these impulses are a part. */
void cs_collisions_take_motion(cs_collisions *c, const double *x1, const double *v);

/* Gives impulses (contacts, 3) to the contacts that are known, in place of those that they have. */
void cs_give_impulses(cs_collisions *c, const double *impulse);

/* u (3) <- the relative velocity of a contact. */
void cs_contact_rate(const cs_collisions *c, const cs_contact *contact, double *u);

/* The motion was used: obstacles are where they went, and forces are kept for the next step. */
cs_status cs_collisions_finish(cs_collisions *c, cs_error *error);

/* The next step begins without forces of the last one. */
void cs_collisions_forget(cs_collisions *c);

/* ---- within the folder ---------------------------------------------------------------------------- */

/* contact_pairs.c: what a key tells: the obstacle (NULL: the cloth itself) and the numbers of both primitives. */
const cs_obstacle *cs_key_of_obstacle(const cs_collisions *c, uint64_t key);
enum { CS_KEY_BITS = 24 };

/* Candidates of the motion of the cloth to `end` (cloth, 3), in boxes with the margin; obstacles go all of their way,
 * in boxes with half of the reach. */
cs_status cs_find_candidates(cs_collisions *c, const double *end, double margin,
                             const cs_response_call *call, cs_error *error);
/* Whether the boxes hold the ends of all vertices that have moved. */
int cs_holds_motion(const cs_collisions *c);

/* opposites.c: the vertices opposite of all edges of a tree, in an arena. */
cs_status cs_find_opposites(const cs_tree *tree, cs_arena *arena, int32_t **opposite,
                            cs_error *error);

/* Whether two edges may be the nearest features of their surfaces: n from the second to the first. Surfaces that are flat there, or
 * bent towards each other, have nearer or as near points of a face; what their vertices keep apart needs no further contact. */
int cs_are_ridges(const cs_collisions *c, uint64_t key, const int64_t *vertex, const double *n);

/* near_contacts.c: contacts of pairs that are nearer than the thickness at x0. */
cs_status cs_find_near_contacts(cs_collisions *c, const cs_response_call *call, cs_error *error);
/* Room for one more contact, of this pair. */
cs_contact *cs_new_contact(cs_collisions *c, cs_stencil_kind kind, int64_t pair, cs_error *error);
/* inverse <- of the masses and weights; returns 0 if all of its vertices are told how to move. */
int cs_weigh_contact(const cs_collisions *c, cs_contact *contact);

/* visits.c: a step begins without contacts; visits of all contacts, where those that are new get a colour; impulses and
 * clocks of visits for the list. */
void cs_reset_visits(cs_collisions *c);
cs_status cs_fill_visits(cs_collisions *c, int threads, cs_error *error);
void cs_give_back_visits(cs_collisions *c, int threads);
void cs_clear_visits(cs_visits *v);

/* response.c: CS_INTERRUPTED if the caller wants the step to end. */
cs_status cs_ask_caller(const cs_response_call *call, cs_error *error);

/* former_contacts.c: forces of the step before, as impulses of the same contacts; keeps those of this one. */
void cs_take_formers(cs_collisions *c);
cs_status cs_keep_formers(cs_collisions *c, cs_error *error);

/* repulsion.c: gives the velocities the impulses that contacts have; then all near contacts from these on; then what impacts have
 * changed; then the ends of the motion. */
void cs_apply_impulses(cs_collisions *c);
cs_status cs_solve_contacts(cs_collisions *c, const cs_response_call *call, cs_error *error);
cs_status cs_sweep_contacts(cs_collisions *c, const cs_response_call *call, cs_error *error);
void cs_move_ends(cs_collisions *c);

/* impacts.c: tests candidates whose vertices have moved; returns the number of hits. Then a contact for each hit. strictness: 0 to
 * 1. */
int64_t cs_find_hits(cs_collisions *c, const cs_response_call *call);
cs_status cs_add_impacts(cs_collisions *c, double strictness, cs_error *error);

/* zones.c: connects the vertices of hits, and moves each zone. Returns whether a zone has grown. */
void cs_reset_zones(cs_collisions *c);
cs_status cs_move_zones(cs_collisions *c, int *has_grown, cs_error *error);

/* parts.c: part (vertices) <- the least vertex that edges connect with each. */
cs_status cs_find_parts(const cs_tree *tree, cs_arena *arena, int64_t **part, cs_error *error);

/* Whether the response can change how the four vertices of a pair move. */
int cs_is_movable(const cs_collisions *c, const int64_t *vertex);

/* intersections.c: fails for the first hit whose vertices are all told how to move. */
cs_status cs_refuse_told_hits(const cs_collisions *c, const cs_response_call *call,
                              cs_error *error);

/* certificate.c: hits <- pairs that meet in the motion from start to end, by candidates of its own; none: it is free. */
cs_status cs_certify(cs_collisions *c, const cs_response_call *call, int64_t *hits,
                     cs_error *error);

static inline const int64_t *cs_candidate(const cs_candidates *pairs, int64_t i)
{
    return (const int64_t *)pairs->index.data + CS_STENCIL_VERTICES * i;
}

/* Room for so many items, until the next call; NULL if memory is too small. */
static inline void *cs_scratch(cs_collisions *c, int64_t count, size_t size)
{
    return cs_buffer_room(&c->scratch, count * (int64_t)size, 1);
}

/* The obstacle of a vertex; NULL: it is one of the cloth. */
cs_obstacle *cs_obstacle_of(const cs_collisions *c, int64_t vertex);

/* to <- along n + across, drawn to the cone of Coulomb: no pull along the normal, and at most mu times the normal part across it. */
static inline void cs_draw_to_cone(const double *n, double along, const double *across, double mu,
                                   double *to)
{
    if (!(along > 0)) along = 0;
    /* One within the cone; without a branch, which would be hard to foresee. */
    double most = mu * along, length = cs_length(across), longer = length > most ? length : most;
    double part = most / (longer > DBL_MIN ? longer : DBL_MIN);
    for (int k = 0; k < 3; k++) to[k] = along * n[k] + part * across[k];
}

/* Threads that share tests of so many pairs. */
int cs_threads_for_pairs(const cs_response_call *call, int64_t count);

#endif

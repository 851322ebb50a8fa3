/* What the files of networks share: sweeps by processes on threads (networks.c), and what travels between ranks
 * (network_on_ranks.c). */
#ifndef CS_NETWORKS_INTERNAL_H
#define CS_NETWORKS_INTERNAL_H

#include "sweep/networks.h"

#include <string.h>

/* What a network computes with. Views are shallow copies of the packed problem, which differ in where u or lambda are:
 *
 *     factorized, naive    view 0 reads w_in and view 1 w_out in one sweep, and the other way round in the next one
 *     iteration_matrix     view 0 reads one copy of x, view 1 the other one; both write lambda
 *     of one worker        u of its own: look-ahead; and lambda of its own: messages that hold data */
struct cs_sweep_network {
    const cs_network *network;
    cs_packed *packed;
    int workers;
    cs_setting setting[CS_MAX_OWN_OPTIONS];
    cs_network_counts counts;
    cs_network_stage *stage; /* (stages) */
    int *stage_of;           /* (parts) */
    int of_rows;             /* the scheme goes through rows */
    int alternates;          /* between two views */
    int ahead, by_data;
    size_t size; /* of a number */

    void *other;              /* (velocities): w_out */
    char *impulses;           /* (3, impulses): lambda, and two copies from before a sweep */
    cs_packed_group *shifted; /* (groups): those of view 1 */
    cs_packed view[2];
    cs_packed *worker;          /* (workers): views of one worker */
    int *owner;                 /* (parts): the worker of each part */
    cs_sweep_stats *ahead_part; /* (parts): statistics of visits ahead */

    /* On ranks. */
    cs_network_ranks *ranks;   /* or NULL: processes are threads */
    void *links;               /* of the network */
    int64_t *word_start;       /* (workers + 1) into `word` */
    cs_velocity_copy *word;    /* the bodies of each worker, each of them once */
    int64_t *page_bytes;       /* (parts) */
    int64_t *word_bytes;       /* (workers) */
    int *visitor;              /* (parts): the rank that has its impulses at the end of a run */
    cs_gather *results, *kept; /* at the end of a run: what all ranks get */
    int copied;                /* whether impulses were copied in this run */

    /* Of a run. */
    const cs_network_call *call;
    char *lambda; /* the impulses that visits change */
    char *keep;   /* where this sweep copies them to, or NULL */
    int64_t made;
};

/* ---- views ------------------------------------------------------------------------------------------ */

static inline cs_packed *cs_network_view(cs_sweep_network *n, int64_t sweep)
{
    return &n->view[n->alternates ? sweep % 2 : 0];
}

/* Where the next sweep copies impulses to before it changes them. */
static inline void cs_network_set_keep(cs_sweep_network *n, void *keep)
{
    n->keep = keep;
    n->view[0].kept = n->view[1].kept = keep;
    n->copied |= keep != NULL;
}

/* ---- messages that hold data ------------------------------------------------------------------------ */

/* Copies of numbers into a message and out of it. */
typedef struct cs_parcel {
    const cs_sweep_network *n;
    char *at;    /* in the message */
    int outward; /* into the message */
} cs_parcel;

static inline void cs_parcel_pass(cs_parcel *p, char *numbers, int64_t first, int64_t count)
{
    size_t bytes = p->n->size * (size_t)count;
    char *place = numbers + p->n->size * (size_t)first;
    if (p->outward) memcpy(p->at, place, bytes);
    else memcpy(place, p->at, bytes);
    p->at += bytes;
}

/* The velocities of a part's bodies: its own changes of them, or those that all parts share. */
static inline void cs_parcel_pass_velocities(cs_parcel *p, int64_t part, void *velocity, int own)
{
    const cs_packed *packed = p->n->packed;
    for (int64_t i = packed->copy_start[part]; i < packed->copy_start[part + 1]; i++) {
        const cs_velocity_copy *copy = &packed->copy[i];
        cs_parcel_pass(p, velocity, own ? copy->own : copy->shared, copy->dof);
    }
}

/* ---- on ranks (network_on_ranks.c) ------------------------------------------------------------------ */

/* Collective: makes what a network on ranks needs beside its views. The status is agreed on. */
cs_status cs_network_join_ranks(cs_sweep_network *n, cs_network_job *job, cs_arena *arena,
                                cs_error *error);

/* Functions of a job. */
void cs_network_fill_job(const cs_sweep_network *n, cs_network_job *job);

/* Collective: at the end of a run all ranks get the impulses, velocities and decisions. */
cs_status cs_network_share_results(cs_sweep_network *n, const cs_network_call *call,
                                   cs_error *error);

#endif

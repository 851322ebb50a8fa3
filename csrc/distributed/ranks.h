/* What the ranks of one solve ask and tell each other.
 *
 *     sweep       stage | u of ghosts | stage | u of ghosts | ...       cs_ranks_exchange, cs_ranks_await
 *     products    M^-1 J^T lambda of ghosts                             cs_ranks_complete
 *     decisions   largest, any, all; sums of parts, of islands          cs_ranks_largest, ..., cs_ranks_sum_pieces
 *
 * All ranks make the same calls in the same order, because each decision is made from the same numbers on all of them. No
 * call adds numbers of two ranks that are not whole: sums are taken over parts, and then added in the order of the parts. The
 * results of a solve depend on its parts, therefore, but not on ranks.
 *
 * The first failure stays: calls after it return at once, what they were given remains, and cs_ranks_status reports it. A
 * problem that is on one rank has no cs_ranks: functions take NULL, and then change nothing and return what they are given,
 * except cs_ranks_gather and those that give what only a cs_ranks has. */
#ifndef CS_RANKS_H
#define CS_RANKS_H

#include "distributed/share.h"

struct cs_transport;

typedef struct cs_ranks cs_ranks;

/* The ranks of a solve whose share and problem are on this rank. Collective. real_size: bytes of a number of u. What the
 * pointers refer to must outlive the result. known <- whether all ranks know of a failure: they have agreed on it. */
cs_status cs_ranks_make(cs_ranks **ranks, const cs_share *share, const cs_problem *problem,
                        size_t real_size, struct cs_transport *transport, int *known,
                        cs_error *error);
void cs_ranks_free(cs_ranks *ranks);

/* The number of ranks, and the share. */
int cs_ranks_count(const cs_ranks *ranks);
const cs_share *cs_ranks_share(const cs_ranks *ranks);

/* Whether the rank owns a part: always, on one rank. */
int cs_ranks_own(const cs_ranks *ranks, int64_t part);

/* Whether the rank owns a body: always, on one rank; never, if it is immovable and there are several. */
int cs_ranks_own_body(const cs_ranks *ranks, int64_t body);

/* The number of a block in the whole problem. */
int64_t cs_ranks_contact(const cs_ranks *ranks, int64_t block);

/* CS_OK, or the first failure. */
cs_status cs_ranks_status(const cs_ranks *ranks, cs_error *error);

/* Collective: whether all ranks come with CS_OK; otherwise the failure of the lowest rank that has one. */
cs_status cs_ranks_agree(cs_ranks *ranks, cs_status status, cs_error *error);

/* Whether the last call of cs_ranks_agree failed: all ranks know of it. Otherwise a rank that fails has to abort the
 * transport, because others may wait for it. */
int cs_ranks_have_agreed(const cs_ranks *ranks);
void cs_ranks_begin(
    cs_ranks *ranks); /* forgets it, before a solve; counts anew what travels during work */

/* ---- decisions: collective --------------------------------------------------------------------- */

/* The numbers (count, at most CS_RANKS_NUMBERS) of every rank, (ranks, CS_RANKS_NUMBERS): valid until the next call; NULL
 * after a failure. */
enum { CS_RANKS_NUMBERS = 16 };
const double *cs_ranks_gather(cs_ranks *ranks, const double *own, int count);

/* values (count) <- the largest of all ranks; a NaN of some rank stays. */
void cs_ranks_largest(cs_ranks *ranks, double *values, int64_t count);

/* values (count) <- their sums over all ranks; whole numbers, whose sums are exact in any order. */
void cs_ranks_totals(cs_ranks *ranks, double *values, int64_t count);

/* Whether the flag is set on any rank, on all ranks. */
int cs_ranks_any(cs_ranks *ranks, int flag);
int cs_ranks_all(cs_ranks *ranks, int flag);

/* The sum of of_part (parts), of which each rank knows those of its own parts, in the order of the parts. On one rank
 * (NULL) the sum of all `parts` numbers. */
double cs_ranks_sum(cs_ranks *ranks, const double *of_part, int64_t parts);

/* The same, and in the same message: largest <- that of all ranks, where a NaN stays; count <- the sum over all ranks of a
 * whole number. */
double cs_ranks_tally(cs_ranks *ranks, const double *of_part, int64_t parts, double *largest,
                      double *count);

/* counts (blocks) <- of each block the sum of the counts that all ranks have of it: whole numbers, whose sums are exact in any
 * order. For a set-up. Collective. */
cs_status cs_ranks_add_counts(cs_ranks *ranks, int64_t *counts, cs_error *error);

/* Sums over the islands that ranks share. A piece is what an island has in one part: the rank's own pieces of shared islands
 * are sorted by island, and by part. of_piece: CS_RANKS_PIECE_NUMBERS for each of these; of_island (shared islands,
 * CS_RANKS_PIECE_NUMBERS) <- their sums over all pieces, in the order of the parts. On one rank nothing is shared. */
enum { CS_RANKS_PIECE_NUMBERS = 2 };
void cs_ranks_sum_pieces(cs_ranks *ranks, const double *of_piece, double *of_island);

/* The rows of the whole problem. */
int64_t cs_ranks_rows(const cs_ranks *ranks);

/* The contacts that all ranks together visit in a stage. */
int64_t cs_ranks_visits(const cs_ranks *ranks, int64_t stage);

/* ---- velocities of ghost bodies: collective ---------------------------------------------------- */

/* values: numbers of real_size, those of body i from place[i] on (bodies). <- for ghosts, their owners' numbers: of those
 * ghosts that other ranks have changed in a stage, or of all of them (which waits). Those of a stage are sent at once, and
 * travel while the rank works on; they arrive in cs_ranks_await or cs_ranks_settle, up to which `values` and `place` stay. */
enum { CS_ALL_GHOSTS = -1 };
void cs_ranks_exchange(cs_ranks *ranks, int64_t stage, void *values, const int64_t *place);

/* Whether this rank sends or receives anything in that exchange; no, on one rank. Not collective. */
int cs_ranks_travels(const cs_ranks *ranks, int64_t stage);

/* Waits for the numbers that a stage reads: those of its contacts' ghosts, and impulses where it computes u anew. */
void cs_ranks_await(cs_ranks *ranks, int64_t stage);

/* Waits for all that travels: before anything but a sweep reads or writes u or lambda. */
void cs_ranks_settle(cs_ranks *ranks);

/* Whether a visit to a block in a stage reads u of a ghost, or changes u of a body that goes to other ranks after the stage:
 * other visits may be made while messages travel. */
int cs_ranks_at_border(const cs_ranks *ranks, int64_t stage, int64_t block);

/* After visits: counts the exchanges that have travelled meanwhile, and lets them go on. */
void cs_ranks_work(cs_ranks *ranks);

/* After the visits of a disjoint stage: bodies that another rank has moved, which visited their contacts, <- that rank's
 * numbers. They are sent at once, and arrive in cs_ranks_exchange. Returns whether there are any. */
int cs_ranks_return(cs_ranks *ranks, int64_t stage, void *values, const int64_t *place);

/* In a concurrent stage, the changes of u that a part of one rank makes to a body of another rank. */
typedef struct cs_changes {
    int64_t sends, receives;
    const int64_t *send_body, *send_part; /* (sends): a ghost and an own part */
    const int64_t *receive_body,
        *receive_part; /* (receives): an own body and a part of another rank */
} cs_changes;
cs_changes cs_ranks_changes(const cs_ranks *ranks, int64_t stage);

/* Sends these changes to the bodies' owners: those in values from send_place[i] on (sends) arrive from receive_place[i] on
 * (receives). */
void cs_ranks_exchange_changes(cs_ranks *ranks, int64_t stage, void *values,
                               const int64_t *send_place, const int64_t *receive_place);

/* Whether this rank has contacts that another one visits, or visits contacts that another one has too; and after a sweep,
 * values: impulses, that of row i at place[i] (rows of the problem). <- those of the rank that visits the contact. They
 * travel as those of cs_ranks_exchange. */
int cs_ranks_borrow(const cs_ranks *ranks);
void cs_ranks_exchange_impulses(cs_ranks *ranks, void *values, const int64_t *place);

/* Impulses that still travel shall be written to `copy` as well, at the same places: to a copy that was made before they
 * arrive. */
void cs_ranks_copy_impulses(cs_ranks *ranks, void *copy);

/* velocity (velocities of the problem) <- those of ghosts from their owners. `context` is a cs_ranks. */
void cs_ranks_complete(void *context, double *velocity);

/* ---- the same, kept: not collective -------------------------------------------------------------- */

/* How many velocities of the problem are those of ghosts; 0 on one rank. */
int64_t cs_ranks_ghost_velocities(const cs_ranks *ranks);

/* ghosts (so many) <- those of `velocity` (velocities of the problem), and back. */
void cs_ranks_take_ghosts(const cs_ranks *ranks, const double *velocity, double *ghosts);
void cs_ranks_put_ghosts(const cs_ranks *ranks, const double *ghosts, double *velocity);

/* ---- figures ----------------------------------------------------------------------------------- */

typedef struct cs_ranks_info {
    int64_t owned, ghosts;   /* movable bodies with contacts */
    int64_t visits;          /* contacts of the rank; of these, */
    int64_t own;             /* those that belong to its parts */
    int64_t neighbours;      /* ranks with which velocities are exchanged */
    int64_t messages, bytes; /* sent in one sweep */
    int64_t
        overlapped; /* exchanges that travelled while the rank visited contacts, in the last solve */
} cs_ranks_info;
void cs_ranks_describe(const cs_ranks *ranks, cs_ranks_info *info);

/* Bytes of lists and buffers. */
int64_t cs_ranks_bytes(const cs_ranks *ranks);

#endif

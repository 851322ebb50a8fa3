/* Preconditioners of symmetric block systems: z <- M r, where M is close to the inverse of A.  S5 section 4.3
 *
 *     cs_preconditioner_make     once for a pattern: takes all memory
 *     cs_preconditioner_update   whenever values of the system have changed
 *     phases of tasks            one application, which threads share (core/phases.h); no memory is taken
 *
 * Vectors are those of the system: 4 numbers a vertex, in its new numbers and its precision, the fourth one zero. What is
 * computed depends on the system and its parts, never on threads. A kind is one file in preconditioners/ and one line
 * in preconditioners.def. */
#ifndef CS_PRECONDITIONER_H
#define CS_PRECONDITIONER_H

#include "core/cancellation.h"
#include "core/phases.h"
#include "sparse/block_system.h"

typedef struct cs_preconditioner cs_preconditioner;

typedef struct cs_preconditioner_kind {
    const char *name, *summary;
    /* One phase with a task for each part, which reads r and writes z of the part alone. */
    int is_local;
    cs_status (*make)(cs_preconditioner *p, cs_error *error);
    cs_status (*update)(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                        cs_error *error);
    void (*run)(const cs_preconditioner *p, int64_t phase, int64_t task);
} cs_preconditioner_kind;

typedef struct cs_preconditioner_options {
    /* (3 vertices) in the old numbers, for rotations; NULL: only translations. */
    const double *position;
    double relaxation; /* of SSOR: 0 < omega < 2 */
    /* Whose values are read: the same matrix in double precision, with the same parts; NULL: the system. */
    const cs_block_system *exact;
} cs_preconditioner_options;

/* A named number that a kind tells. */
typedef struct cs_told {
    const char *name;
    double value;
} cs_told;
enum { CS_MOST_TOLD = 8 };

struct cs_preconditioner {
    const cs_preconditioner_kind *kind;
    const cs_block_system *system;
    cs_preconditioner_options options;
    cs_arena arena;
    void *state;           /* of the kind */
    int64_t phases;        /* of an application; `make` sets these, or the first `update` */
    const cs_phase *phase; /* (phases) */
    void *r, *z;           /* (4 numbers a vertex) of an application; the caller's or its own */
    int64_t bytes;         /* that an application reads */
    double set_up;         /* multiplications of an update, */
    double work;           /* and of an application */
    cs_told told[CS_MOST_TOLD];
    int tells;
};

/* The kind of this name, or NULL; the n-th kind, or NULL. */
const cs_preconditioner_kind *cs_preconditioner_find(const char *name);
const cs_preconditioner_kind *cs_preconditioner_kind_at(int n);

/* kind <- that which is expected to be the fastest for a solve that reduces the residual by `factor`, by counted work;
 * `keeps`: what depends on the pattern alone serves many solves. */
cs_status cs_preconditioner_choose(const cs_block_system *A, double factor, int keeps,
                                   const cs_preconditioner_kind **kind, cs_error *error);

/* `system` must outlive it. On failure, too, cs_preconditioner_clear releases what was taken. */
cs_status cs_preconditioner_make(cs_preconditioner *p, const cs_preconditioner_kind *kind,
                                 const cs_block_system *system,
                                 const cs_preconditioner_options *options, cs_error *error);
cs_status cs_preconditioner_update(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                                   cs_error *error);
void cs_preconditioner_clear(cs_preconditioner *p);

/* y (3 vertices) <- M x in the old numbers, float or double as the system. */
void cs_preconditioner_apply(const cs_preconditioner *p, const void *x, void *y, int threads);

/* For kinds: one phase with a task for each part. */
cs_status cs_preconditioner_by_parts(cs_preconditioner *p, cs_error *error);

/* For kinds: the error that A is not positive definite, found at a vertex in the new numbers. Status CS_INDEFINITE. */
cs_status cs_preconditioner_indefinite(const cs_preconditioner *p, int64_t vertex, cs_error *error);

/* Adds or replaces a number that is told. */
void cs_preconditioner_tell(cs_preconditioner *p, const char *name, double value);

#endif

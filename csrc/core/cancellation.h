/* Cooperative cancellation of long computations.
 *
 * A computation reports the work that it has done. After each CS_CANCELLATION_WORK multiplications,
 * about a millisecond, cs_is_cancelled calls the caller's function. A small problem never reaches that
 * count and pays for no call; a large one stops within milliseconds. */
#ifndef CS_CANCELLATION_H
#define CS_CANCELLATION_H

typedef struct cs_cancellation {
    int (*is_cancelled)(void *context); /* non-zero: the computation shall end */
    void *context;
    double work;   /* multiplications since the last call */
    int cancelled; /* a call returned non-zero: later failures mean unfinished, not impossible */
} cs_cancellation;

/* Multiplications between two calls: about a millisecond of the fastest kernel. */
#define CS_CANCELLATION_WORK 1e7

/* Adds `work` multiplications to the count; returns non-zero if the computation shall end.
 * `cancellation` may be NULL: the computation then always runs to its end. */
static inline int cs_is_cancelled(cs_cancellation *cancellation, double work)
{
    if (!cancellation || (cancellation->work += work) < CS_CANCELLATION_WORK) return 0;
    cancellation->work = 0;
    int is_cancelled = cancellation->is_cancelled(cancellation->context) != 0;
    cancellation->cancelled |= is_cancelled;
    return is_cancelled;
}

/* Whether a failure is due to a cancellation. `cancellation` may be NULL. */
static inline int cs_was_cancelled(const cs_cancellation *cancellation)
{
    return cancellation && cancellation->cancelled;
}

#endif

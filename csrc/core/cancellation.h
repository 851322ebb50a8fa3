/* What a long computation asks on its way: whether to leave off.
 *
 * It tells how much it has done, and whoever started it is asked whenever some milliseconds' worth
 * have gathered: small problems are never held up, and big ones not for long. */
#ifndef CS_CANCELLATION_H
#define CS_CANCELLATION_H

typedef struct cs_cancellation {
    int (*is_cancelled)(void *context); /* non-zero: yes */
    void *context;
    double work;   /* multiplications since it was asked */
    int cancelled; /* it has said yes: what failed since is unfinished, not impossible */
} cs_cancellation;

/* Multiplications between two questions: about a millisecond of the fastest kernel. */
#define CS_CANCELLATION_WORK 1e7

/* Whether to leave off, after so many multiplications more. `cancellation` may be NULL. */
static inline int cs_is_cancelled(cs_cancellation *cancellation, double work)
{
    if (!cancellation || (cancellation->work += work) < CS_CANCELLATION_WORK) return 0;
    cancellation->work = 0;
    int is_cancelled = cancellation->is_cancelled(cancellation->context) != 0;
    cancellation->cancelled |= is_cancelled;
    return is_cancelled;
}

/* Whether a failure is one of a cancellation, which may be NULL. */
static inline int cs_was_cancelled(const cs_cancellation *cancellation)
{
    return cancellation && cancellation->cancelled;
}

#endif

/* Whether sweeps are to be shared among threads, found while they run.
 *
 * Where other processes want the processors, a thread that shares the work may be off its core, and
 * the others wait for it: milliseconds, where a sweep takes a few hundred microseconds. What a sweep
 * costs on one thread is known from a few. When a shared one took longer, those that follow stay on
 * one thread until the loss is a small share of their time; then it is tried again.
 *
 *     alone alone | shared shared shared, late | alone ... alone | shared ...
 *                                          loss   8 times the loss, and up to 64 times where
 *                                                 one try after another fails
 *
 * Time comes from outside, so that a made-up one can be used. */
#ifndef CS_PACE_H
#define CS_PACE_H

typedef struct cs_pace {
    int sweeps;   /* on one thread so far, as many as it takes to know */
    double alone; /* seconds of such a sweep, at best; may rise, should the machine slow down */
    double pause; /* seconds of sweeps on one thread that are still to come */
    int failures; /* tries in a row that were late */
} cs_pace;

/* The first sweep finds nothing in the caches. */
enum { CS_PACE_FIRST = 2 };

/* A loss is paid off by so many times its length; doubled for each failure, up to three times. */
enum { CS_PACE_PATIENCE = 8, CS_PACE_DOUBLED = 3 };
#define CS_PACE_RISE 1.1

/* Whether the next sweep is to be shared. */
static inline int cs_pace_shares(const cs_pace *pace)
{
    return pace->sweeps >= CS_PACE_FIRST && pace->pause <= 0;
}

/* What the last sweep took. */
static inline void cs_pace_learn(cs_pace *pace, int shared, double seconds)
{
    if (shared) {
        double loss = seconds - pace->alone;
        if (loss > 0) pace->pause = (CS_PACE_PATIENCE << pace->failures) * loss;
        if (loss <= 0) pace->failures = 0;
        else if (pace->failures < CS_PACE_DOUBLED) pace->failures++;
        return;
    }
    double most = pace->sweeps < CS_PACE_FIRST ? seconds : CS_PACE_RISE * pace->alone;
    pace->alone = seconds < most ? seconds : most;
    pace->pause -= seconds;
    if (pace->sweeps < CS_PACE_FIRST) pace->sweeps++;
}

#endif

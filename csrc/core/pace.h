/* Decides, from measured times, whether the next sweep runs on one thread or on several.
 *
 * If other processes use the processors, the system may suspend one of the threads that share a sweep,
 * and the others wait for it: for milliseconds, while a sweep takes a few hundred microseconds. The
 * first sweeps run on one thread and measure the cost of one. If a later shared sweep takes longer,
 * the following sweeps run on one thread until the loss is a small part of their time. Then a shared
 * sweep is tried again.
 *
 *     alone alone | shared shared shared, slow | alone ... alone | shared ...
 *                                          loss   8 times the loss; up to 64 times after
 *                                                 several slow trials in a row
 *
 * The caller measures the time, so that tests can supply their own. */
#ifndef CS_PACE_H
#define CS_PACE_H

typedef struct cs_pace {
    int sweeps;   /* on one thread so far, counted up to CS_PACE_FIRST */
    double alone; /* least seconds of such a sweep; may rise slowly if the machine slows down */
    double pause; /* seconds for which sweeps remain on one thread */
    int failures; /* shared sweeps in a row that were too slow */
} cs_pace;

/* Sweeps on one thread before the first shared one. Two: the first one runs with cold caches. */
enum { CS_PACE_FIRST = 2 };

/* The pause is PATIENCE times the loss, doubled for each earlier failure, at most DOUBLED times. */
enum { CS_PACE_PATIENCE = 8, CS_PACE_DOUBLED = 3 };

/* Largest growth of `alone` from one sweep to the next. */
#define CS_PACE_RISE 1.1

/* Whether several threads shall share the next sweep. */
static inline int cs_pace_shares(const cs_pace *pace)
{
    return pace->sweeps >= CS_PACE_FIRST && pace->pause <= 0;
}

/* Learns from the seconds of the last sweep. */
static inline void cs_pace_learn(cs_pace *pace, int shared, double seconds)
{
    /* A shared sweep: pause if it was slower than one thread, forget earlier failures otherwise. */
    if (shared) {
        double loss = seconds - pace->alone;
        if (loss > 0) pace->pause = (CS_PACE_PATIENCE << pace->failures) * loss;
        if (loss <= 0) pace->failures = 0;
        else if (pace->failures < CS_PACE_DOUBLED) pace->failures++;
        return;
    }

    /* A sweep on one thread: update its least time, and count it against the pause. */
    double most = pace->sweeps < CS_PACE_FIRST ? seconds : CS_PACE_RISE * pace->alone;
    pace->alone = seconds < most ? seconds : most;
    pace->pause -= seconds;
    if (pace->sweeps < CS_PACE_FIRST) pace->sweeps++;
}

#endif

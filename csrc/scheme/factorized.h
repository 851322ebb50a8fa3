/* The phases of the scheme `factorized`, for what runs them otherwise than a sweep does (sweep/networks.c). */
#ifndef CS_FACTORIZED_H
#define CS_FACTORIZED_H

/* The phases of a stage. A stage of some kind has only some of them (function `tasks`):
 *
 *     independent, disjoint, sequential   VISIT; the visits update u themselves
 *     simultaneous, CS_RECOMPUTE          VISIT, GATHER   (S1 section 6.4)
 *     simultaneous, CS_ADD                KEEP, VISIT, ADD
 *     simultaneous, CS_ACCUMULATE         KEEP, VISIT, ACCUMULATE, MERGE   (S1 section 6.2)
 *     concurrent                          COPY, VISIT, CHANGE, MERGE; with a weight KEEP before them */
enum {
    FACTORIZED_KEEP,       /* copy lambda from before the stage */
    FACTORIZED_COPY,       /* each part copies the velocities that it will change */
    FACTORIZED_VISIT,      /* update lambda */
    FACTORIZED_GATHER,     /* recompute u */
    FACTORIZED_ADD,        /* add the changes of the stage to u */
    FACTORIZED_ACCUMULATE, /* each part sums its changes of u */
    FACTORIZED_CHANGE, /* each part subtracts the old velocities from its copies, and weighs its changes */
    FACTORIZED_MERGE, /* add the parts' sums or changes to u */
    FACTORIZED_PHASES
};

#endif

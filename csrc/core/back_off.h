/* What a thread does between two looks at something that another thread has to change: the longer it has waited, the more
 * it leaves the processor to others. It spins briefly: what it waits for may need the same processor. */
#ifndef CS_BACK_OFF_H
#define CS_BACK_OFF_H

#include "core/compiler.h"

#include <sched.h>
#include <time.h>

enum {
    CS_LOOKS_SPINNING =
        30, /* two microseconds: longer than another thread takes for an empty task */
    CS_LOOKS_YIELDING = 1000, /* some hundred microseconds, unless others want the processor */
    CS_SLEEP = 50000          /* nanoseconds */
};

/* looks: how often the thread has looked in vain; counted here, up to where it sleeps. */
static inline void cs_back_off(int *looks)
{
    if (*looks < CS_LOOKS_SPINNING) CS_PAUSE();
    else if (*looks < CS_LOOKS_SPINNING + CS_LOOKS_YIELDING) sched_yield();
    else nanosleep(&(struct timespec){.tv_nsec = CS_SLEEP}, NULL);
    if (*looks < CS_LOOKS_SPINNING + CS_LOOKS_YIELDING) ++*looks;
}

/* Whether a thread has waited for so long that it may as well do something else. */
static inline int cs_is_patient(int looks) { return looks >= CS_LOOKS_SPINNING; }

#endif

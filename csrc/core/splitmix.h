/* Numbers that look random: splitmix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014). */
#ifndef CS_SPLITMIX_H
#define CS_SPLITMIX_H

#include <stdint.h>

/* By how much each number moves the state on. */
#define CS_SPLITMIX_STEP 0x9E3779B97F4A7C15u

/* The next number of the sequence, which moves the state on. Different states have different numbers. */
static inline uint64_t cs_splitmix(uint64_t *state)
{
    uint64_t z = *state += CS_SPLITMIX_STEP;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

#endif

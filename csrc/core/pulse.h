/* What a long computation asks on its way: whether to leave off.
 *
 * It tells how much it has done, and whoever started it is asked whenever some milliseconds' worth
 * have gathered: small problems are never held up, and big ones not for long. */
#ifndef CS_PULSE_H
#define CS_PULSE_H

typedef struct cs_pulse {
    int (*leaves_off)(void *context); /* non-zero: yes */
    void *context;
    double work;  /* multiplications since it was asked */
    int left_off; /* it has said yes: what failed since is unfinished, not impossible */
} cs_pulse;

/* Multiplications between two questions: about a millisecond of the fastest kernel. */
#define CS_PULSE_WORK 1e7

/* Whether to leave off, after so many multiplications more. `pulse` may be NULL. */
static inline int cs_pulse_beat(cs_pulse *pulse, double work)
{
    if (!pulse || (pulse->work += work) < CS_PULSE_WORK) return 0;
    pulse->work = 0;
    int leaves_off = pulse->leaves_off(pulse->context) != 0;
    pulse->left_off |= leaves_off;
    return leaves_off;
}

/* Whether a failure is one of a pulse, which may be NULL. */
static inline int cs_pulse_has_left_off(const cs_pulse *pulse) { return pulse && pulse->left_off; }

#endif

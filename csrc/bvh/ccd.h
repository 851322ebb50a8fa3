/* Continuous collision detection: the first time at which two primitives in motion come as near as the margin.
 *
 *     t = 0 |====== proven free ======|-- next plane --|            | 1
 *                                     t                t_ahead
 *
 * Advancement by separating planes: each step proves that the polygon (bvh/polygon.h) stays away from the origin over some
 * time from t on, and t is moved to its end. Two planes, between the means and at half the time, decide most queries at
 * once. Otherwise a step takes the fixed plane of the nearest points at t, and one that turns from it to that at a later
 * time, which lies just before the time at which the nearest points, at their present velocity, would meet. No step needs a
 * good plane to be right: a poor one only proves less. What is not proven free is reported as a hit. */
#ifndef CS_CCD_H
#define CS_CCD_H

#include "bvh/separation.h"

typedef struct cs_impact {
    int is_hit;
    int steps;
    double time;      /* all times below it are proven free; infinity: no hit */
    cs_moment moment; /* of a hit: nearest points at its time */
} cs_impact;

/* Returns early, without a hit, once all times below `enough` are proven free. */
void cs_ccd_find(const cs_path *path, double enough, cs_impact *impact);

/* Whether a contact, or for a margin a distance of at most that, is proven near a hit's time. */
int cs_ccd_is_certain(const cs_path *path, double time);

#endif

/* What the natural map and its rounding floor are for one block, and how those of blocks are joined: bodies that the processor
 * and kernels of devices (cuda/verdict.cu) share, so that both have the same bits. */
#ifndef CS_COUPLED_SETS_H
#define CS_COUPLED_SETS_H

#include "core/compiler.h"
#include "core/set.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

/* Delta_s and rho_s of one coupled set, and its first row in the block. */
typedef struct cs_set_defect {
    double impulse, rho;
    int row;
} cs_set_defect;

typedef struct cs_natural_map {
    double impulse, velocity, scaled; /* the three natural maps */
    int64_t worst_block;              /* the block with the largest `scaled`; -1 without blocks */
    cs_set_defect worst;              /* the coupled set of that block */
    int met;                          /* Delta_s <= tau_s for every coupled set */
} cs_natural_map;

/* Rounding units in the rounding floor. */
enum { CS_FLOOR_UNITS = 4 };

/* The rounding floor of the natural map: the largest Delta_s that rounding errors alone may cause.
 *
 *     phi_s = 4 eps max(rho_s (|A| |lambda| + |b|)_s + |lambda_s|) */
typedef struct cs_floor {
    double scaled; /* the largest phi_s / (rho_s V) over islands that P_C(0) does not solve */
    int64_t block; /* its block; -1 if there is none */
    double
        missed; /* the same for the sets with Delta_s > tau_s, with the iterates' rounding unit for eps */
    int64_t missed_block;
    int reachable; /* whether phi_s <= tau_s for every set */
    int only_floor; /* whether Delta_s <= phi_s, with that unit, for every set with Delta_s > tau_s */
} cs_floor;

/* What a set is compared with. */
typedef struct cs_set_bounds {
    double rtol, atol;
    double scale; /* V of the block's island; 0 where P_C(0) solves it */
    double units; /* the iterates' rounding unit over eps, for the floor */
} cs_set_bounds;

/* tau_s */
CS_INLINE double cs_bounds_tolerance(const cs_set_bounds *bounds, double rho)
{
    return bounds->atol + bounds->rtol * rho * bounds->scale;
}

/* ---- the natural map ------------------------------------------------------------------------------ */

/* The largest of nothing. */
CS_INLINE cs_natural_map cs_no_defect(void)
{
    cs_natural_map map;
    map.impulse = map.velocity = map.scaled = 0;
    map.worst_block = -1;
    map.worst.impulse = map.worst.rho = 0;
    map.worst.row = 0;
    map.met = 1;
    return map;
}

/* sets <- Delta_s and rho_s of each coupled set of a block, from its step = lambda - rho xi and z = prox(step). Returns the
 * number of sets. Where the prox leaves the step unchanged, the change is rho xi; computing the difference instead
 * would cancel digits. Arrays have at least `rows` numbers, of which the compiler knows the most. */
CS_INLINE int cs_defects_of_step(int rows, const int *coupled_set, const double *lambda,
                                 const double *xi, const double *rho, const double *step,
                                 const double *z, cs_set_defect *sets)
{
    int count = 0;
    for (int i = 0; i < rows; i++) {
        cs_set_defect *set = &sets[coupled_set[i]];
        if (coupled_set[i] == count) {
            set->impulse = 0;
            set->rho = rho[i];
            set->row = i;
            count++;
        }
        double change = z[i] == step[i] ? rho[i] * fabs(xi[i]) : fabs(lambda[i] - z[i]);
        if (change > set->impulse || isnan(change)) set->impulse = change; /* a NaN stays */
    }
    return count;
}

/* Adds one coupled set of a block to the maximum. The sets of all blocks are added in their order: of equally large ones,
 * the first is the worst. */
CS_INLINE void cs_add_set(const cs_set_bounds *bounds, const cs_set_defect *set, int64_t block,
                          cs_natural_map *map)
{
    double scale = set->rho * bounds->scale;
    /* A NaN, or an infinite scale, which would make any distance vanish: the map becomes NaN, and the first
     * such set is reported. */
    if (isnan(set->impulse) || isnan(map->impulse) || !isfinite(scale)) {
        if (!isnan(map->impulse)) {
            map->worst_block = block;
            map->worst = *set;
        }
        map->impulse = map->velocity = map->scaled = (double)NAN;
        map->met = 0;
        return;
    }

    /* The worst set has the largest scaled map, or, if all are zero, the largest impulse. */
    double scaled = scale == 0 && set->rho > 0 ? 0 : set->impulse > 0 ? set->impulse / scale : 0;
    int nothing = map->scaled == 0 && set->impulse > map->worst.impulse;
    if (scaled > map->scaled || nothing || map->worst_block < 0) {
        map->worst_block = block;
        map->worst = *set;
    }

    /* Update the three maxima. */
    map->impulse = fmax(map->impulse, set->impulse);
    map->scaled = fmax(map->scaled, scaled);
    if (set->rho > 0) map->velocity = fmax(map->velocity, set->impulse / set->rho);

    /* Test the tolerance. An island that P_C(0) solves is skipped: the solver returns P_C(0) for it,
     * whatever the iterate is. */
    if (scale == 0 && set->rho > 0) return;
    if (!(set->impulse <= cs_bounds_tolerance(bounds, set->rho))) map->met = 0;
}

/* map <- the maximum over the blocks before those of `next`, which it holds, and over the blocks of `next`, which
 * follow: the same as if all their sets had been added to one maximum. */
CS_INLINE void cs_follow_map(cs_natural_map *map, const cs_natural_map *next)
{
    /* A NaN of earlier blocks stays, that of later ones replaces everything. */
    if (isnan(map->impulse) || next->worst_block < 0) return;
    if (isnan(next->impulse) || map->worst_block < 0) {
        *map = *next;
        return;
    }

    /* The worst set, and the maxima. */
    int nothing = map->scaled == 0 && next->scaled == 0;
    if (next->scaled > map->scaled || (nothing && next->worst.impulse > map->worst.impulse)) {
        map->worst_block = next->worst_block;
        map->worst = next->worst;
    }
    map->impulse = fmax(map->impulse, next->impulse);
    map->velocity = fmax(map->velocity, next->velocity);
    map->scaled = fmax(map->scaled, next->scaled);
    map->met = map->met && next->met;
}

/* ---- the rounding floor ---------------------------------------------------------------------------- */

/* The largest of nothing. */
CS_INLINE cs_floor cs_no_floor(void)
{
    cs_floor floor;
    floor.scaled = floor.missed = 0;
    floor.block = floor.missed_block = -1;
    floor.reachable = floor.only_floor = 1;
    return floor;
}

/* floors <- phi_s of each coupled set of a block, from magnitude = |A| |lambda| + |b|. Returns the number of sets. */
CS_INLINE int cs_floors_of_block(int rows, const int *coupled_set, const double *lambda,
                                 const double *rho, const double *magnitude, double *floors)
{
    int count = 0;
    for (int i = 0; i < rows; i++) {
        int s = coupled_set[i];
        double here = rho[i] * magnitude[i] + fabs(lambda[i]);
        if (s == count) floors[count++] = 0;
        floors[s] = fmax(floors[s], CS_FLOOR_UNITS * DBL_EPSILON * here);
    }
    return count;
}

/* Adds one coupled set to the floor; `phi`: its own. */
CS_INLINE void cs_add_floor(const cs_set_bounds *bounds, const cs_set_defect *set, int64_t block,
                            double phi, cs_floor *found)
{
    /* A set without a speed to compare with, which P_C(0) solves or nothing moves, has no floor. */
    if (!(bounds->scale > 0 && set->rho > 0)) {
        if (!(set->impulse <= bounds->atol)) found->only_floor = 0;
        return;
    }
    double tolerance = cs_bounds_tolerance(bounds, set->rho);
    double velocity = set->rho * bounds->scale, scaled = phi / velocity;
    if (!isfinite(velocity) || !isfinite(phi)) { /* no statement is possible */
        found->reachable = found->only_floor = 0;
        return;
    }

    /* The floor of the test, in double precision. */
    if (phi > tolerance) found->reachable = 0;
    if (scaled > found->scaled) {
        found->scaled = scaled;
        found->block = block;
    }
    if (set->impulse <= tolerance) return;

    /* Where the set misses its tolerance, the floor of the iterates, in their own precision. */
    if (bounds->units * phi / velocity > found->missed) {
        found->missed = bounds->units * phi / velocity;
        found->missed_block = block;
    }
    if (!(set->impulse <= bounds->units * phi)) found->only_floor = 0; /* also for a NaN */
}

/* found <- the floor of the blocks before those of `next`, which it holds, and of the blocks of `next`. Of equally high
 * floors, the first counts. */
CS_INLINE void cs_follow_floor(cs_floor *found, const cs_floor *next)
{
    if (next->scaled > found->scaled) {
        found->scaled = next->scaled;
        found->block = next->block;
    }
    if (next->missed > found->missed) {
        found->missed = next->missed;
        found->missed_block = next->missed_block;
    }
    found->reachable = found->reachable && next->reachable;
    found->only_floor = found->only_floor && next->only_floor;
}

#endif

/* Declarations that the files of the CPU's backend share. */
#ifndef CS_CPU_INTERNAL_H
#define CS_CPU_INTERNAL_H

#include "backend/cpu.h"
#include "distributed/ranks.h"

/* The state of a packing. */
typedef struct cs_cpu {
    cs_packed packed;
    void *best;        /* (impulses): the best iterate, as packed */
    double *chunk_sum; /* (chunks): scratch for sums, which lives as long as the packing */
    int measures;      /* whether cs_cpu_measure has a kernel for every group */
    struct cs_sweep_network *network; /* makes the sweeps; or NULL */
} cs_cpu;

/* Waits for what travels between ranks (distributed/ranks.h): before anything but a sweep reads or writes u or lambda. */
static inline cs_cpu *cs_cpu_settled(const void *state)
{
    cs_cpu *cpu = (cs_cpu *)state;
    cs_ranks_settle(cpu->packed.ranks);
    return cpu;
}

/* The natural map over the packed factors (cpu_natural_map.c). */
int cs_cpu_measure(void *state, const cs_measure_call *call, cs_natural_map *map);

/* The functions of points in cs_backend_cpu (cpu_points.c); before them, the memory that they share. */
cs_status cs_cpu_take_sums(cs_cpu *cpu, cs_arena *arena, cs_error *error);
cs_status cs_cpu_take_point(void *state, cs_arena *arena, cs_point *point, cs_error *error);
cs_point cs_cpu_here(const void *state);
void cs_cpu_copy(void *state, cs_point to, cs_point from);
void cs_cpu_combine(void *state, cs_point to, double a, cs_point p, double b, cs_point q);
void cs_cpu_extrapolate(void *state, cs_point x, double beta, cs_point before);
void cs_cpu_conjugate(void *state, cs_point x, double beta, cs_point p, cs_point start);
double cs_cpu_dot(void *state, cs_point p, cs_point q);
double cs_cpu_distance(void *state, cs_point p, cs_point q);
void cs_cpu_put_point(void *state, cs_point point, const double *impulses, const double *u);
void cs_cpu_get_point(const void *state, cs_point point, double *impulses, double *u);
cs_point cs_cpu_kept(const void *state);

#endif

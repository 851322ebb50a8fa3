/* The stagnation test: a solve that makes progress halves its residual again and again. A solve that has not halved
 * it for `patience` iterations is stalled (its residual stays in a narrow band) or wandering (its residual stays in a
 * wide band). */
#ifndef CS_STAGNATION_H
#define CS_STAGNATION_H

#include "contactsolve.h"

enum { CS_STAGNATION_VALUES = 1024 };

/* The residuals since the last halving. Only every `stride`-th one is kept, so that they fit into `value`. */
typedef struct cs_stagnation {
    double reference; /* the residual at the last halving */
    int64_t since;    /* the iteration of the last halving */
    int64_t seen;     /* residuals since then */
    int64_t stride;
    int count; /* residuals in `value` */
    double value[CS_STAGNATION_VALUES];
} cs_stagnation;

void cs_stagnation_begin(cs_stagnation *test);

/* Adds the residual of iteration `number`. Returns whether at least `patience` iterations have passed since the last
 * halving; always 0 if `patience` is 0. */
int cs_stagnation_test(cs_stagnation *test, int64_t number, double residual, int64_t patience);

/* Returns CS_STALLED or CS_WANDERING. band (3) <- the least, the median and the largest residual since the last
 * halving. Sorts the residuals, so that the test must begin again afterwards. */
cs_outcome cs_stagnation_verdict(cs_stagnation *test, double *band);

#endif

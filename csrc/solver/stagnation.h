/* The stagnation test: a solve that makes progress halves its residual again and again. A solve that has not
 * halved it for a given number of iterations is stalled (its residual stays in a narrow band) or wandering (in a
 * wide one). Nothing is called converged because one sample was low. */
#ifndef CS_STAGNATION_H
#define CS_STAGNATION_H

#include "contactsolve.h"

enum { CS_STAGNATION_VALUES = 1024 };

/* The residuals since the last halving, every `stride`-th, so that they always fit. */
typedef struct cs_stagnation {
    double reference; /* the residual when it was last halved */
    int64_t since;    /* the iteration of that */
    int64_t seen, stride;
    int count;
    double value[CS_STAGNATION_VALUES];
} cs_stagnation;

void cs_stagnation_begin(cs_stagnation *test);

/* Takes the residual of an iteration. Returns whether `patience` iterations (0: any number) have
 * gone without a halving. */
int cs_stagnation_test(cs_stagnation *test, int64_t number, double residual, int64_t patience);

/* CS_STALLED or CS_WANDERING, and the least, the median and the largest residual. */
cs_outcome cs_stagnation_verdict(cs_stagnation *test, double *band);

#endif

/* What the parts of Newton's method share: newton.c drives, steps to one of two functions are in
 * newton/natural.c and newton/complementary.c. */
#ifndef CS_NEWTON_H
#define CS_NEWTON_H

#include "solver/accelerate.h"
#include "system/newton_system.h"

typedef struct cs_newton {
    cs_newton_system system;
    double *r;                /* (rows): R, one number for each cone or coupled set */
    double *start;            /* (rows): lambda of the proximal step */
    double *shift;            /* (blocks): s */
    double *xi, *trial;       /* (rows): the unknown */
    double *impulses;         /* (rows): prox(...) at it; what is judged */
    double *g, *step;         /* (rows) */
    double *best;             /* (rows) */
    double *lambda, *another; /* (rows): impulses as unknowns; NULL where they are none */
    double *phi, *move;       /* (rows) */
} cs_newton;

/* What the next iteration is. */
typedef enum cs_newton_phase {
    CS_NEWTON_BEGINS,
    CS_NEWTON_SWEEPS,
    CS_NEWTON_STEPS
} cs_newton_phase;

/* A solve under way. */
typedef struct cs_newton_run {
    cs_run run;
    cs_newton *newton;
    const struct cs_newton_kind *kind;
    double rho;
    double linear;  /* residual of linear systems over |g| */
    double damping; /* by which the diagonal of A grows in a step's system, over 1 / R */
    cs_newton_phase phase;
    int64_t sweeps;       /* with which it begins next */
    int64_t left;         /* of these, to be made */
    double shortest;      /* the least of their |change|^2 */
    cs_momentum momentum; /* of these */
    int inner;            /* steps of the proximal step so far; 0: another one begins */
    double first, here;   /* |g| when it began, and now */
    double before;        /* the best judgement when it began */
    int failed;           /* its last step led nowhere */
    int failures;         /* proximal steps thrown away since the last sweeps */
    int restarts;         /* and in all */
} cs_newton_run;

/* The function whose zero a proximal step looks for. */
typedef struct cs_newton_kind {
    const char *sets; /* whose blocks it takes, in words */
    int (*takes)(const cs_block_group *group);
    int shifted;                       /* discs are cones */
    int impulses;                      /* unknowns of their own */
    int patience;                      /* the steps that it may take, over others' */
    double (*begin)(cs_newton_run *s); /* |g| at the start of a proximal step */
    /* One step with a line search that takes a short one even where it leads up; `size` is |g| here, then
     * there. CS_EXHAUSTED: there is no step. */
    cs_step (*step)(cs_newton_run *s, double *size);
    double (*error)(const cs_newton_run *s); /* what |g| does to the natural map */
    double (*noise)(const cs_newton_run *s); /* below this |g| is rounding */
} cs_newton_kind;

extern const cs_newton_kind cs_newton_coulomb, cs_newton_de_saxce, cs_newton_fischer_burmeister;

/* xi <- A start + b */
void cs_newton_begin_step(cs_newton_run *s);

/* Ends line searches: whether a step of that length is taken. */
int cs_newton_accepts(double there, double here, double length);

#endif

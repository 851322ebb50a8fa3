/* What the parts of Newton's method share: newton.c is the driver; natural.c and complementary.c take steps
 * for one of two functions each. */
#ifndef CS_NEWTON_H
#define CS_NEWTON_H

#include "solver/accelerate.h"
#include "system/newton_system.h"

typedef struct cs_newton {
    cs_newton_system system;
    double *r;          /* (rows): R, one number for each cone or coupled set */
    double *start;      /* (rows): lambda at the start of the proximal step */
    double *shift;      /* (blocks): s, the shift of the normal velocity */
    double *xi, *trial; /* (rows): the unknown velocities; those of a trial step */
    double *impulses;   /* (rows): the impulses at xi: these are judged */
    double *g, *step;   /* (rows): the residual g; the change of xi */
    double *best;       /* (rows): impulses of the best iterate */
    /* Only of kinds with impulses as unknowns; otherwise NULL. */
    double *lambda, *another; /* (rows): the unknown impulses; those of a trial step */
    double *phi, *move;       /* (rows): Phi; the change of lambda */
} cs_newton;

/* What the next iteration is: the first one, a sweep, or a Newton step. */
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
    double rho;     /* factor of the proximal step */
    double linear;  /* tolerance of linear systems, relative to |g| */
    double damping; /* added to the diagonal of A in the system of a step, in units of 1 / R */
    cs_newton_phase phase;
    int64_t sweeps;       /* sweeps of the next start */
    int64_t left;         /* sweeps that remain */
    double shortest;      /* the smallest |change|^2 of these sweeps */
    cs_momentum momentum; /* of the sweeps */
    int inner;            /* Newton steps of the current proximal step; 0: a new one starts */
    double first, here;   /* |g| at the start of the proximal step, and now */
    double before;        /* the best judgement at its start */
    int failed;           /* its last Newton step failed */
    int failures;         /* proximal steps rejected since the last sweeps */
} cs_newton_run;

/* The function whose zero a proximal step looks for. */
typedef struct cs_newton_kind {
    const char *sets; /* the sets that it takes, for messages */
    int (*takes)(const cs_block_group *group);
    int shifted;  /* 1: a disc is a cone with De Saxce's shift */
    int impulses; /* 1: impulses are unknowns beside xi */
    int patience; /* its maximum number of Newton steps, in units of the option */
    double (*begin)(cs_newton_run *s); /* starts a proximal step; returns |g| */
    /* One Newton step with a line search. The line search takes a short step even if |g| increases. `size`
     * is |g| before and after the step. CS_EXHAUSTED: there is no step. */
    cs_step (*step)(cs_newton_run *s, double *size);
    double (*error)(const cs_newton_run *s); /* estimate of the natural map that g causes */
    double (*noise)(const cs_newton_run *s); /* |g| below this is rounding */
} cs_newton_kind;

extern const cs_newton_kind cs_newton_coulomb, cs_newton_de_saxce, cs_newton_fischer_burmeister;

/* xi <- A start + b */
void cs_newton_begin_step(cs_newton_run *s);

/* The criterion of line searches: whether a step of this length is accepted. `here`, `there`: |g| before
 * and after it. */
int cs_newton_accepts(double there, double here, double length);

#endif

/* The feasible set of a block's impulses, as the problem and the measures see it. The sets
 * themselves are in prox/. */
#ifndef CS_SET_H
#define CS_SET_H

#include "contactsolve.h"

#include <stdint.h>

enum { CS_MAX_ROWS = 6 };

/* A set as methods see it that solve the local problem of a block (scheme/local). */
typedef enum cs_local_shape {
    CS_LOCAL_BALLS, /* the normal impulse, and friction in the product of `parts` */
    CS_LOCAL_BOX,   /* between bounds: lo (rows), then hi (rows) are the parameters */
    CS_LOCAL_CONE,  /* one circular cone, whose slope is the first parameter */
} cs_local_shape;

/* A part of friction, in units of the normal impulse: a ball over rows first ... first + rows - 1 of the block; or, if
 * `axes` is not 0, an ellipsoid with these semi-axes along orthogonal unit vectors. Only the members of its kind are
 * set: sweeps describe every block that they visit. */
typedef struct cs_friction_part {
    int axes;        /* 0: a ball */
    int first, rows; /* of a ball */
    double radius;
    double semi[3], axis[3][CS_MAX_ROWS];
} cs_friction_part;

enum { CS_MOST_FRICTION_PARTS = 2 };

typedef struct cs_local_set {
    cs_local_shape shape;
    int absolute; /* friction is bounded by impulses, not by multiples of the normal impulse */
    int parts;    /* at most CS_MOST_FRICTION_PARTS; number and kinds depend on the rows alone */
    cs_friction_part part[CS_MOST_FRICTION_PARTS];
} cs_local_set;

typedef struct cs_set {
    const char *name, *summary;
    const char *about;             /* a paragraph of documentation; may be NULL */
    const cs_parameter *parameter; /* in the sequence of the numbers of a block */
    int declared;                  /* how many of them */
    int kind;                      /* its index in prox/sets.def */
    int bilateral;                 /* every impulse is allowed: a block may be solved exactly */
    int convex;                    /* no bound depends on an impulse outside the set's own cone */
    int bounds;     /* every row lies between parameters of its own: lo (rows), then hi (rows) */
    int contact;    /* row 0 is a normal impulse, the others are tangential */
    int frictional; /* with zero friction only the normal impulse is allowed */
    /* The friction rows of every coupled set s lie in a ball: of radius lambda_n x parameter
     * radius_parameter[s], parameter 0 being Coulomb's coefficient, or as large as `reach` tells. */
    int balls;
    int radius_parameter[CS_MAX_ROWS];
    int moment[CS_MAX_ROWS]; /* coupled set s is a moment: at its bound nothing slides */
    int cone;                /* FCLIB's error is defined: the friction cone is a circular one */
    int variable;            /* blocks may have more parameters than the least number */
    int alone;               /* the prox calls the caller's code: runs on one thread only */
    /* Describes the set for local problems, in `local`, which before is CS_LOCAL_BALLS with no part. NULL: they cannot
     * be solved. */
    void (*describe_local)(int rows, const double *parameters, cs_local_set *local);
    int (*parameters)(int rows); /* per block; -1 when the set does not take so many rows */
    /* Number of the coupled set that each row belongs to: rows of one share one r. */
    void (*coupling)(int rows, int *coupled_set);
    /* Checks what the ranges of single parameters do not say; NULL: nothing. `each`: numbers of a block.
     * `first_block` numbers the message. */
    cs_status (*check)(int64_t count, int rows, int each, const double *parameters,
                       int64_t first_block, cs_error *error);
    /* The most that v . lambda reaches with lambda_n = 1, over the rows of coupled set s behind the
     * normal; `v` has all rows. NULL: a ball by `radius_parameter`. */
    double (*reach)(int rows, int s, const double *parameters, const double *v);
    /* Friction in the plane as a polygon, for methods that take polyhedral cones; all three, or none.
     * `corners`: how many, or 0 for a round set, which is cut as finely as asked. `corner`: the i-th
     * of `count`, times `multiplier` and the normal impulse from the origin. */
    int64_t (*corners)(int rows, const double *parameters);
    void (*corner)(int rows, const double *parameters, int64_t i, int64_t count, double *d);
    double (*multiplier)(const double *parameters);
    /* z <- prox_C(z). The friction bound comes from the normal impulse just projected, or, where
     * `previous` is given, from previous[0]. */
    void (*prox_f32)(int rows, float *z, const float *parameters, const float *previous);
    void (*prox_f64)(int rows, double *z, const double *parameters, const double *previous);
    /* p <- prox_C(z) (rows), slope <- one element of its generalised Jacobian at z (rows, rows),
     * row-major; both are zero before. The friction bound follows the normal impulse, which makes
     * the slope unsymmetric. NULL: Newton's method does not take the set. */
    void (*slope)(int rows, const double *parameters, const double *z, double *p, double *slope);
} cs_set;

#endif

/* A cloth: a triangle mesh with mass, membrane, bending and attachments, moved by implicit Euler.  S5 sections 3.2, 3.3
 *
 *     (M + h D + h^2 K) dv = h (f(x) + f_ext - D v - h K v),   x <- x + h (v + dv)
 *
 *     cs_cloth_begin      sets out from the present state; takes forces and where attached vertices will be
 *     cs_cloth_assemble   computes matrix and right-hand side, for the state or for an iterate of Newton's method
 *     cs_cloth_correct    takes a solution: the next iterate
 *     cs_cloth_finish     the iterate becomes the state
 *     cs_cloth_step       all of this
 *
 * With collisions, their response changes the iterate before it becomes the state (cloth/collisions.h): cs_cloth_predict does
 * what is before, cs_cloth_conclude what is after.
 *
 * Until cs_cloth_finish the state is that of the beginning, whatever happens. Newton's method begins with the system
 * above, and goes on with the residual at its iterate.
 *
 * A system is assembled in two passes: one over elements, each of which computes what it adds; one over the blocks of the
 * matrix, part by part, each of which adds its elements' shares in their order and is stored once, in its precision. Bits
 * therefore do not depend on threads.
 *
 * Attached vertices are eliminated: their rows and columns are zero but for the mass on the diagonal, and the right-hand
 * side has the velocity that they are given. The pattern stays, and the matrix symmetric and positive definite. */
#ifndef CS_CLOTH_H
#define CS_CLOTH_H

#include "cloth/bending.h"
#include "cloth/collisions.h"
#include "cloth/membrane.h"
#include "sparse/conjugate.h"

/* Of matrix and iteration: all in double; all but positions, forces and the true residual in float; only the
 * preconditioner, and products that it makes, in float. */
typedef enum cs_cloth_precision { CS_CLOTH_F64, CS_CLOTH_F32, CS_CLOTH_MIXED } cs_cloth_precision;

typedef struct cs_cloth_options {
    double density;        /* [kg/m^2] */
    double young, poisson; /* [N/m]: Young's modulus times thickness; of the plane */
    double bending;        /* [N m]: k of hinges, D of the quadratic model */
    cs_bending_model model;
    double damping;    /* [s] */
    double gravity[3]; /* [m/s^2] */
    int64_t parts;
    const int64_t *label; /* (vertices): the part of each; NULL: slices */
    cs_cloth_precision precision;
    const char *preconditioner; /* a kind, or "auto"; outlives the making */
    double rtol;                /* of the true residual of a solve */
    int64_t max_iterations;
} cs_cloth_options;

/* What a step needs beside the state. */
typedef struct cs_cloth_call {
    int newton;                    /* linear solves, at least 1 */
    int threads;                   /* that share the assembly and the solves */
    int contact_threads;           /* and contacts, where there are enough of them; 0: as many */
    cs_cancellation *cancellation; /* NULL: the step runs to its end */
} cs_cloth_call;

/* Of the solves of a step. */
typedef struct cs_cloth_report {
    cs_cg_verdict verdict; /* CS_CG_CONVERGED, or the last other one */
    int64_t iterations;    /* of all solves */
    double residual;       /* the true one of the last solve, over that of no change */
    int threads;
    const char *kind; /* of the preconditioner */
    double seconds;   /* of assembly and solves */
} cs_cloth_report;

/* Shares of elements in the blocks of a matrix: those of block e are start[e] ... start[e + 1] - 1. */
typedef struct cs_cloth_shares {
    int64_t *start;
    int64_t *share; /* 16 element + 4 a + b; hinges after triangles */
} cs_cloth_shares;

typedef struct cs_cloth {
    cs_arena arena;
    cs_cloth_options options;
    cs_mesh mesh;
    cs_graph graph; /* of the matrix */
    cs_membrane membrane;
    cs_bending bending;
    double *mass;                    /* (vertices) */
    unsigned char *is_attached;      /* (vertices) */
    cs_triangle_rest *triangle_rest; /* (faces) */
    cs_hinge_rest *hinge_rest;       /* (hinges of the system) */
    int64_t hinges;                  /* of the system: none without bending */

    /* The state, and the step that is being made. Arrays (vertices, 3). */
    double time;
    int64_t steps, missed;           /* made; those with a solve that missed its tolerance */
    cs_cloth_report report, present; /* of the last one; of the one that is being made */
    double *position, *velocity, *rest;
    double h;
    double *target;                        /* of attached vertices, at the end of the step */
    double *force;                         /* external ones, without gravity */
    int iterate;                           /* corrections so far */
    double *next_position, *next_velocity; /* of the iterate */
    double *shift;                         /* velocities with which forces are linearized */
    double *right;                         /* the right-hand side, in old numbers */
    double *change;                        /* the solution */

    /* The system. */
    cs_block_system system;
    cs_block_system half; /* the same in single precision; only of CS_CLOTH_MIXED */

    /* Its solver, which the first step makes, and keeps what depends on the pattern. */
    const cs_preconditioner_kind
        *kind; /* NULL: chosen for the first step, and when the length of steps changes */
    double chosen_for;
    int64_t made;                              /* solvers so far */
    double *origin_position, *origin_velocity; /* the state whose step made it */
    cs_arena solver;
    cs_preconditioner M;
    cs_block_cg *cg; /* NULL: not made */

    /* Of collisions. */
    cs_collisions collisions;
    int has_collisions;
    int64_t
        refused; /* steps that were not made, because their motion could not be made free of collisions */

    /* Of the assembly. */
    cs_cloth_shares local, outer; /* of the blocks of both matrices */
    cs_cloth_shares loads;        /* of vertices, in new numbers */
    cs_triangle *triangle;        /* (faces) */
    cs_hinge_share *hinge;        /* (hinges) */
} cs_cloth;

/* A cloth at x (vertices, 3), at rest, whose rest shape is `rest` (vertices, 3). On failure, too, cs_cloth_clear releases
 * what was taken. */
cs_status cs_cloth_make(cs_cloth *cloth, const cs_cloth_options *options, int64_t vertices,
                        const double *x, const double *rest, const int64_t *face, int64_t faces,
                        cs_error *error);
void cs_cloth_clear(cs_cloth *cloth);

/* Attaches these vertices, and no others. Fails for one out of range or twice in the list. */
cs_status cs_cloth_attach(cs_cloth *cloth, const int64_t *vertex, int64_t count, cs_error *error);

/* Begins a step. target (vertices, 3): where attached vertices will be; NULL: where they are. force (vertices, 3) [N] or
 * NULL. Fails for h <= 0. */
cs_status cs_cloth_begin(cs_cloth *cloth, double h, const double *target, const double *force,
                         cs_error *error);
/* Fails where a number of the system is too large for its precision, or none. */
cs_status cs_cloth_assemble(cs_cloth *cloth, int threads, cs_error *error);
void cs_cloth_correct(cs_cloth *cloth, const double *change, int threads);
cs_status cs_cloth_check(const cs_cloth *cloth,
                         cs_error *error); /* whether the iterate is finite */
void cs_cloth_finish(cs_cloth *cloth);

/* Adds collisions with what cs_collisions_add then adds, and checks nothing. */
cs_status cs_cloth_collide(cs_cloth *cloth, const cs_collision_options *options, cs_error *error);

/* The parts of a step with collisions: the iterate and its contacts; then the response, the certificate and the end. */
cs_status cs_cloth_predict(cs_cloth *cloth, double h, const double *target, const double *force,
                           const cs_cloth_call *call, cs_error *error);
cs_status cs_cloth_conclude(cs_cloth *cloth, const cs_cloth_call *call, cs_error *error);

/* A whole step; arguments as above. A solve that misses its tolerance is no failure: its best result is used. Where collisions
 * cannot be resolved the state stays as it was, `refused` is raised by one, and a shorter step may be tried. */
cs_status cs_cloth_step(cs_cloth *cloth, double h, const double *target, const double *force,
                        const cs_cloth_call *call, cs_error *error);

/* The next step chooses its preconditioner anew, with all that is kept from step to step: what follows then depends on the
 * state alone. */
void cs_cloth_forget(cs_cloth *cloth);
/* The same, and what collisions keep. */
void cs_cloth_forget_all(cs_cloth *cloth);

/* Makes the solver as a step of length h from the state x, v (vertices, 3) would: what a solver keeps depends on the first
 * matrix. The state of the cloth stays as it is. */
cs_status cs_cloth_remake(cs_cloth *cloth, double h, const double *x, const double *v,
                          const cs_cloth_call *call, cs_error *error);

/* value (blocks of the graph, 3, 3) <- the matrix, both triangles. */
void cs_cloth_values(const cs_cloth *cloth, double *value);

/* Energies [J]. That of gravity is zero at the origin. */
typedef struct cs_cloth_energy {
    double kinetic, gravity, membrane, bending;
} cs_cloth_energy;
cs_cloth_energy cs_cloth_find_energy(const cs_cloth *cloth);

/* linear (3) [kg m/s], angular (3) [kg m^2/s] about the origin. */
void cs_cloth_momentum(const cs_cloth *cloth, double *linear, double *angular);

/* ---- within the folder ---------------------------------------------------------------------------- */

/* Lists which elements have shares in which blocks, once the system is laid out. */
cs_status cs_cloth_list_shares(cs_cloth *cloth, cs_error *error);

/* Takes the kind of this name, or "auto". */
cs_status cs_cloth_name_kind(cs_cloth *cloth, const char *name, cs_error *error);

#endif

/* What work costs: the choices below are made by the numbers here. Limits of one method stand in its own file,
 * those of method="auto" in methods/chain/policy.h.
 *
 *     threads    the sizes from which several threads save time       all loops that threads share
 *     islands    the contacts that make a solver of their own pay     islands solved separately
 *     schemes    a sweep by its visits, blocks and multiplications    scheme="auto"
 *     chain      a sweep against a Newton step                        method="auto"
 *     factors    a multiplication of each kind of factor              engine="auto"
 *     meshes     a solve by multigrid in iterations of block SSOR     M="auto"
 *
 * Times are nanoseconds of one machine, measured by the scripts named with them. Only their ratios
 * matter: they decide what runs, never what it computes. */
#ifndef CS_COSTS_H
#define CS_COSTS_H

/* ---- threads --------------------------------------------------------------------------------- */

/* Sizes below which several threads cost more time than they save (benchmarks/sweeps/scaling.py,
 * benchmarks/pivoting/pivoting.py). */
enum {
    CS_WORTH_THREADS_SWEEP = 4096, /* contacts of a sweep */
    CS_WORTH_THREADS_ISLANDS =
        2048,                     /* contacts of a problem whose islands are solved by themselves */
    CS_WORTH_THREADS_MLCP = 1024, /* rows of a mixed LCP, likewise */
    CS_WORTH_THREADS_COLORS = 16384,  /* blocks that have no colour yet */
    CS_WORTH_THREADS_SETUP = 8192,    /* contacts of a problem that is prepared for a solver */
    CS_WORTH_THREADS_ASSEMBLY = 4096, /* contacts of an A that is assembled */
    CS_WORTH_THREADS_POINT = 1 << 16, /* numbers of a point */
    CS_WORTH_THREADS_PRODUCT = 4096,  /* vertices of a product (benchmarks/cloth/products.py) */
    CS_WORTH_THREADS_STENCILS = 2048, /* stencils of a narrow phase (benchmarks/cloth/ccd.py) */
    CS_WORTH_THREADS_VISITS = 2048,   /* contacts of a cloth, in sweeps by colours */
    CS_WORTH_THREADS_CONTACTS = 512,  /* contacts of a cloth whose distances are found */
    CS_WORTH_THREADS_REFIT = 4096,    /* vertices of a tree of boxes (benchmarks/cloth/trees.py) */
    CS_WORTH_THREADS_PAIRS = 4096,    /* pairs of nodes of a query of trees, likewise */
    CS_WORTH_THREADS_COPY = 1 << 19,  /* numbers of arrays that are copied and checked */
    CS_WORTH_A_COPY = 1 << 17,        /* the same, of each thread's share */
    CS_WORTH_A_PIECE = 2048,          /* items of short work, of each piece of it */
    CS_WORTH_A_PHASE = 128,           /* contacts between two waits of the threads for each other */
};

/* More threads than these for each processor only wait for each other. */
enum { CS_THREADS_PER_PROCESSOR = 4 };

/* The parts into which orders divide a problem unless the caller says how many. Those made for speed make more of them
 * from so many contacts on, for machines of many processors: with 32 parts a sweep on 16 of them takes 2.5 in place of
 * 3.9 ns for each of 778,240 contacts, on one as long as with 8. Of 40,320 contacts too many would lie between 32
 * parts. */
enum { CS_USUAL_PARTS = 8, CS_MORE_PARTS = 32, CS_WORTH_MORE_PARTS = 1 << 17 };

/* ---- islands (benchmarks/methods/islands.py) --------------------------------------------------- */

/* Contacts of a problem below which solving its islands separately gains nothing; and the least contacts of a
 * cluster of islands, if there are as many: of one that is swept, of one whose visits are made several at a
 * time, and of one whose work grows faster than its contacts. */
enum {
    CS_WORTH_CUTTING = 512,
    CS_WORTH_A_CLUSTER = 32,
    CS_WORTH_A_CLUSTER_IN_STAGES = 256,
    CS_WORTH_A_CLUSTER_FACTORED = 1,
};

/* ---- vectors --------------------------------------------------------------------------------- */

/* The least share of full lanes that saves time over visits one after another, and the least number
 * of lanes, in double precision (benchmarks/sweeps/sweep.py). */
#define CS_WORTH_FILL 0.75
enum { CS_WORTH_LANES = 4 };

/* ---- sweeps by scheme (benchmarks/sweeps/scheme_choice.py) ------------------------------------- */

/* A byte that is read from memory; up to so many bytes stay in cache. */
#define CS_COST_BYTE 0.05
#define CS_CACHE_BYTES 2e6

/* Rows of A: a visit, a block, a multiplication; one after another, in vectors, and in vectors of
 * blocks of one number. Jacobi also copies lambda. */
typedef struct cs_row_costs {
    double visit, block, multiply;
} cs_row_costs;
#define CS_COST_ROWS ((cs_row_costs){8, 0.8, 0.23})
#define CS_COST_ROWS_IN_VECTORS ((cs_row_costs){11, 0.7, 0.09})
#define CS_COST_NUMBERS_IN_VECTORS ((cs_row_costs){6, 0.55, 0})
#define CS_COST_COPY 3

/* Factors of A: a visit and a multiplication, one after another; a batch and a vector of numbers. */
#define CS_COST_VISIT 15
#define CS_COST_MULTIPLY 0.17
#define CS_COST_BATCH 24
#define CS_COST_VECTOR 0.9

/* Jacobi's velocities, computed anew: a side of a contact, the same in vectors, and a body. */
#define CS_COST_SIDE 2.5
#define CS_COST_SIDE_IN_VECTORS 2
#define CS_COST_BODY 18

/* ---- the links of method="auto" (benchmarks/convergence/convergence.py) ------------------------ */

/* A sweep: a contact of three rows with Jacobians, in an order for vectors, and as they stand; a visit
 * and a block of a given A. */
#define CS_COST_CONTACT 24
#define CS_COST_CONTACT_ALONE 38
#define CS_COST_GIVEN_VISIT 14
#define CS_COST_GIVEN_BLOCK 6

/* A step of Newton's method: a multiplication of its factor, an entry of it in the products of GMRES,
 * and a contact, also where a given A is unsymmetric, so that GMRES takes many steps. */
#define CS_COST_NEWTON_MULTIPLY 0.1
#define CS_COST_NEWTON_ENTRY 12
#define CS_COST_NEWTON_CONTACT 1200
#define CS_COST_NEWTON_UNSYMMETRIC 18000
/* The same where small systems are eliminated without GMRES. */
#define CS_COST_ELIMINATE_MULTIPLY 0.4
#define CS_COST_ELIMINATE_CONTACT 420
/* An elimination takes the place of so many steps of GMRES, with products over contacts and entries of the
 * factor, where it is cheaper. */
#define CS_COST_GMRES_STEPS 8
#define CS_COST_GMRES_CONTACT 120
#define CS_COST_GMRES_ENTRY 1

/* ---- the engines of mixed LCPs (benchmarks/pivoting/pivoting.py) ------------------------------- */

/* A multiplication over that of the fastest kernel, that of panels: column by column, and of a sparse
 * factor. */
enum { CS_COST_IN_PANELS = 1, CS_COST_BY_COLUMNS = 4, CS_COST_SPARSE = 8 };

/* Multiplications of a factor above which a sparse one is considered: to compute its order takes long. */
#define CS_WORTH_SPARSE_ORDER 2e7

/* ---- preconditioners of block systems (benchmarks/cloth/solves.py) ------------------------------ */

/* A solve by multigrid, in iterations of block SSOR: with all of its set-up, and with its aggregates kept. */
#define CS_COST_MULTIGRID_NEW 220
#define CS_COST_MULTIGRID_KEPT 150

#endif

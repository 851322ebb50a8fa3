/* A device that sweeps in place of the processor. A module of its own (cuda/) holds its kernels, in C++ or CUDA; the
 * library holds all that needs none, and finds the module's functions in a cs_device.
 *
 *     methods --cs_backend--> device.c: packs on the host, lists steps --cs_device--> module: memory, kernels
 *
 * The packed problem (scheme/packed.h) lies on the device as it does on the host: the module receives a cs_packed whose
 * arrays are the device's. Groups in batches have 32 lanes, one for each thread of a warp. Both sides are compiled with
 * the same headers, which cs_device.layout confirms. */
#ifndef CS_DEVICE_H
#define CS_DEVICE_H

#include "backend/backend.h"
#include "backend/parts.h"

/* Work that is done in its order, and the device's memory that belongs to it. Owned by the module. */
typedef struct cs_queue cs_queue;

/* A block of threads of visits, and how many batches its warps visit. Each block writes statistics of its own. */
enum { CS_DEVICE_THREADS = 128, CS_DEVICE_BATCHES = CS_DEVICE_THREADS / 32 };

/* What sweeps write and read on the device, between two reports to the host. */
typedef struct cs_device_state {
    cs_best_sweep best;
    int keeps_best; /* whether `best` holds; otherwise nothing is kept and no sweep diverges */
    int alternates, backwards;
    cs_sweep_rule rule;
    int alarm; /* the last sweep may have diverged, */
    int ended; /* or the rule ends the call with it: the rest of the call does nothing */
    int64_t made;
    cs_sweep_stats stats;     /* of the last sweep */
    cs_impulse_change change; /* likewise, if the rule measures it */
    /* Where launches change lambda in place, and measure changes behind that: the sweep, counted from 1, with which the rule
     * ends the launch; 0: it does not. */
    int64_t met;
    /* Of the last launch of several sweeps that ran: its sweeps up to its end, those after which lambda was the best
     * iterate for the last time (-1: never), and its direction at the beginning. */
    int64_t reached, kept;
    int began_backwards;
    int ran; /* over whole rows of T: whether it was the last launch of all; none runs after the end */
} cs_device_state;

/* The steps of a sweep or of a refresh. `first` and `count` refer to what is named here. */
typedef enum cs_device_task {
    CS_STEP_BATCHES, /* batches of a group: visits that do not see each other */
    CS_STEP_VISITS,  /* visits of a group without batches, which do not see each other */
    CS_STEP_PARTS,   /* parts of a stage without batches: the visits of a part one after another */
    CS_STEP_DENSE,   /* visits of a group to whole rows, which write behind lambda */
    CS_STEP_DENSE_PARTS, /* parts of a stage with whole rows: the visits of a part one after another */
    CS_STEP_DENSE_TAKE, /* visits of a group: lambda <- what they wrote behind it */
    CS_STEP_KEEP,   /* copies impulses, for visits that must not see the updates of their stage */
    CS_STEP_GATHER, /* u = G^T lambda anew: moved bodies */
    CS_STEP_ADD,    /* batches of a group: u += G^T lambda, or their contributions */
    CS_STEP_SUBTRACT_BATCHES, /* b -= G u of batches of a group, in mixed precision */
    CS_STEP_SUBTRACT_VISITS,  /* b -= A lambda of visits of a group, in mixed precision */
} cs_device_task;

typedef struct cs_device_step {
    cs_device_task task;
    int group;
    int writes; /* visits update u */
    int64_t first, count;
    int64_t stats; /* where the statistics of the step's blocks begin in cs_packed.part */
} cs_device_step;

/* A moved body whose velocity is summed over its contacts. Its contributions follow one another, in the order of the sum;
 * each is the body's degrees of freedom in whole pieces of 16 bytes. */
typedef struct cs_device_body {
    int32_t given, terms; /* the first contribution, in pieces; terms of the sum */
    int32_t place, dof;   /* where the velocity is, in units of 4 numbers */
} cs_device_body;

/* The pieces of a contribution. */
CS_DEVICE static inline int cs_contribution_pieces(int dof, int real_size)
{
    return (dof * real_size + 15) / 16;
}

/* The impulses of a group in the user's order, of which changes are measured. */
typedef struct cs_device_changed_rows {
    const int64_t *slot; /* (blocks of the group): the slot of each; NULL: the same */
    int64_t count;       /* rows of all of them */
    int rows, lanes;
    int64_t first;       /* of its impulses */
    int64_t first_piece; /* of CS_CHANGE_ROWS rows, among those of all groups */
} cs_device_changed_rows;

/* The change of impulses in each sweep (cuda/changes.cu). */
typedef struct cs_device_changes {
    int asked;                           /* whether the sweeps of this call measure it */
    const cs_device_changed_rows *group; /* (groups): on the host */
    int groups;
    int64_t pieces;       /* of all groups */
    void *before;         /* (impulses, then moved velocities): lambda and u from before a launch */
    cs_change_sums *part; /* (sweeps of a launch, pieces) */
    cs_impulse_change *change; /* (sweeps of a launch) */
} cs_device_changes;

/* A packed problem on the device, and what its steps need besides. */
typedef struct cs_device_program {
    cs_packed packed;             /* with addresses of the device */
    const cs_packed_group *group; /* (groups): the same groups on the host */
    cs_row_products products;     /* what the rows of a scheme over rows hold */
    int rows_scheme;              /* whether it is one */
    const cs_device_body *body;   /* (moved_bodies) */
    const void *contribution;     /* of all groups; NULL: the terms of no body are contributions */
    int only_given; /* pieces of every contribution, or -1: bodies differ; 0: there are other terms as well */
    int piece_shift;       /* log2 of the threads that sum a body: one for each piece of 16 bytes */
    const cs_range *range; /* of the schedule */
    const int64_t *part;   /* of the schedule */
    void *best;            /* (impulses): the best iterate */
    cs_device_state *state;
    int64_t blocks; /* blocks of threads with statistics in one sweep */
    cs_device_changes changes;
} cs_device_program;

/* A batch that a warp visits by dataflow, or a contact that a thread visits by counters, which needs no more than its
 * number. */
typedef struct cs_device_visit {
    int32_t group, batch;
    int64_t order;    /* where its numbers in cs_device_flow.order begin */
    int64_t stats[2]; /* the warp that visits it in launches of stages, forwards and backwards */
} cs_device_visit;

/* How a launch makes several sweeps. */
typedef enum cs_flow_way {
    CS_FLOW_NONE,     /* none does */
    CS_FLOW_DATAFLOW, /* cuda/dataflow.inc */
    CS_FLOW_COUNTER,  /* cuda/counter.inc */
    CS_FLOW_ON_CHIP,  /* cuda/on_chip.inc */
    CS_FLOW_REGIONS,  /* cuda/regions.inc */
    CS_FLOW_DENSE,    /* cuda/dense.inc, cuda/panels.inc: kernels that a graph may capture */
} cs_flow_way;

/* A team of threads makes a visit to whole rows of T, of so many bytes each; the sums of a row depend on it. */
enum { CS_DENSE_SMALL = 128, CS_DENSE_LARGE = 512 };

CS_DEVICE static inline int cs_dense_team(int64_t row_bytes)
{
    return row_bytes <= 12800 ? CS_DENSE_SMALL : CS_DENSE_LARGE;
}

/* Consecutive visits of a group to whole rows of T: they do not see each other, or are a panel of full SOR. */
typedef struct cs_dense_stage {
    int group;
    int64_t first, count; /* visits */
    int64_t begin, end;   /* their columns, if stages are ordered */
    int64_t stats;        /* where the statistics of its visits begin; of a panel: its own */
} cs_dense_stage;

/* The most sweeps of a launch over whole rows of T. */
enum { CS_DENSE_SWEEPS = 256 };

/* Sweeps from one iterate to the next. */
typedef struct cs_dense_plan {
    const cs_dense_stage *stage; /* (stages): on the host, in the order of a forward sweep */
    int64_t stages;
    int ordered; /* a stage sees the updates of those before it, which are all columns on one side of its own */
    int descends; /* that is the side of the last columns, in forward sweeps */
    int panels;   /* the visits of a stage see each other, one after another */
    int early;    /* kernels may start before the one before them ends */
    int captured; /* in graphs, one for each number of sweeps */
    void *sums;   /* (2, CS_PANEL_ROWS): of the rows of two panels */
} cs_dense_plan;

/* Rows and contacts of a panel at most; the distance of rows in its diagonal block, which is odd, so that lanes three rows apart
 * meet in no bank of the shared memory; bytes that a block shares for so many rows: the block, three numbers of each row, and one of
 * each contact. */
enum { CS_PANEL_ROWS = 96, CS_PANEL_CONTACTS = 32, CS_PANEL_PITCH = CS_PANEL_ROWS + 1 };

CS_DEVICE static inline int64_t cs_panel_bytes(int64_t rows, int64_t size)
{
    return (rows * CS_PANEL_PITCH + 3 * CS_PANEL_ROWS + CS_PANEL_CONTACTS) * size;
}

/* Whole rows of T on the chip (cuda/on_chip.inc). A block of CS_CHIP_THREADS threads has `teams` teams; visit k of block i is
 * i + blocks k, and team t makes its visits t, t + teams, ... */
typedef struct cs_chip_plan {
    int64_t blocks, rounds; /* blocks of threads, all resident; visits of a team */
    int teams;
    int pieces, held; /* a thread holds so many pieces of 16 bytes of each row, in so many visits */
    int64_t in_shared; /* visits of a block whose rows lie in its shared memory */
    int fits;          /* whether no row is read again in each sweep */
} cs_chip_plan;

/* A thread has registers for CS_CHIP_PIECES pieces of each of three rows, or, in code for GPUs before compute capability 9.0,
 * for CS_CHIP_FEW_PIECES: there a shuffle after a branch may be a call, which leaves few registers to what outlives it. */
enum { CS_CHIP_THREADS = 512, CS_CHIP_PIECES = 6, CS_CHIP_FEW_PIECES = 2 };

/* What a device has. */
typedef struct cs_chip_limits {
    int64_t processors, shared; /* multiprocessors; bytes that a block of threads may share */
    int pieces;                 /* CS_CHIP_PIECES or CS_CHIP_FEW_PIECES */
} cs_chip_limits;

/* Shared memory of a block, in numbers: the rows that are kept lie behind lambda, then c and the parameters of all its visits,
 * then the sums of their rows by warps. Visits of a block; numbers of one visit; distance of the sums of two visits. */
CS_DEVICE static inline int64_t cs_chip_visits(const cs_chip_plan *plan)
{
    return plan->rounds * plan->teams;
}

CS_DEVICE static inline int64_t cs_chip_constants(int rows, int parameters)
{
    return rows + parameters;
}

CS_DEVICE static inline int64_t cs_chip_sums(const cs_chip_plan *plan, int rows)
{
    return rows * (CS_CHIP_THREADS / 32 / plan->teams) | 1;
}

CS_DEVICE static inline int64_t cs_chip_numbers(const cs_chip_plan *plan, int64_t stride, int rows,
                                                int parameters)
{
    return (1 + plan->in_shared * rows) * stride +
           cs_chip_visits(plan) * (cs_chip_constants(rows, parameters) + cs_chip_sums(plan, rows));
}

/* Regions of bodies, each of which is swept by a block of CS_REGION_THREADS threads (cuda/regions.inc). The visits of a
 * region are consecutive: those of its inner stages, then its share of the outer ones. */
typedef struct cs_region_plan {
    int64_t count, inner; /* regions; stages of their inner contacts */
    int64_t most_bodies;  /* of a region */
    const int64_t *begin; /* (count (inner + 1) + 1): where the visits of a region's stages begin */
    const int32_t *body_start; /* (count + 1) into body and degree */
    const int32_t *body;       /* (moved_bodies): of each region, those with outer contacts first */
    const int32_t *degree;     /* (moved_bodies): outer contacts of each */
    const int32_t *edge;       /* (count): bodies of a region with outer contacts */
} cs_region_plan;

enum { CS_REGION_THREADS = 256 };

/* The most sweeps of a launch that keeps an iterate for each of them. */
enum { CS_FLOW_SWEEPS = 64 };

/* The blocks of threads of a launch by dataflow (cuda/dataflow.inc), all resident. Each warp visits the same batches in all
 * sweeps. What visits read but velocities is in a slot of shared memory: for the whole launch for the first `kept` batches of
 * a warp, for others from one visit before on. */
typedef struct cs_flow_plan {
    /* What is laid out: visits of a sweep, and its steps; the most parameters of a set; whether groups have these. */
    int64_t visits, steps;
    int parameters, step, compliance, weight;
    /* How. */
    int64_t blocks, kept;
    int warps;           /* of a block */
    int64_t shared;      /* bytes that a block shares */
    int64_t least, most; /* bytes that a block needs at least, and has */
} cs_flow_plan;

/* Parameters of a set that slots have room for; more are read from memory. */
enum { CS_FLOW_PARAMETERS = 8 };

/* Several sweeps in one launch. */
typedef struct cs_device_flow {
    cs_flow_way way;
    cs_chip_plan chip;
    cs_dense_plan dense;
    cs_region_plan region;
    cs_flow_plan plan;
    const cs_device_visit *visit; /* (visits): in the order of a forward sweep */
    int64_t visits;
    /* (visits, 2, 32): of each side, degree << 16 | rank; of inner contacts of regions, the place of its body in the
     * region, or UINT32_MAX if it does not move. */
    const uint32_t *order;
    void *record; /* velocities with versions */
    /* (sweeps, impulses): lambda after each sweep; NULL: only the last one is kept. Of sweeps over whole rows of T, which
     * always keep them: (sweeps, dense_stride). */
    void *iterates;
    cs_sweep_stats *
        stats; /* (recorded, directions, places): of the last sweeps, forwards and backwards; unused places stay zero */
    int64_t places, sweeps, recorded;
    int directions; /* 1: statistics have the same places in both directions */
    int backwards, alternates;
    cs_sweep_stats *sum; /* (recorded, CS_DEVICE_BATCHES): of all places of a sweep, in parts */
    uint32_t *meet;      /* (1): where blocks of threads meet (cuda/gpu.h) */
    int set;             /* the kind of all sets; -1: there are several */
    int group;           /* one of the groups, all of which have its form and sizes */
    int several;         /* whether there are others */
    /* By counters. */
    const int64_t *wait_start; /* (visits + 1) into wait */
    const int32_t *wait;       /* the visits that a visit waits for */
    uint32_t *
        done; /* (visits): sweeps of this launch; on the chip (1): blocks that have come to the end of a sweep */
    void *before; /* (impulses + moved velocities): lambda and u from before the launch */
} cs_device_flow;

/* Where the statistics of a recorded sweep begin. */
CS_DEVICE static inline cs_sweep_stats *cs_flow_stats(const cs_device_flow *flow, int64_t recorded,
                                                      int backwards)
{
    return flow->stats +
           (flow->directions * recorded + (flow->directions > 1 && backwards)) * flow->places;
}

/* Whether sweeps go from iterate to iterate, and leave lambda as it was until their end is known. */
static inline int cs_flow_keeps_all(cs_flow_way way)
{
    return way == CS_FLOW_DENSE || way == CS_FLOW_ON_CHIP;
}

/* Whether the sweep after so many of a launch goes backwards. */
CS_DEVICE static inline int cs_flow_goes_backwards(const cs_device_flow *flow, int64_t sweeps)
{
    if (!sweeps) return flow->backwards;
    return flow->alternates && (flow->backwards + sweeps) % 2;
}

/* Parts that iterate by themselves on the device (backend/parts.h). Arrays are the device's. */
typedef struct cs_device_parts {
    cs_part_rule rule;
    int64_t count;             /* parts */
    int64_t sweeps;            /* at most, of each part in this call */
    cs_part_state *state;      /* (count) */
    const double *rho, *speed; /* (rows) */
    const int32_t *recorded;   /* (count) */
    double *history;
    const int64_t *velocity_first; /* (count): where the velocities of a part's bodies begin, */
    const int32_t *velocity_count; /* (count): and how many numbers they are */
    int64_t most_visits, most_velocities; /* of a part */
    const int32_t *order;                 /* (count): the parts, those with most visits first */
    void *kept; /* where a thread solves a part: the best iterates, in its order */
    int alike;  /* one group, of contacts with a projected step and nothing else */
    cs_per per; /* as asked for; result: how it was done */
} cs_device_parts;

/* An operation of cs_backend on two or three arrays. `sums`: (chunks) of CS_DEVICE_CHUNK numbers. */
typedef enum cs_device_operation {
    CS_POINT_COMBINE,
    CS_POINT_EXTRAPOLATE,
    CS_POINT_CONJUGATE,
    CS_POINT_DOT,
    CS_POINT_DISTANCE,
} cs_device_operation;

enum { CS_DEVICE_CHUNK = 4096 };

typedef struct cs_device_pass {
    cs_device_operation what;
    int single; /* whether the numbers are float */
    int64_t count;
    double a, b;
    void *to, *p, *q;
    double *sums;
} cs_device_pass;

/* Numbers of a group, `rows` for each contact: in the user's order and double precision, or in that of the visits. */
typedef struct cs_device_rows {
    const int64_t *block; /* (slots): the block of a slot in its group; -1: none; NULL: the same */
    int64_t slots;
    int lanes, rows;
    int single; /* whether packed numbers are float */
    void *packed;
    double *plain;
} cs_device_rows;

/* A group of the problem as it was given, with addresses of the device. */
typedef struct cs_device_blocks {
    int64_t count, first_block, first_row;
    int rows, partners, dof[CS_MAX_PARTNERS], column[CS_MAX_PARTNERS + 1]; /* see cs_block_group */
    int coupled_set[CS_MAX_ROWS];
    int set, parameters, convex;    /* convex: see cs_set */
    const double *jacobian, *frame; /* one of them is NULL */
    const int64_t *velocity;        /* (count, partners) */
    const double *compliance;       /* NULL: none */
    const double *parameter;        /* of this solve */
} cs_device_blocks;

typedef struct cs_device_bodies {
    int64_t count, first_body, first_velocity;
    int dof, diagonal;
    const double *inverse_mass;
} cs_device_bodies;

/* The verdict of a block of threads, or of all. */
typedef struct cs_device_part_verdict {
    cs_natural_map map;
    cs_floor floor;
} cs_device_part_verdict;

/* Sums and extremes over the rows of a direction d: max |d|, b . d, |b| . |d|, max rho |A d|, and the sum of |A d|_i
 * Lambda_i. */
typedef struct cs_device_ray {
    double largest, work, magnitude, seen, left;
} cs_device_ray;

/* What verdicts are computed from (cuda/verdict.cu). */
typedef struct cs_device_verdict {
    const cs_device_blocks *block_group;       /* (block_groups): on the host; */
    const cs_device_blocks *block_group_there; /* and on the device */
    const cs_device_bodies *body_group;        /* (body_groups): on the host */
    int block_groups, body_groups;
    int64_t rows, blocks;
    int shift;                    /* of cs_adjacency, whose lists these are: */
    const int64_t *start, *entry; /* (bodies + 1), (start[bodies]) */
    const double *b, *rho;        /* (rows) */
    const double *scale;          /* (blocks): V; NULL: it is bounds.scale for all */
    cs_set_bounds bounds;
    double *lambda, *kept;        /* (rows): the iterate in the user's order, and a kept one */
    double *velocity, *magnitude; /* (velocities): M^-1 J^T lambda, |M^-1| |J^T| |lambda| */
    double *force;                /* (velocities): before a product with a full M^-1 */
    cs_device_part_verdict *part; /* (parts): of blocks of threads */
    int64_t parts;
    cs_device_part_verdict *verdict; /* of all of them */
    int *grown;
    double *direction;       /* (rows) */
    cs_device_ray *ray_part; /* (parts), then that of all */
} cs_device_verdict;

/* The blocks of threads of a verdict that have a group's contacts. */
static inline int64_t cs_verdict_parts(int64_t contacts)
{
    return (contacts + CS_DEVICE_THREADS - 1) / CS_DEVICE_THREADS;
}

/* Memory is taken in multiples of these bytes. */
enum { CS_DEVICE_UNIT = 512 };

static inline size_t cs_device_units(size_t bytes)
{
    return (bytes + (CS_DEVICE_UNIT - 1)) / CS_DEVICE_UNIT * CS_DEVICE_UNIT;
}

/* The natural map of a block of threads, as cs_batch_map. */
typedef struct cs_device_map {
    double impulse, velocity, scaled, excess, infinite;
} cs_device_map;

/* Of b, where P_C(0) = 0 (measure/natural_map_scale.c): max a_s Delta_s(0), and max |b|. More than 0: P_C(0) is not 0;
 * some b is not finite. */
typedef struct cs_device_zero {
    double speed, largest, moved, infinite;
} cs_device_zero;

/* What the host reads after sweeps, in one copy. */
typedef struct cs_device_report {
    cs_device_state state;
    cs_device_map map;              /* over the factors */
    cs_device_part_verdict verdict; /* as given */
    cs_device_zero zero;            /* of b; read alone */
} cs_device_report;

typedef struct cs_device {
    const char *name;
    int64_t layout; /* cs_device_layout of the module */

    /* NULL if there is a device, or a sentence that says why there is none. */
    const char *(*missing)(void);

    /* Memory of a queue, zeroed; it is freed with the queue. `room`: how many bytes can be taken. */
    cs_status (*open)(cs_queue **queue, cs_error *error);
    void (*close)(cs_queue *queue);
    size_t (*room)(cs_queue *queue);
    cs_status (*take)(cs_queue *queue, void **memory, size_t bytes, cs_error *error);
    /* Copies. The caller may change `from` when `upload` returns. */
    void (*upload)(cs_queue *queue, void *to, const void *from, size_t bytes);
    void (*download)(cs_queue *queue, void *to, const void *from, size_t bytes); /* waits */
    void (*copy)(cs_queue *queue, void *to, const void *from, size_t bytes);
    void (*zero)(cs_queue *queue, void *to, size_t bytes);

    /* Runs steps. */
    void (*run)(cs_queue *queue, const cs_device_program *program, const cs_device_step *step,
                int64_t steps);
    /* Runs the steps of a sweep and ends it: statistics and cs_device_state from those of its blocks. `captured`: in a
     * graph that is captured at the first call with these steps and replayed by the others. */
    void (*sweep)(cs_queue *queue, const cs_device_program *program, const cs_device_step *step,
                  int64_t steps, int captured);
    void (*chip)(cs_queue *queue, cs_chip_limits *limits);
    /* Lays out a launch by dataflow, for the kernel of a group and the kind of all sets (-1: several), or of `several` groups.
     * plan->blocks <- 0 if a block cannot share plan->least bytes. */
    void (*plan)(cs_queue *queue, cs_dtype dtype, const cs_packed_group *group, int set,
                 int several, cs_flow_plan *plan);
    /* How many blocks that sweep regions, with so many bytes shared, are resident at once: for the kernel of a group and
     * the kind of all sets (-1: several). */
    int64_t (*resident)(cs_queue *queue, cs_dtype dtype, const cs_packed_group *group, int set,
                        int64_t shared);
    /* Makes several sweeps, and ends them, unless the call has ended. */
    void (*flow)(cs_queue *queue, const cs_device_program *program, const cs_device_flow *flow);

    /* Makes up to parts->sweeps sweeps of each part that is open. Fails if parts->per is not possible. */
    cs_status (*solve_parts)(cs_queue *queue, const cs_device_program *program,
                             cs_device_parts *parts, cs_error *error);

    void (*pass)(cs_queue *queue, const cs_device_pass *pass);
    void (*unpack)(cs_queue *queue, const cs_device_rows *rows);
    void (*pack)(cs_queue *queue, const cs_device_rows *rows);
    /* Adds to *found if one of `count` numbers is not finite. */
    void (*look_for_infinite)(cs_queue *queue, int64_t count, const double *numbers, int *found);
    /* velocity <- M^-1 J^T lambda; *verdict <- the verdict on lambda, with the floor if `floor`; adds to *grown if some impulse
     * is at least `least` rho V. */
    void (*move)(cs_queue *queue, const cs_device_verdict *verdict);
    void (*judge)(cs_queue *queue, const cs_device_verdict *verdict, int floor);
    void (*look_for_growth)(cs_queue *queue, const cs_device_verdict *verdict, cs_ray_part what,
                            double least);
    /* *zero <- what V follows from, for the b of the verdict. */
    void (*find_speeds)(cs_queue *queue, const cs_device_verdict *verdict, cs_device_zero *zero);
    /* direction <- the projection of the call's into K; ray_part[parts] <- its sums. */
    void (*measure_ray)(cs_queue *queue, const cs_device_verdict *verdict, const cs_ray_call *call);
    /* map (blocks of the group's batches) <- their natural maps, in double precision. */
    void (*measure)(cs_queue *queue, const cs_device_program *program, int group,
                    const cs_device_map *bounds, cs_device_map *map);
    /* all <- the largest numbers of so many of them. */
    void (*join_maps)(cs_queue *queue, int64_t count, const cs_device_map *map, cs_device_map *all);

    /* Waits for all work, and reports what has failed. */
    cs_status (*wait)(cs_queue *queue, cs_error *error);
    /* The same for work that is known to be over. */
    cs_status (*failed)(cs_queue *queue, cs_error *error);

    /* Behind ray_part[parts]: <- the sums of all directions (backend/device_ray.h) with the images at a sample of one group. */
    void (*measure_directions)(cs_queue *queue, const cs_device_verdict *verdict, int sampled,
                               const cs_ray_call *call);
} cs_device;

/* A number that differs where the two sides were compiled with other headers. */
static inline int64_t cs_device_layout(void)
{
    return (int64_t)(sizeof(cs_packed) + 1000 * sizeof(cs_packed_group) +
                     1000000 * (sizeof(cs_device_program) + sizeof(cs_device_flow) +
                                sizeof(cs_device_parts) + sizeof(cs_device_verdict)) +
                     1000000000 * sizeof(cs_device));
}

/* The i-th name of what can run sweeps: "cpu", then devices, loaded or not; NULL past the end. */
const char *cs_device_name(int i, const char **summary);

/* Makes a device known, whose table exists as long as the process. */
cs_status cs_device_register(const cs_device *device, cs_error *error);

/* backend <- that of the processor ("cpu") or of a device, or an error if it cannot be used. */
cs_status cs_device_backend(const char *name, const cs_backend **backend, cs_error *error);

#endif

/* What the files of the device's backend share. */
#ifndef CS_DEVICE_INTERNAL_H
#define CS_DEVICE_INTERNAL_H

#include "backend/device.h"
#include "backend/device_flow.h"
#include "backend/device_ray.h"
#include "core/error.h"

/* Memory for iterates that a launch of several sweeps keeps, and sweeps whose iterates are kept in any case. */
#define CS_FLOW_ITERATES ((int64_t)1 << 28)
enum { CS_FLOW_LEAST_SWEEPS = 8 };

/* The same over whole rows of T: on the chip as many as there can be, because each launch brings T to it anew. */
static inline int64_t cs_flow_sweeps(const cs_flow_lists *lists)
{
    return lists->way == CS_FLOW_ON_CHIP ? CS_DENSE_SWEEPS : cs_dense_sweeps(&lists->dense);
}

/* The steps of a sweep, in both directions, or of a refresh. */
typedef struct cs_step_list {
    cs_device_step *step;
    int64_t count, blocks; /* blocks of threads that write statistics */
    int64_t
        *stage_end; /* (stages): of a sweep, where the steps of each stage end, in their order */
} cs_step_list;

/* The state of a packing. */
typedef struct cs_on_device {
    const cs_device *device;
    cs_queue *queue;
    cs_packed packed;          /* on the host */
    cs_device_program program; /* the same on the device */
    cs_packed_group *group;    /* (groups): program.group */
    cs_step_list sweep[2];     /* forwards, backwards */
    cs_step_list refresh, subtract;
    int measures;
    cs_device_map *map_there;         /* (map_blocks): of blocks of threads of all groups */
    cs_device_report *report_there;   /* whose state is program.state */
    cs_device_report report;          /* the last one, of which these are of the present lambda: */
    int mapped, judged, judged_floor; /* map; verdict, and its floor */
    double *sums, *sums_there;        /* (chunks) */
    int64_t chunks, map_blocks;
    cs_error failure; /* the first one outside `sweep`, which reports it */
    cs_status failed;
    int64_t bytes; /* taken on the device, or counted */
    int current; /* packed.lambda on the host, or `plain`, is what the device has: 0 once that changes */
    int unpacked;    /* the same of verdict.lambda, */
    int moved;       /* and of verdict.velocity */
    int64_t **block; /* (groups): on the device, of cs_device_rows */
    int counts;      /* memory is counted, not taken */
    cs_point *point; /* (room_for_points): on the device; owned */
    int64_t room_for_points, made_points, taken_points;
    cs_device_sweeps sweeps;
    int single_prox;     /* see cs_pack_request */
    void *iterates;      /* (most_sweeps, impulses): of launches of several sweeps */
    int64_t most_sweeps; /* of a launch that keeps iterates, at most CS_FLOW_SWEEPS */
    cs_flow_lists lists;
    cs_device_flow flow;
    int changes; /* whether changes may be measured: the memory of `changed` and program.changes */
    cs_device_changed_rows *changed; /* (groups) */
    cs_device_parts parts;           /* without count until they are first solved */
    int packs_there; /* b and the parameters are put into the order of visits on the device */
    int judges, several_speeds; /* verdicts are computed there; islands have a speed V each */
    double *given_b, *given_parameters; /* (rows), (parameters): as given, on the device; or NULL */
    cs_adjacency adjacency;             /* of the problem, for verdicts */
    double *plain; /* (rows): on the host, lambda in the user's order where verdicts are given */
    cs_device_verdict verdict;
    int sampled;  /* the group of which contacts are sampled for directions, or -1 */
    int directed; /* `direction` has the sums of lambda and of what is kept */
    cs_device_ray direction[CS_RAY_DIRECTIONS];
    cs_device_blocks *blocks; /* (groups) */
    cs_device_bodies *bodies; /* (groups of bodies) */
} cs_on_device;

/* The device of a backend made by cs_device_backend. */
typedef struct cs_device_backed {
    cs_backend table;
    const cs_device *device;
} cs_device_backed;

/* The functions of every device's backend, without its name. */
extern const cs_backend cs_device_functions;

static inline int64_t cs_quotient(int64_t count, int64_t size) { return (count + size - 1) / size; }

/* The length of u without the spare velocities. */
static inline int64_t cs_device_velocities(const cs_on_device *d)
{
    return d->packed.velocity ? d->packed.first_spare : 0;
}

static inline cs_status cs_no_workspace(cs_error *error)
{
    return cs_no_memory(error, "the workspace");
}

/* ---- device_copy.c ------------------------------------------------------------------------------- */

/* Memory on the device; NULL after a failure, and where it is counted only. */
void *cs_device_take(cs_on_device *d, size_t bytes);

/* A copy of an array on the device; NULL for NULL. */
void *cs_device_copy_of(cs_on_device *d, const void *from, size_t bytes);

/* Ends a count of memory, which began with `before` bytes and d->counts = 1. Fails if what was counted is more than there
 * is; `what` needs it. */
cs_status cs_device_end_count(cs_on_device *d, int64_t before, const char *what, cs_error *error);

/* Copies an array to the device; nothing if one of them is NULL. */
void cs_device_upload(const cs_on_device *d, void *to, const void *from, size_t bytes);

/* Write what depends on b or on the parameters of the sets of group g, and what depends on R. */
void cs_device_upload_data(cs_on_device *d, int g, int b, int parameters);
void cs_device_upload_steps(cs_on_device *d, int g);

/* Writes what depends on J and M^-1: factors, what natural maps read, and the roots of M^-1 if they have changed. */
void cs_device_upload_factors(cs_on_device *d, int roots);

/* Takes the memory of all that is packed and of `points` points, and copies what is known; rho (rows): for verdicts, or
 * NULL. Fails before it takes any if there is too little. */
cs_status cs_device_copy_all(cs_on_device *d, int64_t points, const double *rho, cs_error *error);

/* ---- device_arrays.c ----------------------------------------------------------------------------- */

/* The table of cs_backend. */
extern const cs_arrays_there cs_device_arrays;

/* Whether impulses and b in the user's order are put into that of the visits on the device. */
static inline int cs_device_takes_arrays(const cs_on_device *d)
{
    return d->judges && d->packs_there;
}

/* Puts numbers that were given, `rows` for each contact of group g, into the order of visits; the impulses from
 * verdict.lambda, with zero in unused lanes; b from given_b. */
void cs_device_pack_there(cs_on_device *d, int g, int rows, double *given, void *packed);
void cs_device_pack_impulses(cs_on_device *d);
void cs_device_pack_b(cs_on_device *d);

/* The get_there of cs_backend. */
cs_status cs_device_get_there(void *state, const double *impulses, double *to, int *found,
                              cs_error *error);

/* `rows` numbers for each contact of group g: in the order of visits, and as given. */
cs_device_rows cs_device_rows_of(const cs_on_device *d, int g, int rows, void *packed,
                                 double *plain);

/* The impulses of group g on the device. */
void *cs_device_impulses(const cs_on_device *d, int g);

/* to (rows), on the device, <- lambda in the user's order. */
void cs_device_unpack(cs_on_device *d, double *to);

/* lambda has changed: what else has been made of it is old. */
static inline void cs_device_changed(cs_on_device *d)
{
    d->current = d->unpacked = d->moved = d->mapped = d->judged = d->judged_floor = 0;
    d->directed = 0;
}

/* ---- device_verdict.c ---------------------------------------------------------------------------- */

/* Whether verdicts will be computed on the device; and what the host prepares for them. */
cs_status cs_device_prepare_verdicts(cs_on_device *d, const cs_pack_request *request,
                                     cs_arena *arena, cs_error *error);

/* Takes the memory of b and the parameters as given, and of verdicts, and copies what does not depend on b. */
void cs_device_copy_verdict(cs_on_device *d, const double *rho);

/* V (blocks), for verdicts and tests of growth; copied if it is new. */
void cs_device_take_speeds(cs_on_device *d, const double *scale, int is_new);

/* Asks for the verdict on lambda, which comes with the next report. */
void cs_device_ask_verdict(cs_on_device *d, const cs_verdict_call *call);

/* impulses (rows) <- lambda, which the device puts into the user's order. */
void cs_device_get_plain(cs_on_device *d, double *impulses);

/* d->report <- that of the device. Waits. */
void cs_device_read_report(cs_on_device *d);

/* Writes what has changed of J, M^-1 and rho. */
void cs_device_refill_verdict(cs_on_device *d, const double *rho, int roots);

/* The table of cs_backend. */
extern const cs_verdicts cs_device_verdicts;

/* ---- device_parts.c ------------------------------------------------------------------------------ */

cs_status cs_device_solve_parts(void *state, cs_parts_call *call, cs_error *error);

/* ---- device_ranks.c ------------------------------------------------------------------------------ */

/* Refuses what ranks with devices do not have. Equal on all ranks. */
cs_status cs_device_check_ranks(const cs_pack_request *request, const char *name, cs_error *error);

/* u of ghosts <- that of their owners, after a stage; of all ghosts with CS_ALL_GHOSTS. Collective. */
void cs_device_exchange(cs_on_device *d, int64_t stage);

/* The `sweep` of cs_backend on ranks. Collective. */
cs_status cs_device_sweep_on_ranks(cs_on_device *d, cs_sweep_call *call, cs_error *error);

/* ---- device_steps.c ------------------------------------------------------------------------------ */

/* Lists the steps of sweeps in both directions, of a refresh and of a subtraction. */
cs_status cs_device_list_steps(cs_on_device *d, cs_arena *arena, cs_error *error);

#endif

#include "cloth/collisions.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/vector.h"

#include <string.h>

/* Counted as work between two questions, so that each asks. */
cs_status cs_ask_caller(const cs_response_call *call, cs_error *error)
{
    if (!cs_is_cancelled(call->cancellation, CS_CANCELLATION_WORK)) return CS_OK;
    return cs_fail(error, CS_INTERRUPTED, "the step was interrupted");
}

/* Room for later changes of a motion, in thicknesses: with less, new candidates are needed more often; with more, there are more. */
#define SLACK 1.0

/* The ends of the motion, and candidates anew where it leaves the boxes; hits <- the pairs that meet. */
static cs_status look(cs_collisions *c, const cs_response_call *call, int64_t *hits,
                      cs_error *error)
{
    cs_status status = cs_ask_caller(call, error);
    cs_move_ends(c);
    if (!status && !cs_holds_motion(c))
        status = cs_find_candidates(c, c->end, SLACK * c->options.thickness, call, error);
    *hits = status ? 0 : cs_find_hits(c, call);
    return status;
}

/* The vertices of hits lose their shift; returns whether one had any. */
static int drop_shift(cs_collisions *c)
{
    int has_dropped = 0;
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        const unsigned char *state = c->pairs[kind].state.data;
        for (int64_t i = 0; i < c->pairs[kind].count; i++) {
            const int64_t *vertex = cs_candidate(&c->pairs[kind], i);
            for (int k = 0; state[i] == CS_PAIR_HIT && k < CS_STENCIL_VERTICES; k++) {
                double *shift = c->shift + 3 * vertex[k];
                if (shift[0] == 0 && shift[1] == 0 && shift[2] == 0) continue;
                cs_set_vector(shift, 0, 0, 0);
                c->is_moved[vertex[k]] = 1;
                has_dropped = 1;
            }
        }
    }
    return has_dropped;
}

/* Passes in which vertices lose their shift. */
enum { MOST_DROPS = 4 };

/* What meets because a shift has moved it stops without an impulse, which would leave a velocity. */
static cs_status stop_shift(cs_collisions *c, const cs_response_call *call, int64_t *hits,
                            cs_error *error)
{
    cs_status status = CS_OK;
    for (int n = 0; !status && *hits && n < MOST_DROPS && drop_shift(c); n++)
        status = look(c, call, hits, error);
    return status;
}

/* Passes without fewer hits, after which zones take over: contacts may contradict each other. */
enum { MOST_IDLE = 4 };

/* Stops what meets, and looks again, until nothing meets or the passes are used up. */
static cs_status stop_impacts(cs_collisions *c, const cs_response_call *call, int64_t *hits,
                              cs_error *error)
{
    int64_t most = c->options.iterations, fewest = INT64_MAX, idle = 0;
    cs_status status = CS_OK;
    for (int64_t pass = 0; !status && *hits && pass < most && idle < MOST_IDLE; pass++) {
        idle = *hits < fewest ? 0 : idle + 1;
        fewest = *hits < fewest ? *hits : fewest;
        double beyond = (double)(2 * pass - most) / (double)most;
        status = cs_add_impacts(c, beyond > 0 ? beyond : 0, error);
        if (!status) status = cs_sweep_contacts(c, call, error);
        if (!status) status = look(c, call, hits, error);
        c->present.passes++;
    }
    return status;
}

/* Zones grow until nothing meets. One that cannot grow has failed. */
static cs_status move_zones(cs_collisions *c, const cs_response_call *call, int64_t *hits,
                            cs_error *error)
{
    cs_status status = CS_OK;
    int has_grown = 1;
    cs_reset_zones(c);
    for (int64_t pass = 0; !status && *hits && has_grown && pass < c->options.zones; pass++) {
        status = cs_move_zones(c, &has_grown, error);
        if (!status) status = look(c, call, hits, error);
    }
    return status;
}

/* What each obstacle has given to the cloth by contacts; zones have told theirs. */
static void sum_impulses(cs_collisions *c)
{
    const cs_contact *contact = c->contact.data;
    for (int64_t n = 0; n < c->contacts; n++, contact++) {
        double part = 0;
        cs_obstacle *o = NULL;
        for (int k = 0; k < CS_STENCIL_VERTICES; k++) {
            if (contact->vertex[k] < c->cloth) part += contact->weight[k];
            else o = cs_obstacle_of(c, contact->vertex[k]);
        }
        if (o) cs_add_scaled(o->impulse, part, contact->impulse, o->impulse);
    }
}

/* Repulsion; then, if the motion is not free of hits yet, stopping impulses and zones. */
static cs_status respond(cs_collisions *c, const cs_response_call *call, cs_error *error)
{
    int64_t hits;
    cs_status status = cs_solve_contacts(c, call, error);
    cs_move_ends(c);
    if (!status) status = cs_ask_caller(call, error);
    if (!status) status = cs_certify(c, call, &hits, error);
    if (status || !hits) return status;

    status = stop_shift(c, call, &hits, error);
    if (!status) status = stop_impacts(c, call, &hits, error);
    if (!status && hits) status = move_zones(c, call, &hits, error);
    return status || hits ? status : cs_certify(c, call, &hits, error);
}

/* Seconds that are told apart from those of the response. */
static double others(const cs_collision_report *r)
{
    return r->candidate_seconds + r->narrow_seconds + r->certificate_seconds;
}

cs_status cs_collisions_respond(cs_collisions *c, double *v, double *x1,
                                const cs_response_call *call, cs_error *error)
{
    double begun = cs_clock(), before = others(&c->present);
    cs_status status = respond(c, call, error);
    if (status) return status;
    sum_impulses(c);
    memcpy(v, c->velocity, sizeof *v * (size_t)(3 * c->cloth));
    memcpy(x1, c->end, sizeof *x1 * (size_t)(3 * c->cloth));
    c->present.response_seconds = cs_clock() - begun - (others(&c->present) - before);
    return CS_OK;
}

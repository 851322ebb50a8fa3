/* The certificate of a step: no two primitives meet on the straight lines between its stored positions, judged by new candidates
 * from boxes of these positions. */
#include "cloth/collisions.h"

#include "core/clock.h"

cs_status cs_certify(cs_collisions *c, const cs_response_call *call, int64_t *hits, cs_error *error)
{
    /* The seconds are those of the certificate. */
    double begun = cs_clock();
    cs_collision_report before = c->present;
    cs_status status = cs_find_candidates(c, c->end, 0, call, error);
    *hits = status ? 0 : cs_find_hits(c, call);
    if (*hits) status = cs_refuse_told_hits(c, call, error);
    c->present.is_free = !status && !*hits;
    c->present.candidate_seconds = before.candidate_seconds;
    c->present.narrow_seconds = before.narrow_seconds;
    c->present.certificate_seconds += cs_clock() - begun;
    return status;
}

/* The certificate of a step: no two primitives meet on the straight lines between its stored positions, judged by new candidates
 * from boxes of these positions. */
#include "cloth/collisions.h"

#include "core/clock.h"

cs_status cs_certify(cs_collisions *c, const cs_response_call *call, cs_error *error)
{
    /* The seconds and numbers of the response are not those of the certificate. */
    double begun = cs_clock();
    cs_collision_report report = c->report;
    cs_status status = cs_find_candidates(c, 0, call, error);
    int64_t hits = status ? 0 : cs_find_hits(c, call);
    c->report = report;
    c->report.is_free = !status && !hits;
    c->report.certificate_seconds += cs_clock() - begun;
    return status;
}

/* Contacts of the step before: their forces are where the sweeps of a step begin. */
#include "cloth/collisions.h"

#include "core/error.h"
#include "core/vector.h"

void cs_collisions_forget(cs_collisions *c)
{
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) c->formers[kind] = 0;
}

/* impulse <- the force for the time of a step, along the normal as it is now, and across it. Of an impact, whose force was larger
 * than in the step before, that of the step before: the next one would throw the vertices back. */
static void take(cs_contact *contact, const cs_former *former, double h, double mu, double *impulse)
{
    double across[3], along = cs_dot(contact->normal, former->force);
    cs_add_scaled(former->force, -along, contact->normal, across);
    contact->former = along > 0 ? along : 0;
    double kept = contact->former < former->before ? contact->former : former->before;
    double most = mu * kept, length = cs_length(across), part = length > most ? most / length : 1;
    for (int k = 0; k < 3; k++) impulse[k] = h * (kept * contact->normal[k] + part * across[k]);
}

cs_status cs_take_formers(cs_collisions *c, cs_error *error)
{
    cs_contact *contact = c->contact.data;
    double *impulse = cs_scratch(c, 3 * c->contacts, sizeof *impulse);
    int64_t n = 0;
    if (!impulse) return cs_no_memory(error, "%lld contacts", (long long)c->contacts);
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        const cs_former *former = c->former[kind].data, *end = former + c->formers[kind];
        for (; n < c->contacts && contact[n].kind == (cs_stencil_kind)kind; n++) {
            while (former < end && former->key < contact[n].key) former++;
            cs_set_vector(impulse + 3 * n, 0, 0, 0);
            if (former < end && former->key == contact[n].key)
                take(&contact[n], former, c->h, c->options.mu, impulse + 3 * n);
        }
    }
    cs_give_impulses(c, impulse);
    return CS_OK;
}

cs_status cs_keep_formers(cs_collisions *c, cs_error *error)
{
    const cs_contact *contact = c->contact.data;
    cs_collisions_forget(c);
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++)
        if (!cs_buffer_room(&c->former[kind], c->contacts, sizeof(cs_former)))
            return cs_no_memory(error, "%lld contacts", (long long)c->contacts);
    for (int64_t n = 0; n < c->contacts; n++) {
        if (contact[n].is_impact) continue;
        cs_former *to = c->former[contact[n].kind].data;
        to += c->formers[contact[n].kind]++;
        to->key = contact[n].key;
        to->before = contact[n].former;
        for (int k = 0; k < 3; k++) to->force[k] = contact[n].impulse[k] / c->h;
    }
    return CS_OK;
}

/* Contacts of the step before: their forces are where the sweeps of a step begin. */
#include "cloth/collisions.h"

#include "core/error.h"
#include "core/vector.h"

void cs_collisions_forget(cs_collisions *c)
{
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) c->formers[kind] = 0;
}

/* impulse <- the force for the time of a step, along the normal as it is now, and across it. */
static void take(cs_contact *contact, const cs_former *former, double h, double mu)
{
    double across[3], along = cs_dot(contact->normal, former->force);
    cs_add_scaled(former->force, -along, contact->normal, across);
    cs_draw_to_cone(contact->normal, along, across, mu, contact->impulse);
    for (int k = 0; k < 3; k++) contact->impulse[k] *= h;
}

void cs_take_formers(cs_collisions *c)
{
    cs_contact *contact = c->contact.data;
    int64_t n = 0;
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        const cs_former *former = c->former[kind].data, *end = former + c->formers[kind];
        for (; n < c->contacts && contact[n].kind == (cs_stencil_kind)kind; n++) {
            while (former < end && former->key < contact[n].key) former++;
            contact[n].had_force = former < end && former->key == contact[n].key;
            if (contact[n].had_force) take(&contact[n], former, c->h, c->options.mu);
        }
    }
}

void cs_add_former_impulses(const cs_collisions *c, double *right)
{
    const cs_contact *contact = c->contact.data;
    for (int64_t n = 0; n < c->contacts; n++, contact++)
        for (int k = 0; k < CS_STENCIL_VERTICES; k++) {
            int64_t i = contact->vertex[k];
            if (!(c->inverse_mass[i] > 0)) continue;
            cs_add_scaled(right + 3 * i, contact->weight[k], contact->impulse, right + 3 * i);
        }
}

/* The force of a contact that is new has stopped its vertices, and would throw them back: it is not kept. */
cs_status cs_keep_formers(cs_collisions *c, cs_error *error)
{
    const cs_contact *contact = c->contact.data;
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++)
        if (!cs_buffer_grown(&c->former[kind], c->contacts, c->formers[kind], sizeof(cs_former)))
            return cs_no_memory(error, "%lld contacts", (long long)c->contacts);
    cs_collisions_forget(c);
    for (int64_t n = 0; n < c->contacts; n++) {
        if (contact[n].is_impact) continue;
        cs_former *to = c->former[contact[n].kind].data;
        to += c->formers[contact[n].kind]++;
        to->key = contact[n].key;
        for (int k = 0; k < 3; k++)
            to->force[k] = contact[n].had_force ? contact[n].impulse[k] / c->h : 0;
    }
    return CS_OK;
}

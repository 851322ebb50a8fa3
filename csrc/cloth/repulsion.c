/* Sweeps over all contacts: impulses that keep bounds and friction. */
#include "cloth/collisions.h"

#include "core/vector.h"

#include <string.h>

/* A change of the relative velocity, in thicknesses a step, that is worth no further visit. */
#define NEGLIGIBLE 1e-6

/* u <- sum w_i v_i */
static void relative_velocity(const cs_collisions *c, const cs_contact *contact, double *u)
{
    cs_set_vector(u, 0, 0, 0);
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        cs_add_scaled(u, contact->weight[k], c->velocity + 3 * contact->vertex[k], u);
}

/* to <- the impulse that meets the bound, P - (u - bound n) / a, drawn to the cone of Coulomb: no pull along the normal, and at
 * most mu times the normal part across it. */
static void find_impulse(const cs_contact *contact, const double *u, double mu, double *to)
{
    double all[3], across[3];
    cs_add_scaled(contact->impulse, -contact->inverse, u, all);
    double along = cs_dot(contact->normal, all);
    cs_add_scaled(all, -along, contact->normal, across);
    along += contact->inverse * contact->bound;
    if (!(along > 0)) along = 0;
    double most = mu * along, length = mu > 0 ? cs_length(across) : 0;
    double part = length > most ? most / length : mu > 0 ? 1 : 0;
    for (int k = 0; k < 3; k++) to[k] = along * contact->normal[k] + part * across[k];
}

/* Gives an impulse to the four vertices. */
static void apply(cs_collisions *c, const cs_contact *contact, const double *impulse)
{
    for (int k = 0; k < CS_STENCIL_VERTICES; k++) {
        int64_t i = contact->vertex[k];
        if (!(c->inverse_mass[i] > 0)) continue;
        double *v = c->velocity + 3 * i;
        cs_add_scaled(v, contact->weight[k] * c->inverse_mass[i], impulse, v);
        c->stamp[i] = c->clock;
        c->is_moved[i] = 1;
    }
}

/* Whether the velocity of one of its vertices has changed since the last visit. */
static int is_outdated(const cs_collisions *c, const cs_contact *contact)
{
    int64_t seen = contact->visited;
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        if (c->stamp[contact->vertex[k]] > seen) return 1;
    return 0;
}

/* Returns whether the impulse has changed. */
static int visit(cs_collisions *c, cs_contact *contact, double negligible)
{
    double u[3], impulse[3], change[3];
    relative_velocity(c, contact, u);
    find_impulse(contact, u, c->options.mu, impulse);
    cs_subtract(impulse, contact->impulse, change);
    c->clock++;
    contact->visited = c->clock;
    if (!(cs_length(change) > negligible * contact->inverse)) return 0;
    cs_assign(contact->impulse, impulse);
    apply(c, contact, change);
    return 1;
}

void cs_give_impulses(cs_collisions *c, const double *impulse)
{
    cs_contact *all = c->contact.data;
    c->clock++;
    for (int64_t n = 0; n < c->contacts; n++) {
        double change[3];
        cs_subtract(impulse + 3 * n, all[n].impulse, change);
        cs_assign(all[n].impulse, impulse + 3 * n);
        apply(c, &all[n], change);
    }
}

void cs_sweep_contacts(cs_collisions *c)
{
    double negligible = NEGLIGIBLE * c->options.thickness / c->h;
    cs_contact *all = c->contact.data;
    int has_changed = 1;
    for (int64_t sweep = 0; has_changed && sweep < c->options.stop_after; sweep++) {
        has_changed = 0;
        for (int64_t n = 0; n < c->contacts; n++) {
            cs_contact *contact = &all[sweep & 1 ? c->contacts - 1 - n : n];
            if (is_outdated(c, contact)) has_changed |= visit(c, contact, negligible);
        }
        c->report.sweeps++;
    }
}

void cs_move_ends(cs_collisions *c)
{
    for (int64_t i = 0; i < c->cloth; i++)
        for (int64_t k = 3 * i; c->is_moved[i] && k < 3 * i + 3; k++)
            c->end[k] = c->start[k] + c->h * c->velocity[k];
}

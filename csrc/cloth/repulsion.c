/* Sweeps over all contacts: impulses that keep bounds and friction, and the shift that undoes overlaps. */
#include "cloth/collisions.h"

#include "core/vector.h"

#include <string.h>

/* Changes of a relative velocity, in thicknesses a step: worth no further visit, and no further sweep. */
#define NEGLIGIBLE 1e-6
#define TOLERANCE 1e-4

/* Sweeps around impacts: others follow if they do not suffice. */
enum { FEW_SWEEPS = 6 };

/* ---- one contact ----------------------------------------------------------------------------------- */

/* u <- sum w_i v_i */
static void combine(const cs_contact *contact, const double *velocity, double *u)
{
    cs_set_vector(u, 0, 0, 0);
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        cs_add_scaled(u, contact->weight[k], velocity + 3 * contact->vertex[k], u);
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

/* Gives an impulse to the four vertices: to their velocities, or to their shift. */
static void apply(cs_collisions *c, const cs_contact *contact, const double *impulse, double *to)
{
    for (int k = 0; k < CS_STENCIL_VERTICES; k++) {
        int64_t i = contact->vertex[k];
        if (!(c->inverse_mass[i] > 0)) continue;
        cs_add_scaled(to + 3 * i, contact->weight[k] * c->inverse_mass[i], impulse, to + 3 * i);
        c->stamp[i] = c->clock;
        c->is_moved[i] = 1;
    }
}

/* Whether one of its vertices has changed since the last visit. */
static int is_outdated(const cs_collisions *c, const cs_contact *contact)
{
    int64_t seen = contact->visited;
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        if (c->stamp[contact->vertex[k]] > seen) return 1;
    return 0;
}

/* Returns the change of the relative velocity. */
static double visit(cs_collisions *c, cs_contact *contact, double negligible)
{
    double u[3], impulse[3], change[3];
    combine(contact, c->velocity, u);
    find_impulse(contact, u, c->options.mu, impulse);
    cs_subtract(impulse, contact->impulse, change);
    contact->visited = ++c->clock;
    double size = cs_length(change) / contact->inverse;
    if (!(size > negligible)) return 0;
    cs_assign(contact->impulse, impulse);
    apply(c, contact, change, c->velocity);
    return size;
}

/* The same of the shift: n . (u + shift) >= push, without friction. */
static double visit_shift(cs_collisions *c, cs_contact *contact, double negligible)
{
    double u[3], shift[3], change[3] = {0, 0, 0};
    combine(contact, c->velocity, u);
    combine(contact, c->shift, shift);
    contact->visited = ++c->clock;
    double lack = contact->push - cs_dot(contact->normal, u) - cs_dot(contact->normal, shift);
    double pushed = contact->pushed + contact->inverse * lack;
    if (!(pushed > 0)) pushed = 0;
    double by = pushed - contact->pushed, size = fabs(by) / contact->inverse;
    if (!(size > negligible)) return 0;
    contact->pushed = pushed;
    cs_add_scaled(change, by, contact->normal, change);
    apply(c, contact, change, c->shift);
    return size;
}

void cs_contact_rate(const cs_collisions *c, const cs_contact *contact, double *u)
{
    combine(contact, c->velocity, u);
}

void cs_give_impulses(cs_collisions *c, const double *impulse)
{
    cs_contact *all = c->contact.data;
    c->clock++;
    for (int64_t n = 0; n < c->contacts; n++) {
        double change[3];
        cs_subtract(impulse + 3 * n, all[n].impulse, change);
        cs_assign(all[n].impulse, impulse + 3 * n);
        apply(c, &all[n], change, c->velocity);
    }
}

void cs_apply_impulses(cs_collisions *c)
{
    const cs_contact *all = c->contact.data;
    c->clock++;
    for (int64_t n = 0; n < c->contacts; n++) apply(c, &all[n], all[n].impulse, c->velocity);
}

/* ---- all contacts ---------------------------------------------------------------------------------- */

typedef double (*visiting)(cs_collisions *c, cs_contact *contact, double negligible);

/* Visits what is outdated, or all; returns the largest change of a relative velocity. */
static double sweep(cs_collisions *c, visiting work, int is_backward, int is_full)
{
    double most = 0, part = is_full ? NEGLIGIBLE : TOLERANCE;
    double negligible = part * c->options.thickness / c->h;
    cs_contact *all = c->contact.data;
    for (int64_t n = 0; n < c->contacts; n++) {
        cs_contact *contact = &all[is_backward ? c->contacts - 1 - n : n];
        if (!is_full && !is_outdated(c, contact)) continue;
        double change = work(c, contact, negligible);
        if (change > most) most = change;
    }
    c->present.sweeps++;
    return most;
}

void cs_sweep_contacts(cs_collisions *c)
{
    double enough = TOLERANCE * c->options.thickness / c->h;
    for (int64_t n = 0; n < FEW_SWEEPS; n++)
        if (sweep(c, visit, n & 1, 0) <= enough) return;
}

/* Where contacts push against each other, the last one in a sweep has its will: half the way between two sweeps, forth and back,
 * is in the middle. */
static void share_shift(cs_collisions *c)
{
    cs_contact *all = c->contact.data;
    c->clock++;
    for (int64_t n = 0; n < c->contacts; n++) {
        double change[3] = {0, 0, 0}, by = (all[n].last_pushed - all[n].pushed) / 2;
        all[n].pushed += by;
        cs_add_scaled(change, by, all[n].normal, change);
        if (by != 0) apply(c, &all[n], change, c->shift);
    }
}

/* The shift begins from none. */
static void shift_contacts(cs_collisions *c)
{
    double enough = TOLERANCE * c->options.thickness / c->h;
    cs_contact *all = c->contact.data;
    for (int64_t n = 0; n < c->options.stop_after; n++) {
        for (int64_t i = 0; i < c->contacts; i++) all[i].last_pushed = all[i].pushed;
        if (sweep(c, visit_shift, n & 1, n == 0) <= enough) return;
    }
    share_shift(c);
}

/* What a sweep has changed, along which the next iteration goes on. Returns its square in the norm of the diagonal. */
static double find_square(const cs_collisions *c)
{
    const cs_contact *all = c->contact.data;
    double square = 0;
    for (int64_t n = 0; n < c->contacts; n++) {
        double change[3];
        cs_subtract(all[n].impulse, all[n].before, change);
        square += cs_dot(change, change) / all[n].inverse;
    }
    return square;
}

/* direction <- change + beta direction, and the impulses go on by beta times the last one. */
static void go_on(cs_collisions *c, double beta)
{
    cs_contact *all = c->contact.data;
    c->clock++;
    for (int64_t n = 0; n < c->contacts; n++) {
        double change[3], step[3] = {0, 0, 0};
        cs_contact *k = &all[n];
        cs_subtract(k->impulse, k->before, change);
        cs_add_scaled(step, beta, k->direction, step);
        cs_add_scaled(change, 1, step, k->direction);
        if (beta > 0) {
            cs_add_scaled(k->impulse, 1, step, k->impulse);
            apply(c, k, step, c->velocity);
        }
        cs_assign(k->before, k->impulse);
    }
}

/* Symmetric sweeps, accelerated by nonlinear conjugate gradients (Silcowitz-Hansen, Niebe and Erleben 2010): beta is the ratio of
 * the squares of two changes, and zero after a growth. */
static void solve_contacts(cs_collisions *c)
{
    double enough = TOLERANCE * c->options.thickness / c->h, last = 0;
    cs_contact *all = c->contact.data;
    for (int64_t n = 0; n < c->contacts; n++) cs_assign(all[n].before, all[n].impulse);
    for (int64_t n = 0; n < c->options.stop_after; n++) {
        double forth = sweep(c, visit, 0, 1), back = forth > enough ? sweep(c, visit, 1, 1) : 0;
        if (forth <= enough || back <= enough) break;
        double square = find_square(c), beta = last > 0 ? square / last : 0;
        last = square;
        if (n + 1 < c->options.stop_after) go_on(c, beta <= 1 ? beta : 0);
    }
}

void cs_solve_contacts(cs_collisions *c)
{
    if (!c->is_solved) solve_contacts(c);
    shift_contacts(c);
}

void cs_move_ends(cs_collisions *c)
{
    for (int64_t i = 0; i < c->cloth; i++)
        for (int64_t k = 3 * i; c->is_moved[i] && k < 3 * i + 3; k++)
            c->end[k] = c->start[k] + c->h * (c->velocity[k] + c->shift[k]);
}

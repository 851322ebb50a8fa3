/* Sweeps over all contacts: impulses that keep bounds and friction, and the shift that undoes overlaps. */
#include "cloth/sweeps.h"
#include "core/parallel.h"
#include "core/vector.h"

/* Changes of a relative velocity, in thicknesses a step: worth no further visit, and no further sweep. */
#define NEGLIGIBLE 1e-6
#define TOLERANCE 1e-4

/* Sweeps around impacts: others follow if they do not suffice. */
enum { FEW_SWEEPS = 6 };

/* ---- contacts of the list ------------------------------------------------------------------------- */

void cs_contact_rate(const cs_collisions *c, const cs_contact *contact, double *u)
{
    cs_set_vector(u, 0, 0, 0);
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        cs_add_scaled(u, contact->weight[k], c->velocity + 3 * contact->vertex[k], u);
}

/* Gives an impulse to a vertex: to its velocity, or to its shift. */
static inline void push_vertex(const cs_collisions *c, int64_t i, double weight,
                               const double *impulse, double *to)
{
    double inverse_mass = c->inverse_mass[i];
    if (!(inverse_mass > 0)) return;
    cs_add_scaled(to + 3 * i, weight * inverse_mass, impulse, to + 3 * i);
    /* Threads share the lines of these bytes: a write that changes nothing would take them away. */
    if (!c->is_moved[i]) c->is_moved[i] = 1;
}

static void apply_to_list(cs_collisions *c, const cs_contact *contact, const double *impulse)
{
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        push_vertex(c, contact->vertex[k], contact->weight[k], impulse, c->velocity);
}

void cs_give_impulses(cs_collisions *c, const double *impulse)
{
    cs_contact *all = c->contact.data;
    for (int64_t n = 0; n < c->contacts; n++) {
        double change[3];
        cs_subtract(impulse + 3 * n, all[n].impulse, change);
        cs_assign(all[n].impulse, impulse + 3 * n);
        apply_to_list(c, &all[n], change);
    }
}

void cs_apply_impulses(cs_collisions *c)
{
    const cs_contact *all = c->contact.data;
    for (int64_t n = 0; n < c->contacts; n++) apply_to_list(c, &all[n], all[n].impulse);
}

static inline double larger(double a, double b) { return a > b ? a : b; }

/* ---- one visit ------------------------------------------------------------------------------------ */

/* u <- sum w_i v_i */
static inline void combine(const cs_visit *v, const double *velocity, double *u)
{
    cs_set_vector(u, 0, 0, 0);
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        cs_add_scaled(u, v->weight[k], velocity + 3 * (int64_t)v->vertex[k], u);
}

/* to <- the impulse that meets the bound, P - (u - bound n) / a, drawn to the cone of Coulomb. */
static inline void find_impulse(const cs_visit *v, const double *u, double mu, double *to)
{
    double all[3], across[3];
    cs_add_scaled(v->impulse, -v->inverse, u, all);
    double along = cs_dot(v->normal, all);
    cs_add_scaled(all, -along, v->normal, across);
    cs_draw_to_cone(v->normal, along + v->inverse * v->bound, across, mu, to);
}

static inline void apply(const cs_collisions *c, const cs_visit *v, const double *impulse,
                         double *to)
{
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        push_vertex(c, v->vertex[k], v->weight[k], impulse, to);
}

/* Returns the change of the relative velocity, or zero if it is negligible and was not made. */
static inline double visit(const cs_collisions *c, cs_visit *v, double negligible)
{
    double u[3], impulse[3], change[3];
    combine(v, c->velocity, u);
    find_impulse(v, u, c->options.mu, impulse);
    cs_subtract(impulse, v->impulse, change);
    double size = cs_length(change) / v->inverse;
    if (!(size > negligible)) return 0;
    cs_assign(v->impulse, impulse);
    apply(c, v, change, c->velocity);
    return size;
}

/* The same of the shift: n . shift >= push, without friction. */
static inline double visit_shift(const cs_collisions *c, cs_visit *v, double negligible)
{
    double shift[3], change[3] = {0, 0, 0};
    combine(v, c->shift, shift);
    double pushed = v->pushed + v->inverse * (v->push - cs_dot(v->normal, shift));
    if (!(pushed > 0)) pushed = 0;
    double by = pushed - v->pushed, size = fabs(by) / v->inverse;
    if (!(size > negligible)) return 0;
    v->pushed = pushed;
    cs_add_scaled(change, by, v->normal, change);
    apply(c, v, change, c->shift);
    return size;
}

/* Whether one of its vertices has changed since the last visit. */
static inline int is_outdated(const cs_collisions *c, const cs_visit *v, const cs_trail *trail)
{
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        if (c->stamp[v->vertex[k]] > trail->visited) return 1;
    return 0;
}

/* Its vertices have changed. */
static inline void stamp(const cs_collisions *c, const cs_visit *v, int64_t clock)
{
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        if (c->inverse_mass[v->vertex[k]] > 0) c->stamp[v->vertex[k]] = clock;
}

/* ---- pieces --------------------------------------------------------------------------------------- */

static void sweep_forth(cs_sweeping *s, const cs_piece *p)
{
    double most = 0;
    for (int64_t n = 0; n < p->count; n++)
        most = larger(most, visit(s->c, &p->visit[cs_nth(p, n)], s->negligible));
    ((double *)s->c->visits.change.data)[p->number] = most;
}

/* What both sweeps have changed, too: its square in the norm of the diagonal. */
static void sweep_back(cs_sweeping *s, const cs_piece *p)
{
    double square = 0;
    sweep_forth(s, p);
    for (int64_t n = 0; n < p->count; n++) {
        double change[3];
        const cs_visit *v = &p->visit[cs_nth(p, n)];
        cs_subtract(v->impulse, p->trail[cs_nth(p, n)].before, change);
        square += cs_dot(change, change) / v->inverse;
    }
    ((double *)s->c->visits.square.data)[p->number] = square;
}

/* direction <- change + beta direction, and the impulses go on by beta times the last one. */
static void go_on(cs_sweeping *s, const cs_piece *p)
{
    for (int64_t n = 0; n < p->count; n++) {
        cs_visit *v = &p->visit[cs_nth(p, n)];
        cs_trail *trail = &p->trail[cs_nth(p, n)];
        double change[3], step[3] = {0, 0, 0};
        cs_subtract(v->impulse, trail->before, change);
        cs_add_scaled(step, s->beta, trail->direction, step);
        cs_add_scaled(change, 1, step, trail->direction);
        if (s->beta > 0) {
            cs_add_scaled(v->impulse, 1, step, v->impulse);
            apply(s->c, v, step, s->c->velocity);
        }
        cs_assign(trail->before, v->impulse);
    }
}

typedef double (*visiting)(const cs_collisions *c, cs_visit *v, double negligible);

/* Visits what is outdated, or all. */
static inline void sweep_outdated(cs_sweeping *s, const cs_piece *p, visiting work)
{
    double most = 0;
    for (int64_t n = 0; n < p->count; n++) {
        cs_visit *v = &p->visit[cs_nth(p, n)];
        cs_trail *trail = &p->trail[cs_nth(p, n)];
        trail->last_pushed = v->pushed;
        if (!s->is_full && !is_outdated(s->c, v, trail)) continue;
        trail->visited = p->clock + n * p->ticks;
        double change = work(s->c, v, s->negligible);
        if (change > 0) stamp(s->c, v, trail->visited);
        most = larger(most, change);
    }
    ((double *)s->c->visits.change.data)[p->number] = most;
}

static void sweep_impacts(cs_sweeping *s, const cs_piece *p) { sweep_outdated(s, p, visit); }

static void sweep_shift(cs_sweeping *s, const cs_piece *p) { sweep_outdated(s, p, visit_shift); }

/* What velocities bring along the normal need not be pushed. */
static void begin_shift(cs_sweeping *s, const cs_piece *p)
{
    for (int64_t n = 0; n < p->count; n++) {
        cs_visit *v = &p->visit[cs_nth(p, n)];
        double u[3];
        combine(v, s->c->velocity, u);
        v->push -= cs_dot(v->normal, u);
    }
    sweep_shift(s, p);
}

/* Where contacts push against each other, the last one in a sweep has its will: half the way between two sweeps, forth and back,
 * is in the middle. */
static void share_shift(cs_sweeping *s, const cs_piece *p)
{
    for (int64_t n = 0; n < p->count; n++) {
        cs_visit *v = &p->visit[cs_nth(p, n)];
        double change[3] = {0, 0, 0}, by = (p->trail[cs_nth(p, n)].last_pushed - v->pushed) / 2;
        int64_t clock = p->clock + n * p->ticks;
        if (by == 0) continue;
        v->pushed += by;
        cs_add_scaled(change, by, v->normal, change);
        apply(s->c, v, change, s->c->shift);
        stamp(s->c, v, clock);
    }
}

/* ---- what follows --------------------------------------------------------------------------------- */

enum {
    FORTH,
    BACK,
    GO_ON,
    BEGIN_SHIFT,
    SHIFT_FORTH,
    SHIFT_BACK,
    SHARE,
    IMPACTS_FORTH,
    IMPACTS_BACK,
    LISTS
};

/* Results of pieces, in their order. */
static double find_most(const cs_visits *v)
{
    const double *change = v->change.data;
    double most = 0;
    for (int64_t n = 0; n < v->piece[v->groups]; n++) most = larger(most, change[n]);
    return most;
}

static double find_square(const cs_visits *v)
{
    const double *part = v->square.data;
    double square = 0;
    for (int64_t n = 0; n < v->piece[v->groups]; n++) square += part[n];
    return square;
}

/* Whether a sweep that has been made suffices. */
static int is_enough(cs_sweeping *s)
{
    s->c->present.sweeps++;
    return find_most(&s->c->visits) <= s->enough;
}

static int after_forth(cs_sweeping *s) { return is_enough(s) ? CS_NO_ROUND : BACK; }

/* beta is the ratio of the squares of two changes, and zero after a growth. */
static int after_back(cs_sweeping *s)
{
    if (is_enough(s) || ++s->made == s->most) return CS_NO_ROUND;
    double square = find_square(&s->c->visits);
    double beta = s->last_square > 0 ? square / s->last_square : 0;
    s->beta = beta <= 1 ? beta : 0;
    s->last_square = square;
    return GO_ON;
}

static int after_shift(cs_sweeping *s)
{
    if (is_enough(s)) return CS_NO_ROUND;
    s->is_full = 0;
    s->negligible = s->enough;
    if (++s->made == s->most) return SHARE;
    return s->made & 1 ? SHIFT_BACK : SHIFT_FORTH;
}

static int after_share(cs_sweeping *s)
{
    (void)s;
    return CS_NO_ROUND;
}

static int after_impacts(cs_sweeping *s)
{
    if (is_enough(s) || ++s->made == s->most) return CS_NO_ROUND;
    return s->made & 1 ? IMPACTS_BACK : IMPACTS_FORTH;
}

static const cs_pass_list lists[LISTS] = {
    [FORTH] = {{sweep_forth}, 1, 0, after_forth},
    [BACK] = {{sweep_back}, 1, 1, after_back},
    [GO_ON] = {{go_on, sweep_forth}, 2, 0, after_forth},
    [BEGIN_SHIFT] = {{begin_shift}, 1, 0, after_shift},
    [SHIFT_FORTH] = {{sweep_shift}, 1, 0, after_shift},
    [SHIFT_BACK] = {{sweep_shift}, 1, 1, after_shift},
    [SHARE] = {{share_shift}, 1, 0, after_share},
    [IMPACTS_FORTH] = {{sweep_impacts}, 1, 0, after_impacts},
    [IMPACTS_BACK] = {{sweep_impacts}, 1, 1, after_impacts},
};

/* ---- all contacts ---------------------------------------------------------------------------------- */

static cs_sweeping begin(cs_collisions *c, double negligible, int64_t most)
{
    double unit = c->options.thickness / c->h;
    return (cs_sweeping){
        .c = c, .enough = TOLERANCE * unit, .negligible = negligible * unit, .most = most};
}

/* Symmetric sweeps, accelerated by nonlinear conjugate gradients (Silcowitz-Hansen, Niebe and Erleben 2010). */
static cs_status solve(cs_collisions *c, int threads, const cs_response_call *call, cs_error *error)
{
    cs_sweeping s = begin(c, NEGLIGIBLE, c->options.stop_after);
    return cs_run_sweeps(&s, lists, LISTS, FORTH, threads, call, error);
}

/* The shift begins from none. */
static cs_status shift(cs_collisions *c, int threads, const cs_response_call *call, cs_error *error)
{
    cs_sweeping s = begin(c, NEGLIGIBLE, c->options.stop_after);
    s.is_full = 1;
    return cs_run_sweeps(&s, lists, LISTS, BEGIN_SHIFT, threads, call, error);
}

static int threads_for_visits(const cs_collisions *c, const cs_response_call *call)
{
    return cs_threads_for(call->threads, c->contacts, CS_WORTH_THREADS_VISITS, c->contacts);
}

cs_status cs_solve_contacts(cs_collisions *c, const cs_response_call *call, cs_error *error)
{
    int threads = threads_for_visits(c, call);
    if (!c->contacts || c->options.stop_after < 1) return CS_OK;
    cs_status status = cs_fill_visits(c, threads, error);
    if (status) return status;
    if (!c->is_solved) status = solve(c, threads, call, error);
    if (!status) status = shift(c, threads, call, error);
    cs_give_back_visits(c, threads);
    return status;
}

cs_status cs_sweep_contacts(cs_collisions *c, const cs_response_call *call, cs_error *error)
{
    int threads = threads_for_visits(c, call);
    cs_status status = cs_fill_visits(c, threads, error);
    if (status) return status;
    cs_sweeping s = begin(c, TOLERANCE, FEW_SWEEPS);
    status = cs_run_sweeps(&s, lists, LISTS, IMPACTS_FORTH, threads, call, error);
    cs_give_back_visits(c, threads);
    return status;
}

void cs_move_ends(cs_collisions *c)
{
    for (int64_t i = 0; i < c->cloth; i++)
        for (int64_t k = 3 * i; c->is_moved[i] && k < 3 * i + 3; k++)
            c->end[k] = c->start[k] + c->h * (c->velocity[k] + c->shift[k]);
}

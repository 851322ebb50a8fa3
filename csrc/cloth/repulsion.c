/* Sweeps over all contacts: impulses that keep bounds and friction, and the shift that undoes overlaps. */
#include "cloth/collisions.h"

#include "core/parallel.h"
#include "core/phases.h"
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

/* ---- one visit ------------------------------------------------------------------------------------ */

/* u <- sum w_i v_i */
static inline void combine(const cs_visit *v, const double *velocity, double *u)
{
    cs_set_vector(u, 0, 0, 0);
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        cs_add_scaled(u, v->weight[k], velocity + 3 * (int64_t)v->vertex[k], u);
}

/* to <- the impulse that meets the bound, P - (u - bound n) / a, drawn to the cone of Coulomb: no pull along the normal, and at
 * most mu times the normal part across it. */
static inline void find_impulse(const cs_visit *v, const double *u, double mu, double *to)
{
    double all[3], across[3];
    cs_add_scaled(v->impulse, -v->inverse, u, all);
    double along = cs_dot(v->normal, all);
    cs_add_scaled(all, -along, v->normal, across);
    along += v->inverse * v->bound;
    if (!(along > 0)) along = 0;
    double most = mu * along, length = mu > 0 ? cs_length(across) : 0;
    double part = length > most ? most / length : mu > 0 ? 1 : 0;
    for (int k = 0; k < 3; k++) to[k] = along * v->normal[k] + part * across[k];
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

/* Sweeps that follow each other: what they know. */
typedef struct sweeping {
    cs_collisions *c;
    double enough, negligible; /* changes of a relative velocity */
    double beta, last_square;  /* of conjugate gradients */
    int64_t made, most;        /* iterations or sweeps, and where they end */
    int is_full;               /* visits what is not outdated, too */
    int next;                  /* list of phases, or CS_NO_ROUND */
} sweeping;

/* Visits of one group, which one thread makes one after another. */
typedef struct piece {
    int64_t number; /* in all groups */
    cs_visit *visit;
    cs_trail *trail;
    int64_t first, step, count; /* of these visits: the first one, and -1 backwards */
    int64_t clock, ticks;       /* of the first one; from one to the next: 0 within a colour */
} piece;

static inline double larger(double a, double b) { return a > b ? a : b; }

/* A visit's number in the arrays. */
static inline int64_t nth(const piece *p, int64_t n) { return p->first + n * p->step; }

static void sweep_forth(sweeping *s, const piece *p)
{
    double most = 0;
    for (int64_t n = 0; n < p->count; n++)
        most = larger(most, visit(s->c, &p->visit[nth(p, n)], s->negligible));
    ((double *)s->c->visits.change.data)[p->number] = most;
}

/* What both sweeps have changed, too: its square in the norm of the diagonal. */
static void sweep_back(sweeping *s, const piece *p)
{
    double square = 0;
    sweep_forth(s, p);
    for (int64_t n = 0; n < p->count; n++) {
        double change[3];
        const cs_visit *v = &p->visit[nth(p, n)];
        cs_subtract(v->impulse, p->trail[nth(p, n)].before, change);
        square += cs_dot(change, change) / v->inverse;
    }
    ((double *)s->c->visits.square.data)[p->number] = square;
}

/* direction <- change + beta direction, and the impulses go on by beta times the last one. */
static void go_on(sweeping *s, const piece *p)
{
    for (int64_t n = 0; n < p->count; n++) {
        cs_visit *v = &p->visit[nth(p, n)];
        cs_trail *trail = &p->trail[nth(p, n)];
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
static inline void sweep_outdated(sweeping *s, const piece *p, visiting work)
{
    double most = 0;
    for (int64_t n = 0; n < p->count; n++) {
        cs_visit *v = &p->visit[nth(p, n)];
        cs_trail *trail = &p->trail[nth(p, n)];
        trail->last_pushed = v->pushed;
        if (!s->is_full && !is_outdated(s->c, v, trail)) continue;
        trail->visited = p->clock + n * p->ticks;
        double change = work(s->c, v, s->negligible);
        if (change > 0) stamp(s->c, v, trail->visited);
        most = larger(most, change);
    }
    ((double *)s->c->visits.change.data)[p->number] = most;
}

static void sweep_impacts(sweeping *s, const piece *p) { sweep_outdated(s, p, visit); }

static void sweep_shift(sweeping *s, const piece *p) { sweep_outdated(s, p, visit_shift); }

/* What velocities bring along the normal need not be pushed. */
static void begin_shift(sweeping *s, const piece *p)
{
    for (int64_t n = 0; n < p->count; n++) {
        cs_visit *v = &p->visit[nth(p, n)];
        double u[3];
        combine(v, s->c->velocity, u);
        v->push -= cs_dot(v->normal, u);
    }
    sweep_shift(s, p);
}

/* Where contacts push against each other, the last one in a sweep has its will: half the way between two sweeps, forth and back,
 * is in the middle. */
static void share_shift(sweeping *s, const piece *p)
{
    for (int64_t n = 0; n < p->count; n++) {
        cs_visit *v = &p->visit[nth(p, n)];
        double change[3] = {0, 0, 0}, by = (p->trail[nth(p, n)].last_pushed - v->pushed) / 2;
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
static int is_enough(sweeping *s)
{
    s->c->present.sweeps++;
    return find_most(&s->c->visits) <= s->enough;
}

static int after_forth(sweeping *s) { return is_enough(s) ? CS_NO_ROUND : BACK; }

/* beta is the ratio of the squares of two changes, and zero after a growth. */
static int after_back(sweeping *s)
{
    if (is_enough(s) || ++s->made == s->most) return CS_NO_ROUND;
    double square = find_square(&s->c->visits);
    double beta = s->last_square > 0 ? square / s->last_square : 0;
    s->beta = beta <= 1 ? beta : 0;
    s->last_square = square;
    return GO_ON;
}

static int after_shift(sweeping *s)
{
    if (is_enough(s)) return CS_NO_ROUND;
    s->is_full = 0;
    s->negligible = s->enough;
    if (++s->made == s->most) return SHARE;
    return s->made & 1 ? SHIFT_BACK : SHIFT_FORTH;
}

static int after_share(sweeping *s)
{
    (void)s;
    return CS_NO_ROUND;
}

static int after_impacts(sweeping *s)
{
    if (is_enough(s) || ++s->made == s->most) return CS_NO_ROUND;
    return s->made & 1 ? IMPACTS_BACK : IMPACTS_FORTH;
}

/* Lists of phases: one or two passes through all groups, and what is decided then. */
typedef struct pass_list {
    void (*work[2])(sweeping *s, const piece *p);
    int passes, is_backward;
    int (*decide)(sweeping *s);
} pass_list;

static const pass_list lists[LISTS] = {
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

/* ---- rounds --------------------------------------------------------------------------------------- */

enum { MOST_GROUPS = CS_COLORS + 1, MOST_PHASES = 2 * MOST_GROUPS + 1, MOST_ROUNDS = 256 };

/* Rounds of phases, each of which is a list. */
typedef struct course {
    sweeping *s;
    int64_t round;
    unsigned char chosen[MOST_ROUNDS + 1];
} course;

typedef struct list_context {
    course *of;
    const pass_list *list;
} list_context;

static int64_t group_of(const cs_visits *v, const pass_list *list, int64_t phase)
{
    int64_t group = phase % v->groups;
    return list->is_backward ? v->groups - 1 - group : group;
}

/* Clocks rise from group to group, and within the rest from visit to visit. */
static piece piece_of(const cs_collisions *c, int64_t group, int64_t task, int is_backward)
{
    const cs_visits *v = &c->visits;
    int is_rest = cs_is_rest(v, group);
    int64_t begin = v->start[group] + CS_VISITS_PIECE * task, end = v->start[group + 1];
    if (!is_rest && end > begin + CS_VISITS_PIECE) end = begin + CS_VISITS_PIECE;
    int64_t rest = v->count[CS_COLORS], last = v->groups - 1;
    int64_t before = !is_backward ? group : is_rest ? 0 : rest + last - 1 - group;
    return (piece){.number = v->piece[group] + task,
                   .visit = v->visit.data,
                   .trail = v->trail.data,
                   .first = is_backward ? end - 1 : begin,
                   .step = is_backward ? -1 : 1,
                   .count = end - begin,
                   .clock = c->clock + 1 + before,
                   .ticks = is_rest};
}

/* The last phase of a round: what comes next, with a later clock. */
static void decide(course *all, const pass_list *list)
{
    cs_collisions *c = all->s->c;
    c->clock += c->visits.groups + c->visits.count[CS_COLORS];
    all->s->next = list->decide(all->s);
    all->round++;
    all->chosen[all->round] = all->round < MOST_ROUNDS ? (unsigned char)all->s->next : CS_NO_ROUND;
}

static void run_phase(void *context, int64_t phase, int64_t task)
{
    const list_context *l = context;
    sweeping *s = l->of->s;
    const cs_visits *v = &s->c->visits;
    if (phase == l->list->passes * v->groups) {
        decide(l->of, l->list);
        return;
    }
    piece p = piece_of(s->c, group_of(v, l->list, phase), task, l->list->is_backward);
    l->list->work[phase / v->groups](s, &p);
}

/* Returns the number of phases. */
static int64_t list_phases(const cs_visits *v, const pass_list *list, cs_phase *phase)
{
    int64_t count = list->passes * v->groups;
    for (int64_t n = 0; n < count; n++) {
        int64_t g = group_of(v, list, n), visits = v->start[g + 1] - v->start[g];
        phase[n] = (cs_phase){v->piece[g + 1] - v->piece[g], visits < CS_WORTH_A_PHASE};
    }
    phase[count] = (cs_phase){1, 1};
    return count + 1;
}

/* Runs rounds from the list `next` on, until a decision ends them. */
static void run(sweeping *s, int next, int threads)
{
    cs_phase phase[LISTS][MOST_PHASES];
    cs_phases phases[LISTS];
    list_context context[LISTS];
    course all = {.s = s};
    for (int n = 0; n < LISTS; n++) {
        context[n] = (list_context){&all, &lists[n]};
        int64_t count = list_phases(&s->c->visits, &lists[n], phase[n]);
        phases[n] = (cs_phases){count, phase[n], run_phase, &context[n]};
    }
    const cs_rounds rounds = {.list = phases, .chosen = all.chosen};
    for (s->next = next; s->next != CS_NO_ROUND;) {
        all.round = 0;
        all.chosen[0] = (unsigned char)s->next;
        cs_rounds_run(&rounds, threads);
    }
}

/* ---- all contacts ---------------------------------------------------------------------------------- */

static sweeping begin(cs_collisions *c, double negligible, int64_t most)
{
    double unit = c->options.thickness / c->h;
    return (sweeping){
        .c = c, .enough = TOLERANCE * unit, .negligible = negligible * unit, .most = most};
}

/* Symmetric sweeps, accelerated by nonlinear conjugate gradients (Silcowitz-Hansen, Niebe and Erleben 2010). */
static void solve(cs_collisions *c, int threads)
{
    sweeping s = begin(c, NEGLIGIBLE, c->options.stop_after);
    run(&s, FORTH, threads);
}

/* The shift begins from none. */
static void shift(cs_collisions *c, int threads)
{
    sweeping s = begin(c, NEGLIGIBLE, c->options.stop_after);
    s.is_full = 1;
    run(&s, BEGIN_SHIFT, threads);
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
    if (!c->is_solved) solve(c, threads);
    shift(c, threads);
    cs_give_back_visits(c, threads);
    return CS_OK;
}

cs_status cs_sweep_contacts(cs_collisions *c, const cs_response_call *call, cs_error *error)
{
    int threads = threads_for_visits(c, call);
    cs_status status = cs_fill_visits(c, threads, error);
    if (status) return status;
    sweeping s = begin(c, TOLERANCE, FEW_SWEEPS);
    run(&s, IMPACTS_FORTH, threads);
    cs_give_back_visits(c, threads);
    return CS_OK;
}

void cs_move_ends(cs_collisions *c)
{
    for (int64_t i = 0; i < c->cloth; i++)
        for (int64_t k = 3 * i; c->is_moved[i] && k < 3 * i + 3; k++)
            c->end[k] = c->start[k] + c->h * (c->velocity[k] + c->shift[k]);
}

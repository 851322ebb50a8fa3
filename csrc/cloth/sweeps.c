#include "cloth/sweeps.h"

enum { MOST_PHASES = 2 * (CS_COLORS + 1) + 1, MOST_ROUNDS = 256 };

/* Rounds of phases, each of which is a list. */
typedef struct course {
    cs_sweeping *s;
    int64_t round;
    int next;
    unsigned char chosen[MOST_ROUNDS + 1];
} course;

typedef struct list_context {
    course *of;
    const cs_pass_list *list;
} list_context;

static int64_t group_of(const cs_visits *v, const cs_pass_list *list, int64_t phase)
{
    int64_t group = phase % v->groups;
    return list->is_backward ? v->groups - 1 - group : group;
}

/* Clocks rise from group to group, and within the rest from visit to visit. */
static cs_piece piece_of(const cs_collisions *c, int64_t group, int64_t task, int is_backward)
{
    const cs_visits *v = &c->visits;
    int64_t pieces = v->piece[group + 1] - v->piece[group];
    int64_t visits = v->start[group + 1] - v->start[group];
    int64_t begin = v->start[group] + visits * task / pieces;
    int64_t end = v->start[group] + visits * (task + 1) / pieces;
    int64_t rest = v->count[CS_COLORS], last = v->groups - 1;
    int64_t before = !is_backward ? group : group == last ? 0 : rest + last - 1 - group;
    return (cs_piece){.number = v->piece[group] + task,
                      .visit = v->visit.data,
                      .trail = v->trail.data,
                      .first = is_backward ? end - 1 : begin,
                      .step = is_backward ? -1 : 1,
                      .count = end - begin,
                      .clock = c->clock + 1 + before,
                      .ticks = group == last};
}

/* The last phase of a round: what comes next, with a later clock. */
static void decide(course *all, const cs_pass_list *list)
{
    cs_collisions *c = all->s->c;
    c->clock += c->visits.groups + c->visits.count[CS_COLORS];
    all->next = list->decide(all->s);
    all->round++;
    all->chosen[all->round] = all->round < MOST_ROUNDS ? (unsigned char)all->next : CS_NO_ROUND;
}

static void run_phase(void *context, int64_t phase, int64_t task)
{
    const list_context *l = context;
    cs_sweeping *s = l->of->s;
    const cs_visits *v = &s->c->visits;
    if (phase == l->list->passes * v->groups) {
        decide(l->of, l->list);
        return;
    }
    cs_piece p = piece_of(s->c, group_of(v, l->list, phase), task, l->list->is_backward);
    l->list->work[phase / v->groups](s, &p);
}

/* Returns the number of phases. */
static int64_t list_phases(const cs_visits *v, const cs_pass_list *list, cs_phase *phase)
{
    int64_t count = list->passes * v->groups;
    for (int64_t n = 0; n < count; n++) {
        int64_t group = group_of(v, list, n);
        phase[n] = (cs_phase){.tasks = v->piece[group + 1] - v->piece[group]};
    }
    phase[count] = (cs_phase){.tasks = 1};
    return count + 1;
}

cs_status cs_run_sweeps(cs_sweeping *s, const cs_pass_list *lists, int count, int first,
                        int threads, const cs_response_call *call, cs_error *error)
{
    cs_phase phase[CS_MOST_LISTS][MOST_PHASES];
    cs_phases phases[CS_MOST_LISTS];
    list_context context[CS_MOST_LISTS];
    course all = {.s = s, .next = first};
    for (int n = 0; n < count; n++) {
        context[n] = (list_context){&all, &lists[n]};
        int64_t tasks = list_phases(&s->c->visits, &lists[n], phase[n]);
        phases[n] = (cs_phases){tasks, phase[n], run_phase, &context[n]};
    }
    const cs_rounds rounds = {.list = phases, .chosen = all.chosen};
    for (;;) {
        all.round = 0;
        all.chosen[0] = (unsigned char)all.next;
        cs_rounds_run(&rounds, threads);
        if (all.next == CS_NO_ROUND) return CS_OK;
        cs_status status = cs_ask_caller(call, error);
        if (status) return status;
    }
}

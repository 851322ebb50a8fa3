/* Links of sweeps. Each kind goes on from its own checkpoint as if it had not been interrupted, momentum
 * and all, so that what a method alone arrives at a chain arrives at, too. */
#include "methods/chain/chain.h"

#include <math.h>

#define CONJUGATE_RELAXATION 1.3 /* with which nncg takes the fewest sweeps */

/* The points that nncg keeps are those of its usual formula. */
static const struct {
    const cs_method *method;
    int points;
} sweeps_of[CS_KINDS] = {{&cs_method_nesterov, 1}, {&cs_method_nncg, 2}};

cs_status cs_chain_take_checkpoints(cs_solver *solver, cs_error *error)
{
    int most = 0;
    size_t memory = 0;
    for (int kind = 0; kind < CS_KINDS; kind++) {
        size_t own = sweeps_of[kind].method->steps->scalars;
        if (sweeps_of[kind].points > most) most = sweeps_of[kind].points;
        if (own > memory) memory = own;
    }
    cs_chain *chain = solver->own;
    cs_status status = cs_points_take_most(solver, most, memory, error);
    for (int kind = 0; kind < CS_KINDS && !status; kind++)
        status = cs_checkpoint_take(solver, sweeps_of[kind].method, sweeps_of[kind].points,
                                    &chain->checkpoint[kind], error);
    return status;
}

/* Whether sweeps of this kind are first to try from the best iterate: others have come much further, or it
 * is near a solution and they begin. */
static int turns_aside(const cs_chain_solve *s, int kind)
{
    int made = isfinite(s->own[kind]);
    double own = made ? s->own[kind] : s->own[CS_WITH_MOMENTUM];
    int better = s->best < CS_HARDLY * own || (!made && s->best < CS_CLOSE * s->start);
    return better && s->best <= CS_HARDLY * fmin(s->adopted[kind], s->start);
}

/* Where sweeps of this kind go on: where they were left (NULL), as a rule. From far away every kind finds its
 * own way from the start, or none: it is not helped by where another one wanders. */
static const double *where_to_go_on(cs_chain_solve *s, int kind)
{
    if (s->chain->checkpoint[kind].made) return NULL;
    if (s->began[kind]) return cs_chain_best_or_start(s); /* it has diverged */
    s->began[kind] = 1;
    return s->chain->start;
}

/* One link: aside, from the best iterate; or on from the checkpoint. */
static cs_status sweep_on(cs_chain_solve *s, int kind, const cs_setting *own, int64_t iterations)
{
    cs_solver *solver = s->solver;
    const cs_method *method = sweeps_of[kind].method;
    if (turns_aside(s, kind)) {
        s->adopted[kind] = s->best;
        return cs_chain_run_link(s, method, s->chain->best, own, 1, iterations);
    }
    const double *from = where_to_go_on(s, kind);
    cs_checkpoint *checkpoint = &s->chain->checkpoint[kind];
    cs_points *points = solver->points, kept = *points;
    points->point = checkpoint->points;
    points->scalars = checkpoint->scalars;
    s->budget->checkpoint = checkpoint;
    cs_status status = cs_chain_run_link(s, method, from, own, 1, iterations);
    points->point = kept.point;
    points->scalars = kept.scalars;
    s->budget->checkpoint = NULL;
    s->own[kind] = fmin(s->own[kind], s->reached);
    if (s->result->outcome == CS_DIVERGING) checkpoint->made = 0;
    return status;
}

cs_status cs_chain_run_sweeps(cs_chain_solve *s, int kind, int64_t iterations)
{
    cs_solver *solver = s->solver;
    int64_t patience = kind == s->leader || !isfinite(s->own[kind]) ? s->patience : s->patience / 2;
    double least = s->setting[CS_CHAIN_PATIENCE];
    cs_setting own[] = {{.name = "patience", .number = fmax((double)patience, least)}};
    int longer = kind == CS_WITH_DIRECTIONS && solver->options.relaxation == 1 &&
                 !cs_solves_blocks(&solver->options);
    int64_t before = s->budget->made;
    double best = s->best;
    if (s->ended) return CS_OK;
    if (longer) cs_packing_scale_steps(&solver->packing, CONJUGATE_RELAXATION);
    int yields = kind == CS_WITH_MOMENTUM && s->follows != CS_NO_ALTERNATIVE && !s->in_vain &&
                 solver->stop == cs_measure_find("natural_map");
    s->budget->patience = 1;
    s->budget->alternative = yields ? cs_chain_alternative : NULL;
    s->budget->alternative_context = s;
    cs_status status = sweep_on(s, kind, own, iterations);
    s->budget->alternative = NULL;
    s->budget->patience = 0;
    if (s->best < best) s->leader = kind;
    s->sweeps += (double)(s->budget->made - before);
    s->verdict = s->result->outcome;
    if (longer || solver->steps_scale != 1)
        cs_packing_put_steps(&solver->packing, solver->r, solver->step);
    solver->steps_scale = 1;
    return status;
}

#include "solver/stages.h"

#include "solver/judge.h"

enum { LONGEST_PATIENCE = 2000000000 };

const cs_figure cs_stage_figure[CS_STAGE_FIGURES] = {
    [CS_RESTARTS] = CS_RESTARTS_FIGURE,
    [CS_HANDOVERS] = CS_COUNT_FIGURE("handovers", "times that one stage handed over to the next"),
};

/* The number of stages of a round. */
static int stages_of(const cs_steps_run *steps)
{
    const char *const *stage = steps->run.solver->method->steps->stage;
    int count = 0;
    while (stage[count]) count++;
    return count;
}

/* Reports the present stage, which ends; `reached` is the best natural map so far. */
static void report(cs_steps_run *steps, cs_outcome outcome, double reached)
{
    cs_stages *stages = steps->scalars;
    const cs_run *run = &steps->run;
    double seconds = cs_seconds(run->budget);

    /* A report of its own; without room for another, the stage is added to the last one. */
    cs_stage_report *one = &stages->report[stages->reports];
    if (stages->reports == CS_MAX_LINKS) one--;
    else *one = (cs_stage_report){.first = run->first};
    if (stages->reports < CS_MAX_LINKS) stages->reports++;

    one->stage = stages->stage;
    one->iterations += run->number - run->first;
    one->seconds += seconds - stages->seconds;
    one->reached = reached;
    one->outcome = (int)outcome;
    stages->seconds = seconds;
}

int cs_stages_next(cs_steps_run *steps, const cs_result *result)
{
    cs_stages *stages = steps->scalars;
    cs_run *run = &steps->run;
    cs_solver *solver = run->solver;
    int last = stages->stage + 1 == stages_of(steps);

    /* The end of a round: whether it was in vain, and whether that was the last one. */
    int fruitless = run->best < run->start / 2 ? 0 : stages->fruitless + 1;
    if (last && fruitless >= solver->setting[CS_ROUNDS]) return 0;
    report(steps, result->outcome, run->best);
    if (last) {
        stages->fruitless = fruitless;
        run->start = run->best;
        run->patience = fmin(2 * run->patience, LONGEST_PATIENCE);
    }

    /* The next stage. */
    stages->stage = last ? 0 : stages->stage + 1;
    stages->rollbacks += run->rollbacks;
    run->first = run->number;
    solver->figure_value[CS_HANDOVERS]++;
    return 1;
}

void cs_stages_end(cs_steps_run *steps, cs_result *result)
{
    const cs_stages *stages = steps->scalars;
    const cs_run *run = &steps->run;
    cs_solver *solver = run->solver;
    cs_link *link = solver->own;

    /* The last stage. Without a tolerance nothing may have been judged. */
    double map = solver->options.rtol > 0 ? result->natural_map_scaled : result->natural_map;
    report(steps, result->outcome, isnan(map) ? NAN : fmin(run->best, map));

    /* All stages as links. */
    for (int i = 0; i < stages->reports; i++) {
        const cs_stage_report *one = &stages->report[i];
        cs_outcome outcome = (cs_outcome)one->outcome;
        link[i] = (cs_link){
            .method = solver->method->steps->stage[one->stage],
            .first = one->first,
            .iterations = one->iterations,
            .seconds = one->seconds,
            .reached = one->reached,
            .outcome = outcome,
            .why = cs_outcome_reason(outcome),
            .islands = 1,
        };
    }
    result->link = link;
    result->links = stages->reports;
    result->rollbacks += stages->rollbacks;
}

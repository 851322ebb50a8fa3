#include "measure/measure.h"

#include <math.h>
#include <string.h>

#define CS_MEASURE(name) extern const cs_measure cs_measure_##name;
#include "measure/measures.def"
#undef CS_MEASURE

static const cs_measure *const measures[] = {
#define CS_MEASURE(name) &cs_measure_##name,
#include "measure/measures.def"
#undef CS_MEASURE
};
enum { MEASURES = sizeof measures / sizeof *measures };

const cs_measure *cs_measure_find(const char *name)
{
    for (int i = 0; i < MEASURES; i++)
        if (strcmp(measures[i]->name, name) == 0) return measures[i];
    return NULL;
}

const char *cs_measure_name(int i, const char **summary)
{
    if (i < 0 || i >= MEASURES) return NULL;
    if (summary) *summary = measures[i]->summary;
    return measures[i]->name;
}

/* A measure that is made of parts, and its parts over the pieces of a loop over all blocks. */
typedef struct parts {
    const cs_measure *measure;
    const cs_state *state;
    double value[CS_LOOP_PIECES];
} parts;

static void measure_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    parts *all = context;
    all->value[piece] = all->measure->part(all->state, begin, end);
}

/* A cs_block_number: that of the measure `context`. */
static double number_of(const cs_state *state, const void *context, const cs_block_group *group,
                        int64_t index)
{
    return ((const cs_measure *)context)->of_block(state, group, index);
}

double cs_measure_value(const cs_measure *measure, cs_state *state)
{
    if (!measure->part) return measure->evaluate(state);
    if (state->sums && measure->of_block) return cs_sum_over_parts(state, number_of, measure);
    int64_t blocks = state->problem->blocks;
    parts all;
    all.measure = measure;
    all.state = state;
    cs_loop(state->threads, blocks, measure_piece, &all);

    /* Combine the parts in their order. A NaN stays. */
    double whole = 0;
    for (int64_t p = 0; p < cs_loop_pieces(blocks); p++) {
        double value = all.value[p];
        if (measure->across == CS_SUM) whole += value;
        else if (value > whole || isnan(value)) whole = value;
    }
    cs_ranks_largest(state->ranks, &whole, 1); /* ranks take sums above */
    return whole;
}

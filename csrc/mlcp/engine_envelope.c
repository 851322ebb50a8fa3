/* Factors A_FF within its envelope for each index set. Tight rows make the envelope narrower. */
#include "mlcp/pivoting.h"

struct factor_data;
static int64_t first_free(const cs_island *s, const struct factor_data *data, int64_t a, int64_t i);

#define CS_ENGINE_FIRST(s, a, i) first_free(s, s->factor, a, i)
#include "mlcp/engine_panels.inc"

/* The first column of row a of A_FF, which is row i of the island. */
static int64_t first_free(const cs_island *s, const factor_data *data, int64_t a, int64_t i)
{
    for (int64_t e = s->start[i]; s->column[e] < i; e++)
        if (s->state[s->column[e]] == CS_INDEX_FREE) return data->place[s->column[e]];
    return a;
}

static int take(cs_island *s, cs_arena *arena) { return take_envelope(s, s->first, arena); }

/* The multiplications of a factor, if tight rows are spread evenly. */
static double work(const cs_island *s, double changed, double tight)
{
    (void)changed;
    double sum = 0, part = 1 - tight / (double)s->rows;
    for (int64_t i = 0; i < s->rows; i++) {
        double width = part * (double)(i - s->first[i]);
        sum += width * width / 2;
    }
    return part * sum;
}

const cs_engine cs_engine_envelope = {
    .name = "envelope",
    .summary = "a factor of A_FF within its envelope (reverse Cuthill-McKee) at every pivot",
    .order = CS_FILL_RCM,
    .take = take,
    .factor = factor,
    .solve = solve,
    .anew = 1,
    .weight = CS_COST_IN_PANELS,
    .work = work,
};

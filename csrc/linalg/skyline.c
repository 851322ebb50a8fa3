#include "linalg/skyline.h"

#include "core/instructions.h"

#define CS_INSTRUCTIONS(name, summary) extern const cs_skyline_kernels cs_skyline_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_skyline_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_skyline_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

int cs_skyline_take(cs_skyline *skyline, int64_t rows, const int64_t *first, cs_arena *arena)
{
    skyline->rows = rows;
    skyline->last = cs_arena_take(arena, rows, sizeof(int64_t));
    skyline->start = cs_arena_take(arena, rows + 1, sizeof(int64_t));
    if (cs_arena_failed(arena)) return -1;
    for (int64_t i = 0; i < rows; i++)
        if (i > skyline->last[first[i]]) skyline->last[first[i]] = i;
    for (int64_t k = 0; k < rows; k++) {
        if (skyline->last[k] < k) skyline->last[k] = k;
        if (k && skyline->last[k] < skyline->last[k - 1]) skyline->last[k] = skyline->last[k - 1];
        skyline->start[k + 1] = skyline->start[k] + skyline->last[k] - k + 1;
    }
    skyline->value = cs_arena_take(arena, skyline->start[rows], sizeof(double));
    return cs_arena_failed(arena) ? -1 : 0;
}

void cs_skyline_unpack(cs_skyline *skyline, const cs_panels *panels)
{
    for (int64_t k = 0; k < skyline->rows; k++) {
        double *column = skyline->value + skyline->start[k];
        for (int64_t i = k; i <= skyline->last[k]; i++)
            column[i - k] = k < panels->first[i / CS_PANEL] ? 0 : *cs_panels_entry(panels, i, k);
    }
}

void cs_skyline_remove(cs_skyline *skyline, int64_t i, double *scratch)
{
    builds[cs_instructions_widest()]->remove(skyline, i, scratch);
}

int cs_skyline_add(cs_skyline *skyline, int64_t i, double *column, double floor)
{
    return builds[cs_instructions_widest()]->add(skyline, i, column, floor);
}

void cs_skyline_solve(const cs_skyline *skyline, double *x)
{
    builds[cs_instructions_widest()]->solve(skyline, x);
}

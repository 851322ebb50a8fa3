#include "linalg/panel.h"

#include "core/instructions.h"

#include <string.h>

#define CS_INSTRUCTIONS(name, summary) extern const cs_panel_kernels cs_panel_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_panel_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_panel_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

const cs_panel_kernels *cs_panels_kernels(void) { return builds[cs_instructions_widest()]; }

static int64_t panels_of(int64_t rows) { return (rows + CS_PANEL - 1) / CS_PANEL; }

/* The first column of panel p: the least one of its rows, rounded down to a multiple of 8. */
static int64_t first_of(int64_t p, int64_t rows, const int64_t *first)
{
    int64_t least = p * CS_PANEL;
    for (int64_t i = p * CS_PANEL; i < rows && i < (p + 1) * CS_PANEL; i++)
        if (first[i] < least) least = first[i];
    return least - least % CS_PANEL;
}

int64_t cs_panels_size(int64_t rows, const int64_t *first)
{
    int64_t size = 0;
    for (int64_t p = 0; p < panels_of(rows); p++)
        size += CS_PANEL * ((p + 1) * CS_PANEL - first_of(p, rows, first));
    return size;
}

/* The capacity suffices for every principal submatrix: a panel of it is at most two tiles wider than the widest panel
 * that its rows come from, because of rounding, and the rows of one panel go to at most two panels. */
int cs_panels_take(cs_panels *panels, int64_t rows, const int64_t *first, cs_arena *arena)
{
    int64_t count = panels_of(rows);
    panels->capacity_panels = count;
    panels->capacity = 2 * cs_panels_size(rows, first) + 2 * CS_PANEL * CS_PANEL * count;
    panels->first = cs_arena_take(arena, count, sizeof(int64_t));
    panels->start = cs_arena_take(arena, count + 1, sizeof(int64_t));
    panels->value = cs_arena_take_unset(arena, panels->capacity, sizeof(double));
    panels->inverse = cs_arena_take(arena, count * CS_PANEL, sizeof(double));
    panels->scratch = cs_arena_take(arena, count * CS_PANEL, sizeof(double));
    return cs_arena_failed(arena);
}

void cs_panels_shape(cs_panels *panels, int64_t rows, const int64_t *first)
{
    panels->rows = rows;
    panels->count = panels_of(rows);
    panels->start[0] = 0;
    for (int64_t p = 0; p < panels->count; p++) {
        panels->first[p] = first_of(p, rows, first);
        int64_t columns = (p + 1) * CS_PANEL - panels->first[p];
        panels->start[p + 1] = panels->start[p] + CS_PANEL * columns;
    }
    cs_panels_clear(panels);
}

void cs_panels_clear(cs_panels *panels)
{
    size_t bytes = sizeof(double) * (size_t)panels->start[panels->count];
    if (bytes) memset(panels->value, 0, bytes);
    for (int64_t i = panels->rows; i < panels->count * CS_PANEL; i++)
        *cs_panels_entry(panels, i, i) = 1;
}

/* The multiplications that factor panel p. */
static double work_of(const cs_panels *panels, int64_t p)
{
    double width = (double)((p + 1) * CS_PANEL - panels->first[p]);
    return CS_PANEL * width * width / 2;
}

void cs_panels_factor(cs_panels *panels, cs_cancellation *cancellation, cs_breakdown *breakdown)
{
    *breakdown = (cs_breakdown){.row = -1};
    for (int64_t from = 0, to = 0; from < panels->count; from = to) {
        /* Factor as many panels as fit between two cancellation checks. */
        double work = 0;
        while (to < panels->count && work < CS_CANCELLATION_WORK) work += work_of(panels, to++);
        builds[cs_instructions_widest()]->factor(panels, from, to, breakdown);
        if (breakdown->row >= 0) return;
        if (!cs_is_cancelled(cancellation, work) || to == panels->count) continue;
        *breakdown = (cs_breakdown){.row = to * CS_PANEL, .cancelled = 1};
        return;
    }
}

void cs_panels_solve(const cs_panels *panels, double *x)
{
    /* Pad the right-hand side with zeros to whole panels. */
    size_t used = sizeof(double) * (size_t)panels->rows;
    size_t all = sizeof(double) * (size_t)(panels->count * CS_PANEL);
    if (!used) return;
    memcpy(panels->scratch, x, used);
    memset((char *)panels->scratch + used, 0, all - used);
    builds[cs_instructions_widest()]->solve(panels, panels->scratch);
    memcpy(x, panels->scratch, used);
}

#include "linalg/profile.h"

#include <math.h>
#include <string.h>

/* end[i] <- one more than the last row that begins in column i or before. */
static void find_ends(int64_t rows, const int64_t *first, int64_t *end)
{
    for (int64_t i = 0; i < rows; i++) end[i] = i + 1;
    for (int64_t j = 0; j < rows; j++)
        if (end[first[j]] < j + 1) end[first[j]] = j + 1;
    for (int64_t i = 1; i < rows; i++)
        if (end[i] < end[i - 1]) end[i] = end[i - 1];
}

int cs_profile_shape(cs_profile *profile, int64_t rows, const int64_t *first, cs_arena *arena)
{
    profile->rows = rows;
    profile->first = cs_arena_take(arena, rows, sizeof(int64_t));
    profile->end = cs_arena_take(arena, rows, sizeof(int64_t));
    profile->start = cs_arena_take(arena, rows + 1, sizeof(int64_t));
    if (cs_arena_failed(arena)) return -1;
    if (rows) memcpy(profile->first, first, sizeof(int64_t) * (size_t)rows);
    find_ends(rows, first, profile->end);
    for (int64_t i = 0; i < rows; i++)
        profile->start[i + 1] = profile->start[i] + profile->end[i] - first[i];
    return 0;
}

/* Subtracts multiples of row k from the rows between k and end[k]. */
double cs_profile_work(const cs_profile *profile)
{
    double work = 0;
    for (int64_t k = 0; k < profile->rows; k++) {
        double width = (double)(profile->end[k] - k);
        work += width * width;
    }
    return work;
}

int cs_profile_take(cs_profile *profile, cs_arena *arena)
{
    profile->value = cs_arena_take(arena, profile->start[profile->rows], sizeof(double));
    profile->inverse = cs_arena_take(arena, profile->rows, sizeof(double));
    return cs_arena_failed(arena) ? -1 : 0;
}

void cs_profile_clear(cs_profile *profile)
{
    int64_t entries = profile->start[profile->rows];
    memset(profile->value, 0, sizeof(double) * (size_t)entries);
}

int cs_profile_factor(cs_profile *profile)
{
    for (int64_t i = 0; i < profile->rows; i++) {
        double *row = cs_profile_row(profile, i);
        for (int64_t k = profile->first[i]; k < i; k++) {
            if (row[k] == 0) continue;
            double factor = row[k] *= profile->inverse[k];
            const double *above = cs_profile_row(profile, k);
            int64_t end = profile->end[k];
            for (int64_t j = k + 1; j < end; j++) row[j] -= factor * above[j];
        }
        profile->inverse[i] = 1 / row[i];
        if (!isfinite(profile->inverse[i])) return -1;
    }
    return 0;
}

void cs_profile_solve(const cs_profile *profile, double *x)
{
    for (int64_t i = 0; i < profile->rows; i++) {
        const double *row = cs_profile_row(profile, i);
        double even = 0, odd = 0;
        int64_t k = profile->first[i];
        for (; k + 1 < i; k += 2) {
            even += row[k] * x[k];
            odd += row[k + 1] * x[k + 1];
        }
        if (k < i) even += row[k] * x[k];
        x[i] -= even + odd;
    }
    for (int64_t i = profile->rows - 1; i >= 0; i--) {
        const double *row = cs_profile_row(profile, i);
        double even = 0, odd = 0;
        int64_t j = i + 1;
        for (; j + 1 < profile->end[i]; j += 2) {
            even += row[j] * x[j];
            odd += row[j + 1] * x[j + 1];
        }
        if (j < profile->end[i]) even += row[j] * x[j];
        x[i] = (x[i] - (even + odd)) * profile->inverse[i];
    }
}

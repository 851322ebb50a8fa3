#include "solver/newton/slope.h"

#include "prox/prox.h"
#include "prox/slope.h"

#include <string.h>

int cs_slope_is_shifted(const cs_block_group *group, int shifted)
{
    return shifted && group->set->kind == CS_SET_disc;
}

int cs_slope_is_known(const cs_block_group *group, int shifted)
{
    switch (group->set->kind) {
    case CS_SET_free:
    case CS_SET_box:
    case CS_SET_half_line:
    case CS_SET_disc:
    case CS_SET_second_order_cone:
    case CS_SET_tresca: return 1;
    case CS_SET_box_friction:
    case CS_SET_rolling:
    case CS_SET_contensou: return !shifted;
    default: return 0;
    }
}

/* The radius of coupled set s >= 1 over the normal impulse. */
static double reach_of(const cs_block_group *group, int s, const double *parameters)
{
    const cs_set *set = group->set;
    /* A flat contact's spin moment: 2/3 mu a.  S1 section 2.1.3 */
    if (set->kind == CS_SET_contensou)
        return s == 1 ? parameters[0] : parameters[0] * parameters[1] * (2.0 / 3);
    return set->frictional ? parameters[set->radius_parameter[s]] : 0;
}

void cs_prox_slope(const cs_block_group *group, int cone, const double *parameters, const double *z,
                   double *p, double *slope)
{
    int rows = group->rows, sets = group->coupled_set[rows - 1] + 1;
    int fixed = group->set->kind == CS_SET_tresca; /* the radii themselves are given */
    memset(p, 0, sizeof(double) * (size_t)rows);
    memset(slope, 0, sizeof(double) * (size_t)(rows * rows));
    if (group->set->bilateral) {
        memcpy(p, z, sizeof(double) * (size_t)rows);
        for (int i = 0; i < rows; i++) slope[i * rows + i] = 1;
    } else if (group->set->kind == CS_SET_box) {
        cs_slope_of_box(rows, parameters, parameters + rows, z, p, slope);
    } else if (cone || group->set->kind == CS_SET_second_order_cone) {
        cs_slope_of_cone(rows, parameters[0], z, p, slope);
    } else if (z[0] > 0 || fixed) {
        p[0] = fmax(z[0], 0);
        slope[0] = z[0] > 0;
        for (int s = 1, first = 1; s < sets; s++) {
            int count = 0;
            while (first + count < rows && group->coupled_set[first + count] == s) count++;
            double reach = fixed ? parameters[s - 1] : reach_of(group, s, parameters);
            cs_slope_of_ball(rows, first, count, reach, fixed ? 1 : p[0], !fixed, z, p, slope);
            first += count;
        }
    }
}

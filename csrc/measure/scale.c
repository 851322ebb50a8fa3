#include "measure/measure.h"

#include <math.h>

void cs_set_scales(const cs_block_group *group, const double *diagonal, double *rho)
{
    double largest[CS_MAX_ROWS] = {0};
    for (int i = 0; i < group->rows; i++) {
        double entry = diagonal[i * group->rows + i];
        int set = group->coupled_set[i];
        if (entry > largest[set]) largest[set] = entry;
    }
    for (int i = 0; i < group->rows; i++) {
        double inverse = 1 / largest[group->coupled_set[i]];
        rho[i] = isfinite(inverse) ? inverse : 0;
    }
}

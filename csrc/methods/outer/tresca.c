/* Haslinger's fixed point: the normal impulse n that bounds friction is frozen. The remaining problem is
 * Tresca's friction, which is convex:
 *
 *     lambda+ = argmin 1/2 l^T A l + b^T l  over  l_n >= 0, |l_t| <= mu n,     n+ = lambda+_n
 *
 * Discs, also with a spin or rolling moment, become the set `tresca`. If each tangent has its own bound, or
 * there is only one tangent, friction becomes a box; methods that pivot can solve that. Haslinger 1983;
 * Haslinger, Dostal and Kucera 2002 */
#include "problem/friction.h"
#include "methods/outer/outer.h"

#include <math.h>
#include <string.h>

static const char *const inner[] = {CS_OUTER_INNER, "bpp",     "murty", "lemke",
                                    "keller",       "dantzig", NULL};

static const cs_method_option option[CS_OUTER_OPTIONS] = {
    CS_OUTER_OPTION_LIST(inner, "normal impulse")};

/* Whether each row of friction has a bound of its own. */
static int is_box(const cs_block_group *group)
{
    return group->rows == 2 || cs_has_intervals(group);
}

/* The set in the convex problem. */
static const char *set_inside(const cs_block_group *group)
{
    if (group->set->convex || group->rows == 1) return NULL;
    return is_box(group) ? "box" : "tresca";
}

/* The radius of coupled set s >= 1 for a normal impulse of 1. */
static double reach_of(const cs_block_group *group, const double *parameters, int s)
{
    const cs_set *set = group->set;
    double along[CS_MAX_ROWS] = {0};
    if (!set->reach) return parameters[set->radius_parameter[s]];
    for (int i = group->rows - 1; i >= 0; i--)
        if (group->coupled_set[i] == s) {
            along[i] = 1;
            break;
        }
    return set->reach(group->rows, s, parameters, along);
}

/* Writes the parameters for friction bounded by `normal`. */
static void freeze(const cs_block_group *group, const double *parameters, double normal, double *b,
                   double *inside)
{
    (void)b;
    int rows = group->rows, box = is_box(group);

    /* One radius for each coupled set; of a box both bounds of its row. */
    for (int s = 1; s <= group->coupled_set[rows - 1]; s++) {
        double radius = reach_of(group, parameters, s) * normal;
        if (!box) inside[s - 1] = radius;
        if (!box) continue;
        inside[s] = -radius;
        inside[rows + s] = radius;
    }

    /* The normal row of a box. */
    if (!box) return;
    inside[0] = 0;
    inside[rows] = INFINITY;
}

/* The normal impulse that bounds friction. */
static double renew(const cs_block_group *group, const double *parameters, const double *lambda,
                    const double *xi)
{
    (void)group, (void)parameters, (void)xi;
    return fmax(lambda[0], 0);
}

static const cs_frozen bound = {.set = set_inside, .freeze = freeze, .renew = renew};

static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    return cs_outer_prepare(solver, &bound, budget, error);
}

const cs_method cs_method_tresca = {
    .name = "tresca",
    .summary =
        "outer fixed points: the inner method solves Tresca's problem for fixed friction bounds",
    .about =
        "Each iteration solves one convex problem whose friction has fixed bounds: the inner "
        "method starts from the current impulses and ends at a fraction of the current natural "
        "map; then the normal impulses that bound friction are updated. `max_iterations` limits "
        "these iterations; the inner method takes `check_every` and the options about sweeps and "
        "precision. In this way any method for fixed bounds solves Coulomb friction; methods that "
        "pivot do so if each tangent has its own friction bound, or in the plane.",
    .paper = "Haslinger 1983; Haslinger, Dostál and Kučera 2002",
    .needs = CS_BIT(CS_NEEDS_BALLS),
    .solves = CS_SOLVES_AS_SWEEPS,
    CS_OUTER_METHOD,
};

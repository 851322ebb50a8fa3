/* De Saxce and Feng's fixed point. With the shift s = mu |xi_t| of the normal velocity, Coulomb's law is
 * that of the associated problem,
 *
 *     K* contains (xi_n + s, xi_t)  _|_  lambda in K,   K = {|lambda_t| <= mu lambda_n}
 *
 * which is convex if s is frozen:
 *
 *     lambda+ = argmin 1/2 l^T A l + (b + s)^T l  over l in K,    s+ = mu |(A lambda+ + b)_t|
 *
 * De Saxce and Feng 1998; Acary, Cadoux, Lemarechal and Malick 2011 */
#include "problem/friction.h"
#include "methods/outer/outer.h"

static const char *const inner[] = {CS_OUTER_INNER, "interior_point", NULL};

static const cs_method_option option[CS_OUTER_OPTIONS] = {CS_OUTER_OPTION_LIST(inner, "shift")};

/* Discs become second-order cones in the convex problem. */
static const char *set_inside(const cs_block_group *group)
{
    return group->set->convex || group->rows == 1 ? NULL : "second_order_cone";
}

/* Adds the shift to the normal row of b; the cone keeps mu. */
static void freeze(const cs_block_group *group, const double *mu, double shift, double *b,
                   double *inside)
{
    (void)group;
    b[0] += shift;
    *inside = *mu;
}

/* The shift at these velocities. */
static double renew(const cs_block_group *group, const double *mu, const double *lambda,
                    const double *xi)
{
    (void)lambda;
    return cs_de_saxce_shift(group->rows, *mu, xi);
}

static const cs_frozen shift = {
    .set = set_inside, .freeze = freeze, .renew = renew, .of_velocities = 1};

static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    return cs_outer_prepare(solver, &shift, budget, error);
}

const cs_method cs_method_de_saxce = {
    .name = "de_saxce",
    .summary = "outer fixed points: the inner method solves the associated problem for a fixed De "
               "Saxcé shift",
    .about =
        "Each iteration solves one convex problem over second-order cones: the inner method starts "
        "from the current impulses and ends at a fraction of the current natural map; then the "
        "shift of the normal velocities is updated. `max_iterations` limits these iterations; the "
        "inner method takes `check_every` and the options about sweeps and precision. In this way "
        "any method for the associated problem solves Coulomb friction.",
    .paper = "De Saxcé and Feng 1998; Acary, Cadoux, Lemaréchal and Malick 2011",
    .needs = CS_BIT(CS_NEEDS_DISCS),
    .solves = CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) |
              CS_BIT(CS_SOLVES_ASSOCIATED) | CS_BIT(CS_SOLVES_COULOMB) |
              CS_BIT(CS_SOLVES_REDUNDANT) | CS_BIT(CS_SOLVES_UNSYMMETRIC),
    CS_OUTER_METHOD,
};

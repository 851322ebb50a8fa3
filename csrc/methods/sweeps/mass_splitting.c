/* Mass splitting: every body is split into as many parts as it has contacts, each with an equal share of the
 * mass. All contacts are solved at once, each with the parts of its own. Then the parts of each body are
 * joined again, with the mean of their velocities. In terms of impulses this is Jacobi's sweep, but R is
 * computed from
 *
 *     D_kk = n_0 G_k0 G_k0^T + n_1 G_k1 G_k1^T + Sigma,   n: contacts of either body
 *
 * instead of A_kk. D - A is positive semidefinite, so that the energy 1/2 lambda^T A lambda + b^T lambda never
 * grows on convex sets. solver/steps/split_masses.c computes D_kk.
 *
 * Tonge, Benevolenski and Voroshilov 2012 */
#include "solver/method.h"

const cs_method cs_method_mass_splitting = {
    .name = "mass_splitting",
    .summary = "all contacts at once, each with its share of the bodies' masses",
    .about = "Jacobi sweeps whose factors R are small enough to converge for any number of "
             "contacts on a body: no rollback is needed. Without friction, and on second-order "
             "cones, the energy falls with every sweep.",
    .paper = "Tonge, Benevolenski and Voroshilov 2012",
    .needs = CS_BIT(CS_NEEDS_JACOBIAN),
    .solves = CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) |
              CS_BIT(CS_SOLVES_ASSOCIATED) | CS_BIT(CS_SOLVES_BOX) | CS_BIT(CS_SOLVES_COULOMB),
    .stage = CS_SIMULTANEOUS,
    .splits = 1,
    .solve = cs_fixed_point,
};

#include "problem/check_arrays.h"

#include "core/error.h"
#include "linalg/small.h"
#include "prox/prox.h"

#include <math.h>
#include <string.h>

/* The exponent of such a number has all bits set, so that adding 1 to it carries into the sign bit. The compiler
 * vectorises this loop over integers. */
int cs_has_not_finite(const double *values, int64_t count)
{
    const uint64_t magnitude = UINT64_MAX >> 1, carry = (uint64_t)1 << 52;
    uint64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        found |= (bits & magnitude) + carry;
    }
    return found >> 63 != 0;
}

enum { PIECE = 2048 }; /* doubles checked at a time: 16 KiB, which fit the first-level cache */

/* The index of the first entry that is not finite, or -1. */
static int64_t find_not_finite(const double *values, int64_t count)
{
    for (int64_t first = 0; first < count; first += PIECE) {
        int64_t piece = count - first < PIECE ? count - first : PIECE;
        if (!cs_has_not_finite(values + first, piece)) continue;
        while (isfinite(values[first])) first++;
        return first;
    }
    return -1;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Checks that an inverse mass (dof, dof) is symmetric. */
static cs_status check_symmetric(int dof, const double *block, int64_t body, cs_error *error)
{
    double largest = 0;
    for (int i = 0; i < dof * dof; i++) largest = fmax(largest, fabs(block[i]));
    for (int i = 0; i < dof; i++)
        for (int j = i + 1; j < dof; j++)
            if (fabs(block[i * dof + j] - block[j * dof + i]) > CS_SYMMETRY * largest)
                return cs_fail(error, CS_INVALID,
                               "Minv[%lld, %d, %d] is %s but Minv[%lld, %d, %d] is %s: an inverse "
                               "mass is symmetric",
                               (long long)body, i, j, cs_number(block[i * dof + j]).text,
                               (long long)body, j, i, cs_number(block[j * dof + i]).text);
    return CS_OK;
}

/* root <- sqrt(M^-1) of diagonal inverse masses, which must not be negative. */
static cs_status factor_diagonals(cs_body_group *group, int64_t first, int64_t end, cs_error *error)
{
    int dof = group->dof;
    for (int64_t i = first * dof; i < end * dof; i++) {
        double entry = group->inverse_mass[i];
        if (entry < 0)
            return cs_fail(error, CS_INVALID,
                           "Minv[%lld, %lld] is %s: an inverse mass is 0 (immovable) or more",
                           (long long)(group->first_body + i / dof), (long long)(i % dof),
                           cs_number(entry).text);
        group->root[i] = sqrt(entry);
    }
    return CS_OK;
}

/* root <- L of full inverse masses. */
static cs_status factor_blocks(cs_body_group *group, int64_t first, int64_t end, cs_error *error)
{
    int dof = group->dof;
    for (int64_t body = first; body < end; body++) {
        const double *block = group->inverse_mass + body * dof * dof;
        long long number = (long long)(group->first_body + body);
        cs_status status = check_symmetric(dof, block, number, error);
        if (status) return status;
        int row = cs_semidefinite_cholesky(dof, block, group->root + body * dof * dof);
        if (row >= 0)
            return cs_fail(error, CS_INVALID,
                           "Minv[%lld] is indefinite, found at row %d (Minv[%lld, %d, %d] is %s): "
                           "an inverse mass has no negative eigenvalue",
                           number, row, number, row, row, cs_number(block[row * dof + row]).text);
    }
    return CS_OK;
}

cs_status cs_factor_bodies(cs_body_group *group, int64_t first, int64_t end, cs_error *error)
{
    return group->diagonal ? factor_diagonals(group, first, end, error)
                           : factor_blocks(group, first, end, error);
}

/* Reports the entry of the inverse masses that is not finite, with its indices as the user sees them. */
static cs_status report_inverse_mass(const cs_body_group *group, int64_t entry, cs_error *error)
{
    int64_t dof = group->dof, size = group->diagonal ? dof : dof * dof;
    double value = group->inverse_mass[entry];
    long long body = (long long)(group->first_body + entry / size),
              rest = (long long)(entry % size);
    if (group->diagonal)
        return cs_fail(error, CS_INVALID, "Minv[%lld, %lld] is %g: every entry must be finite",
                       body, rest, value);
    return cs_fail(error, CS_INVALID, "Minv[%lld, %lld, %lld] is %g: every entry must be finite",
                   body, rest / dof, rest % dof, value);
}

cs_status cs_check_bodies(cs_body_group *group, cs_error *error)
{
    int64_t bad = find_not_finite(group->inverse_mass, group->count * cs_inverse_mass_size(group));
    if (bad >= 0) return report_inverse_mass(group, bad, error);
    return cs_factor_bodies(group, 0, group->count, error);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static cs_status check_b(const cs_block_group *group, const double *b, cs_error *error)
{
    int64_t bad = find_not_finite(b, group->count * group->rows);
    if (bad < 0) return CS_OK;
    return cs_fail(error, CS_INVALID, "b[%lld, %lld] is %g: every entry must be finite",
                   (long long)(group->first_block + bad / group->rows),
                   (long long)(bad % group->rows), b[bad]);
}

/* Whether body number `body` exists; a body has these many degrees of freedom, or none is asked for. */
static int partner_fits(const cs_problem *problem, int64_t body, int dof)
{
    if (body < -1 || body >= problem->bodies) return 0;
    const cs_body_group *group = cs_body_group_of(problem, body);
    return !group || group->dof == dof;
}

int cs_partners_fit(const cs_problem *problem, const cs_blocks *blocks, int64_t index)
{
    int partners = cs_partners_of(blocks), fit = 1;
    const int64_t *body = blocks->bodies + partners * index;
    for (int s = 0; s < partners && fit; s++) fit = partner_fits(problem, body[s], blocks->dof[s]);
    return fit;
}

/* Checks that body numbers exist and that the columns of J match the bodies' degrees of freedom. */
static cs_status check_partners(const cs_problem *problem, const cs_block_group *group,
                                const cs_blocks *blocks, cs_error *error)
{
    int partners = cs_partners_of(blocks);
    for (int64_t i = 0; i < partners * group->count; i++) {
        int64_t body = blocks->bodies[i];
        long long block = (long long)(group->first_block + i / partners);
        int side = (int)(i % partners), dof = blocks->dof[side];
        if (partner_fits(problem, body, dof)) continue;
        if (body < -1 || body >= problem->bodies)
            return cs_fail(error, CS_INVALID,
                           "bodies[%lld, %d] is %lld: body numbers run from -1 (the fixed world) "
                           "to %lld",
                           block, side, (long long)body, (long long)problem->bodies - 1);
        return cs_fail(error, CS_INVALID,
                       "bodies[%lld, %d] is %lld, which has %d degrees of freedom, but J has "
                       "%d columns for it",
                       block, side, (long long)body, cs_body_group_of(problem, body)->dof, dof);
    }
    return CS_OK;
}

/* Reports an entry of J that is not finite, with its indices as the user sees them. */
static cs_status check_jacobian(const cs_block_group *group, const cs_blocks *blocks,
                                cs_error *error)
{
    int64_t size = 0;
    for (int s = 0; s < cs_partners_of(blocks); s++) size += (int64_t)blocks->rows * blocks->dof[s];
    int64_t bad = find_not_finite(blocks->jacobian, group->count * size);
    if (bad < 0) return CS_OK;

    /* Split the index into block, partner, row and column. */
    int64_t rest = bad % size;
    int side = 0;
    while (rest >= (int64_t)blocks->rows * blocks->dof[side])
        rest -= (int64_t)blocks->rows * blocks->dof[side++];
    return cs_fail(error, CS_INVALID, "J[%lld, %d, %lld, %lld] is %g: every entry must be finite",
                   (long long)(group->first_block + bad / size), side,
                   (long long)(rest / blocks->dof[side]), (long long)(rest % blocks->dof[side]),
                   blocks->jacobian[bad]);
}

/* Reports a number of a frame that is not finite. */
static cs_status check_frame(const cs_block_group *group, const cs_blocks *blocks, cs_error *error)
{
    int64_t bad = find_not_finite(blocks->frame, group->count * CS_FRAME_NUMBERS);
    if (bad < 0) return CS_OK;
    return cs_fail(error, CS_INVALID, "frame[%lld, %lld] is %g: every number must be finite",
                   (long long)(group->first_block + bad / CS_FRAME_NUMBERS),
                   (long long)(bad % CS_FRAME_NUMBERS), blocks->frame[bad]);
}

/* Checks the number of partners, and the numbers of columns of J. */
static cs_status check_columns(const cs_blocks *blocks, cs_error *error)
{
    int partners = cs_partners_of(blocks);
    if (partners < 1 || partners > CS_MAX_PARTNERS)
        return cs_fail(error, CS_INVALID,
                       "blocks act on %d bodies (partners); 1 to %d are allowed", partners,
                       CS_MAX_PARTNERS);
    for (int side = 0; side < partners; side++)
        if (blocks->dof[side] < 0 || blocks->dof[side] > CS_MAX_DOF)
            return cs_fail(error, CS_INVALID,
                           "J has %d columns for bodies[:, %d]; at most %d are allowed",
                           blocks->dof[side], side, CS_MAX_DOF);
    return CS_OK;
}

int cs_blocks_fit(const cs_blocks *blocks)
{
    if (blocks->jacobian || blocks->frame)
        return !blocks->included && check_columns(blocks, NULL) == CS_OK;
    return !blocks->compliance;
}

/* Checks the diagonal of Sigma. */
static cs_status check_compliance(const cs_block_group *group, const cs_blocks *blocks,
                                  cs_error *error)
{
    if (!blocks->jacobian && !blocks->frame)
        return cs_fail(error, CS_INVALID,
                       "compliance is for problems with Jacobians: add it to "
                       "the diagonal of a given A");
    for (int64_t i = 0; i < group->count * group->rows; i++)
        if (!(blocks->compliance[i] >= 0) || isinf(blocks->compliance[i]))
            return cs_fail(error, CS_INVALID,
                           "compliance[%lld, %lld] is %s: a finite number, 0 or more, is needed",
                           (long long)(group->first_block + i / group->rows),
                           (long long)(i % group->rows), cs_number(blocks->compliance[i]).text);
    return CS_OK;
}

cs_status cs_check_blocks(const cs_problem *problem, const cs_block_group *group,
                          const cs_blocks *blocks, cs_error *error)
{
    /* b and the parameters. */
    cs_status status = blocks->b ? check_b(group, blocks->b, error) : CS_OK;
    if (!status && blocks->parameters)
        status = cs_check_parameters(group->set, group->count, group->rows, group->parameters,
                                     blocks->parameters, group->first_block, error);

    /* The bodies and J. */
    if (!status && (blocks->jacobian || blocks->frame)) status = check_columns(blocks, error);
    if (!status && blocks->bodies) status = check_partners(problem, group, blocks, error);
    if (!status && blocks->jacobian) status = check_jacobian(group, blocks, error);
    if (!status && blocks->frame) status = check_frame(group, blocks, error);

    /* Sigma. */
    if (!status && blocks->compliance) status = check_compliance(group, blocks, error);
    if (!status && blocks->included && (blocks->jacobian || blocks->frame))
        status = cs_fail(error, CS_INVALID, "included is for a given A: compliance is added to A");
    return status;
}

/* The polar decomposition of a deformation gradient F (3, 2), by its singular values.
 *
 *     F = sum over i of sigma_i u_i v_i',   R = u_1 v_1' + u_2 v_2',   S = R'F = sum of sigma_i v_i v_i'
 *
 * F is reduced to a 2 x 2 triangle by a Householder reflection, whose singular values have closed forms without
 * cancellation: R is orthonormal to rounding, and F = R S holds to rounding of |F|, also where F has rank 1 or 0. */
#ifndef CS_POLAR_H
#define CS_POLAR_H

typedef struct cs_polar {
    double frame[3][3]; /* u_1, u_2, and the normal u_1 x u_2 */
    double axis[2];     /* v_1; v_2 is (-axis[1], axis[0]) */
    double sigma[2];    /* sigma_1 >= sigma_2 >= 0 */
} cs_polar;

/* f: the two columns of F, finite. */
void cs_polar_find(const double f[2][3], cs_polar *polar);

#endif

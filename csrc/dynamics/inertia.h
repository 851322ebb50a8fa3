/* Small matrices of rigid bodies in space. */
#ifndef CS_INERTIA_H
#define CS_INERTIA_H

/* The rotation matrix of a unit quaternion, by rows. */
static inline void cs_rotation_of(const double *q, double *r)
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    r[0] = 1 - 2 * (y * y + z * z), r[1] = 2 * (x * y - w * z), r[2] = 2 * (x * z + w * y);
    r[3] = 2 * (x * y + w * z), r[4] = 1 - 2 * (x * x + z * z), r[5] = 2 * (y * z - w * x);
    r[6] = 2 * (x * z - w * y), r[7] = 2 * (y * z + w * x), r[8] = 1 - 2 * (x * x + y * y);
}

/* turned <- R tensor R^T */
static inline void cs_turn_tensor(const double *r, const double *tensor, double *turned)
{
    double half[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            half[3 * i + j] = 0;
            for (int k = 0; k < 3; k++) half[3 * i + j] += r[3 * i + k] * tensor[3 * k + j];
        }
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += half[3 * i + k] * r[3 * j + k];
            turned[3 * i + j] = turned[3 * j + i] = sum;
        }
}

static inline void cs_multiply3(const double *tensor, const double *x, double *y)
{
    for (int i = 0; i < 3; i++)
        y[i] = tensor[3 * i] * x[0] + tensor[3 * i + 1] * x[1] + tensor[3 * i + 2] * x[2];
}

static inline void cs_cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

#endif

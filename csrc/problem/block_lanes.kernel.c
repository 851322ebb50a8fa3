/* The kernels of problem/block_lanes.h for one instruction set. They use no fused multiply-add, because
 * every build must compute the same bits. */
#include "core/simd.h"
#include "problem/block_lanes.h"

#include <float.h>
#include <math.h>

enum { SWEEPS = 30 }; /* at most, as in linalg/small.c, whose rotations these are */

/* out[i] <- base[place[l] + i] in lane l, for i < count. */
CS_INLINE void load_numbers(const double *base, const int32_t *place, int count, vec_f64 *out)
{
    if (count % CS_PIECE == 0) { /* so that each lane's numbers are aligned, too */
        for (int i = 0; i < count; i += CS_PIECE) load_piece_f64(base + i, place, out + i);
        return;
    }
    for (int i = 0; i < count; i++) {
        _Alignas(64) double lane[CS_LANES];
        for (int l = 0; l < CS_LANES; l++) lane[l] = base[place[l] + i];
        out[i] = load_f64(lane);
    }
}

/* jacobian (rows, 6) <- J of one side from frames, by the operations of cs_frame_expand. */
CS_INLINE void expand_frames(const cs_block_lanes *e, int side, int first, int rows,
                             vec_f64 *jacobian)
{
    /* n, t, s = n x t, and the lever arm. */
    vec_f64 number[CS_FRAME_NUMBERS], axis[3][3], zero = all_f64(0), sign = all_f64(side ? 1 : -1);
    load_numbers(e->jacobian, e->place + first, CS_FRAME_NUMBERS, number);
    const vec_f64 *n = number, *t = number + 3, *r = number + CS_FRAME_ARM + 3 * side;
    for (int k = 0; k < 3; k++) {
        axis[0][k] = n[k];
        axis[1][k] = t[k];
        axis[2][k] = n[(k + 1) % 3] * t[(k + 2) % 3] - n[(k + 2) % 3] * t[(k + 1) % 3];
    }

    /* The rows. */
    CS_UNROLL for (int i = 0; i < rows; i++) CS_UNROLL for (int k = 0; k < 3; k++)
    {
        const vec_f64 *d = axis[i < 3 ? i : cs_frame_turning_axis(rows, i)];
        vec_f64 linear = sign * d[k];
        vec_f64 angular = r[(k + 1) % 3] * d[(k + 2) % 3] - r[(k + 2) % 3] * d[(k + 1) % 3];
        angular = sign * angular;
        if (i < 3) jacobian[6 * i + k] = linear;
        else jacobian[6 * i + k] = zero;
        if (i < 3) jacobian[6 * i + 3 + k] = angular;
        else jacobian[6 * i + 3 + k] = linear;
    }
}

/* scaled (rows, dof) <- J L of one partner, for the lanes from `first` on; zero for an immovable partner. */
CS_INLINE void scale_side(const cs_block_lanes *e, int side, int first, int rows, int dof,
                          int diagonal, vec_f64 *scaled)
{
    vec_f64 jacobian[CS_MAX_ROWS * 6], root[36], zero = all_f64(0);
    mask_f64 moves = less_f64(zero, load_f64(e->moving[side] + first));
    int numbers = diagonal ? dof : dof * dof;
    if (e->frames && dof == 6) expand_frames(e, side, first, rows, jacobian);
    else load_numbers(e->jacobian + side * rows * dof, e->place + first, rows * dof, jacobian);
    load_numbers(e->root, e->body[side] + first, numbers, root);

    /* Multiply by the lower triangular L, or by its diagonal. */
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < dof; c++) {
            vec_f64 sum = zero;
            for (int k = c; k < dof && !diagonal; k++)
                sum = sum + jacobian[i * dof + k] * root[k * dof + c];
            if (diagonal) sum = jacobian[i * dof + c] * root[c];
            scaled[i * dof + c] = choose_f64(moves, sum, zero);
        }
}

/* sum += X X^T for X (rows, dof), lower triangle only. */
CS_INLINE void add_squares(int rows, int dof, const vec_f64 *x, vec_f64 *sum)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j <= i; j++)
            for (int c = 0; c < dof; c++)
                sum[i * rows + j] = sum[i * rows + j] + x[i * dof + c] * x[j * dof + c];
}

/* scaled <- G_k, the first partner's part and then the second one's. */
CS_INLINE void scale(const cs_block_lanes *e, int rows, int dof, int diagonal, double *scaled)
{
    for (int first = 0; first < CS_BLOCK_LANES; first += CS_LANES)
        for (int side = 0; side < 2; side++) {
            vec_f64 own[CS_MAX_ROWS * 6];
            scale_side(e, side, first, rows, dof, diagonal, own);
            for (int i = 0; i < rows * dof; i++)
                store_f64(scaled + (side * rows * dof + i) * CS_BLOCK_LANES + first, own[i]);
        }
}

/* result <- G_k G_k^T */
CS_INLINE void square(const cs_block_lanes *e, int rows, int dof, int diagonal, double *result)
{
    for (int first = 0; first < CS_BLOCK_LANES; first += CS_LANES) {
        vec_f64 sum[CS_MAX_ROWS * CS_MAX_ROWS];

        /* Add up the lower triangle over both partners. */
        for (int i = 0; i < rows * rows; i++) sum[i] = all_f64(0);
        for (int side = 0; side < 2; side++) {
            vec_f64 own[CS_MAX_ROWS * 6];
            scale_side(e, side, first, rows, dof, diagonal, own);
            add_squares(rows, dof, own, sum);
        }

        /* Store both triangles. */
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                store_f64(result + (i * rows + j) * CS_BLOCK_LANES + first,
                          sum[i < j ? j * rows + i : i * rows + j]);
    }
}

/* Calls `body` with constant sizes for each shape of cs_block_lanes_fit, so that its loops unroll. */
#define BY_SHAPE(body, e, result)                                           \
    do {                                                                    \
        if ((e)->dof == 3 && (e)->diagonal) body(e, 2, 3, 1, result);       \
        else if ((e)->dof == 3) body(e, 2, 3, 0, result);                   \
        else if ((e)->rows == 3 && (e)->diagonal) body(e, 3, 6, 1, result); \
        else if ((e)->rows == 3) body(e, 3, 6, 0, result);                  \
        else if ((e)->diagonal) body(e, 4, 6, 1, result);                   \
        else body(e, 4, 6, 0, result);                                      \
    } while (0)

static void CS_BUILD(lanes_scaled)(const cs_block_lanes *e, double *scaled)
{
    BY_SHAPE(scale, e, scaled);
}

static void CS_BUILD(lanes_diagonals)(const cs_block_lanes *e, double *diagonal)
{
    BY_SHAPE(square, e, diagonal);
}

/* ---- eigenvalues ----------------------------------------------------------------------------- */

/* The lanes that need another sweep: an off-diagonal entry is still above `bound`. */
CS_INLINE mask_f64 unfinished(int n, vec_f64 (*s)[CS_MAX_ROWS], vec_f64 bound)
{
    vec_f64 largest = all_f64(0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) largest = larger_f64(size_f64(s[i][j]), largest);
    return less_f64(bound, largest);
}

/* One Jacobi rotation in the plane (p, q), which makes s[p][q] zero, in the lanes of the mask where it is
 * not zero already. */
CS_INLINE void rotate(int n, vec_f64 (*s)[CS_MAX_ROWS], int p, int q, mask_f64 where)
{
    vec_f64 one = all_f64(1), zero = all_f64(0), minus = all_f64(-1);
    where = both_f64(where, less_f64(zero, size_f64(s[p][q])));

    /* The angle: t = tan, c = cos, d = sin. */
    vec_f64 across = choose_f64(where, s[p][q], one), gap = s[q][q] - s[p][p];
    vec_f64 theta = gap / (all_f64(2) * across);
    vec_f64 sign = choose_f64(less_f64(gap, zero), minus, one);
    sign = choose_f64(less_f64(across, zero), zero - sign, sign);
    vec_f64 t = sign / (size_f64(theta) + root_f64(one + theta * theta));
    vec_f64 c = one / root_f64(one + t * t), d = t * c;

    /* Rotate the columns, then the rows. */
    for (int k = 0; k < n; k++) {
        vec_f64 a = s[k][p], b = s[k][q];
        s[k][p] = choose_f64(where, c * a - d * b, a);
        s[k][q] = choose_f64(where, d * a + c * b, b);
    }
    for (int k = 0; k < n; k++) {
        vec_f64 a = s[p][k], b = s[q][k];
        s[p][k] = choose_f64(where, c * a - d * b, a);
        s[q][k] = choose_f64(where, d * a + c * b, b);
    }
}

/* s <- the symmetric part of R^1/2 A_kk R^1/2. Returns its largest absolute entry. */
CS_INLINE vec_f64 load_scaled(int n, const double *diagonal, const double *r,
                              vec_f64 (*s)[CS_MAX_ROWS])
{
    vec_f64 root[CS_MAX_ROWS], a[CS_MAX_ROWS][CS_MAX_ROWS], most = all_f64(0);
    for (int i = 0; i < n; i++) root[i] = root_f64(load_f64(r + i * CS_BLOCK_LANES));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = root[i] * root[j] * load_f64(diagonal + (i * n + j) * CS_BLOCK_LANES);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s[i][j] = all_f64(0.5) * (a[i][j] + a[j][i]);
            most = larger_f64(size_f64(s[i][j]), most);
        }
    return most;
}

/* result <- the largest eigenvalue of R^1/2 A_kk R^1/2, by cyclic Jacobi rotations. */
CS_INLINE void find_overshoots(int n, const double *diagonal, const double *r, double *result)
{
    for (int first = 0; first < CS_BLOCK_LANES; first += CS_LANES) {
        vec_f64 s[CS_MAX_ROWS][CS_MAX_ROWS];
        vec_f64 bound = all_f64(DBL_EPSILON) * load_scaled(n, diagonal + first, r + first, s);

        /* Rotate until no lane has an off-diagonal entry above rounding. */
        for (int sweep = 0; sweep < SWEEPS; sweep++) {
            mask_f64 where = unfinished(n, s, bound);
            if (!any_f64(where)) break;
            for (int p = 0; p < n; p++)
                for (int q = p + 1; q < n; q++) rotate(n, s, p, q, where);
        }

        /* The eigenvalues are on the diagonal. */
        vec_f64 largest = s[0][0];
        for (int i = 1; i < n; i++) largest = larger_f64(s[i][i], largest);
        store_f64(result + first, largest);
    }
}

static void CS_BUILD(lanes_overshoots)(int rows, const double *diagonal, const double *r,
                                       double *result)
{
    if (rows == 2) find_overshoots(2, diagonal, r, result);
    else if (rows == 3) find_overshoots(3, diagonal, r, result);
    else find_overshoots(4, diagonal, r, result);
}

/* ---- local factors ----------------------------------------------------------------------------- */

/* Whether the diagonal entries of all lanes are plain. */
CS_INLINE int are_plain(int n, const double *diagonal)
{
    vec_f64 least = all_f64(CS_BLOCK_LANES_LEAST), most = all_f64(CS_BLOCK_LANES_MOST);
    vec_f64 zero = all_f64(0), bad = zero;
    for (int first = 0; first < CS_BLOCK_LANES; first += CS_LANES)
        for (int i = 0; i < n; i++) {
            vec_f64 entry = load_f64(diagonal + i * (n + 1) * CS_BLOCK_LANES + first);
            mask_f64 plain = both_f64(less_f64(least, entry), less_f64(entry, most));
            bad = choose_f64(plain, bad, all_f64(1));
        }
    return !any_f64(less_f64(zero, bad));
}

/* rho <- the inverse of the largest diagonal entry of each row's coupled set. */
CS_INLINE void find_scales(int n, const int *set, const double *diagonal, double *rho)
{
    for (int first = 0; first < CS_BLOCK_LANES; first += CS_LANES) {
        vec_f64 largest[CS_MAX_ROWS];
        for (int i = 0; i < n; i++) largest[i] = all_f64(0);
        for (int i = 0; i < n; i++) {
            vec_f64 entry = load_f64(diagonal + i * (n + 1) * CS_BLOCK_LANES + first);
            largest[set[i]] = choose_f64(less_f64(largest[set[i]], entry), entry, largest[set[i]]);
        }
        for (int i = 0; i <= set[n - 1]; i++) largest[i] = all_f64(1) / largest[i];
        for (int i = 0; i < n; i++) store_f64(rho + i * CS_BLOCK_LANES + first, largest[set[i]]);
    }
}

/* r <- rho, divided by how far the block overshoots, if it does, times the relaxation. */
CS_INLINE void shorten(int n, const double *rho, const double *over, double relaxation, double *r)
{
    vec_f64 one = all_f64(1), factor = all_f64(relaxation);
    for (int first = 0; first < CS_BLOCK_LANES; first += CS_LANES) {
        vec_f64 divisor = load_f64(over + first);
        divisor = choose_f64(less_f64(one, divisor), divisor, one);
        for (int i = 0; i < n; i++) {
            double *to = r + i * CS_BLOCK_LANES + first;
            store_f64(to, load_f64(rho + i * CS_BLOCK_LANES + first) / divisor * factor);
        }
    }
}

CS_INLINE int find_local(int n, const int *set, const double *diagonal, double relaxation,
                         double *rho, double *r)
{
    _Alignas(64) double over[CS_BLOCK_LANES];
    if (!are_plain(n, diagonal)) return 0;
    find_scales(n, set, diagonal, rho);
    CS_BUILD(lanes_overshoots)(n, diagonal, rho, over);
    shorten(n, rho, over, relaxation, r);
    return 1;
}

static int CS_BUILD(lanes_local)(int rows, const int *set, const double *diagonal,
                                 double relaxation, double *rho, double *r)
{
    if (rows == 2) return find_local(2, set, diagonal, relaxation, rho, r);
    if (rows == 3) return find_local(3, set, diagonal, relaxation, rho, r);
    return find_local(4, set, diagonal, relaxation, rho, r);
}

extern const cs_block_lanes_kernels CS_BUILD(cs_block_lanes_kernels);
const cs_block_lanes_kernels CS_BUILD(cs_block_lanes_kernels) = {
    .scaled = CS_BUILD(lanes_scaled),
    .diagonals = CS_BUILD(lanes_diagonals),
    .overshoots = CS_BUILD(lanes_overshoots),
    .local = CS_BUILD(lanes_local),
};

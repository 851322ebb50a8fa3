/* The kernels of problem/block_lanes.h for one instruction set. Nothing is fused: see there. */
#include "core/simd.h"
#include "problem/block_lanes.h"

#include <float.h>
#include <math.h>

enum { SWEEPS = 30 }; /* as in linalg/small.c, whose rotations these are */

/* `count` numbers of each lane, from base[place[l]] on. */
CS_INLINE void load_numbers(const double *base, const int32_t *place, int count, vec_f64 *out)
{
    if (count % CS_PIECE == 0) { /* and hence aligned */
        for (int i = 0; i < count; i += CS_PIECE) load_piece_f64(base + i, place, out + i);
        return;
    }
    for (int i = 0; i < count; i++) {
        _Alignas(64) double lane[CS_LANES];
        for (int l = 0; l < CS_LANES; l++) lane[l] = base[place[l] + i];
        out[i] = load_f64(lane);
    }
}

/* G of one side, for the lanes from `first` on; zero where the body cannot move. */
CS_INLINE void scale_side(const cs_block_lanes *e, int side, int first, int rows, int dof,
                          int diagonal, vec_f64 *scaled)
{
    vec_f64 jacobian[CS_MAX_ROWS * 6], root[36], zero = all_f64(0);
    mask_f64 moves = less_f64(zero, load_f64(e->moving[side] + first));
    int numbers = diagonal ? dof : dof * dof;
    load_numbers(e->jacobian + side * rows * dof, e->place + first, rows * dof, jacobian);
    load_numbers(e->root, e->body[side] + first, numbers, root);
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < dof; c++) {
            vec_f64 sum = zero; /* L is lower triangular */
            for (int k = c; k < dof && !diagonal; k++)
                sum = sum + jacobian[i * dof + k] * root[k * dof + c];
            if (diagonal) sum = jacobian[i * dof + c] * root[c];
            scaled[i * dof + c] = choose_f64(moves, sum, zero);
        }
}

/* sum += X X^T, X (rows, dof), the lower triangle. */
CS_INLINE void add_squares(int rows, int dof, const vec_f64 *x, vec_f64 *sum)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j <= i; j++)
            for (int c = 0; c < dof; c++)
                sum[i * rows + j] = sum[i * rows + j] + x[i * dof + c] * x[j * dof + c];
}

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

CS_INLINE void square(const cs_block_lanes *e, int rows, int dof, int diagonal, double *result)
{
    for (int first = 0; first < CS_BLOCK_LANES; first += CS_LANES) {
        vec_f64 sum[CS_MAX_ROWS * CS_MAX_ROWS];
        for (int i = 0; i < rows * rows; i++) sum[i] = all_f64(0);
        for (int side = 0; side < 2; side++) {
            vec_f64 own[CS_MAX_ROWS * 6];
            scale_side(e, side, first, rows, dof, diagonal, own);
            add_squares(rows, dof, own, sum);
        }
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                store_f64(result + (i * rows + j) * CS_BLOCK_LANES + first,
                          sum[i < j ? j * rows + i : i * rows + j]);
    }
}

/* Calls `body` with constants for the shapes of cs_block_lanes_fit. */
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

/* The lanes whose off-diagonal entries are no rounding yet. */
CS_INLINE mask_f64 unfinished(int n, vec_f64 (*s)[CS_MAX_ROWS], vec_f64 bound)
{
    vec_f64 largest = all_f64(0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) largest = larger_f64(size_f64(s[i][j]), largest);
    return less_f64(bound, largest);
}

/* One rotation in the plane (p, q) that makes s[p][q] zero, where it is not and the mask holds. */
CS_INLINE void rotate(int n, vec_f64 (*s)[CS_MAX_ROWS], int p, int q, mask_f64 where)
{
    vec_f64 one = all_f64(1), zero = all_f64(0), minus = all_f64(-1);
    where = both_f64(where, less_f64(zero, size_f64(s[p][q])));
    vec_f64 across = choose_f64(where, s[p][q], one), gap = s[q][q] - s[p][p];
    vec_f64 theta = gap / (all_f64(2) * across);
    vec_f64 sign = choose_f64(less_f64(gap, zero), minus, one);
    sign = choose_f64(less_f64(across, zero), zero - sign, sign);
    vec_f64 t = sign / (size_f64(theta) + root_f64(one + theta * theta));
    vec_f64 c = one / root_f64(one + t * t), d = t * c;
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

/* R^1/2 A_kk R^1/2, made symmetric; returns its largest entry by size. */
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

CS_INLINE void find_overshoots(int n, const double *diagonal, const double *r, double *result)
{
    for (int first = 0; first < CS_BLOCK_LANES; first += CS_LANES) {
        vec_f64 s[CS_MAX_ROWS][CS_MAX_ROWS];
        vec_f64 bound = all_f64(DBL_EPSILON) * load_scaled(n, diagonal + first, r + first, s);
        for (int sweep = 0; sweep < SWEEPS; sweep++) {
            mask_f64 where = unfinished(n, s, bound);
            if (!any_f64(where)) break;
            for (int p = 0; p < n; p++)
                for (int q = p + 1; q < n; q++) rotate(n, s, p, q, where);
        }
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

extern const cs_block_lanes_kernels CS_BUILD(cs_block_lanes_kernels);
const cs_block_lanes_kernels CS_BUILD(cs_block_lanes_kernels) = {
    .scaled = CS_BUILD(lanes_scaled),
    .diagonals = CS_BUILD(lanes_diagonals),
    .overshoots = CS_BUILD(lanes_overshoots),
};

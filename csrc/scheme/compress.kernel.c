/* The kernel of scheme/compressed.h for one instruction set: eight contacts of bodies in space are
 * found to be frames and arms, and compressed. Nothing is fused: set-up must not depend on the
 * machine. */
#include "scheme/compressed.h"

/* Behind what is compiled for both precisions: this is for doubles. */
#include "core/simd.h"

enum { MOST_ROWS = 4 };

/* One side of eight contacts: its rows times the sign that they have in the contact velocity. */
typedef struct side {
    vec_f64 number[MOST_ROWS][6];
    mask_f64 moves;
} side;

CS_INLINE vec_f64 dot(const vec_f64 *a, const vec_f64 *b)
{
    vec_f64 sum = all_f64(0);
    for (int i = 0; i < 3; i++) sum = sum + a[i] * b[i];
    return sum;
}

CS_INLINE void cross(const vec_f64 *a, const vec_f64 *b, vec_f64 *product)
{
    product[0] = a[1] * b[2] - a[2] * b[1];
    product[1] = a[2] * b[0] - a[0] * b[2];
    product[2] = a[0] * b[1] - a[1] * b[0];
}

/* Where |a - b| is within a bound, which may be zero. */
CS_INLINE mask_f64 near(const vec_f64 *a, const vec_f64 *b, vec_f64 bound)
{
    vec_f64 above = bound + all_f64(1e-300);
    mask_f64 where = less_f64(size_f64(a[0] - b[0]), above);
    for (int i = 1; i < 3; i++) where = both_f64(where, less_f64(size_f64(a[i] - b[i]), above));
    return where;
}

CS_INLINE void load_side(const cs_block_lanes *e, int number, int first, int rows, side *s)
{
    vec_f64 jacobian[MOST_ROWS * 6], sign = all_f64(number ? 1 : -1);
    const double *base = e->jacobian + number * rows * 6;
    for (int i = 0; i < rows * 6; i += CS_PIECE)
        load_piece_f64(base + i, e->place + first, jacobian + i);
    for (int i = 0; i < rows * 6; i++) s->number[i / 6][i % 6] = sign * jacobian[i];
    s->moves = less_f64(all_f64(0), load_f64(e->moving[number] + first));
}

/* The lever arm: 2 r = sum over d of d x (r x d). */
CS_INLINE void find_arm(const side *s, vec_f64 *arm)
{
    for (int k = 0; k < 3; k++) arm[k] = all_f64(0);
    for (int i = 0; i < 3; i++) {
        vec_f64 part[3];
        cross(s->number[i], s->number[i] + 3, part);
        for (int k = 0; k < 3; k++) arm[k] = arm[k] + part[k] / all_f64(2);
    }
}

/* Where a side is what the frame and its arm say. */
CS_INLINE mask_f64 side_fits(const side *s, int rows, vec_f64 (*frame)[3], const vec_f64 *arm,
                             vec_f64 tolerance)
{
    vec_f64 zero[3] = {all_f64(0), all_f64(0), all_f64(0)};
    vec_f64 lever = size_f64(arm[0]) + size_f64(arm[1]) + size_f64(arm[2]);
    mask_f64 where = less_f64(zero[0], all_f64(1));
    for (int i = 0; i < rows; i++) {
        vec_f64 wanted[3];
        if (i < 3) cross(arm, frame[i], wanted);
        const vec_f64 *linear = i < 3 ? frame[i] : zero, *angular = i < 3 ? wanted : frame[0];
        where = both_f64(where, near(s->number[i], linear, tolerance));
        vec_f64 bound = tolerance;
        if (i < 3) bound = tolerance * lever;
        where = both_f64(where, near(s->number[i] + 3, angular, bound));
    }
    return where;
}

/* Where the first two directions are of length 1 and perpendicular, and the third is hand times
 * their product, which it becomes to the last bit. */
CS_INLINE mask_f64 frame_fits(vec_f64 (*frame)[3], vec_f64 hand, vec_f64 tolerance)
{
    vec_f64 third[3], one = all_f64(1), zero = all_f64(0);
    cross(frame[0], frame[1], third);
    mask_f64 positive = less_f64(zero, dot(third, frame[2]));
    mask_f64 where = less_f64(zero, hand * choose_f64(positive, one, zero - one));
    for (int k = 0; k < 3; k++) frame[2][k] = hand * third[k];
    vec_f64 above = tolerance + all_f64(1e-300);
    where = both_f64(where, less_f64(size_f64(dot(frame[0], frame[0]) - one), above));
    where = both_f64(where, less_f64(size_f64(dot(frame[1], frame[1]) - one), above));
    return both_f64(where, less_f64(size_f64(dot(frame[0], frame[1])), above));
}

/* Where the mask does not hold, whatever moves. */
CS_INLINE int fails(mask_f64 fits, mask_f64 moves)
{
    vec_f64 one = all_f64(1), zero = all_f64(0);
    vec_f64 bad = choose_f64(moves, choose_f64(fits, zero, one), zero);
    return any_f64(less_f64(zero, bad));
}

CS_INLINE int compress(const cs_block_lanes *e, int first, int rows, double tolerance, int hand,
                       double *numbers)
{
    side s[2];
    vec_f64 frame[3][3], arm[2][3], zero = all_f64(0), bound = all_f64(tolerance);
    for (int k = 0; k < 2; k++) load_side(e, k, first, rows, &s[k]);
    mask_f64 moves = either_f64(s[0].moves, s[1].moves);
    for (int i = 0; i < 9; i++)
        frame[i / 3][i % 3] =
            choose_f64(s[1].moves, s[1].number[i / 3][i % 3], s[0].number[i / 3][i % 3]);
    for (int i = 0; i < 6; i++)
        store_f64(numbers + i * CS_BLOCK_LANES + first,
                  choose_f64(moves, frame[i / 3][i % 3], zero));
    int failed = fails(frame_fits(frame, all_f64(hand), bound), moves);
    for (int k = 0; k < 2; k++) {
        find_arm(&s[k], arm[k]);
        failed |= fails(side_fits(&s[k], rows, frame, arm[k], bound), s[k].moves);
        for (int i = 0; i < 3; i++)
            store_f64(numbers + (6 + 3 * k + i) * CS_BLOCK_LANES + first,
                      choose_f64(s[k].moves, arm[k][i], zero));
    }
    return !failed;
}

extern const cs_compress_kernel CS_BUILD(cs_compress_eight);

static int CS_BUILD(compress_eight)(const cs_block_lanes *e, double tolerance, int hand,
                                    double *numbers)
{
    int fits = 1;
    for (int first = 0; first < CS_BLOCK_LANES && fits; first += CS_LANES)
        fits = e->rows == 3 ? compress(e, first, 3, tolerance, hand, numbers)
                            : compress(e, first, 4, tolerance, hand, numbers);
    return fits;
}

const cs_compress_kernel CS_BUILD(cs_compress_eight) = CS_BUILD(compress_eight);

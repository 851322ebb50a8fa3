/* The kernel of cs_compress_lanes (scheme/compressed.h) for one instruction set: tests whether CS_BLOCK_LANES contacts
 * in space have frames and lever arms, and compresses them. It uses no fused multiply-add, because set-up must not
 * depend on the machine. scheme/compressed.c computes the same for one contact. */
#include "scheme/compressed.h"

/* After all headers that are compiled for two precisions: this defines vectors of doubles. */
#include "core/simd.h"

enum { MOST_ROWS = 4 };

/* One side of the contacts in a vector: J times its sign in the contact velocity, and whether the body is movable. */
typedef struct side {
    vec_f64 number[MOST_ROWS][6];
    mask_f64 movable;
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

/* The lanes in which each entry of |a - b| is within a bound, which may be zero. */
CS_INLINE mask_f64 is_near(const vec_f64 *a, const vec_f64 *b, vec_f64 bound)
{
    vec_f64 above = bound + all_f64(1e-300);
    mask_f64 where = less_f64(size_f64(a[0] - b[0]), above);
    for (int i = 1; i < 3; i++) where = both_f64(where, less_f64(size_f64(a[i] - b[i]), above));
    return where;
}

/* Loads side `number` of the contacts from lane `first` on. */
CS_INLINE void load_side(const cs_block_lanes *lanes, int number, int first, int rows, side *s)
{
    vec_f64 jacobian[MOST_ROWS * 6], sign = all_f64(number ? 1 : -1);
    const double *base = lanes->jacobian + number * rows * 6;
    CS_UNROLL for (int i = 0; i < rows * 6; i += CS_PIECE)
        load_piece_f64(base + i, lanes->place + first, jacobian + i);
    CS_UNROLL for (int i = 0; i < rows * 6; i++) s->number[i / 6][i % 6] = sign * jacobian[i];
    s->movable = less_f64(all_f64(0), load_f64(lanes->moving[number] + first));
}

/* arm <- the lever arm r, from 2 r = sum over d of d x (r x d). */
CS_INLINE void find_arm(const side *s, vec_f64 *arm)
{
    for (int k = 0; k < 3; k++) arm[k] = all_f64(0);
    CS_UNROLL for (int i = 0; i < 3; i++)
    {
        vec_f64 part[3];
        cross(s->number[i], s->number[i] + 3, part);
        for (int k = 0; k < 3; k++) arm[k] = arm[k] + part[k] / all_f64(2);
    }
}

/* The lanes in which J of a side is the one that the frame and the arm give. */
CS_INLINE mask_f64 side_fits(const side *s, int rows, vec_f64 (*frame)[3], const vec_f64 *arm,
                             vec_f64 tolerance)
{
    vec_f64 zero[3] = {all_f64(0), all_f64(0), all_f64(0)};
    vec_f64 lever = size_f64(arm[0]) + size_f64(arm[1]) + size_f64(arm[2]);
    mask_f64 where = less_f64(zero[0], all_f64(1));
    CS_UNROLL for (int i = 0; i < rows; i++)
    {
        vec_f64 wanted[3];
        if (i < 3) cross(arm, frame[i], wanted);
        const vec_f64 *linear = i < 3 ? frame[i] : zero, *angular = i < 3 ? wanted : frame[0];
        where = both_f64(where, is_near(s->number[i], linear, tolerance));
        vec_f64 bound = tolerance;
        if (i < 3) bound = tolerance * lever;
        where = both_f64(where, is_near(s->number[i] + 3, angular, bound));
    }
    return where;
}

/* The lanes in which n and t are orthonormal and s has the same side as handedness (n x t). s becomes handedness
 * (n x t) to the last bit. */
CS_INLINE mask_f64 frame_fits(vec_f64 (*frame)[3], vec_f64 handedness, vec_f64 tolerance)
{
    vec_f64 third[3], one = all_f64(1), zero = all_f64(0);
    cross(frame[0], frame[1], third);
    mask_f64 positive = less_f64(zero, dot(third, frame[2]));
    mask_f64 where = less_f64(zero, handedness * choose_f64(positive, one, zero - one));
    for (int k = 0; k < 3; k++) frame[2][k] = handedness * third[k];
    vec_f64 above = tolerance + all_f64(1e-300);
    where = both_f64(where, less_f64(size_f64(dot(frame[0], frame[0]) - one), above));
    where = both_f64(where, less_f64(size_f64(dot(frame[1], frame[1]) - one), above));
    return both_f64(where, less_f64(size_f64(dot(frame[0], frame[1])), above));
}

/* Whether any lane with a movable body does not fit. */
CS_INLINE int fails(mask_f64 fits, mask_f64 movable)
{
    vec_f64 one = all_f64(1), zero = all_f64(0);
    vec_f64 bad = choose_f64(movable, choose_f64(fits, zero, one), zero);
    return any_f64(less_f64(zero, bad));
}

/* Compresses the contacts of one vector, from lane `first` on. Returns whether all of them fit. */
CS_INLINE int compress(const cs_block_lanes *lanes, int first, int rows, double tolerance,
                       int handedness, double *numbers)
{
    /* Load both sides; the frame is that of side 1, or of side 0 if the body of side 1 is immovable. */
    side s[2];
    vec_f64 frame[3][3], arm[2][3], zero = all_f64(0), bound = all_f64(tolerance);
    CS_UNROLL for (int k = 0; k < 2; k++) load_side(lanes, k, first, rows, &s[k]);
    mask_f64 movable = either_f64(s[0].movable, s[1].movable);
    CS_UNROLL for (int i = 0; i < 9; i++) frame[i / 3][i % 3] =
        choose_f64(s[1].movable, s[1].number[i / 3][i % 3], s[0].number[i / 3][i % 3]);

    /* Store n and t, and test the frame. */
    CS_UNROLL for (int i = 0; i < 6; i++) store_f64(numbers + i * CS_BLOCK_LANES + first,
                                                    choose_f64(movable, frame[i / 3][i % 3], zero));
    int failed = fails(frame_fits(frame, all_f64(handedness), bound), movable);

    /* Find, test and store the arm of each side. */
    CS_UNROLL for (int k = 0; k < 2; k++)
    {
        find_arm(&s[k], arm[k]);
        failed |= fails(side_fits(&s[k], rows, frame, arm[k], bound), s[k].movable);
        for (int i = 0; i < 3; i++)
            store_f64(numbers + (6 + 3 * k + i) * CS_BLOCK_LANES + first,
                      choose_f64(s[k].movable, arm[k][i], zero));
    }
    return !failed;
}

extern const cs_compress_kernel CS_BUILD(cs_compress_lanes);

/* The same for contacts that have frames: they are those of movable bodies. */
CS_INLINE void copy_frames(const cs_block_lanes *lanes, int first, double *numbers)
{
    vec_f64 number[CS_FRAME_NUMBERS], zero = all_f64(0);
    mask_f64 moves[2];
    CS_UNROLL for (int k = 0; k < 2; k++) moves[k] =
        less_f64(zero, load_f64(lanes->moving[k] + first));
    mask_f64 any = either_f64(moves[0], moves[1]);
    CS_UNROLL for (int i = 0; i < CS_FRAME_NUMBERS; i += CS_PIECE)
        load_piece_f64(lanes->jacobian + i, lanes->place + first, number + i);
    CS_UNROLL for (int i = 0; i < CS_FRAME_NUMBERS; i++)
    {
        mask_f64 counts = i < CS_FRAME_ARM ? any : moves[i >= CS_FRAME_ARM + 3];
        store_f64(numbers + i * CS_BLOCK_LANES + first, choose_f64(counts, number[i], zero));
    }
}

/* Compresses all lanes, one vector after another. Returns whether all contacts fit. */
static int CS_BUILD(compress_lanes)(const cs_block_lanes *lanes, double tolerance, int handedness,
                                    double *numbers)
{
    int fits = 1;
    if (lanes->frames) {
        for (int first = 0; first < CS_BLOCK_LANES; first += CS_LANES)
            copy_frames(lanes, first, numbers);
        return 1;
    }
    for (int first = 0; first < CS_BLOCK_LANES && fits; first += CS_LANES)
        fits = lanes->rows == 3 ? compress(lanes, first, 3, tolerance, handedness, numbers)
                                : compress(lanes, first, 4, tolerance, handedness, numbers);
    return fits;
}

const cs_compress_kernel CS_BUILD(cs_compress_lanes) = CS_BUILD(compress_lanes);

#include "scheme/compressed.h"

#include "core/instructions.h"
#include "core/loop.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CS_INSTRUCTIONS(name, summary) extern const cs_compress_kernel cs_compress_lanes_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_compress_kernel *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_compress_lanes_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

/* The number of contacts of a group that are tested before its form is chosen. */
enum { FIRST_CONTACTS = 16 };

/* The number of rounding units by which J may differ from the J that its frame and arms give. */
enum { UNITS = 16 };

/* The relative tolerance of all tests, in the precision of the solve. */
static double tolerance_of(const cs_packed *packed)
{
    return UNITS * (packed->dtype == CS_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Entry (i, j) of L of body number `k` of its group. */
static double root_entry(const cs_body_group *owner, int64_t k, int i, int j)
{
    if (owner->diagonal) return i == j ? owner->root[k * owner->dof + i] : 0;
    return owner->root[(k * owner->dof + i) * owner->dof + j];
}

/* Whether L is a multiple of the identity in rows first .. end - 1. */
static int is_multiple(const cs_body_group *owner, int64_t k, int first, int end, double tolerance)
{
    double value = root_entry(owner, k, first, first);
    for (int i = first; i < end; i++)
        for (int j = first; j <= i; j++)
            if (fabs(root_entry(owner, k, i, j) - (i == j ? value : 0)) > tolerance * value)
                return 0;
    return 1;
}

/* Whether L does not couple the first `linear` rows with the others. */
static int is_uncoupled(const cs_body_group *owner, int64_t k, int linear)
{
    for (int i = linear; i < owner->dof; i++)
        for (int j = 0; j < linear; j++)
            if (root_entry(owner, k, i, j) != 0) return 0;
    return 1;
}

/* The most compressed form that one body allows. */
static cs_form form_of_body(const cs_body_group *owner, int64_t k, double tolerance)
{
    int linear = owner->dof == 3 ? 2 : 3;
    if (!is_multiple(owner, k, 0, linear, tolerance) || !is_uncoupled(owner, k, linear))
        return CS_GENERAL;
    if (owner->dof == 3) return CS_PLANAR;
    return is_multiple(owner, k, 3, 6, tolerance) ? CS_SPHERES : CS_SOLIDS;
}

/* The bodies of a group, and the most compressed form that each piece of them allows. */
typedef struct body_forms {
    const cs_body_group *owner;
    double tolerance;
    cs_form form[CS_LOOP_PIECES];
} body_forms;

/* The form that two bodies allow which allow these. */
static cs_form less_compressed(cs_form a, cs_form b)
{
    if (a == CS_GENERAL || b == CS_GENERAL) return CS_GENERAL;
    return a == CS_SOLIDS ? a : b;
}

static void find_form(void *context, int64_t piece, int64_t first, int64_t end)
{
    body_forms *all = context;
    cs_form form = all->owner->dof == 3 ? CS_PLANAR : CS_SPHERES;
    for (int64_t k = first; k < end && form != CS_GENERAL; k++)
        if (!all->owner->immovable[k])
            form = less_compressed(form_of_body(all->owner, k, all->tolerance), form);
    all->form[piece] = form;
}

/* The most compressed form that all movable bodies of a group allow. */
static cs_form form_of_bodies(const cs_body_group *owner, double tolerance, int threads)
{
    body_forms all = {.owner = owner, .tolerance = tolerance};
    cs_form form = owner->dof == 3 ? CS_PLANAR : CS_SPHERES;
    cs_loop(threads, owner->count, find_form, &all);
    for (int64_t p = 0; p < cs_loop_pieces(owner->count); p++)
        form = less_compressed(all.form[p], form);
    return form;
}

void cs_body_root(const cs_body_group *owner, int64_t body, cs_form form, double *numbers)
{
    int64_t k = body - owner->first_body;
    *numbers++ = root_entry(owner, k, 0, 0);
    int first = form == CS_PLANAR ? 2 : 3, columns = form == CS_SOLIDS ? 3 : 1;
    for (int j = 0; j < columns; j++)
        for (int i = j; i < columns; i++) *numbers++ = root_entry(owner, k, first + i, first + j);
}

/* ---- contacts -------------------------------------------------------------------------------- */

static void cross(const double *a, const double *b, double *product)
{
    product[0] = a[1] * b[2] - a[2] * b[1];
    product[1] = a[2] * b[0] - a[0] * b[2];
    product[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(int count, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

/* One block of a group without frames: J of each side, NULL if the body is immovable, and the sign of the side in the contact
 * velocity. */
typedef struct contact {
    int rows, dof;
    const double *side[2];
    double sign[2];
} contact;

static contact contact_of(const cs_block_group *blocks, int64_t index)
{
    contact c = {.rows = blocks->rows, .dof = blocks->dof[0], .sign = {-1, 1}};
    for (int side = 0; side < cs_block_partners(blocks); side++)
        if (cs_partner_moves(blocks, index, side))
            c.side[side] = cs_partner_jacobian(blocks, index, side, NULL);
    return c;
}

/* numbers (12) <- n, t and both arms of a block that has a frame: those of immovable bodies are zero. */
static void copy_frame(const cs_block_group *blocks, int64_t index, double *numbers)
{
    const double *frame = blocks->frame + index * CS_FRAME_NUMBERS;
    int moves[2] = {cs_partner_moves(blocks, index, 0), cs_partner_moves(blocks, index, 1)};
    for (int i = 0; i < CS_FRAME_NUMBERS; i++) {
        int counts = i < CS_FRAME_ARM ? moves[0] || moves[1] : moves[(i - CS_FRAME_ARM) / 3];
        numbers[i] = counts ? frame[i] : 0;
    }
}

/* d (count) <- direction i of the frame, from the linear columns of one side. */
static void direction(const contact *c, int side, int i, int count, double *d)
{
    for (int k = 0; k < count; k++) d[k] = c->sign[side] * c->side[side][i * c->dof + k];
}

/* Whether a and b differ by at most `bound` in each entry. */
static int is_near(int count, const double *a, const double *b, double bound)
{
    for (int i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= bound)) return 0;
    return 1;
}

/* arm <- the lever arm r, from 2 r = sum over d of d x (r x d). Zero if the body is immovable. */
static void find_arm(const contact *c, int side, double *arm)
{
    memset(arm, 0, 3 * sizeof *arm);
    for (int i = 0; i < 3 && c->side[side]; i++) {
        double d[3], part[3], angular[3];
        direction(c, side, i, 3, d);
        for (int k = 0; k < 3; k++) angular[k] = c->sign[side] * c->side[side][i * 6 + 3 + k];
        cross(d, angular, part);
        for (int k = 0; k < 3; k++) arm[k] += part[k] / 2;
    }
}

/* Whether J of one side of a contact in space is the one that frame (3, 3) and arm give. */
static int side_fits(const contact *c, int side, const double *frame, const double *arm,
                     double tolerance)
{
    double lever = fabs(arm[0]) + fabs(arm[1]) + fabs(arm[2]), zero[3] = {0};
    for (int i = 0; i < c->rows; i++) {
        /* Row i is [d, r x d]; a spin row is [0, n]. */
        double d[3], angular[3], wanted[3];
        const double *linear = i < 3 ? frame + 3 * i : zero;
        direction(c, side, i, 3, d);
        for (int k = 0; k < 3; k++) angular[k] = c->sign[side] * c->side[side][i * 6 + 3 + k];
        if (i < 3) cross(arm, linear, wanted);
        else memcpy(wanted, frame, sizeof wanted);
        if (!is_near(3, d, linear, tolerance)) return 0;
        if (!is_near(3, angular, wanted, tolerance * (i < 3 ? lever : 1))) return 0;
    }
    return 1;
}

/* Whether a contact in space fits. handedness <- that of its frame, 0 if both bodies are immovable. */
static int spatial_fits(const contact *c, double tolerance, int *handedness)
{
    /* Take the frame from a movable side. */
    double frame[9], third[3], arm[3];
    int side = c->side[1] ? 1 : 0;
    *handedness = 0;
    if (!c->side[side]) return 1;
    for (int i = 0; i < 3; i++) direction(c, side, i, 3, frame + 3 * i);

    /* n and t are orthonormal, and s becomes +-(n x t) to the last bit. */
    cross(frame, frame + 3, third);
    *handedness = dot(3, third, frame + 6) > 0 ? 1 : -1;
    for (int k = 0; k < 3; k++) frame[6 + k] = *handedness * third[k];
    if (!(fabs(dot(3, frame, frame) - 1) <= tolerance) ||
        !(fabs(dot(3, frame + 3, frame + 3) - 1) <= tolerance) ||
        !(fabs(dot(3, frame, frame + 3)) <= tolerance))
        return 0;

    /* Both sides agree with the frame and their arms. */
    for (side = 0; side < 2; side++) {
        if (!c->side[side]) continue;
        find_arm(c, side, arm);
        if (!side_fits(c, side, frame, arm, tolerance)) return 0;
    }
    return 1;
}

/* The same for a contact in the plane. Its angular entries may have any values. */
static int planar_fits(const contact *c, double tolerance, int *handedness)
{
    double n[2], t[2];
    int side = c->side[1] ? 1 : 0;
    *handedness = 0;
    if (!c->side[side]) return 1;
    direction(c, side, 0, 2, n);
    direction(c, side, 1, 2, t);
    *handedness = n[0] * t[1] - n[1] * t[0] > 0 ? 1 : -1;
    double wanted[2] = {-*handedness * n[1], *handedness * n[0]};
    for (side = 0; side < 2; side++) {
        double normal[2], tangent[2];
        if (!c->side[side]) continue;
        direction(c, side, 0, 2, normal);
        direction(c, side, 1, 2, tangent);
        if (!is_near(2, normal, n, tolerance) || !is_near(2, tangent, wanted, tolerance)) return 0;
    }
    return 1;
}

/* Whether a contact fits a compressed form. */
static int contact_fits(const contact *c, double tolerance, int *handedness)
{
    return c->dof == 3 ? planar_fits(c, tolerance, handedness)
                       : spatial_fits(c, tolerance, handedness);
}

/* ---- contacts of four vertices --------------------------------------------------------------- */

enum { VERTICES = CS_MAX_PARTNERS, ENTRIES = 9 };

/* The partner whose first row of G is the longest one, and that length. */
static int longest_side(const double *scaled, double *length)
{
    int longest = 0;
    *length = 0;
    for (int s = 0; s < VERTICES; s++) {
        double own = sqrt(dot(3, scaled + ENTRIES * s, scaled + ENTRIES * s));
        if (own > *length) longest = s, *length = own;
    }
    return longest;
}

/* numbers <- the frame F and the weights g with G_s = g_s F of each partner, to rounding of the largest G_s. The first row
 * of F has length 1. Returns 0 if G has another form. */
static int compress_weighted(const cs_packed *packed, const cs_block_group *blocks, int64_t index,
                             double *numbers)
{
    double scaled[VERTICES * ENTRIES], length, *frame = numbers, *weight = numbers + ENTRIES;
    cs_scaled_jacobian(packed->problem, blocks, index, scaled);
    memset(numbers, 0, (ENTRIES + VERTICES) * sizeof *numbers);
    int side = longest_side(scaled, &length);
    for (int i = 0; i < ENTRIES && length > 0; i++) frame[i] = scaled[ENTRIES * side + i] / length;

    /* The weights fit G best in the mean square. */
    double size = dot(ENTRIES, frame, frame), largest = 0;
    for (int i = 0; i < ENTRIES; i++) largest = fmax(largest, fabs(frame[i]));
    for (int s = 0; s < VERTICES; s++) {
        const double *own = scaled + ENTRIES * s;
        if (length > 0) weight[s] = s == side ? length : dot(ENTRIES, own, frame) / size;
        double bound = tolerance_of(packed) * length * largest;
        for (int i = 0; i < ENTRIES; i++)
            if (!(fabs(own[i] - weight[s] * frame[i]) <= bound)) return 0;
    }
    return 1;
}

/* CS_WEIGHTED if the first contacts of a group allow it. */
static cs_form form_of_vertices(const cs_packed *packed, const cs_block_group *blocks)
{
    double numbers[ENTRIES + VERTICES];
    for (int64_t k = 0; k < blocks->count && k < FIRST_CONTACTS; k++)
        if (!compress_weighted(packed, blocks, k, numbers)) return CS_GENERAL;
    return CS_WEIGHTED;
}

/* ---- groups ---------------------------------------------------------------------------------- */

void cs_choose_form(const cs_packed *packed, int g, cs_form *form, int *handedness)
{
    const cs_problem *problem = packed->problem;
    const cs_block_group *blocks = &problem->block_group[g];
    double tolerance = tolerance_of(packed);
    if (blocks->partners != CS_PAIR) {
        *form = form_of_vertices(packed, blocks);
        *handedness = 1;
        return;
    }
    *form = blocks->dof[0] == 3 ? CS_PLANAR : CS_SPHERES;
    *handedness = 0;

    /* The form that all bodies of this dimension allow. */
    for (int b = 0; b < problem->body_groups; b++) {
        if (problem->body_group[b].dof != blocks->dof[0]) continue;
        cs_form bodies = form_of_bodies(&problem->body_group[b], tolerance, packed->setup_threads);
        if (bodies == CS_GENERAL || *form == CS_GENERAL) *form = CS_GENERAL;
        else if (bodies == CS_SOLIDS) *form = CS_SOLIDS;
    }

    /* The first contacts have to fit it, with one handedness. */
    for (int64_t k = 0; k < blocks->count && *form != CS_GENERAL && !blocks->frame; k++) {
        if (k >= FIRST_CONTACTS && *handedness) break;
        contact c = contact_of(blocks, k);
        int own, fits = contact_fits(&c, tolerance, &own);
        if (!fits || (own && *handedness && own != *handedness)) *form = CS_GENERAL;
        if (own) *handedness = own;
    }
    if (blocks->frame) *handedness = 1;
}

/* numbers (6) <- n and the angular entries of G. */
static void compress_planar(const cs_packed *packed, const cs_block_group *blocks, int64_t index,
                            const contact *c, double *numbers)
{
    double scaled[2 * 2 * 3];
    int side = c->side[1] ? 1 : 0;
    memset(numbers, 0, 6 * sizeof *numbers);
    if (c->side[side]) direction(c, side, 0, 2, numbers);
    cs_scaled_jacobian(packed->problem, blocks, index, scaled);
    for (int i = 0; i < 4; i++) numbers[2 + i] = scaled[3 * i + 2];
}

int cs_compress(const cs_packed *packed, int g, int64_t index, double *numbers)
{
    /* A frame always fits. */
    const cs_block_group *blocks = &packed->problem->block_group[g];
    if (blocks->frame) {
        copy_frame(blocks, index, numbers);
        return 1;
    }

    if (packed->group[g].factors.form == CS_WEIGHTED)
        return compress_weighted(packed, blocks, index, numbers);

    /* Test the contact. */
    contact c = contact_of(blocks, index);
    int side = c.side[1] ? 1 : 0, handedness;
    if (!contact_fits(&c, tolerance_of(packed), &handedness)) return 0;
    if (handedness && handedness != packed->group[g].factors.handedness) return 0;
    if (c.dof == 3) {
        compress_planar(packed, blocks, index, &c, numbers);
        return 1;
    }

    /* Write n, t and both arms. */
    memset(numbers, 0, 12 * sizeof *numbers);
    for (int i = 0; i < 2 && c.side[side]; i++) direction(&c, side, i, 3, numbers + 3 * i);
    find_arm(&c, 0, numbers + 6);
    find_arm(&c, 1, numbers + 9);
    return 1;
}

int cs_compress_lanes(const cs_packed *packed, int g, const cs_block_lanes *lanes, double *numbers)
{
    return (*builds[cs_instructions_widest()])(lanes, tolerance_of(packed),
                                               packed->group[g].factors.handedness, numbers);
}

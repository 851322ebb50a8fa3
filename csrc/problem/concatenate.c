/* The arrays of all parts are copied side by side, kind by kind, and added to the whole as a caller's would be. */
#include "problem/concatenate.h"

#include "core/error.h"

#include <string.h>

/* Groups of one kind: the parts' first one of it, how many bodies or blocks all of them have, and their arrays. */
typedef struct body_kind {
    const cs_body_group *like;
    int64_t count, filled;
    int64_t first; /* number of its first body in the whole */
    double *inverse_mass;
} body_kind;

typedef struct block_kind {
    const cs_block_group *like;
    int64_t count, filled;
    double *jacobian, *b, *parameter, *compliance;
    int64_t *bodies;
} block_kind;

typedef struct joining {
    const cs_problem *const *parts;
    int64_t count;
    unsigned char *group_of;
    body_kind body[CS_MAX_GROUPS];
    block_kind block[CS_MAX_GROUPS];
    int bodies, blocks; /* kinds */
    cs_arena scratch;
    cs_problem *whole;
} joining;

static int same_bodies(const cs_body_group *a, const cs_body_group *b)
{
    return a->dof == b->dof && a->diagonal == b->diagonal;
}

static int same_blocks(const cs_block_group *a, const cs_block_group *b)
{
    return a->set == b->set && a->rows == b->rows && cs_same_partners(a, b) &&
           a->parameters == b->parameters && !a->frame == !b->frame;
}

/* The kind of a group, which may be a new one; -1 if there are too many. */
static int kind_of_bodies(joining *j, const cs_body_group *group)
{
    int k = 0;
    while (k < j->bodies && !same_bodies(j->body[k].like, group)) k++;
    if (k == CS_MAX_GROUPS) return -1;
    if (k == j->bodies) j->body[j->bodies++].like = group;
    return k;
}

static int kind_of_blocks(joining *j, const cs_block_group *group)
{
    int k = 0;
    while (k < j->blocks && !same_blocks(j->block[k].like, group)) k++;
    if (k == CS_MAX_GROUPS) return -1;
    if (k == j->blocks) j->block[j->blocks++].like = group;
    return k;
}

/* Finds the kinds of all groups, and counts their bodies and blocks. */
static cs_status count_kinds(joining *j, cs_error *error)
{
    for (int64_t p = 0; p < j->count; p++) {
        const cs_problem *part = j->parts[p];
        if (part->matrix || cs_problem_is_open(part))
            return cs_fail(error, CS_UNSUPPORTED,
                           "problems[%lld] was given by its A: J with bodies is needed",
                           (long long)p);
        int bodies = 0, blocks = 0;
        for (int g = 0; g < part->body_groups && bodies >= 0; g++) {
            bodies = kind_of_bodies(j, &part->body_group[g]);
            if (bodies >= 0) j->body[bodies].count += part->body_group[g].count;
        }
        for (int g = 0; g < part->block_groups && blocks >= 0; g++) {
            blocks = kind_of_blocks(j, &part->block_group[g]);
            if (blocks < 0) break;
            j->block[blocks].count += part->block_group[g].count;
            j->group_of[p * CS_MAX_GROUPS + g] = (unsigned char)blocks;
        }
        if (bodies < 0 || blocks < 0)
            return cs_fail(error, CS_UNSUPPORTED,
                           "problems[%lld] has a group of %s of another kind than %d before it: a "
                           "batch takes at most so many kinds",
                           (long long)p, bodies < 0 ? "bodies" : "contacts", CS_MAX_GROUPS);
    }
    return CS_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static double *take(joining *j, int64_t count)
{
    return cs_arena_take_unset(&j->scratch, count, sizeof(double));
}

static cs_status take_arrays(joining *j, cs_error *error)
{
    for (int k = 0, first = 0; k < j->bodies; k++) {
        body_kind *kind = &j->body[k];
        kind->first = k ? j->body[k - 1].first + j->body[k - 1].count : first;
        kind->inverse_mass = take(j, kind->count * cs_inverse_mass_size(kind->like));
    }
    for (int k = 0; k < j->blocks; k++) {
        block_kind *kind = &j->block[k];
        kind->jacobian = take(j, kind->count * cs_jacobian_numbers(kind->like));
        kind->b = take(j, kind->count * kind->like->rows);
        kind->parameter = take(j, kind->count * kind->like->parameters);
        kind->bodies = cs_arena_take_unset(
            &j->scratch, kind->like->partners * kind->count, sizeof(int64_t));
    }
    return cs_arena_status(&j->scratch, error, "the problems side by side");
}

/* A compliance that only some of the parts have is zero in the others. */
static cs_status take_compliance(joining *j, cs_error *error)
{
    for (int64_t p = 0; p < j->count; p++)
        for (int g = 0; g < j->parts[p]->block_groups; g++) {
            block_kind *kind = &j->block[j->group_of[p * CS_MAX_GROUPS + g]];
            if (!j->parts[p]->block_group[g].compliance || kind->compliance) continue;
            kind->compliance =
                cs_arena_take(&j->scratch, kind->count * kind->like->rows, sizeof(double));
        }
    return cs_arena_status(&j->scratch, error, "the problems side by side");
}

static void copy(double *to, const double *from, int64_t at, int64_t count, int64_t each)
{
    if (from && count && each)
        memcpy(to + at * each, from, sizeof(double) * (size_t)(count * each));
}

/* The number in the whole of each body of a part: those of its group g begin at first[g]. */
static int64_t body_in_whole(const cs_problem *part, const int64_t *first, int64_t body)
{
    if (body < 0) return -1;
    int g = (int)(cs_body_group_of(part, body) - part->body_group);
    return first[g] + body - part->body_group[g].first_body;
}

static void copy_part(joining *j, int64_t p)
{
    const cs_problem *part = j->parts[p];
    int64_t first[CS_MAX_GROUPS];
    for (int g = 0; g < part->body_groups; g++) {
        const cs_body_group *from = &part->body_group[g];
        body_kind *to = &j->body[kind_of_bodies(j, from)];
        copy(to->inverse_mass, from->inverse_mass, to->filled, from->count,
             cs_inverse_mass_size(from));
        first[g] = to->first + to->filled;
        to->filled += from->count;
    }
    for (int g = 0; g < part->block_groups; g++) {
        const cs_block_group *from = &part->block_group[g];
        block_kind *to = &j->block[j->group_of[p * CS_MAX_GROUPS + g]];
        copy(to->jacobian, from->frame ? from->frame : from->jacobian, to->filled, from->count,
             cs_jacobian_numbers(from));
        copy(to->b, from->b, to->filled, from->count, from->rows);
        copy(to->parameter, from->parameter, to->filled, from->count, from->parameters);
        copy(to->compliance, from->compliance, to->filled, from->count, from->rows);
        int64_t *bodies = to->bodies + from->partners * to->filled;
        for (int64_t i = 0; i < from->partners * from->count; i++)
            bodies[i] = body_in_whole(part, first, from->bodies[i]);
        to->filled += from->count;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static cs_status add_kinds(joining *j, cs_error *error)
{
    cs_status status = CS_OK;
    for (int k = 0; k < j->bodies && !status; k++) {
        const body_kind *kind = &j->body[k];
        cs_bodies bodies = {kind->count, kind->like->dof, kind->like->diagonal, kind->inverse_mass};
        status = cs_problem_add_bodies(j->whole, &bodies, error);
    }
    for (int k = 0; k < j->blocks && !status; k++) {
        const block_kind *kind = &j->block[k];
        cs_blocks blocks = {
            .count = kind->count,
            .rows = kind->like->rows,
            .jacobian = kind->like->frame ? NULL : kind->jacobian,
            .frame = kind->like->frame ? kind->jacobian : NULL,
            .bodies = kind->bodies,
            .b = kind->b,
            .set = kind->like->set->name,
            .parameters = kind->parameter,
            .parameters_each = kind->like->parameters,
            .compliance = kind->compliance,
        };
        cs_describe_partners(kind->like, &blocks);
        status = cs_problem_add_blocks(j->whole, &blocks, error);
    }
    return status;
}

cs_status cs_concatenate(const cs_problem *const *parts, int64_t count, unsigned char *group_of,
                         cs_problem **whole, cs_error *error)
{
    joining j = {.parts = parts, .count = count, .group_of = group_of};
    cs_status status = cs_problem_create(&j.whole, error);
    if (!status) status = count_kinds(&j, error);
    if (!status) status = take_arrays(&j, error);
    if (!status) status = take_compliance(&j, error);
    for (int64_t p = 0; p < count && !status; p++) copy_part(&j, p);
    if (!status) status = add_kinds(&j, error);
    cs_arena_clear(&j.scratch);
    if (status) {
        cs_problem_destroy(j.whole);
        j.whole = NULL;
    }
    *whole = j.whole;
    return status;
}

/* Near contacts: pairs that are nearer than the thickness at the beginning of a step, or a little farther. */
#include "cloth/collisions.h"

#include "bvh/separation.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/loop.h"
#include "core/parallel.h"
#include "core/vector.h"

#include <string.h>

enum { FAR, NEAR, TOUCHING };

/* A distance, in parts of the size of a pair, that is no more than rounding. */
#define TOUCH 0x1p-45

typedef struct job {
    cs_collisions *c;
    cs_stencils at; /* start, and where near contacts are asked for */
    const uint64_t *key;
    unsigned char *near;
    const int64_t *number; /* of near pairs */
} job;

/* Whether a plane across the line between the means of the primitives is farther than the reach from all corners. */
static int are_means_far(const cs_polygon *polygon, double reach)
{
    double n[3] = {0, 0, 0}, least = INFINITY;
    for (int k = 0; k < polygon->corners; k++) cs_add_scaled(n, 1, polygon->at[k], n);
    for (int k = 0; k < polygon->corners; k++) {
        double height = cs_dot(n, polygon->at[k]);
        if (height < least) least = height;
    }
    return least > 0 && least * least > reach * reach * cs_dot(n, n) * (1 + 0x1p-40);
}

/* Whether the nearest points are beyond rounding from the ends of edges and the border of a face. */
static int is_within(const double *weight)
{
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        if (!(fabs(weight[k]) > 1e-9)) return 0;
    return 1;
}

/* Of two edges that are nearest at an end, or do not stand out, the faces beside them have the contact. */
static int is_left_to_faces(const job *j, int64_t i, const cs_motion *motion,
                            const cs_nearest *nearest)
{
    if (j->at.kind == CS_VERTEX_FACE) return 0;
    double weight[CS_STENCIL_VERTICES];
    cs_stencil_put(motion, nearest, NULL, weight, NULL);
    if (!is_within(weight)) return 1;
    double n[3];
    cs_assign(n, nearest->point);
    cs_normalize(n);
    return !cs_are_ridges(j->c, j->key[i], j->at.index + CS_STENCIL_VERTICES * i, n);
}

/* The longest way of a corner of the difference: how much nearer the motion may come. */
static double longest_way(const cs_motion *motion)
{
    double most = 0;
    for (int k = 0; k < motion->start.corners; k++) {
        double way[3];
        cs_subtract(motion->end.at[k], motion->start.at[k], way);
        double square = cs_dot(way, way);
        if (square > most) most = square;
    }
    return sqrt(most);
}

static void test_pairs(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const job *j = context;
    (void)piece;
    for (int64_t i = begin; i < end; i++) {
        cs_motion motion;
        cs_nearest nearest;
        cs_motion_load(&j->at, i, CS_REACH * j->c->options.thickness, &motion);
        double reach = motion.margin + longest_way(&motion);
        j->near[i] = FAR;
        if (are_means_far(&motion.start, reach)) continue;
        cs_polygon_nearest(&motion.start, &nearest);
        if (nearest.square <= TOUCH * TOUCH * motion.size * motion.size) j->near[i] = TOUCHING;
        else if (nearest.square < reach * reach)
            j->near[i] = is_left_to_faces(j, i, &motion, &nearest) ? FAR : NEAR;
    }
}

int cs_weigh_contact(const cs_collisions *c, cs_contact *contact)
{
    double sum = 0;
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        sum += contact->weight[k] * contact->weight[k] * c->inverse_mass[contact->vertex[k]];
    contact->inverse = sum > 0 ? 1 / sum : 0;
    return sum > 0;
}

/* The contact of a pair, without more than that tells. */
static void start_contact(const cs_collisions *c, cs_stencil_kind kind, int64_t pair,
                          cs_contact *to)
{
    const cs_candidates *pairs = &c->pairs[kind];
    *to =
        (cs_contact){.key = ((const uint64_t *)pairs->key.data)[pair], .kind = kind, .visited = -1};
    memcpy(to->vertex, cs_candidate(pairs, pair), sizeof to->vertex);
}

cs_contact *cs_new_contact(cs_collisions *c, cs_stencil_kind kind, int64_t pair, cs_error *error)
{
    cs_contact *all = cs_buffer_grown(&c->contact, c->contacts + 1, c->contacts, sizeof *all);
    if (!all) {
        cs_no_memory(error, "%lld contacts", (long long)c->contacts);
        return NULL;
    }
    start_contact(c, kind, pair, &all[c->contacts]);
    return &all[c->contacts];
}

/* The thickness for two primitives: within a part of the cloth no more than their distance in the rest shape, so that the rest
 * shape has no contact that pushes. Parts that are apart may have rest shapes that overlap. */
static double thickness_of(const cs_collisions *c, const cs_contact *contact)
{
    double thickness = c->options.thickness;
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        if (contact->vertex[k] >= c->cloth) return thickness;
    if (c->part[contact->vertex[0]] != c->part[contact->vertex[3]]) return thickness;

    const cs_stencils at = {contact->kind, 1, c->rest, c->rest, contact->vertex};
    cs_motion motion;
    cs_nearest nearest;
    double distance;
    cs_motion_load(&at, 0, thickness, &motion);
    if (are_means_far(&motion.start, motion.margin)) return thickness;
    cs_polygon_nearest(&motion.start, &nearest);
    cs_stencil_put(&motion, &nearest, &distance, NULL, NULL);
    return distance < thickness ? distance : thickness;
}

/* Repulsion stops the approach at the thickness, or where it is nearer, at once; the shift undoes a part of the overlap (Bridson
 * 2002, section 7.2). */
static void repel(const cs_collisions *c, const cs_path *path, cs_contact *contact)
{
    cs_moment moment;
    double separation[3], distance;
    cs_moment_find(path, 0, &moment);
    cs_stencil_put(&path->motion, &moment.nearest, &distance, contact->weight, separation);
    if (moment.is_plane) cs_assign(contact->normal, moment.normal);
    else {
        cs_assign(contact->normal, separation);
        cs_normalize(contact->normal);
    }
    contact->gap = distance;
    contact->is_inside = is_within(contact->weight);
    double rest = distance - thickness_of(c, contact);
    contact->bound = rest > 0 ? -rest / c->h : 0;
    contact->push = rest > 0 ? contact->bound : -c->options.push * rest / c->h;
}

/* Whether the predicted velocities bring a contact within the reach. */
static int comes_near(const cs_collisions *c, const cs_contact *contact)
{
    double u[3] = {0, 0, 0}, reach = CS_REACH * c->options.thickness;
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        cs_add_scaled(u, contact->weight[k], c->velocity + 3 * contact->vertex[k], u);
    return contact->gap < reach || contact->gap + c->h * cs_dot(contact->normal, u) < reach;
}

static int share_corner(const cs_contact *a, const cs_contact *b)
{
    for (int i = 1; i < CS_STENCIL_VERTICES; i++)
        for (int k = 1; k < CS_STENCIL_VERTICES; k++)
            if (a->vertex[i] == b->vertex[k]) return 1;
    return 0;
}

/* Whether the nearest point on the border of a face is also one of a face beside it, which has the contact, or a nearer one is. */
static int is_repeated(const cs_contact *contact, const cs_contact *group, int64_t count)
{
    if (contact->is_inside) return 0;
    for (int64_t n = 0; n < count; n++) {
        double more = contact->gap - group[n].gap, rounding = 1e-9 * contact->gap;
        int is_nearer = more > rounding || (more >= -rounding && &group[n] < contact);
        if (&group[n] != contact && is_nearer && share_corner(contact, &group[n])) return 1;
    }
    return 0;
}

/* Leaves out what is repeated of the contacts of one vertex, from the n-th on. */
static void close_group(cs_collisions *c, int64_t n)
{
    cs_contact *group = (cs_contact *)c->contact.data + n;
    int64_t count = c->contacts - n, kept = 0;
    for (int64_t k = 0; k < count; k++) group[k].is_left_out = is_repeated(&group[k], group, count);
    for (int64_t k = 0; k < count; k++)
        if (!group[k].is_left_out) group[kept++] = group[k];
    c->contacts = n + kept;
}

/* Whether a contact is that of the same vertex and mesh as the one before. */
static int is_of_group(const cs_contact *contact, const cs_contact *first)
{
    return contact->vertex[0] == first->vertex[0] &&
           contact->key >> 2 * CS_KEY_BITS == first->key >> 2 * CS_KEY_BITS;
}

/* Numbers of the near pairs, in their order. Returns how many there are; counts those that touch. */
static int64_t list_near(const job *j, int64_t pairs, int64_t *number)
{
    int64_t count = 0;
    for (int64_t i = 0; i < pairs; i++) {
        j->c->present.touching += j->near[i] == TOUCHING;
        number[count] = i;
        count += j->near[i] == NEAR;
    }
    return count;
}

/* Contacts of near pairs, behind those that are known; `is_left_out` where the response cannot move it, or it does not come near. */
static void fill_contacts(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const job *j = context;
    cs_contact *new = (cs_contact *)j->c->contact.data + j->c->contacts;
    (void)piece;
    for (int64_t n = begin; n < end; n++) {
        cs_path path;
        start_contact(j->c, j->at.kind, j->number[n], &new[n]);
        cs_path_load(&j->at, j->number[n], 0, &path);
        repel(j->c, &path, &new[n]);
        new[n].is_left_out = !cs_weigh_contact(j->c, &new[n]) || !comes_near(j->c, &new[n]);
    }
}

/* Moves contacts together, and leaves out those that have to be. */
static void keep_contacts(cs_collisions *c, cs_stencil_kind kind, int64_t count)
{
    cs_contact *all = c->contact.data;
    int64_t first = c->contacts; /* of those of one vertex */
    const cs_contact *end = all + first + count;
    for (const cs_contact *new = all + first; new < end; new ++) {
        if (new->is_left_out) continue;
        if (kind == CS_VERTEX_FACE && c->contacts > first && !is_of_group(new, &all[first])) {
            close_group(c, first);
            first = c->contacts;
        }
        all[c->contacts++] = *new;
    }
    if (kind == CS_VERTEX_FACE) close_group(c, first);
}

static cs_status gather(job *j, int64_t pairs, const cs_response_call *call, cs_error *error)
{
    cs_collisions *c = j->c;
    int64_t *number = cs_scratch(c, pairs + 1, sizeof *number);
    if (!number) return cs_no_memory(error, "%lld pairs", (long long)pairs);
    int64_t count = list_near(j, pairs, number);
    j->number = number;
    if (!cs_buffer_grown(&c->contact, c->contacts + count, c->contacts, sizeof(cs_contact)))
        return cs_no_memory(error, "%lld contacts", (long long)(c->contacts + count));
    cs_loop(cs_threads_for(call->threads, count, CS_WORTH_THREADS_CONTACTS, count), count,
            fill_contacts, j);
    keep_contacts(c, j->at.kind, count);
    return CS_OK;
}

cs_status cs_find_near_contacts(cs_collisions *c, const cs_response_call *call, cs_error *error)
{
    double begun = cs_clock();
    cs_status status = CS_OK;
    const double *to = c->options.is_problem ? c->end : c->start;
    for (int kind = 0; !status && kind < CS_STENCIL_KINDS; kind++) {
        cs_candidates *pairs = &c->pairs[kind];
        job j = {c,
                 {(cs_stencil_kind)kind, pairs->count, c->start, to, pairs->index.data},
                 pairs->key.data,
                 pairs->near.data,
                 NULL};
        cs_loop(cs_threads_for_pairs(call, pairs->count), pairs->count, test_pairs, &j);
        status = gather(&j, pairs->count, call, error);
    }
    c->present.contacts = c->contacts;
    if (!status) cs_take_formers(c);
    c->present.narrow_seconds += cs_clock() - begun;
    return status;
}

/* The verdict on an iterate: its natural map and the rounding floor of it, in double precision from J, M^-1, b and the
 * parameters as given. Sums are those of problem/products.c and problem/magnitude.c, in their order, and what is made of them
 * is measure/coupled_sets.h: the bits are the processor's.
 *
 *     lambda --move_bodies--> M^-1 J^T lambda --judge_blocks--> xi = A lambda + b, Delta_s, phi_s --join_parts--> the verdict */
#include "cuda/device.h"

extern "C" {
#include "backend/device_ray.h"
}

enum {
    THREADS = CS_DEVICE_THREADS,
    JOINERS = 256 /* threads that join the verdicts of blocks of threads */
};

/* The larger numbers of two maps; NaN does not count. */
CS_GPU cs_device_map larger_map(cs_device_map a, const cs_device_map &b)
{
    if (b.impulse > a.impulse) a.impulse = b.impulse;
    if (b.velocity > a.velocity) a.velocity = b.velocity;
    if (b.scaled > a.scaled) a.scaled = b.scaled;
    if (b.excess > a.excess) a.excess = b.excess;
    if (b.infinite > a.infinite) a.infinite = b.infinite;
    return a;
}

/* ---- frames in place of J (problem/frames.h) ----------------------------------------------------------- */

/* The direction of row i >= 3, about which it turns: of `rows` rows. */
CS_GPU int turning_axis(int rows, int i) { return rows == 4 ? 0 : i - 2; }

/* Component k of the direction of axis 0, 1 or 2: n, t, s. */
CS_GPU double direction(const double *frame, int axis, int k)
{
    int next = (k + 1) % 3, last = (k + 2) % 3;
    const double *n = frame, *t = frame + 3;
    return axis < 2 ? frame[3 * axis + k] : n[next] * t[last] - n[last] * t[next];
}

/* Entry (i, c) of J of one side, with the bits of cs_frame_expand. */
CS_GPU double entry_of_frame(const double *frame, int rows, int side, int i, int c)
{
    double sign = side ? 1 : -1;
    const double *r = frame + CS_FRAME_ARM + 3 * side;
    int k = c % 3, next = (k + 1) % 3, last = (k + 2) % 3;
    if (i >= 3) return c < 3 ? 0 : sign * direction(frame, turning_axis(rows, i), k);
    if (c < 3) return sign * direction(frame, i, k);
    return sign * (r[next] * direction(frame, i, last) - r[last] * direction(frame, i, next));
}

/* Component c of J^T lambda of one side, with the bits of what cs_frame_add_impulse adds. */
CS_GPU double impulse_of_frame(const double *frame, int rows, int side, const double *lambda, int c)
{
    double sign = side ? 1 : -1, first = 0, second = 0;
    const double *r = frame + CS_FRAME_ARM + 3 * side;
    int k = c % 3, next = (k + 1) % 3, last = (k + 2) % 3;
    if (c < 3) {
        for (int i = 0; i < rows && i < 3; i++) first += lambda[i] * direction(frame, i, k);
        return sign * first;
    }
    for (int i = 0; i < rows && i < 3; i++) {
        first += lambda[i] * direction(frame, i, last);
        second += lambda[i] * direction(frame, i, next);
    }
    double moment = r[next] * first - r[last] * second;
    for (int i = 3; i < rows; i++) moment += lambda[i] * direction(frame, turning_axis(rows, i), k);
    return sign * moment;
}

/* Row i of J u of one side, with the bits of what cs_frame_add_velocity adds; at (3): cs_velocity_at of the contact. */
CS_GPU double velocity_of_frame(const double *frame, int rows, int side, int i, const double *at,
                                const double *u)
{
    int axis = i < 3 ? i : turning_axis(rows, i);
    const double *v = i < 3 ? at : u + 3;
    return (side ? 1.0 : -1.0) *
           (direction(frame, axis, 0) * v[0] + direction(frame, axis, 1) * v[1] +
            direction(frame, axis, 2) * v[2]);
}

/* ---- bodies ------------------------------------------------------------------------------------------ */

/* J_k^T lambda_k of one partner in one component, or |J_k|^T |lambda_k|, for these impulses of the contact. Rows without an
 * impulse behind the last one with one are left out: most of an open contact. */
template <bool absolute>
CS_GPU void add_impulse(const cs_device_blocks *group, int64_t k, int side, int c,
                        const double *impulse, double *sum)
{
    int rows = group->rows, dof = group->dof[side];
    while (rows > 0 && impulse[rows - 1] == 0) rows--;
    if (!rows) return;
    if (group->frame) {
        const double *frame = group->frame + k * CS_FRAME_NUMBERS;
        if (absolute) {
            for (int i = 0; i < rows; i++)
                *sum += fabs(entry_of_frame(frame, group->rows, side, i, c) * impulse[i]);
        } else {
            *sum += impulse_of_frame(frame, group->rows, side, impulse, c);
        }
        return;
    }
    const double *jacobian = group->jacobian + k * group->rows * group->column[group->partners] +
                             group->rows * group->column[side] + c;
    for (int i = 0; i < rows; i++) {
        double product = jacobian[i * dof] * impulse[i];
        *sum += absolute ? fabs(product) : product;
    }
}

/* The contact of an entry of a body's list: its group, which is not before `group`, and its number there; the body's side of
 * it. */
CS_GPU const cs_device_blocks *contact_of_entry(const cs_device_verdict *v, int64_t entry,
                                                const cs_device_blocks *group, int64_t *k,
                                                int *side)
{
    int64_t block = entry >> v->shift;
    *side = (int)(entry & ((1 << v->shift) - 1));
    while (block >= group->first_block + group->count) group++;
    *k = block - group->first_block;
    return group;
}

/* A thread has one component of a body's velocity: M^-1 J^T lambda, or the same of absolute values, the contacts in their
 * order; with a full M^-1 what this is multiplied by. */
template <bool absolute>
CS_KERNEL void move_bodies(CS_PARAMETER cs_device_verdict v, CS_PARAMETER cs_device_bodies bodies)
{
    int64_t i = cs_thread();
    if (i >= bodies.count * bodies.dof) return;
    int64_t body = bodies.first_body + i / bodies.dof, k;
    int c = (int)(i % bodies.dof), side;
    double sum = 0;
    const cs_device_blocks *group = v.block_group_there;
    for (int64_t e = v.start[body]; e < v.start[body + 1]; e++) {
        group = contact_of_entry(&v, v.entry[e], group, &k, &side);
        add_impulse<absolute>(group, k, side, c, v.lambda + group->first_row + k * group->rows,
                              &sum);
    }
    int64_t at = bodies.first_velocity + i;
    if (!bodies.diagonal) {
        v.force[at] = sum;
        return;
    }
    double inverse = bodies.inverse_mass[i];
    (absolute ? v.magnitude : v.velocity)[at] = absolute ? fabs(inverse) * sum : sum * inverse;
}

/* The product with a full M^-1. */
template <bool absolute>
CS_KERNEL void apply_masses(CS_PARAMETER cs_device_verdict v, CS_PARAMETER cs_device_bodies bodies)
{
    int64_t i = cs_thread();
    if (i >= bodies.count * bodies.dof) return;
    int64_t body = i / bodies.dof;
    const double *row = bodies.inverse_mass + i * bodies.dof;
    const double *force = v.force + bodies.first_velocity + body * bodies.dof;
    double sum = 0;
    for (int c = 0; c < bodies.dof; c++) sum += (absolute ? fabs(row[c]) : row[c]) * force[c];
    (absolute ? v.magnitude : v.velocity)[bodies.first_velocity + i] = sum;
}

template <bool absolute> static void move(cs_queue *queue, const cs_device_verdict *v)
{
    for (int g = 0; g < v->body_groups; g++) {
        const cs_device_bodies *bodies = &v->body_group[g];
        int64_t blocks = cs_blocks_of(bodies->count * bodies->dof, THREADS);
        if (!blocks) continue;
        CS_LAUNCH(queue, blocks, THREADS, move_bodies<absolute>, *v, *bodies);
        if (!bodies->diagonal)
            CS_LAUNCH(queue, blocks, THREADS, apply_masses<absolute>, *v, *bodies);
    }
}

void cs_device_move(cs_queue *queue, const cs_device_verdict *v) { move<false>(queue, v); }

/* ---- contacts ---------------------------------------------------------------------------------------- */

/* The numbers of a contact that a verdict is made of. Loops over rows end at the most rows, so that these are registers. */
template <int most> struct contact {
    double lambda[most], xi[most], rho[most], step[most], z[most], magnitude[most];
};

/* xi <- A lambda + b, or A lambda without b; with floors magnitude <- |A| |lambda| + |b|. velocity (partners, CS_MAX_ROWS): of
 * the bodies; NULL: those of v. */
template <int most, int dof, bool floors>
CS_GPU void read_contact(const cs_device_verdict *v, const cs_device_blocks *group, int64_t k,
                         const double *velocity, contact<most> *own)
{
    int rows = dof ? most : group->rows;
    int64_t row = group->first_row + k * rows;
    CS_UNROLL for (int i = 0; i < most; i++) if (i < rows)
    {
        own->lambda[i] = v->lambda[row + i];
        own->rho[i] = v->rho[row + i];
        own->xi[i] = v->b ? v->b[row + i] : 0;
        own->magnitude[i] = fabs(own->xi[i]);
    }
    for (int side = 0; side < group->partners; side++) {
        int64_t at = group->velocity[group->partners * k + side];
        int columns = dof ? dof : group->dof[side];
        if (at < 0) continue;
        const double *u = velocity ? velocity + CS_MAX_ROWS * side : v->velocity + at;
        const double *size = v->magnitude + at;
        if (group->frame) {
            const double *frame = group->frame + k * CS_FRAME_NUMBERS;
            double at_contact[3];
            cs_velocity_at(frame + CS_FRAME_ARM + 3 * side, u, at_contact);
            CS_UNROLL for (int i = 0; i < most; i++) if (i < rows)
            {
                own->xi[i] += velocity_of_frame(frame, rows, side, i, at_contact, u);
                for (int c = 0; floors && c < 6; c++)
                    own->magnitude[i] += fabs(entry_of_frame(frame, rows, side, i, c)) * size[c];
            }
            continue;
        }
        const double *jacobian = group->jacobian + k * rows * group->column[group->partners] +
                                 rows * group->column[side];
        CS_UNROLL for (int i = 0; i < most; i++) if (i < rows)
        {
            double sum = 0;
            for (int c = 0; c < columns; c++) {
                double entry = jacobian[i * columns + c];
                sum += entry * u[c];
                if (floors) own->magnitude[i] += fabs(entry) * size[c];
            }
            own->xi[i] += sum;
        }
    }
    if (!group->compliance) return;
    CS_UNROLL for (int i = 0; i < most; i++) if (i < rows)
    {
        double compliance = group->compliance[k * rows + i];
        own->xi[i] += compliance * own->lambda[i];
        own->magnitude[i] += compliance * fabs(own->lambda[i]);
    }
}

/* own <- the verdict on one contact. `disc`: the set of the group, whose prox is inlined. */
template <int most, int dof, bool disc, bool floors>
CS_GPU void judge_contact(const cs_device_verdict *v, const cs_device_blocks *group, int64_t k,
                          cs_device_part_verdict *verdict)
{
    /* The prox step. */
    contact<most> own;
    int rows = dof ? most : group->rows;
    read_contact<most, dof, floors>(v, group, k, NULL, &own);
    CS_UNROLL for (int i = 0; i < most; i++) if (i < rows) own.step[i] = own.z[i] =
        own.lambda[i] - own.rho[i] * own.xi[i];
    const double *parameters = group->parameter + k * group->parameters;
    if (disc) cs_prox_disc_f64(rows, own.z, parameters, NULL);
    else cs_prox_f64((cs_set_kind)group->set, rows, own.z, parameters, NULL);

    /* Its coupled sets: those of a disc are the normal and the tangents. */
    cs_set_defect sets[most];
    int coupled[most];
    CS_UNROLL for (int i = 0; i < most; i++) coupled[i] = disc ? i > 0 : group->coupled_set[i];
    int64_t block = group->first_block + k;
    cs_set_bounds bounds = v->bounds;
    if (v->scale) bounds.scale = v->scale[block];
    int count =
        cs_defects_of_step(rows, coupled, own.lambda, own.xi, own.rho, own.step, own.z, sets);
    for (int s = 0; s < count; s++) cs_add_set(&bounds, &sets[s], block, &verdict->map);
    if (!floors) return;
    double phi[most];
    cs_floors_of_block(rows, coupled, own.lambda, own.rho, own.magnitude, phi);
    for (int s = 0; s < count; s++) cs_add_floor(&bounds, &sets[s], block, phi[s], &verdict->floor);
}

CS_GPU cs_device_part_verdict nothing()
{
    cs_device_part_verdict verdict;
    verdict.map = cs_no_defect();
    verdict.floor = cs_no_floor();
    return verdict;
}

/* That of another lane of the warp. */
template <class type> CS_GPU type of_lane(const type &own, int lane)
{
    enum { WORDS = sizeof(type) / sizeof(double) };
    static_assert(sizeof(type) == WORDS * sizeof(double), "lanes exchange words");
    double word[WORDS];
    type other;
    memcpy(word, &own, sizeof own);
    CS_UNROLL for (int w = 0; w < WORDS; w++) word[w] = __shfl_sync(CS_ALL_LANES, word[w], lane);
    memcpy(&other, word, sizeof other);
    return other;
}

/* own, of the first lane, <- the verdicts of the first `lanes` lanes of the warp, in their order. Without `floors` these are
 * those of nothing. Every lane calls it. */
template <bool floors> CS_GPU void join_lanes(cs_device_part_verdict *own, int lanes)
{
    int lane = cs_lane();
    for (int apart = 1; apart < lanes; apart *= 2) {
        int from = (lane + apart) % CS_WARP, joins = lane % (2 * apart) == 0;
        cs_natural_map map = of_lane(own->map, from);
        if (joins) cs_follow_map(&own->map, &map);
        if (!floors) continue;
        cs_floor floor = of_lane(own->floor, from);
        if (joins) cs_follow_floor(&own->floor, &floor);
    }
}

/* own, of the first thread of a block, <- the verdicts of all its threads, in their order. Every thread calls it. */
template <int threads, bool floors> CS_GPU void join_threads(cs_device_part_verdict *own)
{
    enum { WARPS = threads / CS_WARP };
    CS_SHARED(cs_device_part_verdict, of_warp, WARPS);
    int lane = cs_lane(), warp = (int)threadIdx.x / CS_WARP;
    join_lanes<floors>(own, CS_WARP);
    if (lane == 0) of_warp[warp] = *own;
    __syncthreads();
    if (warp) return;
    *own = of_warp[lane % WARPS];
    join_lanes<floors>(own, WARPS);
}

/* part <- the verdicts of blocks of threads: a thread has a contact. */
template <int most, int dof, bool disc, bool floors>
CS_KERNEL void judge_blocks(CS_PARAMETER cs_device_verdict v, CS_PARAMETER cs_device_blocks group,
                            cs_device_part_verdict *part)
{
    cs_device_part_verdict own = nothing();
    if (cs_thread() < group.count)
        judge_contact<most, dof, disc, floors>(&v, &group, cs_thread(), &own);
    join_threads<THREADS, floors>(&own);
    if (threadIdx.x == 0) part[blockIdx.x] = own;
}

/* all <- the verdict of all parts, in their order. One block of threads, each of which has consecutive ones. */
CS_KERNEL void __launch_bounds__(JOINERS)
    join_parts(int64_t parts, const cs_device_part_verdict *part, cs_device_part_verdict *all)
{
    int64_t each = (parts + JOINERS - 1) / JOINERS, first = threadIdx.x * each;
    cs_device_part_verdict own = nothing();
    for (int64_t p = first; p < first + each && p < parts; p++) {
        cs_follow_map(&own.map, &part[p].map);
        cs_follow_floor(&own.floor, &part[p].floor);
    }
    join_threads<JOINERS, true>(&own);
    if (threadIdx.x == 0) *all = own;
}

template <bool floors>
static void judge_group(cs_queue *queue, const cs_device_verdict *v, const cs_device_blocks *group,
                        cs_device_part_verdict *part)
{
    int64_t blocks = cs_verdict_parts(group->count);
    int pairs = group->partners == CS_PAIR && group->dof[0] == 6 && group->dof[1] == 6;
    if (pairs && group->rows == 3 && group->set == CS_SET_disc)
        CS_LAUNCH(queue, blocks, THREADS, (judge_blocks<3, 6, true, floors>), *v, *group, part);
    else if (group->set == CS_SET_disc)
        CS_LAUNCH(queue, blocks, THREADS, (judge_blocks<CS_MAX_ROWS, 0, true, floors>), *v, *group,
                  part);
    else
        CS_LAUNCH(queue, blocks, THREADS, (judge_blocks<CS_MAX_ROWS, 0, false, floors>), *v, *group,
                  part);
}

void cs_device_judge(cs_queue *queue, const cs_device_verdict *v, int floor)
{
    cs_device_part_verdict *part = v->part;
    if (floor) move<true>(queue, v);
    for (int g = 0; g < v->block_groups; g++) {
        const cs_device_blocks *group = &v->block_group[g];
        if (!group->count) continue;
        if (floor) judge_group<true>(queue, v, group, part);
        else judge_group<false>(queue, v, group, part);
        part += cs_verdict_parts(group->count);
    }
    CS_LAUNCH(queue, 1, JOINERS, join_parts, v->parts, v->part, v->verdict);
}

/* ---- maps over the factors ---------------------------------------------------------------------------- */

/* all <- the largest of the maps of a block's threads, all of which call it. */
CS_GPU void join_map(const cs_device_map &most, cs_device_map *all)
{
    CS_SHARED(cs_device_map, own, CS_DEVICE_BATCHES);
    cs_device_map mine = {cs_warp_maximum(most.impulse), cs_warp_maximum(most.velocity),
                          cs_warp_maximum(most.scaled), cs_warp_maximum(most.excess),
                          cs_warp_maximum(most.infinite)};
    if (cs_lane() == 0) own[threadIdx.x / CS_WARP] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int w = 1; w < CS_DEVICE_BATCHES; w++) mine = larger_map(mine, own[w]);
    *all = mine;
}

/* all <- the largest of `count` maps. One block of threads. */
CS_KERNEL void join_maps(int64_t count, const cs_device_map *map, cs_device_map *all)
{
    cs_device_map most = {0, 0, 0, 0, 0};
    for (int64_t i = threadIdx.x; i < count; i += THREADS) most = larger_map(most, map[i]);
    join_map(most, all);
}

void cs_device_join_maps(cs_queue *queue, int64_t count, const cs_device_map *map,
                         cs_device_map *all)
{
    CS_LAUNCH(queue, 1, THREADS, join_maps, count, map, all);
}

/* ---- speeds ------------------------------------------------------------------------------------------ */

/* zero <- what b says of V, of one contact without compliance: a_s = 1 / rho_s. */
template <bool disc>
CS_GPU void speeds_of_contact(const cs_device_verdict *v, const cs_device_blocks *group, int64_t k,
                              cs_device_zero *zero)
{
    /* P_C(0), and the prox step from 0. */
    contact<CS_MAX_ROWS> own;
    int rows = group->rows;
    int64_t row = group->first_row + k * rows;
    double start[CS_MAX_ROWS];
    CS_UNROLL for (int i = 0; i < CS_MAX_ROWS; i++) if (i < rows)
    {
        start[i] = own.lambda[i] = 0;
        own.rho[i] = v->rho[row + i];
        own.xi[i] = v->b[row + i];
        own.step[i] = own.z[i] = own.lambda[i] - own.rho[i] * own.xi[i];
    }
    const double *parameters = group->parameter + k * group->parameters;
    for (int far = 0; far < 2; far++) {
        double *z = far ? own.z : start;
        if (disc) cs_prox_disc_f64(rows, z, parameters, NULL);
        else cs_prox_f64((cs_set_kind)group->set, rows, z, parameters, NULL);
    }

    /* Delta_s(0) of its coupled sets, and the largest numbers. */
    cs_set_defect sets[CS_MAX_ROWS];
    cs_defects_of_step(rows, group->coupled_set, own.lambda, own.xi, own.rho, own.step, own.z,
                       sets);
    CS_UNROLL for (int i = 0; i < CS_MAX_ROWS; i++) if (i < rows)
    {
        double response = own.rho[i] > 0 ? 1 / own.rho[i] : 0;
        zero->speed = fmax(zero->speed, response * sets[group->coupled_set[i]].impulse);
        if (own.rho[i] > 0) zero->largest = fmax(zero->largest, fabs(own.xi[i]));
        if (start[i] != 0) zero->moved = 1;
        if (!isfinite(own.xi[i])) zero->infinite = 1;
    }
}

/* part <- those of blocks of threads: a thread has a contact. */
template <bool disc>
CS_KERNEL void find_speeds(CS_PARAMETER cs_device_verdict v, CS_PARAMETER cs_device_blocks group,
                           cs_device_map *part)
{
    cs_device_zero own = {0, 0, 0, 0};
    if (cs_thread() < group.count) speeds_of_contact<disc>(&v, &group, cs_thread(), &own);
    join_map({own.speed, own.largest, own.moved, own.infinite, 0}, part + blockIdx.x);
}

/* zero <- those of all parts. One block of threads. */
CS_KERNEL void join_speeds(int64_t count, const cs_device_map *part, cs_device_zero *zero)
{
    cs_device_map most = {0, 0, 0, 0, 0};
    for (int64_t i = threadIdx.x; i < count; i += THREADS) most = larger_map(most, part[i]);
    CS_SHARED(cs_device_map, all, 1);
    join_map(most, all);
    if (threadIdx.x == 0) *zero = {all->impulse, all->velocity, all->scaled, all->excess};
}

void cs_device_find_speeds(cs_queue *queue, const cs_device_verdict *v, cs_device_zero *zero)
{
    /* Parts lie where those of verdicts do. */
    static_assert(sizeof(cs_device_map) <= sizeof(cs_device_part_verdict), "they have the room");
    cs_device_map *part = (cs_device_map *)v->part, *first = part;
    for (int g = 0; g < v->block_groups; g++) {
        const cs_device_blocks *group = &v->block_group[g];
        int64_t blocks = cs_verdict_parts(group->count);
        if (!blocks) continue;
        if (group->set == CS_SET_disc)
            CS_LAUNCH(queue, blocks, THREADS, find_speeds<true>, *v, *group, part);
        else CS_LAUNCH(queue, blocks, THREADS, find_speeds<false>, *v, *group, part);
        part += blocks;
    }
    CS_LAUNCH(queue, 1, THREADS, join_speeds, v->parts, first, zero);
}

/* ---- growth ------------------------------------------------------------------------------------------ */

/* Adds to *grown if an impulse of the group, a kept one, or their difference, is at least `least` rho V. A thread has a
 * row. */
CS_KERNEL void look_for_growth(CS_PARAMETER cs_device_verdict v,
                               CS_PARAMETER cs_device_blocks group, cs_ray_part what, double least)
{
    int64_t i = cs_thread();
    int grown = 0;
    if (i < group.count * group.rows) {
        int64_t row = group.first_row + i;
        double scale = v.scale ? v.scale[group.first_block + i / group.rows] : v.bounds.scale;
        double unit = v.rho[row] * scale;
        double size = what == CS_RAY_KEPT ? v.kept[row] : v.lambda[row];
        if (what == CS_RAY_CHANGE) size -= v.kept[row];
        grown = unit > 0 && fabs(size) >= least * unit;
    }
    if (__any_sync(CS_ALL_LANES, grown) && cs_lane() == 0) atomicAdd(v.grown, 1);
}

void cs_device_look_for_growth(cs_queue *queue, const cs_device_verdict *v, cs_ray_part what,
                               double least)
{
    for (int g = 0; g < v->block_groups; g++) {
        const cs_device_blocks *group = &v->block_group[g];
        int64_t blocks = cs_blocks_of(group->count * group->rows, THREADS);
        if (blocks) CS_LAUNCH(queue, blocks, THREADS, look_for_growth, *v, *group, what, least);
    }
}

/* ---- directions in which impulses grow --------------------------------------------------------------- */

/* The prox of a point this far away shows the recession cone (measure/certificate.c). */
#define FAR_AWAY 0x1p200
#define NOTHING 0x1p-100
#define LEAST_RTOL 1e-6

/* d (rows) <- the projection of here x lambda + kept x (what was kept) of a contact into K. What was kept may not be set where
 * the direction has nothing of it. */
template <bool disc>
CS_GPU void project_ray(const cs_device_verdict *v, const cs_device_blocks *group, int64_t k,
                        const cs_ray_call *call, double *d)
{
    double z[CS_MAX_ROWS];
    int rows = group->rows;
    int64_t row = group->first_row + k * rows;
    CS_UNROLL for (int i = 0; i < CS_MAX_ROWS; i++) if (i < rows) z[i] =
        FAR_AWAY *
        (call->here * v->lambda[row + i] + (call->kept == 0 ? 0 : call->kept * v->kept[row + i]));
    const double *parameters = group->parameter + k * group->parameters;
    if (disc) cs_prox_disc_f64(rows, z, parameters, NULL);
    else cs_prox_f64((cs_set_kind)group->set, rows, z, parameters, NULL);
    CS_UNROLL for (int i = 0; i < CS_MAX_ROWS; i++) if (i < rows)
    {
        int tangential = !group->convex && group->coupled_set[i] > 0;
        d[i] = fabs(z[i]) > NOTHING * FAR_AWAY ? z[i] / FAR_AWAY : 0;
        if (tangential && !call->friction) d[i] = 0;
    }
}

/* What b does along a row of a direction. */
CS_GPU void add_work(double b, double d, cs_device_ray *sum)
{
    double work = b * d;
    if (fabs(d) > sum->largest || isnan(d)) sum->largest = fabs(d);
    sum->work += work;
    sum->magnitude += fabs(work);
}

CS_GPU void add_ray(cs_device_ray *sum, const cs_device_ray &own)
{
    if (own.largest > sum->largest || isnan(own.largest)) sum->largest = own.largest;
    if (own.seen > sum->seen || isnan(own.seen)) sum->seen = own.seen;
    sum->work += own.work;
    sum->magnitude += own.magnitude;
    sum->left += own.left;
}

/* *part <- the sums of a block of threads. Every thread calls it. */
template <int threads> CS_GPU void put_ray(const cs_device_ray &own, cs_device_ray *part)
{
    CS_SHARED(cs_device_ray, sum, threads);
    sum[threadIdx.x] = own;
    for (int apart = threads / 2; apart > 0; apart /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < apart) add_ray(&sum[threadIdx.x], sum[threadIdx.x + apart]);
    }
    if (threadIdx.x == 0) *part = sum[0];
}

/* direction <- the projection into K, and what b does along it. A thread has a contact. */
template <bool disc>
CS_KERNEL void project_rays(CS_PARAMETER cs_device_verdict v, CS_PARAMETER cs_device_blocks group,
                            cs_ray_call call, cs_device_ray *part)
{
    cs_device_ray own = {0, 0, 0, 0, 0};
    int64_t k = cs_thread();
    if (k < group.count) {
        double d[CS_MAX_ROWS];
        int64_t row = group.first_row + k * group.rows;
        project_ray<disc>(&v, &group, k, &call, d);
        CS_UNROLL for (int i = 0; i < CS_MAX_ROWS; i++) if (i < group.rows)
        {
            add_work(v.b[row + i], d[i], &own);
            v.direction[row + i] = d[i];
        }
    }
    put_ray<THREADS>(own, part + blockIdx.x);
}

/* What A does along the direction at a contact. v has the direction in place of lambda, its velocities unless they are given
 * (read_contact), and no b. */
CS_GPU cs_device_ray image_of(const cs_device_verdict *v, const cs_device_blocks *group, int64_t k,
                              const cs_ray_call *call, const double *velocity)
{
    cs_device_ray own = {0, 0, 0, 0, 0};
    contact<CS_MAX_ROWS> image;
    read_contact<CS_MAX_ROWS, 0, false>(v, group, k, velocity, &image);
    CS_UNROLL for (int i = 0; i < CS_MAX_ROWS; i++) if (i < group->rows)
    {
        double rho = image.rho[i], size = fabs(image.xi[i]);
        double relative = call->rtol * rho * v->bounds.scale;
        double tolerance = fmax(call->atol + relative, LEAST_RTOL * rho * v->bounds.scale);
        if (rho * size > own.seen || isnan(size)) own.seen = rho * size;
        if (size > 0) own.left += size * (tolerance / (CS_FLOOR_UNITS * DBL_EPSILON));
    }
    return own;
}

/* The same at all contacts of a group. */
CS_KERNEL void image_rays(CS_PARAMETER cs_device_verdict v, CS_PARAMETER cs_device_blocks group,
                          cs_ray_call call, cs_device_ray *part)
{
    cs_device_ray own = {0, 0, 0, 0, 0};
    int64_t k = cs_thread();
    if (k < group.count) own = image_of(&v, &group, k, &call, NULL);
    cs_device_ray before = part[blockIdx.x];
    put_ray<THREADS>(own, part + blockIdx.x);
    if (threadIdx.x == 0) add_ray(part + blockIdx.x, before);
}

/* part[parts] <- the sums of all parts. One block of threads. */
CS_KERNEL void join_rays(int64_t parts, cs_device_ray *part)
{
    cs_device_ray own = {0, 0, 0, 0, 0};
    for (int64_t p = threadIdx.x; p < parts; p += THREADS) add_ray(&own, part[p]);
    put_ray<THREADS>(own, part + parts);
}

void cs_device_measure_ray(cs_queue *queue, const cs_device_verdict *v, const cs_ray_call *call)
{
    /* The direction. */
    cs_device_ray *part = v->ray_part;
    for (int g = 0; g < v->block_groups; g++) {
        const cs_device_blocks *group = &v->block_group[g];
        int64_t blocks = cs_verdict_parts(group->count);
        if (!blocks) continue;
        if (group->set == CS_SET_disc)
            CS_LAUNCH(queue, blocks, THREADS, project_rays<true>, *v, *group, *call, part);
        else CS_LAUNCH(queue, blocks, THREADS, project_rays<false>, *v, *group, *call, part);
        part += blocks;
    }

    /* Its product with A; velocities of lambda remain. */
    cs_device_verdict along = *v;
    along.lambda = v->direction;
    along.velocity = v->magnitude;
    along.b = NULL;
    move<false>(queue, &along);
    part = v->ray_part;
    for (int g = 0; g < v->block_groups; g++) {
        const cs_device_blocks *group = &v->block_group[g];
        int64_t blocks = cs_verdict_parts(group->count);
        if (!blocks) continue;
        CS_LAUNCH(queue, blocks, THREADS, image_rays, along, *group, *call, part);
        part += blocks;
    }
    CS_LAUNCH(queue, 1, THREADS, join_rays, v->parts, v->ray_part);
}

/* ---- all directions at a sample of the contacts -------------------------------------------------------- */

/* The sums of a direction over a warp, but for those of A; every lane has them. */
CS_GPU void add_lanes(cs_device_ray *own)
{
    for (int apart = 1; apart < CS_WARP; apart *= 2) {
        cs_device_ray other = {0, 0, 0, 0, 0};
        other.largest = __shfl_xor_sync(CS_ALL_LANES, own->largest, apart);
        other.work = __shfl_xor_sync(CS_ALL_LANES, own->work, apart);
        other.magnitude = __shfl_xor_sync(CS_ALL_LANES, own->magnitude, apart);
        add_ray(own, other);
    }
}

/* part[each j] <- the sums over the projection of direction j into K, for a block of threads. A thread has a contact. */
template <bool disc>
CS_KERNEL void project_directions(CS_PARAMETER cs_device_verdict v,
                                  CS_PARAMETER cs_device_blocks group, cs_ray_call call,
                                  int64_t each, cs_device_ray *part)
{
    enum { WARPS = THREADS / CS_WARP };
    CS_SHARED(cs_device_ray, of_warp, CS_RAY_DIRECTIONS * WARPS);
    int64_t k = cs_thread(), row = group.first_row + k * group.rows;
    int t = (int)threadIdx.x;
    for (int j = 0; j < CS_RAY_DIRECTIONS; j++) {
        cs_device_ray own = {0, 0, 0, 0, 0};
        cs_ray_direction(j, &call);
        if (k < group.count) {
            double d[CS_MAX_ROWS];
            project_ray<disc>(&v, &group, k, &call, d);
            CS_UNROLL for (int i = 0; i < CS_MAX_ROWS; i++) if (i < group.rows)
                add_work(v.b[row + i], d[i], &own);
        }
        add_lanes(&own);
        if (cs_lane() == 0) of_warp[WARPS * j + t / CS_WARP] = own;
    }
    __syncthreads();
    if (t >= CS_RAY_DIRECTIONS) return;
    cs_device_ray sum = of_warp[WARPS * t];
    for (int w = 1; w < WARPS; w++) add_ray(&sum, of_warp[WARPS * t + w]);
    part[each * t + blockIdx.x] = sum;
}

/* Component c of J^T d of a body, for the projection d of a direction into K. */
CS_GPU double force_along(const cs_device_verdict *v, const cs_ray_call *call, int64_t body, int c)
{
    const cs_device_blocks *group = v->block_group_there;
    double sum = 0;
    for (int64_t e = v->start[body]; e < v->start[body + 1]; e++) {
        int64_t k;
        int side;
        double d[CS_MAX_ROWS];
        group = contact_of_entry(v, v->entry[e], group, &k, &side);
        if (group->set == CS_SET_disc) project_ray<true>(v, group, k, call, d);
        else project_ray<false>(v, group, k, call, d);
        add_impulse<false>(group, k, side, c, d, &sum);
    }
    return sum;
}

/* part[each j + i] <- the image of direction j at contact i of a sample from all of a group. A block has one of both, a thread a
 * component of the velocity of one of the contact's bodies; M^-1 is diagonal. */
CS_KERNEL void image_sample(CS_PARAMETER cs_device_verdict v, CS_PARAMETER cs_device_blocks group,
                            CS_PARAMETER cs_device_bodies bodies, cs_ray_call call, int64_t each,
                            cs_device_ray *part)
{
    CS_SHARED(double, velocity, CS_MAX_PARTNERS *CS_MAX_ROWS);
    int64_t i = blockIdx.x % CS_RAY_SAMPLE, k = i * (group.count / CS_RAY_SAMPLE);
    int side = (int)threadIdx.x / CS_MAX_ROWS, c = (int)threadIdx.x % CS_MAX_ROWS;
    int direction = (int)blockIdx.x / CS_RAY_SAMPLE;
    cs_ray_direction(direction, &call);
    if (side < group.partners && c < bodies.dof) {
        int64_t at = group.velocity[group.partners * k + side] - bodies.first_velocity;
        int64_t body = bodies.first_body + at / bodies.dof;
        velocity[threadIdx.x] =
            at < 0 ? 0 : force_along(&v, &call, body, c) * bodies.inverse_mass[at + c];
    }
    __syncthreads();
    if (threadIdx.x == 0) part[each * direction + i] = image_of(&v, &group, k, &call, velocity);
}

/* all[j] <- the sums of the parts of direction j. A block has a direction. */
CS_KERNEL void __launch_bounds__(JOINERS)
    join_directions(int64_t each, const cs_device_ray *part, cs_device_ray *all)
{
    cs_device_ray own = {0, 0, 0, 0, 0};
    for (int64_t p = threadIdx.x; p < each; p += JOINERS)
        add_ray(&own, part[each * blockIdx.x + p]);
    put_ray<JOINERS>(own, all + blockIdx.x);
}

void cs_device_measure_directions(cs_queue *queue, const cs_device_verdict *v, int sampled,
                                  const cs_ray_call *call)
{
    /* The projections. */
    int64_t each = v->parts + CS_RAY_SAMPLE;
    cs_device_ray *all = v->ray_part + v->parts + 1, *first = all + CS_RAY_DIRECTIONS;
    cs_device_ray *part = first;
    for (int g = 0; g < v->block_groups; g++) {
        const cs_device_blocks *group = &v->block_group[g];
        int64_t blocks = cs_verdict_parts(group->count);
        if (!blocks) continue;
        if (group->set == CS_SET_disc)
            CS_LAUNCH(queue, blocks, THREADS, project_directions<true>, *v, *group, *call, each,
                      part);
        else
            CS_LAUNCH(queue, blocks, THREADS, project_directions<false>, *v, *group, *call, each,
                      part);
        part += blocks;
    }

    /* Their images at the sample. */
    cs_device_verdict along = *v;
    along.b = NULL;
    CS_LAUNCH(queue, CS_RAY_DIRECTIONS * CS_RAY_SAMPLE, CS_WARP, image_sample, along,
              v->block_group[sampled], *v->body_group, *call, each, part);
    CS_LAUNCH(queue, CS_RAY_DIRECTIONS, JOINERS, join_directions, each, first, all);
}

/* Impulses and b of the caller in memory of the device, and the two orders of numbers there. */
#include "backend/device_internal.h"

#include <string.h>

/* ---- the order of the visits, and that of the user ---------------------------------------------------- */

cs_device_rows cs_device_rows_of(const cs_on_device *d, int g, int rows, void *packed,
                                 double *plain)
{
    const cs_packed_group *group = &d->packed.group[g];
    return (cs_device_rows){
        .block = d->block[g],
        .slots = group->slots,
        .lanes = group->lanes,
        .rows = rows,
        .single = cs_real(d->packed.dtype) == CS_F32,
        .packed = packed,
        .plain = plain,
    };
}

void *cs_device_impulses(const cs_on_device *d, int g)
{
    size_t real = cs_real_size(d->packed.dtype);
    return (char *)d->program.packed.lambda + (size_t)d->packed.group[g].first_impulse * real;
}

void cs_device_unpack(cs_on_device *d, double *to)
{
    for (int g = 0; g < d->packed.problem->block_groups; g++) {
        cs_device_rows rows =
            cs_device_rows_of(d, g, d->packed.group[g].rows, cs_device_impulses(d, g),
                              to + d->packed.problem->block_group[g].first_row);
        d->device->unpack(d->queue, &rows);
    }
}

void cs_device_pack_there(cs_on_device *d, int g, int rows, double *given, void *packed)
{
    cs_device_rows numbers = cs_device_rows_of(d, g, rows, packed, given);
    d->device->pack(d->queue, &numbers);
}

void cs_device_pack_impulses(cs_on_device *d)
{
    const cs_problem *problem = d->packed.problem;
    d->device->zero(d->queue, d->program.packed.lambda,
                    (size_t)d->packed.impulses * cs_real_size(d->packed.dtype));
    for (int g = 0; g < problem->block_groups; g++)
        cs_device_pack_there(d, g, problem->block_group[g].rows,
                             d->verdict.lambda + problem->block_group[g].first_row,
                             cs_device_impulses(d, g));
}

void cs_device_pack_b(cs_on_device *d)
{
    const cs_problem *problem = d->packed.problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        cs_device_pack_there(d, g, group->rows, d->given_b + group->first_row, d->group[g].b);
    }
}

/* ---- impulses of a solve that has ended -------------------------------------------------------------- */

/* Whether `impulses` are what the device has, of which the host has a copy. */
static cs_status compare(const cs_on_device *d, const double *impulses, int *same, cs_error *error)
{
    *same = 0;
    if (!d->current) return CS_OK;
    size_t bytes = (size_t)d->packed.problem->rows * sizeof *impulses;
    if (d->judges) {
        *same = memcmp(d->plain, impulses, bytes) == 0;
        return CS_OK;
    }
    double *there = cs_allocate(d->packed.problem->rows, sizeof *there);
    if (!there) return cs_no_workspace(error);
    cs_get_impulses(&d->packed, there);
    *same = memcmp(there, impulses, bytes) == 0;
    cs_release(there);
    return CS_OK;
}

cs_status cs_device_get_there(void *state, const double *impulses, double *to, int *found,
                              cs_error *error)
{
    cs_on_device *d = state;
    cs_status status = compare(d, impulses, found, error);
    if (status || !*found) return status;
    cs_device_unpack(d, to);
    return d->device->wait(d->queue, error);
}

/* ---- arrays of a solve ------------------------------------------------------------------------------- */

static size_t bytes_of_rows(const cs_on_device *d)
{
    return (size_t)d->packed.problem->rows * sizeof(double);
}

static int takes(const void *state) { return cs_device_takes_arrays(state); }

static int are_finite(void *state, const double *numbers)
{
    cs_on_device *d = state;
    int infinite = 0, *found = d->verdict.grown;
    d->device->zero(d->queue, found, sizeof infinite);
    d->device->look_for_infinite(d->queue, d->packed.problem->rows, numbers, found);
    d->device->download(d->queue, &infinite, found, sizeof infinite);
    return infinite == 0;
}

static void put(void *state, const double *impulses)
{
    cs_on_device *d = state;
    cs_device_changed(d);
    d->device->copy(d->queue, d->verdict.lambda, impulses, bytes_of_rows(d));
    cs_device_pack_impulses(d);
}

static void put_b(void *state, const double *b, cs_zero_speeds *speeds)
{
    /* The copies. */
    cs_on_device *d = state;
    d->device->copy(d->queue, d->given_b, b, bytes_of_rows(d));
    cs_device_pack_b(d);

    /* What V follows from. After a failure, which the next call reports, nothing is copied, and V is not known. */
    cs_device_zero *zero = &d->report.zero;
    *zero = (cs_device_zero){.moved = 1};
    d->device->find_speeds(d->queue, &d->verdict, &d->report_there->zero);
    d->device->download(d->queue, zero, &d->report_there->zero, sizeof *zero);
    *speeds = (cs_zero_speeds){zero->speed, zero->largest, zero->moved > 0, !(zero->infinite > 0)};
}

static void get(void *state, double *to) { cs_device_unpack(state, to); }

static void read(const void *state, const double *numbers, double *to)
{
    const cs_on_device *d = state;
    d->device->download(d->queue, to, numbers, bytes_of_rows(d));
}

const cs_arrays_there cs_device_arrays = {
    .takes = takes,
    .are_finite = are_finite,
    .put = put,
    .put_b = put_b,
    .get = get,
    .read = read,
};

/* Impulses that go from the device to memory of the caller on the device. */
#include "backend/device_internal.h"

#include <string.h>

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

cs_status cs_device_get_there(void *state, const double *impulses, double *to, int *found,
                              cs_error *error)
{
    cs_on_device *d = state;
    cs_status status = compare(d, impulses, found, error);
    if (status || !*found) return status;
    cs_device_unpack(d, to);
    return d->device->wait(d->queue, error);
}

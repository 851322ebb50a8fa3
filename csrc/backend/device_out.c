/* Impulses that go from the device to memory of the caller on the device. */
#include "backend/device_internal.h"

#include <string.h>

/* Whether `impulses` are what the device has, of which the host has a copy. */
static cs_status compare(const cs_on_device *d, const double *impulses, int *same, cs_error *error)
{
    *same = 0;
    if (!d->current) return CS_OK;
    int64_t rows = d->packed.problem->rows;
    double *there = cs_allocate(rows, sizeof *there);
    if (!there) return cs_no_workspace(error);
    cs_get_impulses(&d->packed, there);
    *same = memcmp(there, impulses, (size_t)rows * sizeof *there) == 0;
    cs_release(there);
    return CS_OK;
}

/* The block of each slot of group g, on the device; made once. */
static cs_status block_of_slots(cs_on_device *d, int g, const int64_t **block, cs_error *error)
{
    const cs_packed_group *group = &d->packed.group[g];
    *block = d->block[g];
    if (group->lanes == 1 || *block) return CS_OK;
    size_t bytes = (size_t)group->slots * sizeof(int64_t);
    int64_t *own = cs_allocate(group->slots, sizeof *own);
    if (!own) return cs_no_workspace(error);
    for (int64_t s = 0; s < group->slots; s++) own[s] = -1;
    for (int64_t v = 0; v < group->count; v++)
        own[group->slot[v]] = d->packed.schedule->visit[g][v];

    void *there = NULL;
    cs_status status = d->device->take(d->queue, &there, bytes, error);
    if (!status) {
        d->bytes += (int64_t)cs_device_units(bytes);
        d->device->upload(d->queue, there, own, bytes);
        *block = d->block[g] = there;
    }
    cs_release(own);
    return status;
}

cs_status cs_device_get_there(void *state, const double *impulses, double *to, int *found,
                              cs_error *error)
{
    cs_on_device *d = state;
    cs_status status = compare(d, impulses, found, error);
    if (status || !*found) return status;
    size_t real = cs_real_size(d->packed.dtype);

    /* What may fail comes first: no copy may still go to `to` after an error. */
    const int64_t *block;
    for (int g = 0; g < d->packed.problem->block_groups; g++)
        if ((status = block_of_slots(d, g, &block, error))) return status;

    for (int g = 0; g < d->packed.problem->block_groups; g++) {
        const cs_packed_group *group = &d->packed.group[g];
        const char *lambda = d->program.packed.lambda;
        cs_device_rows rows = {.slots = group->slots,
                               .lanes = group->lanes,
                               .rows = group->rows,
                               .single = cs_real(d->packed.dtype) == CS_F32,
                               .packed = lambda + (size_t)group->first_impulse * real,
                               .plain = to + d->packed.problem->block_group[g].first_row};
        status = block_of_slots(d, g, &rows.block, error);
        if (status) return status;
        d->device->unpack(d->queue, &rows);
    }
    return d->device->wait(d->queue, error);
}

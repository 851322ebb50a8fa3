/* The devices that are known, by name. */
#include "backend/cpu.h"
#include "backend/device_internal.h"

#include <string.h>

enum { DEVICES = 2 };

static const char *const names[DEVICES] = {"cuda", "cuda-emulated"};

static const char *const summaries[DEVICES] = {"a GPU by NVIDIA",
                                               "its kernels on the processor, slowly, for tests"};

/* The backends of devices that are registered. Modules register while they are loaded, one at a time. */
static cs_device_backed known[DEVICES];

const char *cs_device_name(int i, const char **summary)
{
    if (i < 0 || i > DEVICES) return NULL;
    if (summary) *summary = i ? summaries[i - 1] : "the processor";
    return i ? names[i - 1] : "cpu";
}

/* The index of a name among the devices, or -1. */
static int find(const char *name)
{
    for (int i = 0; i < DEVICES; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

cs_status cs_device_register(const cs_device *device, cs_error *error)
{
    int i = find(device->name);
    if (i < 0) return cs_fail(error, CS_UNKNOWN_NAME, "device '%s' is unknown", device->name);
    if (device->layout != cs_device_layout())
        return cs_fail(error, CS_INVALID,
                       "the module of device '%s' was built from another version of the library",
                       device->name);
    known[i].table = cs_device_functions;
    known[i].table.name = device->name;
    known[i].device = device;
    return CS_OK;
}

cs_status cs_device_backend(const char *name, const cs_backend **backend, cs_error *error)
{
    int i = find(name);
    *backend = &cs_backend_cpu;
    if (strcmp(name, "cpu") == 0) return CS_OK;
    if (i < 0) return cs_fail(error, CS_UNKNOWN_NAME, "device: '%s' is unknown", name);
    if (!known[i].device)
        return cs_fail(error, CS_UNSUPPORTED, "device='%s': its module is not loaded", name);
    const char *missing = known[i].device->missing();
    if (missing) return cs_fail(error, CS_UNSUPPORTED, "device='%s': %s", name, missing);
    *backend = &known[i].table;
    return CS_OK;
}

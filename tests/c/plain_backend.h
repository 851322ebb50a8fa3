/* A second backend: one loop after another in double precision, with storage of its own. */
#ifndef PLAIN_BACKEND_H
#define PLAIN_BACKEND_H

#include "backend/backend.h"

extern const cs_backend plain_backend;

/* Packings that have been made and not released, sweeps made, and calls for them, of all plain backends. */
extern int plain_live;
extern int64_t plain_sweeps, plain_calls;

#endif

/* Checkpoints of a _core.Solver on ranks, as dicts of flat arrays. */
#ifndef CS_PYTHON_CHECKPOINT_ARGUMENTS_H
#define CS_PYTHON_CHECKPOINT_ARGUMENTS_H

#include "python/core.h"
#include "solver/checkpoint.h"

/* What a solve does with checkpoints. */
typedef struct checkpoint_arguments {
    cs_checkpoints checkpoints;
    cs_saved resumed;
    PyObject *write;  /* borrowed: called with a dict; true: the solve stops */
    PyObject *arrays; /* a tuple that keeps the arrays of `resumed`; or NULL */
} checkpoint_arguments;

/* Reads None, which leaves the struct zero, or (every, seconds, write, resumed), where `resumed` is None or a dict. Returns -1
 * with an error set: also for a dict of another method or precision. The caller clears the struct in either case. */
int read_checkpoint_arguments(checkpoint_arguments *arguments, const cs_solver *solver,
                              PyObject *value);
void checkpoint_arguments_clear(checkpoint_arguments *arguments);

/* Calls arguments->write with a checkpoint. With the GIL. Returns as cs_checkpoints.write. */
int call_write(const checkpoint_arguments *arguments, const cs_solver *solver,
               const cs_saved *saved);

#endif

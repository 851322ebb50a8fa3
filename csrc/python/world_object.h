/* _core.World: a cs_world, for the files of its methods. */
#ifndef CS_PYTHON_WORLD_OBJECT_H
#define CS_PYTHON_WORLD_OBJECT_H

#include "dynamics/world.h"
#include "python/solver_arguments.h"

typedef struct world_object {
    PyObject_HEAD
    cs_world *world;
    solver_arguments arguments; /* to which the world's options point, */
    PyObject *given;            /* and the objects that hold their words */
    cs_space space;
    atomic_flag busy; /* set during a call */
} world_object;

/* Takes the world for one call; world_begin returns -1 with an error set if another call has it. */
int world_begin(world_object *self);
void world_end(world_object *self);

/* Reads None, or an array of `count` times `each` doubles. Returns -1 with an error set. */
int read_body_doubles(PyObject *value, const char *name, int64_t count, int each,
                      PyArrayObject **array, const double **data);

/* A view of the world's memory, which it keeps; columns 0: one axis. */
PyObject *view_of(world_object *self, const void *data, int type, int64_t count, int columns,
                  int writable);

/* Methods in world_joints.c. */
PyObject *world_add_joints(world_object *self, PyObject *args);
PyObject *world_remove_joint(world_object *self, PyObject *value);
PyObject *world_joints(world_object *self, PyObject *unused);

/* Methods in world_state.c. */
PyObject *world_place(world_object *self, PyObject *args);
PyObject *world_skip_shapes(world_object *self, PyObject *value);
PyObject *world_save(world_object *self, PyObject *unused);
PyObject *world_restore(world_object *self, PyObject *value);

#endif

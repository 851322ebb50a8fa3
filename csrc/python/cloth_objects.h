/* _core.Cloth, for the files of its methods. */
#ifndef CS_PYTHON_CLOTH_OBJECTS_H
#define CS_PYTHON_CLOTH_OBJECTS_H

#include "cloth/cloth.h"
#include "python/block_objects.h"

typedef struct cloth_object {
    PyObject_HEAD
    cs_cloth cloth;
    int64_t preemptions; /* cs_threads_for_now */
    atomic_flag busy;    /* set while the step is in use */
} cloth_object;

/* Returns -1 with an error set if another thread uses the cloth. */
int cloth_begin(cloth_object *self);
void cloth_end(cloth_object *self);

/* Threads of a step; `most`: 0 for all that are available, as far as other processes leave them. */
int cloth_threads(cloth_object *self, long long most);

/* Arrays of a step: (n, 3), or None and no data. */
typedef struct cloth_arrays {
    PyArrayObject *target, *force;
    const double *to, *pull;
} cloth_arrays;
int cloth_read_arrays(cloth_arrays *a, PyObject *target, PyObject *force);
void cloth_clear_arrays(cloth_arrays *a);

/* Methods of cloth_steps.c. */
PyObject *cloth_step(cloth_object *self, PyObject *args);
PyObject *cloth_predict(cloth_object *self, PyObject *args);
PyObject *cloth_conclude(cloth_object *self, PyObject *args);
PyObject *cloth_report(cloth_object *self, PyObject *unused);

/* Methods of cloth_collisions.c. */
PyObject *cloth_collide(cloth_object *self, PyObject *args);
PyObject *cloth_add_obstacle(cloth_object *self, PyObject *args);
PyObject *cloth_move_obstacle(cloth_object *self, PyObject *args);
PyObject *cloth_obstacle(cloth_object *self, PyObject *number);
PyObject *cloth_check(cloth_object *self, PyObject *args);
PyObject *cloth_contacts(cloth_object *self, PyObject *is_present);
PyObject *cloth_set_impulses(cloth_object *self, PyObject *impulses);
PyObject *cloth_former_contacts(cloth_object *self, PyObject *unused);
PyObject *cloth_set_former_contacts(cloth_object *self, PyObject *args);
/* A dict about the collisions of the last step. */
PyObject *cloth_collision_report(const cs_cloth *cloth);

#endif

/* Steps of _core.Cloth, with the GIL released, and their report. */
#include "core/costs.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/pool.h"
#include "python/cloth_objects.h"

int cloth_begin(cloth_object *self)
{
    if (!atomic_flag_test_and_set(&self->busy)) return 0;
    PyErr_SetString(
        PyExc_RuntimeError,
        "this Cloth is in the middle of a step (in another thread or around this call)");
    return -1;
}

void cloth_end(cloth_object *self) { atomic_flag_clear(&self->busy); }

static int threads_of_system(const cloth_object *self, long long most)
{
    return cs_threads_for(most, self->cloth.mesh.vertices, CS_WORTH_THREADS_PRODUCT,
                          self->cloth.system.parts);
}

int cloth_threads(cloth_object *self, long long most)
{
    int threads = threads_of_system(self, most);
    return most ? threads : cs_threads_for_now(threads, &self->preemptions);
}

/* Those of contacts are the same, or more if the last step had many pairs: of these each is more work than a vertex. */
static void set_threads(cloth_object *self, long long most, cs_cloth_call *call)
{
    int64_t pairs = self->cloth.collisions.report.candidates;
    call->threads = threads_of_system(self, most);
    call->contact_threads =
        cs_threads_for(most, pairs, CS_WORTH_THREADS_STENCILS, CS_POOL_MOST_THREADS);
    if (call->contact_threads < call->threads) call->contact_threads = call->threads;
    if (!most) {
        int now = cs_threads_for_now(call->contact_threads, &self->preemptions);
        if (call->threads > now) call->threads = now;
        call->contact_threads = now;
    }
}

int cloth_read_arrays(cloth_arrays *a, PyObject *target, PyObject *force)
{
    if (target != Py_None && !(a->target = double_array(target, "attach"))) return -1;
    if (force != Py_None && !(a->force = double_array(force, "forces"))) return -1;
    a->to = a->target ? PyArray_DATA(a->target) : NULL;
    a->pull = a->force ? PyArray_DATA(a->force) : NULL;
    return 0;
}

void cloth_clear_arrays(cloth_arrays *a)
{
    Py_XDECREF(a->target);
    Py_XDECREF(a->force);
}

/* What a step is made of: its beginning, its end, or both. */
enum { PREDICT = 1, CONCLUDE = 2 };

/* Makes parts of a step with the GIL released; thread 0 looks for Ctrl-C. Returns whether the state is a new one, or -1. */
static int make_step(cloth_object *self, int parts, double h, const cloth_arrays *arrays,
                     cs_cloth_call *call)
{
    cs_error error = {0};
    cs_status status = CS_OK;
    int64_t steps = self->cloth.steps;
    block_asking asking = {.thread = PyEval_SaveThread()};
    cs_cancellation cancellation = {.is_cancelled = block_ask_signals, .context = &asking};
    call->cancellation = &cancellation;
    if (parts & PREDICT)
        status = cs_cloth_predict(&self->cloth, h, arrays->to, arrays->pull, call, &error);
    if (!status && parts & CONCLUDE) status = cs_cloth_conclude(&self->cloth, call, &error);
    PyEval_RestoreThread(asking.thread);
    if (status) raise_error(&error);
    return PyErr_Occurred() ? -1 : self->cloth.steps > steps;
}

/* (h, target, force, newton, threads) */
static PyObject *read_and_make(cloth_object *self, PyObject *args, int parts)
{
    double h;
    long long threads;
    int is_made = -1;
    PyObject *target, *force;
    cloth_arrays arrays = {0};
    cs_cloth_call call = {0};
    if (!PyArg_ParseTuple(args, "dOOiL:step", &h, &target, &force, &call.newton, &threads))
        return NULL;
    if (cloth_read_arrays(&arrays, target, force) == 0 && cloth_begin(self) == 0) {
        set_threads(self, threads, &call);
        is_made = make_step(self, parts, h, &arrays, &call);
        cloth_end(self);
    }
    cloth_clear_arrays(&arrays);
    return is_made < 0 ? NULL : PyBool_FromLong(is_made);
}

/* step(h, target, force, newton, threads) -> whether it was made; False: collisions need a shorter one. */
PyObject *cloth_step(cloth_object *self, PyObject *args)
{
    return read_and_make(self, args, PREDICT | CONCLUDE);
}

/* predict(h, target, force, newton, threads): the beginning of a step, and its contacts. */
PyObject *cloth_predict(cloth_object *self, PyObject *args)
{
    return read_and_make(self, args, PREDICT);
}

/* conclude(threads): the rest of the step that was predicted. */
PyObject *cloth_conclude(cloth_object *self, PyObject *args)
{
    long long threads;
    cs_cloth_call call = {.newton = 1};
    if (!PyArg_ParseTuple(args, "L:conclude", &threads) || cloth_begin(self) < 0) return NULL;
    set_threads(self, threads, &call);
    int is_made = make_step(self, CONCLUDE, 0, NULL, &call);
    cloth_end(self);
    return is_made < 0 ? NULL : PyBool_FromLong(is_made);
}

/* report() -> a dict about the last step, and numbers of steps */
PyObject *cloth_report(cloth_object *self, PyObject *unused)
{
    (void)unused;
    if (cloth_begin(self) < 0) return NULL;
    const cs_cloth *c = &self->cloth;
    PyObject *answer =
        Py_BuildValue("{s:s,s:L,s:d,s:i,s:s,s:L,s:L}", "status", block_verdict(c->report.verdict),
                      "iterations", (long long)c->report.iterations, "residual", c->report.residual,
                      "threads", c->report.threads, "preconditioner", c->report.kind, "steps",
                      (long long)c->steps, "steps_not_converged", (long long)c->missed);
    PyObject *more = answer && c->has_collisions ? cloth_collision_report(c) : NULL;
    if (answer && c->has_collisions && (!more || PyDict_Update(answer, more) < 0)) Py_CLEAR(answer);
    Py_XDECREF(more);
    cloth_end(self);
    return answer;
}

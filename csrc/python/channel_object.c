/* _core.Channels: channels of Python objects between threads (transport/channel.h). They share one event, so that one
 * thread may read whichever is ready. Who waits releases the GIL, and takes it briefly to look for Ctrl-C. */
#include "core/clock.h"
#include "python/core.h"
#include "transport/channel.h"

typedef struct channels_object {
    PyObject_HEAD
    cs_arena arena;
    cs_event *event;
    cs_channel **channel; /* (count); a message is an owned reference */
    int64_t count;
    int meets; /* rendezvous */
    int any_writer, any_reader;
} channels_object;

#define BETWEEN_SIGNALS 0.05 /* seconds */

/* Channels(count, places, any_writer, any_reader) */
static PyObject *channels_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"count", "places", "any_writer", "any_reader", NULL};
    long long count, places;
    int any_writer, any_reader;
    cs_error error = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "LLpp:Channels", names, &count, &places,
                                     &any_writer, &any_reader))
        return NULL;
    if (count < 1)
        return PyErr_Format(PyExc_ValueError, "count is %lld: at least 1 is needed", count);
    channels_object *self = (channels_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;

    /* Make the event and the channels; `count` tells dealloc how many there are. */
    self->meets = places == 0;
    self->any_writer = any_writer;
    self->any_reader = any_reader;
    self->channel = cs_arena_take(&self->arena, count, sizeof(cs_channel *));
    cs_status status = cs_arena_status(&self->arena, &error, "channels");
    if (!status) status = cs_event_make(&self->event, &self->arena, &error);
    if (status) self->event = NULL;
    cs_channel_shape shape = {
        .places = places,
        .bytes = sizeof(PyObject *),
        .any_writer = any_writer,
        .any_reader = any_reader,
        .readable = self->event,
    };
    for (; self->count < count && !status; self->count += !status)
        status = cs_channel_make(&self->channel[self->count], &shape, &self->arena, &error);
    if (!status) return (PyObject *)self;
    raise_error(&error);
    Py_DECREF(self);
    return NULL;
}

static void channels_dealloc(channels_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (int64_t c = 0; c < self->count; c++) {
        PyObject *lost;
        while (cs_channel_take_lost(self->channel[c], (void *)&lost)) Py_DECREF(lost);
        cs_channel_release(self->channel[c]);
    }
    if (self->event) cs_event_release(self->event);
    cs_arena_clear(&self->arena);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- waiting ------------------------------------------------------------------------------------- */

/* One way of waiting for a channel. number: of the message of a rendezvous; of the first channel of a selection, then
 * of the chosen one. */
typedef struct waiting {
    channels_object *self;
    cs_channel *channel;
    void *place;
    int64_t number;
} waiting;

typedef cs_channel_state (*attempt)(waiting *w, double until);

static cs_channel_state reserve(waiting *w, double until)
{
    return cs_channel_reserve(w->channel, &w->place, until);
}

static cs_channel_state peek(waiting *w, double until)
{
    return cs_channel_peek(w->channel, &w->place, until);
}

static cs_channel_state meet(waiting *w, double until)
{
    return cs_channel_meet(w->channel, w->number, until);
}

static cs_channel_state choose(waiting *w, double until)
{
    int64_t first = w->number;
    return cs_channel_select(w->self->channel, w->self->count, first, until, &w->number);
}

/* Waits so many seconds, or for ever if they are below 0. Returns the state, or -1 with an error set. An end that is
 * not `shared` has no lock: several threads that use it nevertheless take turns, because what the last look found, with
 * the GIL, is still so when the caller uses it. */
static int wait_for(waiting *w, attempt once, int shared, double seconds)
{
    cs_channel_state state = once(w, CS_AT_ONCE);
    double deadline = seconds < 0 ? CS_FOREVER : cs_clock() + seconds;
    for (double now = cs_clock(); state == CS_CHANNEL_WAITING && now < deadline; now = cs_clock()) {
        double until = now + BETWEEN_SIGNALS < deadline ? now + BETWEEN_SIGNALS : deadline;
        Py_BEGIN_ALLOW_THREADS
        state = once(w, until);
        Py_END_ALLOW_THREADS
        if (state == CS_CHANNEL_READY && !shared) state = once(w, CS_AT_ONCE);
        if (state == CS_CHANNEL_WAITING && PyErr_CheckSignals() < 0) return -1;
    }
    return (int)state;
}

/* The channel of an index, or NULL with an error set. */
static cs_channel *channel_of(const channels_object *self, long long index)
{
    if (index >= 0 && index < self->count) return self->channel[index];
    PyErr_Format(PyExc_IndexError, "channel %lld: there are %lld", index, (long long)self->count);
    return NULL;
}

/* ---- methods ------------------------------------------------------------------------------------- */

/* write(index, message, seconds) -> state */
static PyObject *channels_write(channels_object *self, PyObject *args)
{
    long long index;
    PyObject *message;
    double seconds;
    if (!PyArg_ParseTuple(args, "LOd:write", &index, &message, &seconds)) return NULL;
    waiting w = {.self = self, .channel = channel_of(self, index)};
    int state = w.channel ? wait_for(&w, reserve, self->any_writer, seconds) : -1;
    if (state == CS_CHANNEL_READY) {
        *(PyObject **)w.place = Py_NewRef(message);
        w.number = cs_channel_number(w.channel);
        cs_channel_send(w.channel);
        if (self->meets) state = wait_for(&w, meet, 0, -1);
    }
    return state < 0 ? NULL : PyLong_FromLong(state);
}

/* read(index, seconds) -> (state, message or None) */
static PyObject *channels_read(channels_object *self, PyObject *args)
{
    long long index;
    double seconds;
    if (!PyArg_ParseTuple(args, "Ld:read", &index, &seconds)) return NULL;
    waiting w = {.self = self, .channel = channel_of(self, index)};
    int state = w.channel ? wait_for(&w, peek, self->any_reader, seconds) : -1;
    if (state < 0) return NULL;
    PyObject *message = Py_NewRef(Py_None);
    if (state == CS_CHANNEL_READY) {
        Py_SETREF(message, *(PyObject **)w.place); /* with its reference */
        cs_channel_accept(w.channel);
    }
    return Py_BuildValue("iN", state, message);
}

/* select(first, seconds) -> (state, index) */
static PyObject *channels_select(channels_object *self, PyObject *args)
{
    long long first;
    double seconds;
    if (!PyArg_ParseTuple(args, "Ld:select", &first, &seconds)) return NULL;
    if (!channel_of(self, first)) return NULL;
    waiting w = {.self = self, .number = first};
    int state = wait_for(&w, choose, 0, seconds);
    return state < 0 ? NULL : Py_BuildValue("iL", state, (long long)w.number);
}

/* poison(index) */
static PyObject *channels_poison(channels_object *self, PyObject *index)
{
    long long given = PyLong_AsLongLong(index);
    cs_channel *channel = PyErr_Occurred() ? NULL : channel_of(self, given);
    if (!channel) return NULL;
    cs_channel_poison(channel);
    Py_RETURN_NONE;
}

/* counts(index) -> (messages, whether it is poisoned) */
static PyObject *channels_counts(channels_object *self, PyObject *index)
{
    long long given = PyLong_AsLongLong(index);
    cs_channel *channel = PyErr_Occurred() ? NULL : channel_of(self, given);
    if (!channel) return NULL;
    return Py_BuildValue("LN", (long long)cs_channel_count(channel).messages,
                         PyBool_FromLong(cs_channel_is_poisoned(channel)));
}

static PyMethodDef channels_methods[] = {
    {"write", (PyCFunction)(void (*)(void))channels_write, METH_VARARGS,
     "write(index, message, seconds)\n--\n\nThe state: 0 done, 1 the time is over, 2 poisoned."},
    {"read", (PyCFunction)(void (*)(void))channels_read, METH_VARARGS,
     "read(index, seconds)\n--\n\n(state, message)"},
    {"select", (PyCFunction)(void (*)(void))channels_select, METH_VARARGS,
     "select(first, seconds)\n--\n\n(state, index) of a channel that has a message."},
    {"poison", (PyCFunction)(void (*)(void))channels_poison, METH_O, "poison(index)\n--\n\n"},
    {"counts", (PyCFunction)(void (*)(void))channels_counts, METH_O,
     "counts(index)\n--\n\n(messages written, whether it is poisoned)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot channels_slots[] = {
    {Py_tp_new, (void *)channels_new},
    {Py_tp_dealloc, (void *)channels_dealloc},
    {Py_tp_methods, channels_methods},
    {Py_tp_doc, "Channels(count, places, any_writer, any_reader)\n--\n\n"
                "Channels of Python objects. See contactsolve.csp.Channel."},
    {0, NULL},
};

PyType_Spec channels_spec = {
    .name = "contactsolve._core.Channels",
    .basicsize = sizeof(channels_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = channels_slots,
};

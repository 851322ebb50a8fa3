/* An array that grows, for what differs in number from step to step. */
#ifndef CS_BUFFER_H
#define CS_BUFFER_H

#include "core/memory.h"

typedef struct cs_buffer {
    void *data;
    int64_t capacity; /* items */
} cs_buffer;

/* Makes room for `count` items of `size` bytes, and keeps the first `used` ones. Capacities at least double, so that
 * a scene that grows slowly seldom allocates. Returns -1, with the buffer as it was, if memory is too small. */
int cs_buffer_reserve(cs_buffer *buffer, int64_t count, int64_t used, size_t size);
void cs_buffer_clear(cs_buffer *buffer);

/* Room for `count` items, whose contents are not kept; NULL if memory is too small. */
static inline void *cs_buffer_room(cs_buffer *buffer, int64_t count, size_t size)
{
    return cs_buffer_reserve(buffer, count > 0 ? count : 1, 0, size) ? NULL : buffer->data;
}

/* The same, with the first `used` items kept. */
static inline void *cs_buffer_grown(cs_buffer *buffer, int64_t count, int64_t used, size_t size)
{
    return cs_buffer_reserve(buffer, count > 0 ? count : 1, used, size) ? NULL : buffer->data;
}

#endif

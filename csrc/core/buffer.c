#include "core/buffer.h"

#include <string.h>

int cs_buffer_reserve(cs_buffer *buffer, int64_t count, int64_t used, size_t size)
{
    if (count <= buffer->capacity) return 0;
    int64_t capacity = count > 2 * buffer->capacity ? count : 2 * buffer->capacity;
    if (capacity < 64) capacity = 64;
    void *data = cs_allocate(capacity, size);
    if (!data) return -1;
    if (used) memcpy(data, buffer->data, (size_t)used * size);
    cs_release(buffer->data);
    *buffer = (cs_buffer){data, capacity};
    return 0;
}

void cs_buffer_clear(cs_buffer *buffer)
{
    cs_release(buffer->data);
    *buffer = (cs_buffer){0};
}

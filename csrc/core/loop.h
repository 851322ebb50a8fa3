/* Loops over many items, such as the blocks of a problem, which threads share:
 *
 *     items   0 ......... | .......... | .......... | ........ count
 *     pieces  0             1            2            3
 *
 * How the items are cut into pieces depends on their number alone. A loop that keeps one result for each piece, and
 * combines the results in the order of the pieces, therefore computes the same bits on any number of threads. */
#ifndef CS_LOOP_H
#define CS_LOOP_H

#include "core/memory.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CS_LOOP_PIECES = 64, /* at most, so that one result for each fits on the stack */
    CS_LOOP_LEAST = 256  /* items of a piece, at least */
};

/* The number of pieces of so many items. */
int64_t cs_loop_pieces(int64_t count);

/* Calls work(context, piece, begin, end) for the items begin .. end - 1 of every piece, on several threads if there
 * are several pieces. The threads have the caller's mode for denormals. */
typedef void (*cs_loop_work)(void *context, int64_t piece, int64_t begin, int64_t end);
void cs_loop(int threads, int64_t count, cs_loop_work work, void *context);

/* to (count items of this size) <- from, which may be equal; NULL: zeros. */
void cs_loop_copy(int threads, void *to, const void *from, int64_t count, size_t size);

/* cs_arena_take, whose zeros threads write. */
void *cs_loop_take(int threads, cs_arena *arena, int64_t count, size_t size);

#endif

/* Nested dissection of a block system's vertices, from its pattern alone.  George and Liu 1978
 *
 *     order     | one half | other half | a level between them |
 *
 * The levels are those of a breadth-first search from a vertex at the rim. Halves are divided in the same way, until they
 * are small: then by minimum degree. */
#ifndef CS_DISSECTION_H
#define CS_DISSECTION_H

#include "sparse/block_system.h"

/* order (vertices): position -> vertex of the system. */
cs_status cs_block_dissection(const cs_block_system *system, int64_t *order, cs_error *error);

#endif

/* Computes the factors of all visits of a group: CS_BLOCK_LANES contacts at a time if their shape allows it. */
#ifndef CS_FILL_H
#define CS_FILL_H

#include "scheme/compressed.h"

/* Fills cs_packed_factors.scaled of group g with the numbers of its form. Returns 0 if a contact does not fit the
 * form, so that the group has to be stored as CS_GENERAL. */
int cs_fill_factors(const cs_packed *packed, int g);

#endif

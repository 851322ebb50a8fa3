/* The factors of all visits of a group, made eight contacts at a time where their shape allows. */
#ifndef CS_FILL_H
#define CS_FILL_H

#include "scheme/compressed.h"

/* Writes cs_packed_factors.scaled of a group: its form's numbers of each visit. Returns 0 when a
 * contact does not fit the form, so that the group must be taken as CS_GENERAL. */
int cs_fill_factors(const cs_packed *packed, int g);

#endif

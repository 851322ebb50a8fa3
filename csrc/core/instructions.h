/* Which instruction sets there are kernels for, and which of them this machine runs. */
#ifndef CS_INSTRUCTIONS_H
#define CS_INSTRUCTIONS_H

#include "contactsolve.h"

typedef enum cs_instructions {
#define CS_INSTRUCTIONS(name, summary) CS_INSTRUCTIONS_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
    CS_INSTRUCTION_SETS
} cs_instructions;

/* What a caller may choose instead of an instruction set. */
enum { CS_INSTRUCTIONS_SCALAR = -1, CS_INSTRUCTIONS_AUTO = -2 };

/* The widest that this machine runs, or the narrower one that the environment variable CONTACTSOLVE_INSTRUCTIONS names when this
 * is called for the first time. */
cs_instructions cs_instructions_widest(void);

/* Reads a name: an instruction set, "scalar" or "auto". The environment variable
 * CONTACTSOLVE_INSTRUCTIONS, if it is set, replaces "auto". Fails on unknown names and on instruction
 * sets that this machine cannot run. */
cs_status cs_instructions_find(const char *name, int *instructions, cs_error *error);

#endif

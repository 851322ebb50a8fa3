#include "core/instructions.h"

#include "core/error.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define CS_INSTRUCTIONS(name, summary) #name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

static const char *const summaries[] = {
#define CS_INSTRUCTIONS(name, summary) summary,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

const char *cs_instructions_name(int i, const char **summary)
{
    if (i < 0 || i >= CS_INSTRUCTION_SETS) return NULL;
    if (summary) *summary = summaries[i];
    return names[i];
}

int cs_instructions_run(int i)
{
    if (i < 0 || i >= CS_INSTRUCTION_SETS) return 0;
#if defined(__x86_64__)
    if (i == CS_INSTRUCTIONS_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (i == CS_INSTRUCTIONS_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
#endif
    return 1;
}

/* The set that the environment variable names; otherwise, or where the machine does not run it, the widest that it runs.
 * "scalar" has no kernels: the narrowest set. */
static int find_widest(void)
{
    const char *given = getenv("CONTACTSOLVE_INSTRUCTIONS");
    int widest = CS_INSTRUCTION_SETS - 1;
    while (!cs_instructions_run(widest)) widest--;
    if (given && strcmp(given, "scalar") == 0) return 0;
    for (int i = 0; given && i < widest; i++)
        if (strcmp(given, names[i]) == 0) return i;
    return widest;
}

cs_instructions cs_instructions_widest(void)
{
    static atomic_int found; /* one more than the set; 0: not known yet */
    int known = atomic_load_explicit(&found, memory_order_relaxed);
    if (!known) {
        known = 1 + find_widest();
        atomic_store_explicit(&found, known, memory_order_relaxed);
    }
    return (cs_instructions)(known - 1);
}

/* "scalar, baseline, ...": all names, or those that this machine runs. */
static void list_names(int runs, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "scalar");
    for (int i = 0; i < CS_INSTRUCTION_SETS && used < size; i++)
        if (!runs || cs_instructions_run(i))
            used += (size_t)snprintf(text + used, size - used, ", %s", names[i]);
}

cs_status cs_instructions_find(const char *name, int *instructions, cs_error *error)
{
    const char *source = "instructions", *given = getenv("CONTACTSOLVE_INSTRUCTIONS");
    char known[120];

    /* The environment variable replaces "auto" only: an explicit choice wins. */
    *instructions = CS_INSTRUCTIONS_AUTO;
    if (strcmp(name, "auto") == 0 && given && *given) {
        source = "CONTACTSOLVE_INSTRUCTIONS";
        name = given;
    }
    if (strcmp(name, "auto") == 0) return CS_OK;
    *instructions = CS_INSTRUCTIONS_SCALAR;
    if (strcmp(name, "scalar") == 0) return CS_OK;

    /* A known name is not enough: the processor must support it. */
    for (int i = 0; i < CS_INSTRUCTION_SETS; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *instructions = i;
        if (cs_instructions_run(i)) return CS_OK;
        list_names(1, known, sizeof known);
        return cs_fail(error, CS_UNSUPPORTED, "%s: this machine does not run '%s', only %s", source,
                       name, known);
    }

    list_names(0, known, sizeof known);
    return cs_fail(error, CS_UNKNOWN_NAME, "%s: '%s' is unknown; known: auto, %s", source,
                   cs_word(name).text, known);
}

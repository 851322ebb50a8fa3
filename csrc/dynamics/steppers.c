#include "dynamics/world.h"

#include <string.h>

#define CS_STEPPER(name) extern const cs_stepper cs_stepper_##name;
#include "dynamics/steppers.def"
#undef CS_STEPPER

static const cs_stepper *const steppers[] = {
#define CS_STEPPER(name) &cs_stepper_##name,
#include "dynamics/steppers.def"
#undef CS_STEPPER
};
enum { STEPPERS = sizeof steppers / sizeof *steppers };

const cs_stepper *cs_stepper_find(const char *name)
{
    for (int i = 0; i < STEPPERS; i++)
        if (strcmp(steppers[i]->name, name) == 0) return steppers[i];
    return NULL;
}

const char *cs_stepper_name(int i, const char **summary)
{
    if (i < 0 || i >= STEPPERS) return NULL;
    if (summary) *summary = steppers[i]->summary;
    return steppers[i]->name;
}

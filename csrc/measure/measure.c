#include "measure/measure.h"

#include <string.h>

#define CS_MEASURE(name) extern const cs_measure cs_measure_##name;
#include "measure/measures.def"
#undef CS_MEASURE

static const cs_measure *const measures[] = {
#define CS_MEASURE(name) &cs_measure_##name,
#include "measure/measures.def"
#undef CS_MEASURE
};
enum { MEASURES = sizeof measures / sizeof *measures };

const cs_measure *cs_measure_find(const char *name)
{
    for (int i = 0; i < MEASURES; i++)
        if (strcmp(measures[i]->name, name) == 0) return measures[i];
    return NULL;
}

const char *cs_measure_name(int i, const char **summary)
{
    if (i < 0 || i >= MEASURES) return NULL;
    if (summary) *summary = measures[i]->summary;
    return measures[i]->name;
}

#include "bvh/rules.h"

#include <stddef.h>
#include <string.h>

static int choose_first(const cs_split *split)
{
    (void)split;
    return 0;
}

static int choose_any(const cs_split *split)
{
    /* Bits of the seed are mixed as in splitmix64. */
    uint64_t mixed = (split->seed ^ split->seed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return (int)((mixed ^ mixed >> 31) % (uint64_t)split->count);
}

/* The most work stays where it is: the fewer tests are left to the tasks. */
static int choose_largest(const cs_split *split)
{
    int largest = 0;
    for (int n = 1; n < split->count; n++)
        if (split->work[n] > split->work[largest]) largest = n;
    return largest;
}

extern const cs_split_rule cs_rule_leftmost, cs_rule_random, cs_rule_estimate, cs_rule_truth;

const cs_split_rule cs_rule_leftmost = {
    .name = "leftmost",
    .summary = "goes on with the leftmost pair; others are tasks if many leaves are below them",
    .choose = choose_first,
};

const cs_split_rule cs_rule_random = {
    .name = "random",
    .summary = "goes on with a random pair; others are tasks if many leaves are below them",
    .choose = choose_any,
};

const cs_split_rule cs_rule_estimate = {
    .name = "estimate",
    .summary =
        "goes on with the pair of the most tests in the last query; those of few are no tasks",
    .choose = choose_largest,
    .is_counted = 1,
};

const cs_split_rule cs_rule_truth = {
    .name = "truth",
    .summary = "as estimate, with the tests of this query, which a first pass counts",
    .choose = choose_largest,
    .is_counted = 1,
    .has_first_pass = 1,
};

#define CS_SPLIT_RULE(variable) extern const cs_split_rule variable;
#include "bvh/rules.def"
#undef CS_SPLIT_RULE

static const cs_split_rule *const rules[] = {
#define CS_SPLIT_RULE(variable) &variable,
#include "bvh/rules.def"
#undef CS_SPLIT_RULE
};

enum { RULES = sizeof rules / sizeof *rules };

const cs_split_rule *cs_split_rule_at(int n) { return n >= 0 && n < RULES ? rules[n] : NULL; }

const cs_split_rule *cs_split_rule_find(const char *name)
{
    for (int n = 0; n < RULES; n++)
        if (!strcmp(rules[n]->name, name)) return rules[n];
    return NULL;
}

#include "core/member.h"

#include "core/error.h"

#include <math.h>
#include <string.h>

const cs_member *cs_member_find(const cs_member *table, int count, const char *name)
{
    /* The first letter decides most comparisons, without a call. */
    for (int i = 0; i < count; i++) {
        const char *own = table[i].option.name;
        if (own[0] == name[0] && strcmp(own, name) == 0) return &table[i];
    }
    return NULL;
}

const char *cs_member_word(const cs_member *member, int k)
{
    if (k < 0) return NULL;
    if (member->list)
        return member->word && k == 0 ? member->word
                                      : member->list(k - (member->word != NULL), NULL);
    for (int w = 0; member->option.words && member->option.words[w]; w++)
        if (w == k) return member->option.words[w];
    return NULL;
}

void cs_member_describe(const cs_member *member, const void *usual, cs_option *option)
{
    const char *word = NULL;
    *option = member->option;
    if (member->place != CS_PLACE_TEXT) return;
    memcpy(&word, (const char *)usual + member->at, sizeof word);
    for (int k = 0; cs_member_word(member, k); k++)
        if (strcmp(cs_member_word(member, k), word) == 0) option->usual = k;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put_number(const cs_member *member, void *options, double value)
{
    char *at = (char *)options + member->at;
    switch (member->place) {
    case CS_PLACE_NUMBER: memcpy(at, &value, sizeof value); break;
    case CS_PLACE_INT: *(int *)(void *)at = (int)value; break;
    case CS_PLACE_NOT: *(int *)(void *)at = value == 0; break;
    case CS_PLACE_INT64:
        *(int64_t *)(void *)at = value < CS_MOST_INT64 ? (int64_t)value : INT64_MAX;
        break;
    case CS_PLACE_SEVERAL: member->put(options, value, NULL); break;
    case CS_PLACE_TEXT: break;
    }
}

static double number_of(const cs_member *member, const void *options)
{
    const char *at = (const char *)options + member->at;
    switch (member->place) {
    case CS_PLACE_NUMBER: return *(const double *)(const void *)at;
    case CS_PLACE_INT: return *(const int *)(const void *)at;
    case CS_PLACE_NOT: return !*(const int *)(const void *)at;
    case CS_PLACE_INT64: return (double)*(const int64_t *)(const void *)at;
    case CS_PLACE_SEVERAL:
    case CS_PLACE_TEXT: break;
    }
    return 0;
}

/* Whether a number says that the option is left open. */
static int is_open(const cs_member *member, double value)
{
    if (!member->option.optional) return 0;
    return value == member->open || (isnan(member->open) && isnan(value));
}

void cs_member_reset(const cs_member *member, void *options)
{
    put_number(member, options, member->option.optional ? member->open : member->option.usual);
}

/* The value as a setting. */
static cs_setting setting_of(const cs_member *member, const void *options)
{
    cs_setting setting = {.name = member->option.name};
    if (member->place == CS_PLACE_SEVERAL) member->get(options, &setting);
    else if (member->place == CS_PLACE_TEXT)
        memcpy(&setting.word, (const char *)options + member->at, sizeof setting.word);
    else setting.number = number_of(member, options);
    return setting;
}

static int is_same(const cs_setting *a, const cs_setting *b)
{
    if (a->word && b->word) return strcmp(a->word, b->word) == 0;
    if (a->word || b->word) return 0;
    return a->number == b->number || (isnan(a->number) && isnan(b->number));
}

/* ---- setting and checking -------------------------------------------------------------------- */

/* A word that stands in the option's own list. */
static const char *word_of(const cs_option *option, const cs_setting *setting, double value)
{
    if (!option->words || !setting->word) return NULL;
    return option->words[option->kind == CS_WORD ? (int)value : -(int)value];
}

cs_status cs_member_set(const cs_member *member, void *options, const cs_setting *setting,
                        cs_error *error)
{
    const cs_option *option = &member->option;
    void *at = (char *)options + member->at;
    double value;

    /* Names of a list, which is longer than the option's table of words. */
    if (member->place == CS_PLACE_TEXT && !setting->word)
        return cs_fail(error, CS_INVALID, "%s is %s: a name is needed", option->name,
                       cs_number(setting->number).text);
    if (member->place == CS_PLACE_TEXT && !option->words) {
        memcpy(at, &setting->word, sizeof setting->word);
        return CS_OK;
    }

    /* Numbers, and words of the table. */
    if (!setting->word && is_open(member, setting->number)) {
        put_number(member, options, setting->number);
        return CS_OK;
    }
    cs_status status = cs_option_value(option, setting, &value, error);
    if (status) return status;
    const char *word = word_of(option, setting, value);
    if (member->place == CS_PLACE_TEXT) memcpy(at, &word, sizeof word);
    else if (word) member->put(options, value, word);
    else put_number(member, options, value);
    return CS_OK;
}

cs_status cs_member_check(const cs_member *member, void *options, cs_error *error)
{
    const cs_option *option = &member->option;
    cs_setting setting = setting_of(member, options);
    if (member->place == CS_PLACE_TEXT && !option->words) return CS_OK;
    if (!setting.word && is_open(member, setting.number)) return CS_OK;

    /* A word is set again: it becomes the table's. */
    double value;
    if (setting.word) return cs_member_set(member, options, &setting, error);
    return cs_option_value(option, &setting, &value, error);
}

cs_status cs_member_check_effect(const cs_member *member, const void *options, const void *usual,
                                 const void *context, cs_error *error)
{
    char why[160];
    if (!member->idle) return CS_OK;
    cs_setting given = setting_of(member, options), other = setting_of(member, usual);
    if (is_same(&given, &other) || !member->idle(context, why, sizeof why)) return CS_OK;
    cs_text shown = given.word ? cs_word(given.word) : cs_number(given.number);
    return cs_fail(error, CS_INVALID, "%s is %s: %s", given.name, shown.text, why);
}

#include "core/option.h"

#include "core/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *cs_option_kind_name(int i)
{
    static const char *const kinds[] = {"number", "count", "flag", "word"};
    return i >= 0 && i < 4 ? kinds[i] : NULL;
}

static cs_status unknown_option(const cs_option_table *table, const char *name, cs_error *error)
{
    char known[320] = "";
    size_t used = 0;
    for (int i = 0; i < table->options && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                 table->option[i].name);
    if (!table->options)
        return cs_fail(error, CS_UNKNOWN_NAME, "%s: %s='%s' has no options of its own",
                       cs_word(name).text, table->kind, table->name);
    return cs_fail(error, CS_UNKNOWN_NAME, "%s is no option of %s='%s'; known: %s",
                   cs_word(name).text, table->kind, table->name, known);
}

/* The index of a word in the option's list, or -1 with the error set. */
static int place_of(const cs_option *option, const cs_setting *setting, cs_error *error)
{
    char known[200] = "";
    size_t used = 0;
    for (int i = 0; option->words[i]; i++) {
        if (setting->word && strcmp(option->words[i], setting->word) == 0) return i;
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                     option->words[i]);
    }
    cs_fail(error, CS_UNKNOWN_NAME, "%s: '%s' is unknown; known: %s%s", option->name,
            setting->word ? cs_word(setting->word).text : cs_number(setting->number).text, known,
            option->kind == CS_WORD ? "" : ", or a number");
    return -1;
}

static cs_status read_number(const cs_option *option, double number, cs_error *error)
{
    double least = option->kind == CS_FLAG ? 0 : option->least;
    double most = option->kind == CS_FLAG ? 1 : option->most;
    if (option->kind != CS_NUMBER && number != floor(number))
        return cs_fail(error, CS_INVALID, "%s is %s: an integer is needed", option->name,
                       cs_number(number).text);
    if (option->above && !(number > least && isfinite(number)))
        return cs_fail(error, CS_INVALID, "%s is %s: a finite number above %s is needed",
                       option->name, cs_number(number).text, cs_number(least).text);
    if (!isfinite(number))
        return cs_fail(error, CS_INVALID, "%s is %s: a finite number is needed", option->name,
                       cs_number(number).text);
    if (!(number >= least))
        return cs_fail(error, CS_INVALID, "%s is %s: it must be at least %s", option->name,
                       cs_number(number).text, cs_number(least).text);
    if (!(number <= most))
        return cs_fail(error, CS_INVALID, "%s is %s: it must be at most %s", option->name,
                       cs_number(number).text, cs_number(most).text);
    return CS_OK;
}

cs_status cs_option_value(const cs_option *option, const cs_setting *setting, double *value,
                          cs_error *error)
{
    int worded = option->kind == CS_WORD || (option->words && setting->word);
    int place = worded ? place_of(option, setting, error) : 0;
    if (place < 0) return CS_UNKNOWN_NAME;
    if (!worded && setting->word)
        return cs_fail(error, CS_INVALID, "%s is '%s': a number is needed", option->name,
                       cs_word(setting->word).text);
    *value = !worded ? setting->number : option->kind == CS_WORD ? place : -place;
    return worded ? CS_OK : read_number(option, *value, error);
}

int cs_option_find(const cs_option_table *table, const char *name)
{
    for (int i = 0; i < table->options; i++)
        if (strcmp(table->option[i].name, name) == 0) return i;
    return -1;
}

/* Refuses option i if it refines another option whose value makes it meaningless. */
static cs_status check_effect(const cs_option_table *table, int i, const cs_setting *settings,
                              int count, const double *values, cs_error *error)
{
    const cs_option *option = &table->option[i];
    int of = option->of ? cs_option_find(table, option->of) : -1, given = 0;
    if (of < 0 || values[i] == option->usual) return CS_OK;

    /* Without a required value (of_value is NAN), it is enough that the caller gave the other one. */
    const char *word = table->option[of].kind == CS_WORD && !isnan(option->of_value)
                           ? table->option[of].words[(int)option->of_value]
                           : NULL;
    for (int s = 0; s < count; s++) given |= strcmp(settings[s].name, option->of) == 0;
    if (isnan(option->of_value) ? given : values[of] == option->of_value) return CS_OK;

    if (word)
        return cs_fail(error, CS_UNSUPPORTED, "%s is for %s='%s' of %s='%s': it has no effect here",
                       option->name, option->of, word, table->kind, table->name);
    return cs_fail(error, CS_UNSUPPORTED, "%s is for %s='%s' with %s: it has no effect here",
                   option->name, table->kind, table->name, option->of);
}

cs_status cs_option_read(const cs_option_table *table, const cs_setting *settings, int count,
                         double *values, cs_error *error)
{
    cs_status status = CS_OK;

    /* Defaults first, then the caller's settings over them. */
    for (int i = 0; i < table->options; i++) values[i] = table->option[i].usual;
    for (int s = 0; s < count && !status; s++) {
        int i = cs_option_find(table, settings[s].name);
        if (i < 0) return unknown_option(table, settings[s].name, error);
        status = cs_option_value(&table->option[i], &settings[s], &values[i], error);
    }

    /* Whether an option has an effect depends on all values: check it last. */
    for (int i = 0; i < table->options && !status; i++)
        status = check_effect(table, i, settings, count, values, error);
    return status;
}

cs_status cs_option_settle(const cs_option_table *table, const cs_setting *settings, int count,
                           cs_setting *settled, cs_error *error)
{
    double value[CS_MAX_OWN_OPTIONS];
    cs_status status = cs_option_read(table, settings, count, value, error);
    if (status) return status;

    /* A number may stand for a word, too: 0, -1, ... index `words`. */
    for (int i = 0; i < table->options; i++) {
        const cs_option *option = &table->option[i];
        const char *word = option->kind == CS_WORD ? option->words[(int)value[i]] : NULL;
        if (option->kind != CS_WORD && option->words && value[i] <= 0)
            word = option->words[-(int)value[i]];
        settled[i] = (cs_setting){.name = option->name, .number = value[i], .word = word};
    }
    return CS_OK;
}

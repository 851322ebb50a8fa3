/* Options in tables: name, kind, default, range and a one-line description of each. The same table
 * serves to read values, to check them, to document them and to suggest names. */
#ifndef CS_OPTION_H
#define CS_OPTION_H

#include "contactsolve.h"

/* An enum beside each table gives its options names: values[NAME] is the value of that option. */
#define CS_NUMBER_OPTION(text, value, low, high, line)                                  \
    {                                                                                   \
        .name = text, .summary = line, .kind = CS_NUMBER, .usual = value, .least = low, \
        .most = high                                                                    \
    }
#define CS_COUNT_OPTION(text, value, low, line)                                                    \
    {                                                                                              \
        .name = text, .summary = line, .kind = CS_COUNT, .usual = value, .least = low, .most = 2e9 \
    }
#define CS_FLAG_OPTION(text, value, line)                                         \
    {                                                                             \
        .name = text, .summary = line, .kind = CS_FLAG, .usual = value, .most = 1 \
    }
#define CS_WORD_OPTION(text, list, line)                              \
    {                                                                 \
        .name = text, .summary = line, .kind = CS_WORD, .words = list \
    }

/* The options of one method, order or scheme, which messages call kind='name'. */
typedef struct cs_option_table {
    const char *kind, *name;
    const cs_option *option;
    int options;
} cs_option_table;

/* The place of an option in its table, or -1. */
int cs_option_find(const cs_option_table *table, const char *name);

/* values[i] <- the i-th option of the table: from `settings`, or its default. Fails for unknown names
 * and words, values out of range, and options that have no effect. */
cs_status cs_option_read(const cs_option_table *table, const cs_setting *settings, int count,
                         double *values, cs_error *error);

/* The same as one setting for each option, in the sequence of the table: those that were not given have their
 * defaults. A word is the library's; `number` is then its index in the list of words. */
cs_status cs_option_settle(const cs_option_table *table, const cs_setting *settings, int count,
                           cs_setting *settled, cs_error *error);

/* The value of one option alone, as cs_option_read finds it. */
cs_status cs_option_value(const cs_option *option, const cs_setting *setting, double *value,
                          cs_error *error);

#endif

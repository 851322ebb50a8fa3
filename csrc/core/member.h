/* Options that are members of a struct: a table says where each of them is, and sets, checks and describes
 * them by name. */
#ifndef CS_MEMBER_H
#define CS_MEMBER_H

#include "core/option.h"

#include <stddef.h>

/* Ends of the ranges of members that are integers. */
#define CS_MOST_INT 2147483647.0
#define CS_MOST_INT64 9223372036854775808.0 /* one more than there is: the double next to it */

typedef enum cs_place {
    CS_PLACE_TEXT,
    CS_PLACE_NUMBER,
    CS_PLACE_INT,
    CS_PLACE_INT64,
    CS_PLACE_NOT,     /* an int that is 1 where the flag is 0 */
    CS_PLACE_SEVERAL, /* several members, which `put` and `get` know */
} cs_place;

typedef struct cs_member {
    cs_option option;
    double open; /* the value of an optional one that is left open */
    cs_place place;
    size_t at;                               /* of the member in the struct */
    const char *(*list)(int, const char **); /* of the names that a word may be, beside `word`; */
    const char *word;                        /* NULL: the list has all */
    /* CS_PLACE_SEVERAL: writes a number, or a word of the option; and reads one of both. */
    void (*put)(void *options, double number, const char *word);
    void (*get)(const void *options, cs_setting *setting);
    /* Whether other options leave this one without effect, with the reason in `why`. NULL: they do not. */
    int (*idle)(const void *context, char *why, size_t size);
} cs_member;

/* The member of that name, or NULL. */
const cs_member *cs_member_find(const cs_member *table, int count, const char *name);

/* The k-th word that the option takes, NULL past the last. */
const char *cs_member_word(const cs_member *member, int k);

/* Describes the option. `usual`: the struct with its defaults. */
void cs_member_describe(const cs_member *member, const void *usual, cs_option *option);

/* Sets the option. Words of a list are not looked up. */
cs_status cs_member_set(const cs_member *member, void *options, const cs_setting *setting,
                        cs_error *error);

/* Gives a number, or an optional one left open, its default. */
void cs_member_reset(const cs_member *member, void *options);

/* Refuses a value other than the default (that of the struct `usual`) if it has no effect. `context` is what
 * `idle` takes. */
cs_status cs_member_check_effect(const cs_member *member, const void *options, const void *usual,
                                 const void *context, cs_error *error);

/* Checks the value that the struct has, and replaces the caller's word by the table's of the same letters.
 * Words of a list are not looked up. */
cs_status cs_member_check(const cs_member *member, void *options, cs_error *error);

#endif

#include "core/error.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cs_status_text(cs_status status)
{
    switch (status) {
#define CS_STATUS(identifier, text) \
    case CS_##identifier:           \
        return text;
#include "core/status.def"
#undef CS_STATUS
    }
    return "unknown status";
}

/* The largest length, at most `length`, at which a text may be cut: never inside a UTF-8 character. */
static size_t cut(const char *text, size_t length)
{
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
    return length;
}

cs_text cs_number(double value)
{
    cs_text number;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(number.text, sizeof number.text, "%.*g", digits, value);
        if (!isfinite(value) || strtod(number.text, NULL) == value) break; /* reads back exactly */
    }
    return number;
}

cs_text cs_word(const char *word)
{
    enum { LONGEST = 40 };
    cs_text shown = {{0}};
    size_t length = strlen(word);
    if (length <= LONGEST) {
        memcpy(shown.text, word, length);
        return shown;
    }
    length = cut(word, LONGEST);
    memcpy(shown.text, word, length);
    memcpy(shown.text + length, "...", 3);
    return shown;
}

/* Appends a sentence after the first `used` bytes of the message. */
static void write_message(cs_error *error, size_t used, const char *format, va_list arguments)
{
    size_t room = sizeof error->message - used;
    int length = vsnprintf(error->message + used, room, format, arguments);
    if (length < (int)room) return;

    /* The text was truncated: remove a multi-byte character at its end, which may be incomplete. */
    size_t end = sizeof error->message - 1;
    while (end > 0 && ((unsigned char)error->message[end - 1] & 0xC0) == 0x80) end--;
    if (end > 0 && (unsigned char)error->message[end - 1] >= 0xC0) error->message[end - 1] = 0;
}

cs_status cs_fail(cs_error *error, cs_status status, const char *format, ...)
{
    if (!error) return status;
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    write_message(error, 0, format, arguments);
    va_end(arguments);
    return status;
}

cs_status cs_no_memory_list(cs_error *error, const char *what, va_list arguments)
{
    static const char begins[] = "out of memory for ";
    if (!error) return CS_NO_MEMORY;
    error->status = CS_NO_MEMORY;
    memcpy(error->message, begins, sizeof begins - 1);
    write_message(error, sizeof begins - 1, what, arguments);
    return CS_NO_MEMORY;
}

cs_status cs_no_memory(cs_error *error, const char *what, ...)
{
    va_list arguments;
    va_start(arguments, what);
    cs_status status = cs_no_memory_list(error, what, arguments);
    va_end(arguments);
    return status;
}

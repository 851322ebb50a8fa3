#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

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

cs_status cs_fail(cs_error *error, cs_status status, const char *format, ...)
{
    if (!error) return status;
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names in files may hold anything; a terminal would obey it. */
static void vset(char *out, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

static void vset(char *out, size_t size, const char *fmt, va_list ap)
{
    vsnprintf(out, size, fmt, ap);
    text_make_printable(out);
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    va_list ap;
    if (e == NULL)
        return -1;
    e->code = code;
    va_start(ap, fmt);
    vset(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    return -1;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
    char prefix[sizeof e->msg], old[sizeof e->msg];
    va_list ap;
    if (e == NULL)
        return -1;
    memcpy(old, e->msg, sizeof old);
    va_start(ap, fmt);
    vset(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    /* Truncates on purpose: a message that does not fit loses its end. */
    const char *parts[] = {prefix, ": ", old};
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t len = strnlen(parts[i], sizeof e->msg - 1 - used);
        memcpy(e->msg + used, parts[i], len);
        used += len;
    }
    e->msg[used] = '\0';
    return -1;
}

void die(const char *fmt, ...)
{
    va_list ap;
    fputs("specter: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(ERR_INPUT);
}

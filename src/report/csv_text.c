/* SPDX-License-Identifier: MIT */
#include "report/csv_text.h"

#include "base/arena.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

void csv_put_text(struct buf *out, const char *text)
{
    size_t cap = 0, size = strlen(text) + 1;
    char *safe = array_grow(NULL, &cap, size, 1);
    const char *quote = strpbrk(text, ",\"\r\n") != NULL ? "\"" : "";
    buf_puts(out, quote);
    if (text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL)
        buf_putc(out, '\'');
    text_safe(safe, size, text, size);
    for (const char *p = safe; *p != '\0'; p++) {
        if (*p == '"')
            buf_putc(out, '"');
        buf_putc(out, *p);
    }
    buf_puts(out, quote);
    free(safe);
}

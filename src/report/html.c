/* SPDX-License-Identifier: MIT */
#include "report/html.h"

#include "base/err.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void html_begin(struct buf *b, const char *title)
{
    buf_puts(b, "<!doctype html><html lang=en><head><meta charset=utf-8>"
                "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
                "<meta name=viewport content=\"width=device-width,initial-scale=1\"><title>");
    buf_puts(b, title);
    buf_puts(b, "</title><style>");
    for (size_t i = 0; html_style[i] != NULL; i++)
        buf_puts(b, html_style[i]);
    buf_puts(b, "</style></head><body>");
}

void html_end(struct buf *b)
{
    buf_puts(b, "</body></html>\n");
}

void html_text(struct buf *b, const char *text)
{
    size_t size = 4 * strlen(text) + 1;
    char *safe = malloc(size);
    if (safe == NULL)
        die("out of memory");
    for (const char *p = text_safe(safe, size, text, size); *p != '\0'; p++) {
        switch (*p) {
        case '&':
            buf_puts(b, "&amp;");
            break;
        case '<':
            buf_puts(b, "&lt;");
            break;
        case '>':
            buf_puts(b, "&gt;");
            break;
        case '"':
            buf_puts(b, "&quot;");
            break;
        case '\'':
            buf_puts(b, "&#39;");
            break;
        default:
            buf_putc(b, *p);
        }
    }
    free(safe);
}

void html_fact(struct buf *b, const char *what, const char *text)
{
    if (text == NULL)
        return;
    buf_printf(b, "<dt>%s</dt><dd>", what);
    html_text(b, text);
    buf_puts(b, "</dd>");
}

void html_item(struct buf *b, const char *text)
{
    buf_puts(b, "<li>");
    html_text(b, text);
    buf_puts(b, "</li>");
}

void html_key(struct buf *b, int colour, const char *text)
{
    buf_printf(b, "<span class=key><i class=k%d></i>%s</span>", colour, text);
}

double html_round_up(double value)
{
    static const double steps[] = {1, 2, 2.5, 4, 5, 8, 10};
    double unit;
    if (!(value > 0) || !isfinite(value))
        return 1;
    unit = pow(10, floor(log10(value)));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i] * unit >= value)
            return steps[i] * unit;
    }
    return 10 * unit;
}

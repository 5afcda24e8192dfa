/* SPDX-License-Identifier: MIT */
#include "report/html.h"

#include "report/table.h"

#include <stdlib.h>

void html_head(struct buf *b, const char *title, const char *script_hash)
{
    buf_puts(b, "<!doctype html><html lang=en><head><meta charset=utf-8>"
                "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'");
    if (script_hash != NULL)
        buf_printf(b, "; script-src 'sha256-%s'", script_hash);
    buf_puts(b, "\"><meta name=viewport content=\"width=device-width,initial-scale=1\"><title>");
    html_text(b, title);
    buf_puts(b, "</title><style>");
    for (size_t i = 0; page_style[i] != NULL; i++)
        buf_puts(b, page_style[i]);
    buf_puts(b, "</style></head>");
}

void html_begin(struct buf *b, const char *title)
{
    html_head(b, title, NULL);
    buf_puts(b, "<body class=bare>");
}

void html_end(struct buf *b)
{
    buf_puts(b, "</body></html>\n");
}

void html_text(struct buf *b, const char *text)
{
    char *safe = text_safe_copy(text);
    for (const char *p = safe; *p != '\0'; p++) {
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

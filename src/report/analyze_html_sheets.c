/* SPDX-License-Identifier: MIT */
#include "report/analyze_html_internal.h"
#include "report/analyze_sheets.h"

#include <string.h>

#define ROWS_SHOWN 50
#define TEXT_SHOWN 64 /* columns of a cell; what is longer opens on demand */

void html_link(struct buf *links, const char *name, const char *title)
{
    buf_printf(links, "<a href=\"#%s\">", name);
    html_text(links, title);
    buf_puts(links, "</a> ");
}

static const char *side(enum table_align align)
{
    return align == TABLE_LEFT ? " class=left" : "";
}

/* Names of C++ kernels fill a screen each. */
static void put_cell(struct buf *b, const char *text)
{
    char brief[4 * TEXT_SHOWN + 4];
    text_safe(brief, sizeof brief, text, TEXT_SHOWN);
    if (strcmp(brief, text) == 0) {
        html_text(b, text);
        return;
    }
    buf_puts(b, "<details><summary>");
    html_text(b, brief);
    buf_puts(b, "</summary>");
    html_text(b, text);
    buf_puts(b, "</details>");
}

void html_table(struct buf *b, const struct table *t)
{
    buf_puts(b, "<div class=wide><table><tr>");
    for (size_t c = 0; c < t->nheads; c++) {
        buf_printf(b, "<th%s>", side(t->heads[c].align));
        html_text(b, t->heads[c].title);
    }
    for (size_t i = 0; i < t->ncells; i++) {
        buf_printf(b, "%s<td%s>", i % t->nheads == 0 ? "</tr>\n<tr>" : "",
                   side(t->heads[i % t->nheads].align));
        put_cell(b, t->cells[i]);
    }
    buf_puts(b, "</tr></table></div>");
}

/* Titles explain behind a colon; the table of contents needs the name alone. */
static void put_link(struct buf *links, const struct sheet *s)
{
    char anchor[64], title[64];
    snprintf(anchor, sizeof anchor, "t-%s", s->name);
    snprintf(title, sizeof title, "%.*s", (int)strcspn(s->title, ":;"), s->title);
    html_link(links, anchor, title);
}

static void put_sheet(struct buf *b, const struct sheet *s)
{
    size_t all = sheet_rows(s);
    struct table t;
    const char *unit;
    table_init(&t);
    unit = sheet_table(s, ROWS_SHOWN, &t);
    buf_printf(b, "<h2 id=t-%s>", s->name);
    html_text(b, s->title);
    buf_printf(b, "%s%s</h2>", unit != NULL ? ", " : "", unit != NULL ? unit : "");
    html_table(b, &t);
    if (all > ROWS_SHOWN)
        buf_printf(b,
                   "<p class=soft>The first %d of %zu rows; all: <code>specter analyze --table %s "
                   "--format csv</code></p>",
                   ROWS_SHOWN, all, s->name);
    for (size_t i = 0; i < s->nnotes; i++) {
        buf_puts(b, "<p class=soft>");
        html_text(b, s->notes[i]);
        buf_puts(b, "</p>");
    }
    table_release(&t);
}

void html_sheets(struct buf *b, struct buf *links, const struct analysis *a)
{
    for (size_t i = 0; i < ANALYZE_SHEETS; i++) {
        struct sheet s;
        analyze_sheets[i].make(&s, a);
        if (sheet_rows(&s) > 0) {
            put_link(links, &s);
            put_sheet(b, &s);
        }
        sheet_release(&s);
    }
}

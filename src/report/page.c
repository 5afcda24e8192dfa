/* SPDX-License-Identifier: MIT */
#include "report/page.h"

#include "base/hash.h"
#include "base/whole_file.h"
#include "report/sheet.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SHOWN 64 /* columns of a cell; what is longer opens on demand */

/* ---- what all pages have in common ---- */

/* Up to </head>; script_hash: SHA-256 of the one script that may run, in base64; NULL: none may. */
static void html_head(struct buf *b, const char *title, const char *script_hash)
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
    buf_printf(b, "<span class=key><i class=k%d></i>", colour);
    html_text(b, text);
    buf_puts(b, "</span>");
}

/* ---- the page of a report ---- */

void page_init(struct page *p, const char *command, const char *source)
{
    *p = (struct page){.command = command, .source = source};
    buf_init(&p->body);
    buf_init(&p->links);
}

void page_release(struct page *p)
{
    buf_release(&p->body);
    buf_release(&p->links);
}

void page_heading(struct page *p, const char *id, const char *link, const char *title)
{
    if (link != NULL)
        buf_printf(&p->links, "<a href=\"#%s\">%s</a>", id, link);
    buf_printf(&p->body, "<h2 id=%s>", id);
    html_text(&p->body, title);
    buf_puts(&p->body, "</h2>\n");
}

void page_card(struct page *p, const char *id, int colour, const char *value, const char *what)
{
    buf_printf(&p->body, "<a href=\"#%s\" class=\"card b%d\"><b>", id, colour < 0 ? 9 : colour);
    html_text(&p->body, value);
    buf_puts(&p->body, "</b><span>");
    html_text(&p->body, what);
    buf_puts(&p->body, "</span></a>");
}

static const char charts_begin[] = "<div class=charts>";

size_t page_charts(struct page *p)
{
    buf_puts(&p->body, charts_begin);
    return p->body.len;
}

void page_charts_end(struct page *p, size_t mark)
{
    if (p->body.len > mark) {
        buf_puts(&p->body, "</div>\n");
        return;
    }
    p->body.len = mark - strlen(charts_begin);
    p->body.data[p->body.len] = '\0';
}

/* ---- tables ---- */

void page_group(struct page *p, const char *title, size_t tables)
{
    buf_puts(&p->body, "<details class=group><summary>");
    html_text(&p->body, title);
    buf_printf(&p->body, " <span>%zu table%s</span></summary>\n", tables, tables == 1 ? "" : "s");
}

void page_group_end(struct page *p)
{
    buf_puts(&p->body, "</details>\n");
}

/* Names of C++ kernels fill a screen each. */
static void put_text(struct buf *b, const char *text)
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

static void begin_table(struct buf *b, const char *name)
{
    buf_puts(b, "<div class=wide tabindex=0 role=group aria-label=\"");
    html_text(b, name);
    buf_puts(b, "\"><table><thead><tr>");
}

static const char *side(enum table_align align)
{
    return align == TABLE_LEFT ? " class=left" : "";
}

void page_table(struct buf *b, const struct table *t, const char *name)
{
    begin_table(b, name);
    for (size_t c = 0; c < t->nheads; c++) {
        buf_printf(b, "<th scope=col%s>", side(t->heads[c].align));
        html_text(b, t->heads[c].title);
    }
    buf_puts(b, "</thead><tbody>");
    for (size_t i = 0; i < t->ncells; i++) {
        buf_printf(b, "%s<td%s>", i % t->nheads == 0 ? "<tr>" : "",
                   side(t->heads[i % t->nheads].align));
        put_text(b, t->cells[i]);
    }
    buf_puts(b, "</tbody></table></div>\n");
}

/* The value behind a cell whose text has a unit of its own: by it columns are sorted, and it is
 * copied. Microseconds and bytes, as in CSV. */
static void put_value(struct buf *b, enum sheet_unit unit, const struct sheet_cell *cell)
{
    if (cell->text != NULL || !isfinite(cell->number))
        return;
    if (unit == SHEET_TIME)
        buf_printf(b, " data-v=%.9g", cell->number / 1e3);
    else if (unit == SHEET_BYTES)
        buf_printf(b, " data-v=%.15g", cell->number);
}

/* Columns that people see, as t has them, beside the sheet's own. */
static void put_sheet(struct buf *b, const struct sheet *s, const struct table *t)
{
    size_t cell = 0, column = 0;
    begin_table(b, s->name);
    for (size_t c = 0; c < s->ncolumns; c++) {
        const enum sheet_unit unit = s->columns[c].unit;
        if (s->columns[c].heading == NULL)
            continue;
        buf_printf(b, "<th scope=col%s%s>", side(t->heads[column++].align),
                   unit == SHEET_TIME    ? " data-u=us"
                   : unit == SHEET_BYTES ? " data-u=bytes"
                                         : "");
        html_text(b, s->columns[c].heading);
    }
    buf_puts(b, "</thead><tbody>");
    for (size_t i = 0; i < s->ncells && cell < t->ncells; i++) {
        const struct sheet_column *c = &s->columns[i % s->ncolumns];
        if (c->heading == NULL)
            continue;
        buf_printf(b, "%s<td%s", cell % t->nheads == 0 ? "<tr>" : "",
                   side(t->heads[cell % t->nheads].align));
        put_value(b, c->unit, &s->cells[i]);
        buf_putc(b, '>');
        put_text(b, t->cells[cell++]);
    }
    buf_puts(b, "</tbody></table></div>\n");
}

void page_sheet(struct page *p, const struct sheet *s, const char *command)
{
    struct buf *b = &p->body;
    struct table t;
    const char *unit;
    table_init(&t);
    unit = sheet_table(s, PAGE_ROWS_MAX, &t);
    buf_printf(b, "<h3 id=t-%s", s->name);
    if (p->part > 0)
        buf_printf(b, "-%zu", p->part);
    buf_puts(b, ">");
    html_text(b, s->title);
    buf_printf(b, "%s%s</h3>\n", unit != NULL ? ", " : "", unit != NULL ? unit : "");
    put_sheet(b, s, &t);
    if (sheet_rows(s) > PAGE_ROWS_MAX)
        buf_printf(
            b, "<p class=note>The first %d of %zu rows; all: <code>%s %s --format csv</code></p>",
            PAGE_ROWS_MAX, sheet_rows(s), command, s->name);
    for (size_t k = 0; k < s->nnotes; k++) {
        buf_puts(b, "<p class=note>");
        html_text(b, s->notes[k]);
        buf_puts(b, "</p>");
    }
    table_release(&t);
}

/* ---- the file ---- */

void page_put(const struct page *p, struct sink *sink)
{
    struct buf b = BUF_INIT, script = BUF_INIT, title = BUF_INIT;
    char hash[SHA256_BASE64];
    for (const char *const *line = page_script; *line != NULL; line++)
        buf_puts(&script, *line);
    buf_printf(&title, "specter %s: %s", p->command, p->source);
    html_head(&b, title.data, sha256_base64(script.data, script.len, hash));
    buf_printf(&b, "<body><header class=top><b>specter %s</b><span class=source>", p->command);
    html_text(&b, p->source);
    buf_puts(&b, "</span><nav aria-label=Contents>");
    buf_put(&b, p->links.data, p->links.len);
    buf_puts(&b, "</nav><button id=theme class=js type=button>Dark</button></header>\n<main>");
    sink_put(sink, b.data, b.len);
    sink_put(sink, p->body.data, p->body.len);
    buf_reset(&b);
    buf_puts(&b, "</main><script>");
    buf_put(&b, script.data, script.len);
    buf_puts(&b, "</script>");
    html_end(&b);
    sink_put(sink, b.data, b.len);
    buf_release(&b);
    buf_release(&script);
    buf_release(&title);
}

int page_write(const struct page *p, const char *path, struct err *e)
{
    struct sink *sink;
    if (sink_open(&sink, path, e) < 0)
        return -1;
    page_put(p, sink);
    return sink_close(sink, e);
}

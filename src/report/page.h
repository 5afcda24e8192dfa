/* SPDX-License-Identifier: MIT
 *
 * The page of a report: a bar at the top, the answer first, then charts, then every table,
 * collapsed by group. One file that needs nothing else. Its one script (page.js) sorts, filters and
 * copies tables, switches light and dark, and draws the timeline (page_timeline.h); without it
 * every number is still there.
 *
 *     struct page p;
 *     page_init(&p, "analyze", run->source);
 *     buf_puts(&p.body, "<h1>");
 *     ...
 *     page_heading(&p, "tables", "Tables", "All tables");
 *     page_group(&p, "Communication", 4);
 *     page_sheet(&p, &sheet, "specter analyze --table");
 *     page_group_end(&p);
 *     rc = page_write(&p, path, e);
 *     page_release(&p);
 *
 * Text from outside is escaped; the same input gives the same bytes.
 */
#ifndef SPECTER_REPORT_PAGE_H
#define SPECTER_REPORT_PAGE_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* ---- what all pages have in common ----
 *
 * A page needs nothing else (no network: its policy forbids it), has one style for light, dark,
 * phone and print (page.css), and text that comes from outside is escaped. Charts: plot.h.
 *
 * Colours are classes: k0 compute, k1 work that was only counted, k2 communication, k3 copies,
 * k4 waiting, k7 idle; k5, k6 and k8 are free.
 */

/* A page without a script, up to <body>, and its end. */
void html_begin(struct buf *b, const char *title);
void html_end(struct buf *b);

/* page.css and page.js, line by line; the last is NULL. Made by page.mk. */
extern const char *const page_style[], *const page_script[];

/* Text as text, also within quotes: & < > " ' escaped, what is no UTF-8 replaced. */
void html_text(struct buf *b, const char *text);

void html_fact(struct buf *b, const char *what, const char *text); /* in <dl>; NULL: nothing */
void html_item(struct buf *b, const char *text);                   /* in <ul> or <ol> */
void html_key(struct buf *b, int colour, const char *text);        /* in <div class=keys> */

/* ---- the page of a report ---- */

#define PAGE_ROWS_MAX 300 /* of a table: below it stands how to have all */

struct sheet;
struct table;
struct sink;

struct page {
    const char *command, *source; /* borrowed; source is of outside */
    struct buf body, links;       /* owned; links: what the bar at the top leads to */
    size_t part; /* 0, or of which part with the same tables: their ids end with it */
};

void page_init(struct page *p, const char *command, const char *source);
void page_release(struct page *p);

/* <h2 id=...>; what the bar calls it: `link`, NULL: not there. `title` is escaped. */
void page_heading(struct page *p, const char *id, const char *link, const char *title);

/* A figure that leads to its place: inside <div class=cards>. colour: -1 none. */
void page_card(struct page *p, const char *id, int colour, const char *value, const char *what);

/* Begin and end of <div class=charts>: the end is told what the begin returned. Where nothing was
 * put between, both leave nothing. */
size_t page_charts(struct page *p);
void page_charts_end(struct page *p, size_t mark);

/* A collapsed group of `tables` tables; between its begin and its end stand the sheets. */
void page_group(struct page *p, const char *title, size_t tables);
void page_group_end(struct page *p);

/* A sheet under its heading (id "t-NAME", with a part "t-NAME-PART"), with its notes, and what to
 * call for all rows where it has more than PAGE_ROWS_MAX: `command` and its name. */
void page_sheet(struct page *p, const struct sheet *s, const char *command);

/* A table of text alone. name: what a screen reader calls it. */
void page_table(struct buf *b, const struct table *t, const char *name);

/* Writes the page into sink; errors show at sink_close(). */
void page_put(const struct page *p, struct sink *sink);

/* Writes the page as a file. 0, or -1 with e filled. */
int page_write(const struct page *p, const char *path, struct err *e);

#endif

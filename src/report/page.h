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
 * What comes from outside is escaped; the same input gives the same bytes.
 */
#ifndef SPECTER_REPORT_PAGE_H
#define SPECTER_REPORT_PAGE_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

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

/* Begin and end of <div class=charts>, without a trace where nothing is put between. */
size_t page_charts(struct page *p);
void page_charts_end(struct page *p, size_t mark);

/* Tables. A group is collapsed; a sheet has its heading (id "t-NAME", with
 * a part "t-NAME-PART"), notes, and what to call for
 * all rows where it has more than PAGE_ROWS_MAX: `command` and its name. */
void page_group(struct page *p, const char *title, size_t tables);
void page_group_end(struct page *p);
void page_sheet(struct page *p, const struct sheet *s, const char *command);
void page_table(struct buf *b, const struct table *t, const char *name);

/* All of it as one file. page_put(): into an open one. 0, or -1 with e filled. */
void page_put(const struct page *p, struct sink *sink);
int page_write(const struct page *p, const char *path, struct err *e);

#endif

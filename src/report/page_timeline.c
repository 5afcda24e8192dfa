/* SPDX-License-Identifier: MIT */
#include "report/page_timeline.h"

#include "report/op_text.h"
#include "report/page.h"
#include "report/table.h"
#include "trace/activity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_COLUMNS 160 /* names of templates have no end */

void page_timeline_init(struct page_timeline *t)
{
    memset(t, 0, sizeof *t);
    arena_init(&t->arena);
    intern_init(&t->texts, &t->arena);
    buf_init(&t->names);
    buf_init(&t->panels);
    buf_init(&t->rows);
    buf_init(&t->ops);
    buf_init(&t->links);
    buf_init(&t->path);
}

void page_timeline_release(struct page_timeline *t)
{
    buf_release(&t->names);
    buf_release(&t->panels);
    buf_release(&t->rows);
    buf_release(&t->ops);
    buf_release(&t->links);
    buf_release(&t->path);
    idmap_release(&t->ids);
    intern_release(&t->texts);
    arena_release(&t->arena);
}

/* A JSON string that may stand in a <script>: no '<', which could end it. */
static void put_string(struct buf *b, const char *text)
{
    char safe[4 * TITLE_COLUMNS + 4];
    text_safe(safe, sizeof safe, text, TITLE_COLUMNS);
    buf_putc(b, '"');
    for (const char *c = safe; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            buf_printf(b, "\\%c", *c);
        else if (*c == '<')
            buf_puts(b, "\\u003c");
        else
            buf_putc(b, *c);
    }
    buf_putc(b, '"');
}

static uint32_t add_name(struct page_timeline *t, const struct buf *text)
{
    const uint32_t known = t->ids.count;
    const char *name = intern_add(&t->texts, text->data, text->len);
    const uint32_t id = idmap_add(&t->ids, (int64_t)(intptr_t)name);
    if (id == known) {
        if (id > 0)
            buf_puts(&t->names, ",\n");
        buf_put(&t->names, text->data, text->len);
    }
    return id;
}

static int colour_of(const struct op *op)
{
    if (op->flags & OP_COUNTED)
        return 1;
    switch (activity_kind_of(op)) {
    case ACTIVITY_COMM:
        return 2;
    case ACTIVITY_MEMORY:
        return 3;
    default:
        return 0;
    }
}

uint32_t page_timeline_name(struct page_timeline *t, const struct run *run, const struct op *op)
{
    struct buf b = BUF_INIT;
    char title[OP_TITLE_MAX], bytes[32];
    uint32_t id;
    const bool comm = op_is_comm(op);
    const bool sized = (comm || op->class == OP_MEMORY) && !(op->flags & OP_BYTES_UNKNOWN);
    buf_putc(&b, '[');
    put_string(&b, op_title(op, title));
    buf_printf(&b, ",%d,\"%s\",\"%s\",", colour_of(op),
               sized ? text_bytes(bytes, sizeof bytes, (double)op->bytes) : "",
               comm || op->class == OP_GEMM ? comm_dtype_text(op->dtype) : "");
    if (comm && op->coll.comm >= 0) {
        const struct comm *c = &run->comms[op->coll.comm];
        put_string(&b, comm_group_text(c->size, c->name, &t->arena));
    } else {
        buf_puts(&b, "\"\"");
    }
    buf_putc(&b, ',');
    put_string(&b, op->caller);
    buf_putc(&b, ']');
    id = add_name(t, &b);
    buf_release(&b);
    return id;
}

uint32_t page_timeline_text(struct page_timeline *t, const char *title, int colour,
                            const char *what)
{
    struct buf b = BUF_INIT;
    uint32_t id;
    buf_putc(&b, '[');
    put_string(&b, title);
    buf_printf(&b, ",%d,\"\",\"\",\"\",", colour);
    put_string(&b, what);
    buf_putc(&b, ']');
    id = add_name(t, &b);
    buf_release(&b);
    return id;
}

/* ---- panels and rows ---- */

void page_timeline_panel(struct page_timeline *t, const char *side, const char *label,
                         int64_t step_ns)
{
    buf_printf(&t->panels, "%s{\"side\":\"%s\",\"label\":", t->panels.len > 0 ? "," : "", side);
    put_string(&t->panels, label);
    buf_printf(&t->panels, ",\"step\":%" PRId64 "}", step_ns);
}

static void close_row(struct page_timeline *t)
{
    if (!t->open)
        return;
    if (t->first != SIZE_MAX && t->first > 0)
        buf_printf(&t->rows, "\"first\":%zu,", t->first);
    buf_printf(&t->rows, "\"ops\":[%s],\"links\":[%s],\"path\":[%s]}", t->ops.data, t->links.data,
               t->path.data);
    buf_reset(&t->ops);
    buf_reset(&t->links);
    buf_reset(&t->path);
    t->open = false;
}

void page_timeline_row(struct page_timeline *t, const struct timeline_row *row)
{
    close_row(t);
    buf_printf(&t->rows, "%s{\"rank\":%d,\"name\":", t->nrows++ > 0 ? ",\n" : "", row->rank);
    put_string(&t->rows, row->name);
    buf_printf(&t->rows, ",\"side\":\"%s\",", row->side);
    t->open = true;
    t->at_ns = t->last_link = 0;
    t->count = t->linked = t->pathed = 0;
    t->first = SIZE_MAX;
}

void page_timeline_add(struct page_timeline *t, const struct timeline_item *i)
{
    const int64_t end_ns = i->start_ns + i->dur_ns;
    const char *comma = t->count > 0 ? "," : "";
    buf_printf(&t->ops, "%s%" PRId64 ",%" PRId64 ",%" PRIu32, comma, i->start_ns - t->at_ns,
               i->dur_ns, i->name);
    if (i->link >= 0 || i->wait_ns > 0) {
        const int64_t link = i->link >= 0 ? i->link : t->last_link;
        buf_printf(&t->links, "%s%zu,", t->links.len > 0 ? "," : "", t->count - t->linked);
        if (i->link >= 0)
            buf_printf(&t->links, "%" PRId64, link - t->last_link);
        else
            buf_puts(&t->links, "null");
        buf_printf(&t->links, ",%" PRId64, i->wait_ns);
        t->linked = t->count;
        t->last_link = link;
    }
    if (i->path_dur_ns > 0) {
        buf_printf(&t->path, "%s%zu,%" PRId64 ",%" PRId64, t->path.len > 0 ? "," : "",
                   t->count - t->pathed, i->path_ns, i->path_dur_ns);
        t->pathed = t->count;
    }
    if (i->in_step && t->first == SIZE_MAX)
        t->first = t->count;
    t->at_ns = end_ns;
    t->begin_ns = i->start_ns < t->begin_ns ? i->start_ns : t->begin_ns;
    t->end_ns = end_ns > t->end_ns ? end_ns : t->end_ns;
    t->count++;
    t->nops++;
}

size_t page_timeline_size(const struct page_timeline *t)
{
    return t->names.len + t->rows.len + t->ops.len + t->links.len + t->path.len;
}

void page_timeline_put(struct buf *b, struct page_timeline *t, bool has_path)
{
    close_row(t);
    buf_puts(b,
             "<div class=\"timeline js\"><div class=\"tools js\">"
             "<label class=hidden for=find>Search operations</label>"
             "<input id=find type=search placeholder=\"Search operations (/)\">"
             "<span class=\"found note\" role=status></span>"
             "<button type=button data-do=in aria-label=\"Zoom in\">+</button>"
             "<button type=button data-do=out aria-label=\"Zoom out\">&minus;</button>"
             "<button type=button data-do=all>All</button></div>"
             "<canvas tabindex=0 role=application aria-label=\"Timeline: arrow keys move, plus and "
             "minus zoom, 0 shows all, comma and full stop go to the operation before and "
             "after\"></canvas><div class=about aria-live=polite></div><div class=tip hidden></div>"
             "<script type=\"application/json\">");
    buf_putc(b, '{');
    if (t->begin_ns < 0)
        buf_printf(b, "\"from\":%" PRId64 ",", t->begin_ns);
    buf_printf(b, "\"span\":%" PRId64 ",\"names\":[", t->end_ns);
    buf_put(b, t->names.data, t->names.len);
    if (t->panels.len > 0)
        buf_printf(b, "],\"panels\":[%s", t->panels.data);
    buf_puts(b, "],\"rows\":[");
    buf_put(b, t->rows.data, t->rows.len);
    buf_puts(b, "]}</script></div><noscript><p class=note>The timeline is drawn by a script, which "
                "this browser does not run; its numbers are in the charts and tables "
                "below.</p></noscript><div class=\"keys\">");
    html_key(b, 0, "compute");
    html_key(b, 2, "communication");
    html_key(b, 4, "waiting for stragglers");
    html_key(b, 3, "copies");
    html_key(b, 1, "untimed kernels");
    if (has_path)
        buf_puts(b, "<span class=key><i class=ring></i>critical path</span>");
    buf_puts(b, "</div>\n");
}

/* SPDX-License-Identifier: MIT */
#include "report/chrome.h"

#include "base/json.h"
#include "base/whole_file.h"
#include "trace/reader.h"

#include <inttypes.h>
#include <string.h>

#define FLUSH ((size_t)1 << 18)

void chrome_init(struct chrome_file *f, struct sink *sink)
{
    *f = (struct chrome_file){.sink = sink, .text = BUF_INIT};
    buf_puts(&f->text, OWN_EXPORT_HEAD);
}

void chrome_finish(struct chrome_file *f, const char *other)
{
    buf_printf(&f->text, "\n],\"otherData\":{%s}}\n", other);
    sink_put(f->sink, f->text.data, f->text.len);
    buf_release(&f->text);
}

struct buf *chrome_event(struct chrome_file *f)
{
    if (f->text.len > FLUSH) {
        sink_put(f->sink, f->text.data, f->text.len);
        buf_reset(&f->text);
    }
    buf_puts(&f->text, f->events++ > 0 ? ",\n" : "\n");
    return &f->text;
}

void chrome_name(struct chrome_file *f, const char *what, int pid, uint32_t tid, const char *name,
                 int64_t place)
{
    struct buf *b = chrome_event(f);
    buf_printf(b, "{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%d,\"tid\":%u,\"args\":{", what, pid,
               tid);
    chrome_text(b, "name", name);
    buf_puts(b, "}}");
    buf_printf(chrome_event(f),
               "{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%d,\"tid\":%u,"
               "\"args\":{\"sort_index\":%" PRId64 "}}",
               what, pid, tid, place);
}

void chrome_text(struct buf *b, const char *key, const char *text)
{
    buf_printf(b, "\"%s\":", key);
    json_quote(b, text, strlen(text));
}

void chrome_us(struct buf *b, const char *key, int64_t ns)
{
    uint64_t n = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    buf_printf(b, ",\"%s\":%s%" PRIu64 ".%03u", key, ns < 0 ? "-" : "", n / 1000,
               (unsigned)(n % 1000));
}

void chrome_fields(struct buf *b, const struct run *run, const struct op *op)
{
    struct op_field fields[OP_FIELDS_MAX];
    size_t n = op_fields(run, op, fields);
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, i > 0 ? "," : "");
        if (fields[i].text != NULL)
            chrome_text(b, fields[i].key, fields[i].text);
        else
            buf_printf(b, "\"%s\":%" PRId64, fields[i].key, fields[i].number);
    }
}

void chrome_arrow(struct chrome_file *f, const struct chrome_arrow *a)
{
    struct buf *b = chrome_event(f);
    buf_printf(b, "{\"ph\":\"%c\",\"name\":\"%s\",\"cat\":\"%s\",\"id\":%s,\"pid\":%d,\"tid\":%u",
               a->phase, a->name, a->name, a->id, a->pid, a->tid);
    chrome_us(b, "ts", a->at_ns);
    buf_puts(b, a->phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

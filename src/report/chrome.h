/* SPDX-License-Identifier: MIT
 *
 * A file of Chrome's trace events as JSON (about://tracing, Perfetto): M (names), X (slices), s, t,
 * f (arrows), C (counts). Times are microseconds with three decimals, made of whole nanoseconds.
 *
 *     struct buf *b = chrome_event(&f);
 *     buf_printf(b, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,", pid, tid);
 *     chrome_text(b, "name", title);
 *     chrome_us(b, "ts", start_ns);
 *     buf_putc(b, '}');
 */
#ifndef SPECTER_REPORT_CHROME_H
#define SPECTER_REPORT_CHROME_H

#include "base/buf.h"
#include "report/op_text.h"

#include <stdint.h>

struct sink;

struct chrome_file {
    struct sink *sink; /* not owned */
    struct buf text;   /* not written yet */
    uint64_t events;
};

/* Begins the file. */
void chrome_init(struct chrome_file *f, struct sink *sink);

/* Ends it with `other`, an object's members that say whose it is, and releases f. */
void chrome_finish(struct chrome_file *f, const char *other);

/* Where the next event goes, its comma written. */
struct buf *chrome_event(struct chrome_file *f);

/* The name of a "process" or "thread" (`what`), and its place among the others. */
void chrome_name(struct chrome_file *f, const char *what, int pid, uint32_t tid, const char *name,
                 int64_t place);

/* A member of an event: "key":"text"; and ,"key":1.234. */
void chrome_text(struct buf *b, const char *key, const char *text);
void chrome_us(struct buf *b, const char *key, int64_t ns);

/* The members of "args" that tell of an operation (op_fields()). */
void chrome_fields(struct buf *b, const struct run *run, const struct op *op);

/* The end of an arrow ('s', 't' or 'f'), which binds to the slice that encloses its time. `id` is
 * JSON: a number or a quoted text. */
struct chrome_arrow {
    char phase;
    const char *name, *id;
    int pid;
    uint32_t tid;
    int64_t at_ns;
};

void chrome_arrow(struct chrome_file *f, const struct chrome_arrow *a);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Sentences of a result as they are kept: said by replay_assume() and replay_note(), in order at
 * last.
 */
#include "sim/replay/notes.h"

#include "base/buf.h"

#include <stdarg.h>
#include <string.h>

__attribute__((format(printf, 4, 0))) static void add_line(struct replay *rep,
                                                           struct replay_lines *lines, bool loss,
                                                           const char *fmt, va_list ap)
{
    struct buf text = BUF_INIT, safe = BUF_INIT;
    buf_vprintf(&text, fmt, ap);
    buf_put_printable(&safe, text.data, text.len);
    ARRAY_GROW(lines->list, lines->cap, lines->count + 1);
    lines->list[lines->count++] =
        (struct replay_line){arena_strndup(&rep->arena, safe.data, safe.len), loss, rep->topic};
    buf_release(&text);
    buf_release(&safe);
}

void replay_assume(struct replay *rep, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_line(rep, &rep->assumptions, false, fmt, ap);
    va_end(ap);
}

void replay_note(struct replay *rep, bool loss, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_line(rep, &rep->notes, loss, fmt, ap);
    va_end(ap);
}

void replay_note_first(struct replay *rep, const char *fmt, ...)
{
    struct replay_lines *notes = &rep->notes;
    struct replay_line first;
    va_list ap;
    va_start(ap, fmt);
    add_line(rep, notes, false, fmt, ap);
    va_end(ap);
    first = notes->list[notes->count - 1];
    memmove(notes->list + 1, notes->list, (notes->count - 1) * sizeof *notes->list);
    notes->list[0] = first;
}

void note_sort(struct replay *rep)
{
    struct replay_line *list = rep->assumptions.list;
    for (size_t i = 1; i < rep->assumptions.count; i++) {
        struct replay_line line = list[i];
        size_t to = i;
        for (; to > 0 && list[to - 1].topic > line.topic; to--)
            list[to] = list[to - 1];
        list[to] = line;
    }
}

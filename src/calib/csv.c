/* SPDX-License-Identifier: MIT */
#include "calib/csv.h"

#include <string.h>

static const char too_long[] = "longer than 65536 bytes";
static const char too_many[] = "more than 256 fields";
static const char unclosed[] = "a quote is not closed";
static const char unclosed_long[] = "a quote is not closed within 65536 bytes";
static const char after_quote[] = "text after a closing quote";
static const char nul_byte[] = "a NUL byte";

_Static_assert(CSV_RECORD_MAX == 65536 && CSV_FIELDS_MAX == 256, "as the messages say");

void csv_init(struct csv *c, const char *text, size_t len)
{
    memset(c, 0, sizeof *c);
    c->p = text + text_bom_len(text, len);
    c->end = text + len;
    c->next_line = 1;
    buf_init(&c->text);
}

void csv_release(struct csv *c)
{
    buf_release(&c->text);
}

/* Line end at p: 1 or 2 bytes long; 0: none. */
static size_t newline_at(const char *p, const char *end)
{
    if (*p == '\n')
        return 1;
    return *p == '\r' && p + 1 < end && p[1] == '\n' ? 2 : 0;
}

/* The quoted field at *p, its opening quote already passed; NULL, or what is wrong with it. */
static const char *quoted(struct csv *c, const char **p, const char *limit)
{
    for (; *p < limit; ++*p) {
        if (**p != '"') {
            c->next_line += **p == '\n';
            buf_putc(&c->text, **p);
            continue;
        }
        ++*p;
        if (*p < limit && **p == '"') {
            buf_putc(&c->text, '"');
            continue;
        }
        if (*p == c->end || **p == ',' || newline_at(*p, c->end) > 0)
            return NULL;
        return after_quote;
    }
    return unclosed;
}

/* Splits the record at `begin`; NULL, or what is wrong with it. */
static const char *split(struct csv *c, const char *begin)
{
    size_t starts[CSV_FIELDS_MAX], room = (size_t)(c->end - begin);
    const char *p = begin, *limit = begin + (room < CSV_RECORD_MAX ? room : CSV_RECORD_MAX);
    const char *problem;
    for (;; p++) {
        if (c->count == CSV_FIELDS_MAX)
            return too_many;
        starts[c->count++] = c->text.len;
        if (p < limit && *p == '"') {
            p++;
            problem = quoted(c, &p, limit);
            if (problem != NULL)
                return problem == unclosed && limit < c->end ? unclosed_long : problem;
        } else {
            const char *from = p;
            while (p < limit && *p != ',' && newline_at(p, c->end) == 0)
                p++;
            buf_put(&c->text, from, (size_t)(p - from));
        }
        buf_putc(&c->text, '\0');
        if (p == c->end || p == limit || *p != ',')
            break;
    }
    if (p == limit && limit < c->end && newline_at(p, c->end) == 0)
        return too_long;
    if (memchr(begin, '\0', (size_t)(p - begin)) != NULL)
        return nul_byte;
    c->next_line += p < c->end;
    c->p = p < c->end ? p + newline_at(p, c->end) : p;
    /* Offsets into text become pointers, now that it has stopped growing. */
    for (size_t i = 0; i < c->count; i++)
        c->fields[i] = c->text.data + starts[i];
    return NULL;
}

bool csv_next(struct csv *c)
{
    while (c->p < c->end) {
        const char *begin = c->p;
        c->line = c->next_line;
        c->count = 0;
        buf_reset(&c->text);
        c->problem = split(c, begin);
        if (c->problem != NULL) { /* reading goes on after the line that the record began with */
            const char *newline = memchr(begin, '\n', (size_t)(c->end - begin));
            c->p = newline != NULL ? newline + 1 : c->end;
            c->next_line = c->line + 1;
            return true;
        }
        if (c->count > 1 || c->fields[0][strspn(c->fields[0], " \t")] != '\0') /* no blank line */
            return true;
    }
    return false;
}

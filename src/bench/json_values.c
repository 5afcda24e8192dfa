/* SPDX-License-Identifier: MIT */
#include "bench/json_values.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX 512
#define NUMBERS_MAX 1000000
#define CHUNK ((size_t)1 << 20)
#define FILE_MAX ((size_t)512 << 20) /* 20 bytes an iteration: 25 million of them */

int bench_json_file(struct stream *s, const char *file, struct buf *out, struct err *e)
{
    ssize_t n;
    while ((n = stream_read(s, buf_reserve(out, CHUNK), CHUNK, e)) > 0) {
        out->len += (size_t)n;
        if (out->len > FILE_MAX)
            return err_set(e, ERR_INPUT, "%s: longer than %zu MiB", file, FILE_MAX >> 20);
    }
    return n < 0 ? -1 : 0;
}

const char *bench_json_text(struct json *j, struct bench_result *r)
{
    struct json_text t = json_string(j);
    struct buf b = BUF_INIT;
    const char *kept;
    if (t.p == NULL)
        return "";
    if (t.len > TEXT_MAX) {
        t.len = TEXT_MAX;
        t.escaped = false; /* the cut may be within an escape */
    }
    json_decode(t, &b);
    kept = bench_keep(r, b.data, b.len);
    buf_release(&b);
    return kept;
}

double bench_json_number(struct json *j)
{
    struct json_text t;
    char text[32], *end;
    double value;
    if (json_peek(j) != '"')
        return json_double(j, NAN);
    t = json_string(j);
    if (t.p == NULL || t.len >= sizeof text)
        return NAN;
    snprintf(text, sizeof text, "%.*s", (int)t.len, t.p);
    value = strtod(text, &end);
    return end == text ? NAN : value;
}

const double *bench_json_numbers(struct json *j, struct arena *a, size_t *n)
{
    double *list = NULL, *kept = NULL;
    size_t cap = 0;
    *n = 0;
    if (!json_enter(j, '['))
        return NULL;
    while (json_next_item(j)) {
        const double value = bench_json_number(j);
        if (*n == NUMBERS_MAX)
            continue;
        ARRAY_GROW(list, cap, *n + 1);
        list[(*n)++] = value;
    }
    if (*n > 0) {
        kept = arena_alloc(a, *n * sizeof *kept);
        memcpy(kept, list, *n * sizeof *kept);
    }
    free(list);
    return kept;
}

/* Counted from 1. */
static size_t line_of(const struct json *j)
{
    size_t line = 1;
    for (size_t i = 0; i < json_offset(j); i++)
        line += j->start[i] == '\n';
    return line;
}

int bench_json_end(const struct json *j, struct bench_result *r, size_t first, const char *file,
                   struct err *e)
{
    size_t rows = 0;
    for (size_t i = first; i < r->nruns; i++)
        rows += r->runs[i].nrows;
    if (j->error == NULL)
        return 0;
    if (rows == 0)
        return err_set(e, ERR_INPUT, "%s:%zu: %s", file, line_of(j), j->error);
    bench_note(r, file, line_of(j), "%s; the rows before it stand", j->error);
    r->damaged = true;
    return 0;
}

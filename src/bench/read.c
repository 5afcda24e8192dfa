/* SPDX-License-Identifier: MIT */
#include "bench/read.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/stream.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_json(const char *head, size_t len)
{
    while (len > 0 && isspace((unsigned char)*head)) {
        head++;
        len--;
    }
    return len > 0 &&
           (*head == '{' || (*head == '[' && memmem(head, len, "\"results\"", 9) != NULL));
}

static bool is_own_json(const char *head, size_t len)
{
    static const char schema[] = "\"specter.bench/";
    return is_json(head, len) && memmem(head, len, schema, sizeof schema - 1) != NULL;
}

/* The first key of each object, and the first column. */
static bool is_rccl_tests_file(const char *head, size_t len)
{
    static const char key[] = "\"numCycle\"", column[] = "numCycle,";
    while (len > 0 && isspace((unsigned char)*head)) {
        head++;
        len--;
    }
    return len > 0 && (*head == '[' || *head == '{'
                           ? memmem(head, len, key, sizeof key - 1) != NULL
                           : len >= sizeof column && memcmp(head, column, sizeof column - 1) == 0);
}

static bool is_profile(const char *head, size_t len)
{
    static const char mark[] = "Configuration: World Size=";
    return memmem(head, len, mark, sizeof mark - 1) != NULL;
}

static bool is_any(const char *head, size_t len)
{
    (void)head;
    (void)len;
    return true;
}

/* The first that recognises the file's beginning reads it. */
static const struct {
    bool (*is)(const char *head, size_t len);
    int (*read)(struct bench_result *r, struct stream *s, const char *file, struct err *e);
} formats[] = {
    {is_own_json, bench_read_own_json},    {is_rccl_tests_file, bench_read_rccl_tests_file},
    {is_json, bench_read_nccl_tests_json}, {is_profile, bench_read_profile},
    {is_any, bench_read_nccl_tests},
};

int bench_read(struct bench_result *r, const char *path, struct err *e)
{
    const bool from_stdin = strcmp(path, "-") == 0;
    const char *name = arena_strdup(&r->arena, from_stdin ? "stdin" : path), *head;
    const size_t before = r->nruns;
    size_t format = 0;
    struct stream *s;
    ssize_t n;
    int rc = -1;
    if (stream_open(&s, from_stdin ? "/dev/stdin" : path, e) < 0)
        return -1;
    n = stream_peek(s, &head, e);
    if (n >= 0) {
        while (!formats[format].is(head, (size_t)n))
            format++;
        rc = formats[format].read(r, s, name, e);
    }
    stream_close(s);
    for (size_t i = r->nruns; i-- > before;) {
        struct bench_run *run = &r->runs[i];
        if (run->nrows > 0)
            continue;
        free(run->rows);
        free(run->hosts);
        free(run->settings);
        memmove(run, run + 1, (--r->nruns - i) * sizeof *run);
    }
    if (rc == 0 && r->nruns == before)
        return err_set(e, ERR_INPUT, "%s: no measured row of nccl-tests in it%s%s", name,
                       r->nnotes > 0 ? "; " : "", r->nnotes > 0 ? r->notes[0] : "");
    return rc;
}

/* ---- values of JSON ---- */

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

/* ---- what rows do not say ---- */

#define RANKS_MAX 4096     /* that busbw / algbw can be told apart for is far below */
#define PRINTED_HALF 0.005 /* GB/s: half of the last digit that is printed */
#define ROWS_MAX 1024      /* that are looked at, spread over all */
#define RATE_MIN 1         /* GB/s: of smaller rates the digits say nothing */

/* Columns that nccl-tests fills for each operation; parts: size / (count x element size) is the
 * number of ranks, not 1. */
static const struct {
    enum specter_comm_op op;
    bool parts, has_redop, has_root;
} forms[] = {
    {SPECTER_ALLREDUCE, false, true, false},    {SPECTER_SEND, false, true, false},
    {SPECTER_REDUCESCATTER, true, true, false}, {SPECTER_REDUCE, false, true, true},
    {SPECTER_BROADCAST, false, false, true},    {SPECTER_ALLGATHER, true, false, false},
    {SPECTER_ALLTOALL, true, false, false},     {SPECTER_GATHER, true, false, true},
    {SPECTER_SCATTER, true, false, true},
};

#define FORMS (sizeof forms / sizeof *forms)

/* Returns whether this operation among so many ranks prints such a row. Digits of rates are lost by
 * rounding to 0.01, and from 1000 on to 0.1. */
static bool agrees(const struct bench_row *row, size_t form, int ranks)
{
    const uint64_t element = specter_dtype_bits(row->dtype) / 8;
    const uint64_t parts = forms[form].parts ? (uint64_t)ranks : 1;
    const double factor = specter_comm_op_bus_factor(forms[form].op, (uint64_t)ranks);
    const double half =
        row->busbw_GBps >= 1000 || row->algbw_GBps >= 1000 ? 10 * PRINTED_HALF : PRINTED_HALF;
    if (forms[form].has_redop != (row->redop != SPECTER_REDOP_NONE) ||
        forms[form].has_root != (row->root >= 0))
        return false;
    if (element > 0 && row->count > 0 && row->bytes != row->count * element * parts)
        return false;
    if (!(row->algbw_GBps > RATE_MIN) || !isfinite(row->busbw_GBps))
        return true;
    return fabs(row->busbw_GBps - row->algbw_GBps * factor) <= half * (1 + factor) * 1.01;
}

static bool all_agree(const struct bench_run *run, size_t form, int ranks)
{
    for (size_t i = 0; i < run->nrows; i += run->nrows / ROWS_MAX + 1) {
        if (!agrees(&run->rows[i], form, ranks))
            return false;
    }
    return true;
}

/* The operation of all rows; COUNT: several, or none. */
static enum specter_comm_op infer_op(const struct bench_run *run)
{
    const int from = run->where.ranks > 0 ? run->where.ranks : 2;
    const int to = run->where.ranks > 0 ? run->where.ranks : RANKS_MAX;
    enum specter_comm_op found = SPECTER_COMM_OP_COUNT;
    for (size_t form = 0; form < FORMS; form++) {
        for (int n = from; n <= to; n++) {
            if (!all_agree(run, form, n))
                continue;
            if (found != SPECTER_COMM_OP_COUNT)
                return SPECTER_COMM_OP_COUNT;
            found = forms[form].op;
            break;
        }
    }
    return found;
}

static int infer_ranks(const struct bench_run *run, enum specter_comm_op op)
{
    int found = 0;
    for (size_t form = 0; form < FORMS; form++) {
        for (int n = 2; forms[form].op == op && n <= RANKS_MAX; n++) {
            if (!all_agree(run, form, n))
                continue;
            if (found > 0)
                return 0;
            found = n;
        }
    }
    return found;
}

void bench_infer(struct bench_run *run, enum specter_comm_op op)
{
    if (run->nrows == 0)
        return;
    if (run->rows[0].op == SPECTER_COMM_OP_COUNT && run->program[0] == '\0') {
        if (op == SPECTER_COMM_OP_COUNT)
            op = infer_op(run);
        for (size_t i = 0; i < run->nrows; i++)
            run->rows[i].op = op;
    }
    if (run->where.ranks == 0 && run->rows[0].op != SPECTER_COMM_OP_COUNT)
        run->where.ranks = infer_ranks(run, run->rows[0].op);
    for (size_t i = 0; i < run->nrows; i++) {
        if (run->rows[i].where.ranks == 0)
            run->rows[i].where.ranks = run->where.ranks;
        if (run->rows[i].op != SPECTER_COMM_OP_COUNT)
            bench_row_rates(&run->rows[i]);
    }
}

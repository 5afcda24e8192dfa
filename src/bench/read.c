/* SPDX-License-Identifier: MIT */
#include "bench/read.h"

#include "base/err.h"
#include "base/stream.h"

#include <ctype.h>
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
    {is_own_json, bench_read_own_json},
    {is_json, bench_read_nccl_tests_json},
    {is_profile, bench_read_profile},
    {is_any, bench_read_nccl_tests},
};

static void drop_run(struct bench_result *r, size_t i)
{
    free(r->runs[i].rows);
    free(r->runs[i].hosts);
    free(r->runs[i].settings);
    memmove(&r->runs[i], &r->runs[i + 1], (r->nruns - i - 1) * sizeof *r->runs);
    r->nruns--;
}

static int read_stream(struct bench_result *r, struct stream *s, const char *name, struct err *e)
{
    const char *head;
    const ssize_t n = stream_peek(s, &head, e);
    size_t i = 0;
    if (n < 0)
        return -1;
    while (!formats[i].is(head, (size_t)n))
        i++;
    return formats[i].read(r, s, name, e);
}

int bench_read(struct bench_result *r, const char *path, struct err *e)
{
    const bool from_stdin = strcmp(path, "-") == 0;
    const char *name = arena_strdup(&r->arena, from_stdin ? "stdin" : path);
    const size_t before = r->nruns;
    struct stream *s;
    int rc;
    if (stream_open(&s, from_stdin ? "/dev/stdin" : path, e) < 0)
        return -1;
    rc = read_stream(r, s, name, e);
    stream_close(s);
    for (size_t i = r->nruns; i-- > before;) {
        if (r->runs[i].nrows == 0)
            drop_run(r, i);
    }
    if (rc == 0 && r->nruns == before)
        return err_set(e, ERR_INPUT, "%s: no measured row of nccl-tests in it%s%s", name,
                       r->nnotes > 0 ? "; " : "", r->nnotes > 0 ? r->notes[0] : "");
    return rc;
}

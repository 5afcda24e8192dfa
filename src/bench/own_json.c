/* SPDX-License-Identifier: MIT
 *
 * Reads the output of `specter bench collective --json` (specter.bench/1, kind "collective"):
 * struct bench_run and its rows, a key a field, units in the keys. Unknown keys are passed over:
 * later versions add some.
 */
#include "base/buf.h"
#include "base/err.h"
#include "bench/read.h"
#include "calib/measured.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>

struct own_json_reader {
    struct bench_result *r;
    const char *file, *kind;
    struct json j;
    bool bad_row;
};

/* Whole numbers of a layout; what is no possible one is unknown. */
static int whole(struct json *j)
{
    const double value = bench_json_number(j);
    return value >= 1 && value <= INT_MAX ? (int)value : 0;
}

static bool layout_key(struct own_json_reader *rd, struct json_text key, struct layout *w)
{
    if (json_text_is(key, "ranks"))
        w->ranks = whole(&rd->j);
    else if (json_text_is(key, "nodes"))
        w->nodes = whole(&rd->j);
    else if (json_text_is(key, "gpus_per_node"))
        w->per_node = whole(&rd->j);
    else
        return false;
    return true;
}

static const struct {
    const char *key;
    size_t offset; /* of a double in struct bench_row */
} numbers[] = {
    {"time_us", offsetof(struct bench_row, time_us)},
    {"min_us", offsetof(struct bench_row, min_us)},
    {"median_us", offsetof(struct bench_row, median_us)},
    {"p99_us", offsetof(struct bench_row, p99_us)},
    {"cv", offsetof(struct bench_row, cv)},
    {"algbw_GBps", offsetof(struct bench_row, algbw_GBps)},
    {"busbw_GBps", offsetof(struct bench_row, busbw_GBps)},
    {"wrong", offsetof(struct bench_row, wrong)},
};

static bool number_key(struct own_json_reader *rd, struct json_text key, struct bench_row *row)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (json_text_is(key, numbers[i].key)) {
            *(double *)(void *)((char *)row + numbers[i].offset) = bench_json_number(&rd->j);
            return true;
        }
    }
    return false;
}

static void row(struct own_json_reader *rd, struct bench_run *run)
{
    struct bench_row *out = bench_row_add(run);
    struct json_text key;
    json_enter(&rd->j, '{');
    while (json_next_key(&rd->j, &key)) {
        if (layout_key(rd, key, &out->where) || number_key(rd, key, out))
            continue;
        if (json_text_is(key, "op"))
            out->op = measured_op(bench_json_text(&rd->j, rd->r));
        else if (json_text_is(key, "dtype"))
            out->dtype = measured_dtype(bench_json_text(&rd->j, rd->r));
        else if (json_text_is(key, "redop")) {
            const char *name = bench_json_text(&rd->j, rd->r);
            out->redop = specter_redop_parse(name, strlen(name));
        } else if (json_text_is(key, "root"))
            out->root = (int)json_i64(&rd->j, -1);
        else if (json_text_is(key, "bytes"))
            out->bytes = json_u64(&rd->j, 0);
        else if (json_text_is(key, "count"))
            out->count = json_u64(&rd->j, 0);
        else if (json_text_is(key, "in_place"))
            out->in_place = json_bool(&rd->j, false);
        else if (json_text_is(key, "us"))
            out->sample = bench_json_numbers(&rd->j, &rd->r->arena, &out->nsamples);
        else
            json_skip(&rd->j);
    }
    if (rd->j.error == NULL && out->time_us > 0 && out->bytes > 0 &&
        out->op != SPECTER_COMM_OP_COUNT)
        return;
    rd->bad_row |= rd->j.error == NULL;
    run->nrows--;
}

static void one_run(struct own_json_reader *rd)
{
    struct bench_run *run = bench_run_add(rd->r);
    struct json *j = &rd->j;
    struct json_text key, name;
    run->file = rd->file;
    run->line = 1;
    json_enter(j, '{');
    while (json_next_key(j, &key)) {
        if (layout_key(rd, key, &run->where))
            continue;
        if (json_text_is(key, "backend")) {
            run->backend = bench_json_text(j, rd->r);
        } else if (json_text_is(key, "library")) {
            run->library = bench_json_text(j, rd->r);
        } else if (json_text_is(key, "gpu")) {
            run->gpu = bench_json_text(j, rd->r);
        } else if (json_text_is(key, "hosts")) {
            for (bool any = json_enter(j, '['); any && json_next_item(j);) {
                const char *host = bench_json_text(j, rd->r);
                bench_host_add(rd->r, run, host, strlen(host));
            }
        } else if (json_text_is(key, "settings")) {
            for (bool any = json_enter(j, '{'); any && json_next_key(j, &name);) {
                const char *setting = bench_keep(rd->r, name.p, name.len);
                bench_setting_add(rd->r, run, setting, bench_json_text(j, rd->r));
            }
        } else if (json_text_is(key, "rows")) {
            for (bool any = json_enter(j, '['); any && json_next_item(j);)
                row(rd, run);
        } else {
            json_skip(j);
        }
    }
}

static void document(struct own_json_reader *rd)
{
    struct json_text key;
    json_enter(&rd->j, '{');
    while (json_next_key(&rd->j, &key)) {
        if (json_text_is(key, "kind")) {
            rd->kind = bench_json_text(&rd->j, rd->r);
        } else if (json_text_is(key, "runs")) {
            for (bool any = json_enter(&rd->j, '['); any && json_next_item(&rd->j);)
                one_run(rd);
        } else {
            json_skip(&rd->j);
        }
    }
    json_end(&rd->j);
}

int bench_read_own_json(struct bench_result *r, struct stream *s, const char *file, struct err *e)
{
    struct own_json_reader rd = {.r = r, .file = file, .kind = ""};
    const size_t first = r->nruns;
    struct buf text = BUF_INIT;
    int rc = bench_json_file(s, file, &text, e);
    if (rc == 0) {
        json_init(&rd.j, text.data, text.len);
        document(&rd);
        rc = bench_json_end(&rd.j, r, first, file, e);
    }
    if (rc == 0 && rd.kind[0] != '\0' && strcmp(rd.kind, "collective") != 0)
        rc = err_set(e, ERR_INPUT, "%s: a document of kind '%.32s' holds no measured rows", file,
                     rd.kind);
    if (rc == 0 && rd.bad_row)
        bench_note(r, file, 1, "a row without operation, bytes or time is passed over");
    r->damaged |= rd.bad_row;
    buf_release(&text);
    return rc;
}

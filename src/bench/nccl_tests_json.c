/* SPDX-License-Identifier: MIT
 *
 * The JSON of nccl-tests (-J, from 2.17 on): one object a run, several one after another or in an
 * array. Numbers are JSON numbers, a NaN is the string "nan", the root a string; a part that was
 * not measured is null. 2.19 on adds the times of single iterations in out_of_place_per_iter and
 * in_place_per_iter. Of a process with several GPUs only the first stands in `devices`.
 *
 * Of the environment only what a library of communication reads is kept: the rest is not ours to
 * copy.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "bench/read.h"
#include "calib/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512  /* of a name, an argument, a setting */
#define TIME_MAX 1e12 /* us: twelve days */

struct nccl_tests_json_reader {
    struct bench_result *r;
    const char *file;
    struct json j;
    size_t run;
    int per_process; /* GPUs of a process: nthreads x ngpus */
    int *on_host;    /* processes on each host; owned */
    size_t cap_on_host;
    bool bad_row;
};

static struct bench_run *run_of(struct nccl_tests_json_reader *rd)
{
    return &rd->r->runs[rd->run];
}

/* ---- what was run ---- */

static void env(struct nccl_tests_json_reader *rd)
{
    while (json_next_item(&rd->j)) {
        const char *one = bench_json_text(&rd->j, rd->r), *equal = strchr(one, '=');
        const size_t len = equal != NULL ? (size_t)(equal - one) : 0;
        if (bench_is_library_setting(one, len))
            bench_setting_add(rd->r, run_of(rd), arena_strndup(&rd->r->arena, one, len), equal + 1);
    }
}

static void device(struct nccl_tests_json_reader *rd)
{
    struct bench_run *run = run_of(rd);
    struct json_text key;
    const char *host = "", *gpu = "";
    size_t index;
    json_enter(&rd->j, '{');
    while (json_next_key(&rd->j, &key)) {
        if (json_text_is(key, "hostname"))
            host = bench_json_text(&rd->j, rd->r);
        else if (json_text_is(key, "device_info"))
            gpu = bench_json_text(&rd->j, rd->r);
        else
            json_skip(&rd->j);
    }
    index = bench_host_add(rd->r, run, host, strlen(host));
    ARRAY_GROW(rd->on_host, rd->cap_on_host, index + 1);
    rd->on_host[index]++;
    run->where.ranks++;
    if (rd->on_host[index] > run->where.per_node)
        run->where.per_node = rd->on_host[index];
    if (run->gpu[0] == '\0')
        run->gpu = gpu;
    else if (strcmp(run->gpu, gpu) != 0)
        run->other_gpu = gpu;
}

static void config(struct nccl_tests_json_reader *rd)
{
    struct json_text key;
    int64_t threads = 1, gpus = 1;
    json_enter(&rd->j, '{');
    while (json_next_key(&rd->j, &key)) {
        if (json_text_is(key, "nthreads")) {
            threads = json_i64(&rd->j, 1);
        } else if (json_text_is(key, "ngpus")) {
            gpus = json_i64(&rd->j, 1);
        } else if (json_text_is(key, "devices") && json_enter(&rd->j, '[')) {
            while (json_next_item(&rd->j))
                device(rd);
        } else if (!json_text_is(key, "devices")) {
            json_skip(&rd->j);
        }
    }
    if (threads >= 1 && threads <= 4096 && gpus >= 1 && gpus <= 4096)
        rd->per_process = (int)(threads * gpus);
}

/* ---- rows ---- */

static void measured(struct nccl_tests_json_reader *rd, struct bench_row *row, bool *any)
{
    struct json_text key;
    *any = json_enter(&rd->j, '{');
    while (*any && json_next_key(&rd->j, &key)) {
        if (json_text_is(key, "time") || json_text_is(key, "cpu_time"))
            row->time_us = bench_json_number(&rd->j);
        else if (json_text_is(key, "alg_bw"))
            row->algbw_GBps = bench_json_number(&rd->j);
        else if (json_text_is(key, "bus_bw"))
            row->busbw_GBps = bench_json_number(&rd->j);
        else if (json_text_is(key, "nwrong"))
            row->wrong = bench_json_number(&rd->j);
        else
            json_skip(&rd->j);
    }
}

static void per_iteration(struct nccl_tests_json_reader *rd, struct bench_row *row)
{
    struct json_text key;
    bool any = json_enter(&rd->j, '{');
    while (any && json_next_key(&rd->j, &key)) {
        if (json_text_is(key, "min_us"))
            row->min_us = bench_json_number(&rd->j);
        else if (json_text_is(key, "p50_us"))
            row->median_us = bench_json_number(&rd->j);
        else if (json_text_is(key, "p99_us"))
            row->p99_us = bench_json_number(&rd->j);
        else if (json_text_is(key, "cv_pct"))
            row->cv = bench_json_number(&rd->j) / 100;
        else if (json_text_is(key, "times_us"))
            row->sample = bench_json_numbers(&rd->j, &rd->r->arena, &row->nsamples);
        else
            json_skip(&rd->j);
    }
}

/* A part takes what the row says of both, whichever came first. */
static void keep_part(struct nccl_tests_json_reader *rd, const struct bench_row *both,
                      struct bench_row part, bool in_place)
{
    struct bench_row *row;
    if (both->bytes == 0)
        return; /* fewer elements than ranks: nothing was moved */
    if (!(part.time_us > 0 && part.time_us < TIME_MAX)) {
        rd->bad_row = true;
        return;
    }
    row = bench_row_add(run_of(rd));
    *row = part;
    row->in_place = in_place;
    row->bytes = both->bytes;
    row->count = both->count;
    row->dtype = both->dtype;
    row->redop = both->redop;
    row->root = both->root;
}

static void result(struct nccl_tests_json_reader *rd)
{
    struct bench_run scratch = {.nrows = 0};
    struct bench_row *both, *part; /* what both parts share, then out of place, in place */
    struct json_text key;
    bool any[2] = {false, false};
    const char *redop;
    for (int i = 0; i < 3; i++)
        bench_row_add(&scratch);
    both = &scratch.rows[0];
    part = &scratch.rows[1];
    json_enter(&rd->j, '{');
    while (json_next_key(&rd->j, &key)) {
        if (json_text_is(key, "size")) {
            both->bytes = json_u64(&rd->j, 0);
        } else if (json_text_is(key, "count")) {
            both->count = json_u64(&rd->j, 0);
        } else if (json_text_is(key, "type")) {
            both->dtype = measured_dtype(bench_json_text(&rd->j, rd->r));
        } else if (json_text_is(key, "redop")) {
            redop = bench_json_text(&rd->j, rd->r);
            both->redop = strcmp(redop, "mulsum") == 0 ? SPECTER_REDOP_PREMUL
                                                       : specter_redop_parse(redop, strlen(redop));
        } else if (json_text_is(key, "root")) {
            double root = bench_json_number(&rd->j);
            both->root = root >= 0 && root < 1e6 ? (int)root : -1;
        } else if (json_text_is(key, "out_of_place")) {
            measured(rd, &part[0], &any[0]);
        } else if (json_text_is(key, "in_place")) {
            measured(rd, &part[1], &any[1]);
        } else if (json_text_is(key, "out_of_place_per_iter")) {
            per_iteration(rd, &part[0]);
        } else if (json_text_is(key, "in_place_per_iter")) {
            per_iteration(rd, &part[1]);
        } else {
            json_skip(&rd->j);
        }
    }
    for (int i = 0; i < 2 && rd->j.error == NULL; i++) {
        if (any[i])
            keep_part(rd, both, part[i], i == 1);
    }
    free(scratch.rows);
}

/* ---- the document ---- */

static void document(struct nccl_tests_json_reader *rd)
{
    struct bench_run *run = bench_run_add(rd->r);
    struct json *j = &rd->j;
    struct json_text key;
    rd->run = rd->r->nruns - 1;
    rd->per_process = 1;
    run->file = rd->file;
    run->line = 1;
    run->backend = "nccl";
    for (size_t i = 0; i < rd->cap_on_host; i++)
        rd->on_host[i] = 0;
    json_enter(j, '{');
    while (json_next_key(j, &key)) {
        bool list =
            json_text_is(key, "args") || json_text_is(key, "env") || json_text_is(key, "results");
        if (list && !json_enter(j, '['))
            continue;
        if (json_text_is(key, "args")) {
            for (bool first = true; json_next_item(j); first = false) {
                const char *arg = bench_json_text(j, rd->r), *slash = strrchr(arg, '/');
                run->program = !first ? run->program : slash != NULL ? slash + 1 : arg;
            }
        } else if (json_text_is(key, "env")) {
            env(rd);
        } else if (json_text_is(key, "results")) {
            while (json_next_item(j))
                result(rd);
        } else if (json_text_is(key, "config")) {
            config(rd);
        } else if (json_text_is(key, "nccl_version")) {
            int64_t n = json_i64(j, 0);
            if (n > 0 && n < 10000000)
                run->library = arena_printf(&rd->r->arena, "NCCL %d.%d.%d", (int)n / 10000,
                                            (int)n / 100 % 100, (int)n % 100);
        } else {
            json_skip(j);
        }
    }
    run->where.ranks *= rd->per_process;
    run->where.per_node *= rd->per_process;
    run->where.nodes = (int)run->nhosts;
    for (size_t i = 0; i < run->nrows; i++) {
        run->rows[i].op = measured_op(run->program);
        run->rows[i].where = run->where;
    }
}

int bench_read_nccl_tests_json(struct bench_result *r, struct stream *s, const char *file,
                               struct err *e)
{
    struct nccl_tests_json_reader rd = {.r = r, .file = file};
    const size_t first = r->nruns;
    struct buf text = BUF_INIT;
    int rc = bench_json_file(s, file, &text, e);
    if (rc == 0) {
        json_init(&rd.j, text.data, text.len);
        if (json_peek(&rd.j) == '[' && json_enter(&rd.j, '[')) {
            while (json_next_item(&rd.j))
                document(&rd);
        } else {
            while (rd.j.error == NULL && json_peek(&rd.j) == '{')
                document(&rd);
        }
        json_end(&rd.j);
        rc = bench_json_end(&rd.j, r, first, file, e);
    }
    if (rc == 0 && rd.bad_row)
        bench_note(r, file, 1, "a result whose time is not above 0 is passed over");
    r->damaged |= rc == 0 && rd.bad_row;
    free(rd.on_host);
    buf_release(&text);
    return rc;
}

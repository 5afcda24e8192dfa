/* SPDX-License-Identifier: MIT */
#include "bench/result.h"

#include "base/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512

void bench_result_init(struct bench_result *r)
{
    *r = (struct bench_result){0};
    arena_init(&r->arena);
}

void bench_result_release(struct bench_result *r)
{
    for (size_t i = 0; i < r->nruns; i++) {
        free(r->runs[i].rows);
        free(r->runs[i].hosts);
        free(r->runs[i].settings);
    }
    free(r->runs);
    free(r->notes);
    arena_release(&r->arena);
}

const char *bench_keep(struct bench_result *r, const char *text, size_t len)
{
    char *copy = arena_strndup(&r->arena, text, len < TEXT_MAX ? len : TEXT_MAX);
    text_make_printable(copy);
    return copy;
}

struct bench_run *bench_run_add(struct bench_result *r)
{
    struct bench_run *run;
    ARRAY_GROW(r->runs, r->cap_runs, r->nruns + 1);
    run = &r->runs[r->nruns++];
    *run = (struct bench_run){
        .file = "",
        .program = "",
        .backend = "",
        .library = "",
        .gpu = "",
        .other_gpu = "",
        .paths.network = "",
    };
    return run;
}

struct bench_row *bench_row_add(struct bench_run *run)
{
    struct bench_row *row;
    ARRAY_GROW(run->rows, run->cap_rows, run->nrows + 1);
    row = &run->rows[run->nrows++];
    *row = (struct bench_row){
        .op = SPECTER_COMM_OP_COUNT,
        .dtype = SPECTER_DTYPE_UNKNOWN,
        .redop = SPECTER_REDOP_NONE,
        .root = -1,
        .time_us = NAN,
        .min_us = NAN,
        .median_us = NAN,
        .p99_us = NAN,
        .cv = NAN,
        .celsius = NAN,
        .algbw_GBps = NAN,
        .busbw_GBps = NAN,
        .wrong = NAN,
    };
    return row;
}

size_t bench_host_add(struct bench_result *r, struct bench_run *run, const char *name, size_t len)
{
    for (size_t i = 0; i < run->nhosts; i++) {
        if (strlen(run->hosts[i]) == len && memcmp(run->hosts[i], name, len) == 0)
            return i;
    }
    ARRAY_GROW(run->hosts, run->cap_hosts, run->nhosts + 1);
    run->hosts[run->nhosts] = bench_keep(r, name, len);
    return run->nhosts++;
}

void bench_setting_add(struct bench_result *r, struct bench_run *run, const char *name,
                       const char *value)
{
    for (size_t i = 0; i < run->nsettings; i++) {
        if (strcmp(run->settings[i].name, name) == 0) {
            if (strcmp(run->settings[i].value, value) != 0)
                run->settings[i].value = bench_keep(r, value, strlen(value));
            return;
        }
    }
    ARRAY_GROW(run->settings, run->cap_settings, run->nsettings + 1);
    run->settings[run->nsettings++] = (struct bench_setting){bench_keep(r, name, strlen(name)),
                                                             bench_keep(r, value, strlen(value))};
}

bool bench_is_library_setting(const char *name, size_t len)
{
    static const char *const prefixes[] = {"NCCL_", "RCCL_", "FI_", "UCX_", "MSCCL"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const size_t n = strlen(prefixes[i]);
        if (len > n && strncmp(name, prefixes[i], n) == 0)
            return true;
    }
    return false;
}

const char *bench_setting(const struct bench_run *run, const char *name)
{
    for (size_t i = 0; i < run->nsettings; i++) {
        if (strcmp(run->settings[i].name, name) == 0)
            return run->settings[i].value;
    }
    return NULL;
}

void bench_note(struct bench_result *r, const char *file, size_t line, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list args;
    if (file[0] != '\0')
        buf_printf(&text, "%s:%zu: ", file, line);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    text_make_printable(text.data);
    ARRAY_GROW(r->notes, r->cap_notes, r->nnotes + 1);
    r->notes[r->nnotes++] = arena_strndup(&r->arena, text.data, text.len);
    buf_release(&text);
}

void bench_row_rates(struct bench_row *row)
{
    bool known = row->time_us > 0 && row->bytes > 0;
    row->algbw_GBps = known ? (double)row->bytes / row->time_us / 1e3 : NAN;
    row->busbw_GBps = NAN;
    if (row->op != SPECTER_COMM_OP_COUNT && row->where.ranks > 0)
        row->busbw_GBps =
            row->algbw_GBps * specter_comm_op_bus_factor(row->op, (uint64_t)row->where.ranks);
}

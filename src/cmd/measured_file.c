/* SPDX-License-Identifier: MIT */
#include "cmd/measured_file.h"

#include "base/buf.h"
#include "base/err.h"
#include "bench/judge.h"
#include "bench/read.h"
#include "model/profile_json.h"

#include <stdio.h>
#include <string.h>

/* Returns whether the operation of a row in place has a row out of place. */
static bool is_repeated(const struct bench_run *run, const struct bench_row *row)
{
    for (size_t i = 0; i < run->nrows && row->in_place; i++) {
        if (!run->rows[i].in_place && run->rows[i].op == row->op)
            return true;
    }
    return false;
}

/* Calls of one root that follow each other overlap: the root is done first, and goes on. */
static bool calls_overlap(const struct bench_run *run, const struct bench_row *row)
{
    const char *root = bench_setting(run, "root");
    return (row->op == SPECTER_BROADCAST || row->op == SPECTER_REDUCE) &&
           (root == NULL || strcmp(root, "rotates") != 0);
}

/* Why a row cannot be compared with a prediction; NULL: it can. */
static const char *why_not(const struct bench_run *run, const struct bench_row *row,
                           const struct profile_pair *on)
{
    if (row->op == SPECTER_COMM_OP_COUNT)
        return "an operation that is not known";
    if (on->gpu == NULL)
        return run->gpu[0] == '\0' ? "the log names no GPU: --gpu says it"
                                   : "a GPU without a profile: --gpu names one";
    if (run->other_gpu[0] != '\0')
        return "ranks on GPUs of different kinds";
    if (on->network == NULL)
        return "the GPU's profile has no network: --network names one";
    if (!(row->time_us > 0))
        return "no time";
    if (row->wrong > 0)
        return "the result was wrong";
    if (row->bytes == 0)
        return "0 bytes: nothing is sent";
    if (row->where.ranks == 0)
        return "the number of ranks is not told";
    if (row->where.ranks == 1)
        return "a single rank: nothing is sent";
    return calls_overlap(run, row) ? "calls of one root overlap" : NULL;
}

static void add_row(struct measured *m, const struct bench_run *run, struct bench_row *row,
                    const struct profile_pair *on, const char *file)
{
    const char *why = why_not(run, row, on), *slash = strrchr(file, '/');
    const char *base = slash != NULL ? slash + 1 : file;
    struct measured_row added;
    if (why != NULL) {
        measured_skip(m, file, row->line, false, why);
        return;
    }
    if (row->where.nodes == 0)
        row->where = layout_dense(on->network, row->where.ranks);
    added = bench_question(run, row, on->gpu, on->network);
    added.file = file;
    added.line = row->line;
    added.source = intern_add(&m->names, base, strlen(base));
    measured_add(m, &added);
}

/* *assumed: the network that was said to be assumed. */
static int add_run(struct measured *m, struct bench_run *run, const struct measured_opts *opts,
                   const char *file, const struct network_profile **assumed, struct err *e)
{
    struct profile_pair on = {opts->gpu, opts->net};
    bench_infer(run, SPECTER_COMM_OP_COUNT);
    if (on.gpu == NULL)
        on.gpu = gpu_profile_of_device(run->gpu);
    if (on.network == NULL && on.gpu != NULL && on.gpu->network != NULL) {
        on.network = network_profile_find(on.gpu->network, e);
        if (on.network == NULL)
            return -1;
        if (on.network != *assumed)
            fprintf(stderr, "specter: %s: no --network given, assuming %s\n", file,
                    on.network->name);
        *assumed = on.network;
    }
    for (size_t i = 0; i < run->nrows; i++) {
        if (!is_repeated(run, &run->rows[i]))
            add_row(m, run, &run->rows[i], &on, file);
    }
    return 0;
}

static int read_log(struct measured *m, const char *path, const struct measured_opts *opts,
                    struct err *e)
{
    struct bench_result log;
    struct buf shown = BUF_INIT;
    const struct network_profile *assumed = NULL;
    const char *file;
    int status;
    bench_result_init(&log);
    status = bench_read(&log, path, e);
    buf_put_printable(&shown, path, strlen(path));
    file = intern_add(&m->names, shown.data, shown.len);
    for (size_t i = 0; i < log.nnotes && status == 0; i++)
        fprintf(stderr, "specter: note: %s\n", log.notes[i]);
    if (status == 0 && log.damaged)
        measured_skip(m, file, log.runs[0].line, true, "part of the log cannot be read");
    for (size_t i = 0; i < log.nruns && status == 0; i++)
        status = add_run(m, &log.runs[i], opts, file, &assumed, e);
    buf_release(&shown);
    bench_result_release(&log);
    return status;
}

int cmd_measured_read(struct measured *m, const char *path, const struct measured_opts *opts,
                      struct err *e)
{
    struct err no_table, no_log;
    if (measured_read(m, path, opts, &no_table) == 0 || read_log(m, path, opts, &no_log) == 0)
        return 0;
    *e = no_table;
    return -1;
}

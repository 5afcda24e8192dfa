/* SPDX-License-Identifier: MIT
 *
 * profile_<backend>_world<N>_<time>.txt, as `specter bench collective` and scripts before it write
 * it:
 *
 *     Configuration: World Size=4
 *     Backend: nccl
 *
 *     Tensor Size: 1,048,576 elements (4.19 MB)
 *       AllReduce:     0.090 ms | AlgBW: 46.60 GB/s | BusBW: 69.91 GB/s
 *
 * Elements are of fp32 and of one rank: the full buffer of AllGather and ReduceScatter is the
 * number of ranks times that. Rates are taken from times, since scripts differ in what they call GB
 * and AlgBW.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/stream.h"
#include "base/opt.h"
#include "bench/read.h"
#include "calib/measured.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES ((size_t)64 << 10)
#define RANKS_MAX (1 << 20)
#define ELEMENTS_MAX ((uint64_t)1 << 42)
#define TIME_MAX_MS 1e9 /* twelve days */

struct profile_text_reader {
    struct bench_result *r;
    const char *file;
    size_t line, run;
    uint64_t elements; /* of the rows that follow; 0: none were named */
};

/* Digits with commas between; 0 where there are none, or too many. */
static uint64_t grouped_number(const char *text)
{
    uint64_t value = 0;
    for (; (*text >= '0' && *text <= '9') || *text == ','; text++) {
        if (*text != ',')
            value = value * 10 + (uint64_t)(*text - '0');
        if (value > ELEMENTS_MAX)
            return 0;
    }
    return value;
}

static void damage(struct profile_text_reader *rd, const char *what)
{
    bench_note(rd->r, rd->file, rd->line, "%s", what);
    rd->r->damaged = true;
}

/* "  AllReduce:     0.090 ms | AlgBW: ...". Lines of another kind are passed over. */
static void measured_line(struct profile_text_reader *rd, const char *text)
{
    char name[32], number[32], unit[4] = "";
    struct bench_run *run = &rd->r->runs[rd->run];
    struct bench_row *row;
    enum specter_comm_op op;
    double ms;
    if (sscanf(text, " %31[A-Za-z_]: %31s %3s", name, number, unit) < 2)
        return;
    op = measured_op(name);
    if (op == SPECTER_COMM_OP_COUNT)
        return;
    if (strcmp(unit, "ms") != 0 || opt_parse_double("", number, &ms, NULL) < 0 || !(ms > 0) ||
        ms > TIME_MAX_MS || rd->elements == 0) {
        damage(rd,
               rd->elements == 0 ? "a time without a tensor size" : "the time is no time in ms");
        return;
    }
    row = bench_row_add(run);
    row->line = rd->line;
    row->op = op;
    row->dtype = SPECTER_FP32;
    row->count = rd->elements;
    row->where = run->where;
    row->time_us = ms * 1e3;
    row->bytes = specter_comm_op_bytes(op, rd->elements, SPECTER_FP32, (uint64_t)run->where.ranks);
    if (row->bytes == 0)
        run->nrows--;
}

static void one_line(struct profile_text_reader *rd, const char *text)
{
    static const char world[] = "World Size=", backend[] = "Backend:", size[] = "Tensor Size:";
    const char *at = strstr(text, world);
    if (at != NULL) {
        const uint64_t ranks = grouped_number(at + strlen(world));
        struct bench_run *run = bench_run_add(rd->r);
        rd->run = rd->r->nruns - 1;
        rd->elements = 0;
        run->file = rd->file;
        run->line = rd->line;
        if (ranks > 0 && ranks <= RANKS_MAX)
            run->where.ranks = (int)ranks;
        else
            damage(rd, "the world size is out of range");
        return;
    }
    if (rd->r->nruns == rd->run)
        return; /* in front of the first one's head */
    at = strstr(text, backend);
    if (at != NULL) {
        at += strlen(backend);
        at += strspn(at, " ");
        rd->r->runs[rd->run].backend = bench_keep(rd->r, at, strcspn(at, " \t\r"));
        return;
    }
    at = strstr(text, size);
    if (at != NULL) {
        at += strlen(size);
        rd->elements = grouped_number(at + strspn(at, " "));
        if (rd->elements == 0)
            damage(rd, "the tensor size is out of range");
        return;
    }
    measured_line(rd, text);
}

int bench_read_profile(struct bench_result *r, struct stream *s, const char *file, struct err *e)
{
    struct profile_text_reader rd = {.r = r, .file = file, .run = r->nruns};
    struct buf text = BUF_INIT;
    struct lines l;
    int rc;
    lines_init(&l, s, LINE_MAX_BYTES);
    while ((rc = lines_next(&l, e)) > 0) {
        rd.line = (size_t)l.number;
        buf_reset(&text);
        buf_put(&text, l.text, l.len);
        one_line(&rd, text.data);
    }
    lines_release(&l);
    buf_release(&text);
    return rc;
}

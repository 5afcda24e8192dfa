/* SPDX-License-Identifier: MIT
 *
 * Writes the result of `specter bench collective` in the forms of other programs, and as JSON
 * (bench_report.h).
 */
#include "report/bench_report.h"

#include "base/buf.h"
#include "base/err.h"
#include "bench/collective.h"
#include "bench/judge.h"
#include "calib/measured.h"
#include "report/json_add.h"
#include "report/op_text.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* ---- nccl-tests' table ---- */

static bool expected_us(const struct bench_run *run, const struct bench_row *row,
                        const struct bench_target *target, double *us)
{
    struct bench_expected expected;
    struct err e = {0};
    if (target->gpu == NULL || target->net == NULL ||
        bench_expect(run, row, target->gpu, target->net, &expected, &e) < 0)
        return false;
    *us = expected.of.us;
    return true;
}

void bench_table_head(const struct bench_run *run, const struct bench_target *target, FILE *out)
{
    bool expects = target->gpu != NULL && target->net != NULL;
    fprintf(out, "# %s on %s: %d rank%s, %d node%s\n#\n", run->library, run->gpu, run->where.ranks,
            run->where.ranks == 1 ? "" : "s", run->where.nodes, run->where.nodes == 1 ? "" : "s");
    fprintf(out, "# %10s  %12s  %8s  %6s  %6s  %30s     %30s%s\n", "", "", "", "", "",
            "out-of-place", "in-place", expects ? "   expected" : "");
    fprintf(out, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s %6s  %7s  %6s  %6s %6s%s\n", "size",
            "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw",
            "busbw", "#wrong", expects ? "     time" : "");
    fprintf(out, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s %6s  %7s  %6s  %6s %6s%s\n", "(B)",
            "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)",
            "", expects ? "     (us)" : "");
}

static void print_us(double us, FILE *out)
{
    fprintf(out, "  %7.*f", us >= 10000 ? 0 : us >= 100 ? 1 : 2, us);
}

static void print_times(const struct bench_row *row, FILE *out)
{
    print_us(row->time_us, out);
    fprintf(out, "  %6.2f  %6.2f", row->algbw_GBps, row->busbw_GBps);
    if (isnan(row->wrong))
        fprintf(out, " %6s", "N/A");
    else
        fprintf(out, " %6.0f", row->wrong);
}

void bench_table_row(const struct bench_run *run, const struct bench_row *row,
                     const struct bench_target *target, FILE *out)
{
    double us;
    if (!row->in_place) {
        const struct bench_row *before = row > run->rows ? row - 1 : NULL;
        if (before == NULL || before->op != row->op || before->where.ranks != row->where.ranks)
            fprintf(out, "# %s, %d ranks\n", measured_op_name(row->op), row->where.ranks);
        fprintf(out, "%12llu  %12llu  %8s  %6s  %6d", (unsigned long long)row->bytes,
                (unsigned long long)row->count, nccl_tests_dtype(row->dtype),
                row->redop == SPECTER_REDOP_NONE ? "none" : specter_redop_name(row->redop),
                row->root);
        print_times(row, out);
        if (bench_op_in_place(row->op))
            return;
        fprintf(out, "  %7s  %6s  %6s %6s", "N/A", "N/A", "N/A", "N/A");
    } else {
        print_times(row, out);
    }
    if (expected_us(run, row, target, &us))
        print_us(us, out);
    fputc('\n', out);
    fflush(out); /* what is ended from outside leaves what it has */
}

void bench_table_end(const struct bench_run *run, FILE *out)
{
    double sum = 0, wrong = 0;
    size_t n = 0;
    for (size_t i = 0; i < run->nrows; i++) {
        sum += isfinite(run->rows[i].busbw_GBps) ? run->rows[i].busbw_GBps : 0;
        n += isfinite(run->rows[i].busbw_GBps);
        wrong += run->rows[i].wrong > 0 ? run->rows[i].wrong : 0;
    }
    fprintf(out, "# Out of bounds values : %.0f %s\n", wrong, wrong > 0 ? "FAILED" : "OK");
    if (n > 0)
        fprintf(out, "# Avg bus bandwidth    : %g\n", sum / (double)n);
    fputs("#\n", out);
}

/* ---- rows of docs/validate.md ---- */

static void put_csv(const char *text, FILE *out)
{
    struct buf b = BUF_INIT;
    csv_put_text(&b, text);
    fputs(b.data != NULL ? b.data : "", out);
    buf_release(&b);
}

void bench_table_csv(const struct bench_run *run, const struct bench_target *target, bool messages,
                     FILE *out)
{
    fprintf(out,
            "%s,bytes,ranks,nodes,gpus_per_node,dtype,time_us,algbw_GBps,busbw_GBps,min_us,"
            "median_us,p99_us,cv,wrong,gpu,gpu_profile,network_profile,source_id,notes\n",
            messages ? "test" : "collective");
    for (size_t i = 0; i < run->nrows; i++) {
        const struct bench_row *r = &run->rows[i];
        if (r->in_place || (r->op == SPECTER_SEND) != messages)
            continue;
        fprintf(out, "%s,%llu,%d,%d,%d,%s,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.4f,",
                measured_op_name(r->op), (unsigned long long)r->bytes, r->where.ranks,
                r->where.nodes, r->where.per_node, specter_dtype_name(r->dtype), r->time_us,
                r->algbw_GBps, r->busbw_GBps, r->min_us, r->median_us, r->p99_us, r->cv);
        if (!isnan(r->wrong))
            fprintf(out, "%.0f", r->wrong);
        fputc(',', out);
        put_csv(run->gpu, out);
        fprintf(out, ",%s,%s,specter_bench,", target->gpu != NULL ? target->gpu->name : "",
                target->net != NULL ? target->net->name : "");
        put_csv(run->library, out);
        fputc('\n', out);
    }
}

/* ---- CCL-Bench's text ---- */

static bool in_profile(const struct bench_row *r)
{
    return !r->in_place && r->dtype == SPECTER_FP32;
}

bool bench_table_has_profile(const struct bench_run *run)
{
    for (size_t i = 0; i < run->nrows; i++) {
        if (in_profile(&run->rows[i]))
            return true;
    }
    return false;
}

/* Returns whether row i is the first of its number of ranks; with `count`, also of its count. */
static bool is_first(const struct bench_run *run, size_t i, bool count)
{
    const struct bench_row *r = &run->rows[i];
    for (size_t k = 0; k < i; k++) {
        const struct bench_row *before = &run->rows[k];
        if (in_profile(before) && before->where.ranks == r->where.ranks &&
            (!count || before->count == r->count))
            return false;
    }
    return in_profile(r);
}

/* Rows of the size and the number of ranks of row i. */
static void print_size(const struct bench_run *run, size_t i, FILE *out)
{
    const struct bench_row *first = &run->rows[i];
    char digits[32], grouped[48];
    fputs("\nTensor Size: ", out);
    /* 1048576 as 1,048,576. */
    size_t n = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)first->count),
           at = 0;
    for (size_t k = 0; k < n; k++) {
        if (k > 0 && (n - k) % 3 == 0)
            grouped[at++] = ',';
        grouped[at++] = digits[k];
    }
    grouped[at] = '\0';
    fputs(grouped, out);
    fprintf(out, " elements (%.2f MB)\n",
            (double)first->count * specter_dtype_bits(first->dtype) / 8e6);
    for (; i < run->nrows; i++) {
        const struct bench_row *r = &run->rows[i];
        char name[32];
        if (!in_profile(r) || r->count != first->count || r->where.ranks != first->where.ranks)
            continue;
        snprintf(name, sizeof name, "%s:", specter_comm_op_name(r->op));
        fprintf(out, "  %-14s %.3f ms | AlgBW: %.2f GB/s | BusBW: %.2f GB/s\n", name,
                r->median_us / 1e3, (double)r->bytes / r->median_us / 1e3,
                r->busbw_GBps * r->time_us / r->median_us);
    }
}

void bench_table_profile(const struct bench_run *run, FILE *out)
{
    static const char line[] =
        "================================================================================";
    const char *gap = "";
    for (size_t i = 0; i < run->nrows; i++) {
        const int ranks = run->rows[i].where.ranks;
        if (!is_first(run, i, false))
            continue;
        fprintf(out, "%s%s\nConfiguration: World Size=%d\nBackend: %s\n%s\n", gap, line, ranks,
                run->backend, line);
        gap = "\n";
        for (size_t k = i; k < run->nrows; k++) {
            if (run->rows[k].where.ranks == ranks && is_first(run, k, true))
                print_size(run, k, out);
        }
    }
}

/* ---- JSON ---- */

static cJSON *row_json(const struct bench_row *r)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "op", measured_op_name(r->op));
    cJSON_AddStringToObject(o, "dtype", specter_dtype_name(r->dtype));
    if (r->redop != SPECTER_REDOP_NONE)
        cJSON_AddStringToObject(o, "redop", specter_redop_name(r->redop));
    if (r->root >= 0)
        cJSON_AddNumberToObject(o, "root", r->root);
    cJSON_AddNumberToObject(o, "bytes", (double)r->bytes);
    cJSON_AddNumberToObject(o, "count", (double)r->count);
    cJSON_AddNumberToObject(o, "ranks", r->where.ranks);
    cJSON_AddNumberToObject(o, "nodes", r->where.nodes);
    cJSON_AddNumberToObject(o, "gpus_per_node", r->where.per_node);
    cJSON_AddBoolToObject(o, "in_place", r->in_place);
    json_add_number(o, "time_us", r->time_us);
    json_add_number(o, "min_us", r->min_us);
    json_add_number(o, "median_us", r->median_us);
    json_add_number(o, "p99_us", r->p99_us);
    json_add_number(o, "cv", r->cv);
    json_add_number(o, "algbw_GBps", r->algbw_GBps);
    json_add_number(o, "busbw_GBps", r->busbw_GBps);
    json_add_number(o, "wrong", r->wrong);
    json_add_number(o, "temperature_C", r->celsius);
    cJSON_AddItemToObject(o, "us", cJSON_CreateDoubleArray(r->sample, (int)r->nsamples));
    return o;
}

cJSON *bench_table_json(const struct bench_result *result, bool complete)
{
    cJSON *doc = cJSON_CreateObject(), *runs;
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "collective");
    cJSON_AddBoolToObject(doc, "complete", complete);
    runs = cJSON_AddArrayToObject(doc, "runs");
    for (size_t i = 0; i < result->nruns; i++) {
        const struct bench_run *run = &result->runs[i];
        cJSON *o = cJSON_CreateObject(), *rows;
        bench_run_json(o, run);
        rows = cJSON_AddArrayToObject(o, "rows");
        for (size_t k = 0; k < run->nrows; k++)
            cJSON_AddItemToArray(rows, row_json(&run->rows[k]));
        cJSON_AddItemToArray(runs, o);
    }
    bench_notes_json(doc, result);
    return doc;
}

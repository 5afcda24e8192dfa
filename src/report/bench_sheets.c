/* SPDX-License-Identifier: MIT */
#include "report/bench_report.h"

#include <math.h>

static const struct sheet_column columns[] = {
    {"run", NULL, SHEET_COUNT, 0},
    {"op", "operation", SHEET_TEXT, 0},
    {"ranks", NULL, SHEET_COUNT, 0},
    {"nodes", NULL, SHEET_COUNT, 0},
    {"gpus_per_node", NULL, SHEET_COUNT, 0},
    {"dtype", "type", SHEET_TEXT, 0},
    {"in_place", "in place", SHEET_COUNT, 0},
    {"bytes", "size", SHEET_BYTES, 0},
    {"time_us", "time", SHEET_TIME, 0},
    {"busbw_GBps", "busbw GB/s", SHEET_RATE, 0},
    {"predicted_us", "predicted", SHEET_TIME, 0},
    {"predicted_busbw_GBps", NULL, SHEET_RATE, 0},
    {"low_us", "low", SHEET_TIME, 0},
    {"high_us", "high", SHEET_TIME, 0},
    {"ratio", "ratio", SHEET_RATE, 0},
    {"algo", "algorithm", SHEET_TEXT, 0},
    {"proto", "protocol", SHEET_TEXT, 0},
    {"channels", NULL, SHEET_COUNT, 0},
    {"min_us", NULL, SHEET_TIME, 0},
    {"median_us", NULL, SHEET_TIME, 0},
    {"p99_us", NULL, SHEET_TIME, 0},
    {"cv", NULL, SHEET_RATE, 0},
    {"wrong", NULL, SHEET_COUNT, 0},
    {"verdict", "verdict", SHEET_TEXT, 0},
};

static void put_row(struct sheet *s, const struct bench_study *study, size_t run,
                    const struct bench_judged *j)
{
    const struct bench_row *row = j->row;
    const bool known = isfinite(j->ratio);
    const struct bench_interval *in = &j->expected.interval;
    const bool named = row->op != SPECTER_COMM_OP_COUNT;
    sheet_number(s, (double)run);
    sheet_text(s, named ? specter_comm_op_name(row->op) : study->run->program);
    sheet_number(s, row->where.ranks);
    sheet_number(s, row->where.nodes);
    sheet_number(s, row->where.per_node);
    sheet_text(s, row->dtype != SPECTER_DTYPE_UNKNOWN ? specter_dtype_name(row->dtype) : "");
    sheet_number(s, row->in_place);
    sheet_number(s, (double)row->bytes);
    sheet_number(s, row->time_us * 1e3);
    sheet_number(s, row->busbw_GBps);
    sheet_number(s, known ? j->expected.of.us * 1e3 : NAN);
    sheet_number(s, known ? row->busbw_GBps / j->ratio : NAN);
    sheet_number(s, known ? in->low_us * 1e3 : NAN);
    sheet_number(s, known ? in->high_us * 1e3 : NAN);
    sheet_number(s, j->ratio);
    sheet_text(s, known ? j->expected.of.algo : "");
    sheet_text(s, known ? j->expected.of.proto : "");
    sheet_number(s, known && j->expected.of.channels > 0 ? j->expected.of.channels : NAN);
    sheet_number(s, row->min_us * 1e3);
    sheet_number(s, row->median_us * 1e3);
    sheet_number(s, row->p99_us * 1e3);
    sheet_number(s, row->cv);
    sheet_number(s, row->wrong);
    sheet_text(s, bench_verdict_word(j->verdict));
}

static void begin(struct sheet *s)
{
    sheet_init(s, "rows", "Measured and predicted", SHEET_COLUMNS(columns));
}

static void put_study(struct sheet *s, const struct bench_study *study, size_t run)
{
    for (size_t i = 0; i < study->nrows; i++)
        put_row(s, study, run, &study->rows[i]);
}

void bench_study_sheet(struct sheet *s, const struct bench_study *study)
{
    begin(s);
    put_study(s, study, 1);
}

/* Runs are counted from 1, in the order of the file. */
void bench_sheet(struct sheet *s, const struct bench_studies *studies)
{
    size_t run = 0;
    begin(s);
    for (size_t i = 0; i < studies->n; i++) {
        run += i == 0 || studies->list[i].run != studies->list[i - 1].run;
        put_study(s, &studies->list[i], run);
    }
}

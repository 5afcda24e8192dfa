/* SPDX-License-Identifier: MIT
 *
 * The workbooks of an analysis (workbooks.h).
 */
#include "report/workbooks.h"

#include "base/buf.h"
#include "base/order.h"
#include "report/analyze_sheets.h"
#include "report/op_text.h"

#include <math.h>
#include <stdlib.h>

#define ROWS_AT_ONCE 4096 /* of the longest table, which is never whole in memory */

/* ---- one rank's time ---- */

/* A step's, and of all that was recorded. */
static void sheet_of_timeline(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"type", NULL, SHEET_TEXT, 0},
        {"time_ms", NULL, SHEET_RATE, 0},
        {"percent", NULL, SHEET_SHARE, 0},
        {"recorded_ms", NULL, SHEET_RATE, 0},
        {"recorded_percent", NULL, SHEET_SHARE, 0},
    };
    const struct step_window *w = &a->step_time.window;
    const double steps = w->several ? w->steps : 1;
    const struct rank_result *r = &a->ranks[0];
    sheet_init(s, "gpu_timeline", "", SHEET_COLUMNS(columns));
    for (int k = 0; k < GPU_TIME_COUNT && r->breakdown.timed_ops > 0; k++) {
        const enum gpu_time type = (enum gpu_time)k;
        const double ns = gpu_time_of(&r->breakdown, type), all = gpu_time_of(&r->recorded, type);
        sheet_text(s, gpu_times[k].name);
        sheet_number(s, ns / steps / 1e6);
        sheet_number(s, ns / gpu_time_of(&r->breakdown, GPU_total_time));
        sheet_number(s, all / 1e6);
        sheet_number(s, all / gpu_time_of(&r->recorded, GPU_total_time));
    }
}

/* ---- communication of each rank ---- */

/* Orders rows so that those that are added up are neighbours: the same operation of a rank on one
 * communicator, of one size. */
static int by_kind(const void *pa, const void *pb)
{
    const struct op *a = *(const struct op *const *)pa, *b = *(const struct op *const *)pb;
    return a->coll.op != b->coll.op       ? ORDER(a->coll.op, b->coll.op)
           : a->coll.comm != b->coll.comm ? ORDER(a->coll.comm, b->coll.comm)
           : a->dtype != b->dtype         ? ORDER(a->dtype, b->dtype)
           : a->bytes != b->bytes         ? ORDER(a->bytes, b->bytes)
                                  : ORDER(a->flags & OP_BYTES_UNKNOWN, b->flags & OP_BYTES_UNKNOWN);
}

static const struct op **comm_ops(const struct rank *rank, size_t *n)
{
    const struct op **list = array_new(rank->nops + 1, sizeof *list);
    *n = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        if (op_is_comm(&rank->ops[i]))
            list[(*n)++] = &rank->ops[i];
    }
    return list;
}

#define WHO_COLUMNS                                                                             \
    {"rank", NULL, SHEET_COUNT, 0}, {"op", NULL, SHEET_TEXT, 0}, {"comm", NULL, SHEET_TEXT, 0}, \
        {"group", NULL, SHEET_TEXT, 0}, {"comm_size", NULL, SHEET_COUNT, 0},                    \
        {"dtype", NULL, SHEET_TEXT, 0},                                                         \
    {                                                                                           \
        "bytes", NULL, SHEET_BYTES, 0                                                           \
    }

static void who_cells(struct sheet *s, const struct run *run, const struct rank *rank,
                      const struct op *op)
{
    const bool named = op->coll.comm >= 0;
    sheet_number(s, rank->rank);
    sheet_text(s, comm_op_text(op->coll.op));
    sheet_text(s, named ? run->comms[op->coll.comm].id : "");
    sheet_text(s, comm_group_name(run, op->coll.comm));
    sheet_number(s, named && run->comms[op->coll.comm].size > 0 ? run->comms[op->coll.comm].size
                                                                : NAN);
    sheet_text(s, comm_dtype_text(op->dtype));
    sheet_number(s, (op->flags & OP_BYTES_UNKNOWN) != 0 ? NAN : (double)op->bytes);
}

/* Own durations of equal operations, waits included. */
static void add_kind(struct sheet *s, const struct run *run, const struct rank *rank,
                     const struct op *const *list, size_t n)
{
    double sum = 0, squares = 0, min = INFINITY, max = 0, timed = 0, mean;
    for (size_t i = 0; i < n; i++) {
        int64_t ns;
        if (!op_device_duration(list[i], &ns))
            continue;
        timed++;
        sum += (double)ns;
        min = fmin(min, (double)ns);
        max = fmax(max, (double)ns);
    }
    mean = timed > 0 ? sum / timed : NAN;
    for (size_t i = 0; i < n; i++) {
        int64_t ns;
        if (op_device_duration(list[i], &ns))
            squares += ((double)ns - mean) * ((double)ns - mean);
    }
    who_cells(s, run, rank, list[0]);
    sheet_number(s, (double)n);
    sheet_number(s, timed);
    sheet_number(s, timed > 0 ? sum : NAN);
    sheet_number(s, mean);
    sheet_number(s, timed > 1 ? sqrt(squares / (timed - 1)) : NAN);
    sheet_number(s, timed > 0 ? min : NAN);
    sheet_number(s, timed > 0 ? max : NAN);
}

static void sheet_of_kinds(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        WHO_COLUMNS,
        {"count", NULL, SHEET_COUNT, 0},
        {"timed", NULL, SHEET_COUNT, 0},
        {"total_us", NULL, SHEET_TIME, 0},
        {"mean_us", NULL, SHEET_TIME, 0},
        {"std_us", NULL, SHEET_TIME, 0},
        {"min_us", NULL, SHEET_TIME, 0},
        {"max_us", NULL, SHEET_TIME, 0},
    };
    sheet_init(s, "nccl_summary_long", "", SHEET_COLUMNS(columns));
    for (size_t r = 0; r < a->nranks; r++) {
        const struct rank *rank = a->ranks[r].rank;
        size_t n;
        const struct op **list = comm_ops(rank, &n);
        qsort(list, n, sizeof *list, by_kind);
        for (size_t i = 0, k; i < n; i = k) {
            for (k = i + 1; k < n && by_kind(&list[i], &list[k]) == 0;)
                k++;
            add_kind(s, a->run, rank, list + i, k - i);
        }
        free(list);
    }
}

/* ---- communication one by one ---- */

static const struct sheet_column long_columns[] = {
    WHO_COLUMNS,
    {"seq", NULL, SHEET_COUNT, 0},
    {"peer", NULL, SHEET_COUNT, 0},
    {"count", NULL, SHEET_COUNT, 0},
    {"device", NULL, SHEET_COUNT, 0},
    {"stream", NULL, SHEET_COUNT, 0},
    {"start_us", NULL, SHEET_TIME, 0},
    {"duration_us", NULL, SHEET_TIME, 0},
};

static void add_op(struct sheet *s, const struct run *run, const struct rank *rank,
                   const struct op *op, int64_t zero_ns)
{
    const int64_t seq = op->class == OP_P2P ? op->coll.p2p_seq : op->coll.seq;
    int64_t start_ns, end_ns, ns;
    who_cells(s, run, rank, op);
    sheet_number(s, seq >= 0 ? (double)seq : NAN);
    sheet_number(s, op->coll.peer >= 0 ? op->coll.peer : NAN);
    sheet_number(s, (double)op->coll.count);
    sheet_number(s, op->device);
    sheet_number(s, op->stream >= 0 ? op->stream : NAN);
    sheet_number(s, op_device_time(op, &start_ns, &end_ns) ? (double)(start_ns - zero_ns) : NAN);
    sheet_number(s, op_device_duration(op, &ns) ? (double)ns : NAN);
}

/* Times are of the first communication of any rank on. */
static int64_t first_start(const struct analysis *a)
{
    int64_t first_ns = INT64_MAX;
    for (size_t r = 0; r < a->nranks; r++) {
        const struct rank *rank = a->ranks[r].rank;
        for (size_t i = 0; i < rank->nops; i++) {
            int64_t start_ns, end_ns;
            if (op_is_comm(&rank->ops[i]) && op_device_time(&rank->ops[i], &start_ns, &end_ns))
                first_ns = start_ns < first_ns ? start_ns : first_ns;
        }
    }
    return first_ns;
}

static void begin_long(struct sheet *s)
{
    sheet_init(s, "nccl_long", "", SHEET_COLUMNS(long_columns));
}

static void add_long(struct xlsx *w, const struct analysis *a)
{
    const int64_t zero_ns = first_start(a);
    struct sheet s;
    begin_long(&s);
    xlsx_begin(w, "nccl_long", &s, 0);
    for (size_t r = 0; r < a->nranks; r++) {
        const struct rank *rank = a->ranks[r].rank;
        for (size_t i = 0; i < rank->nops; i++) {
            if (!op_is_comm(&rank->ops[i]))
                continue;
            add_op(&s, a->run, rank, &rank->ops[i], zero_ns);
            if (sheet_rows(&s) < ROWS_AT_ONCE)
                continue;
            xlsx_rows(w, &s);
            sheet_release(&s);
            begin_long(&s);
        }
    }
    xlsx_rows(w, &s);
    xlsx_end(w);
    sheet_release(&s);
}

/* ---- workbooks ---- */

struct worksheet {
    const char *name;
    void (*make)(struct sheet *s, const struct analysis *a);
    unsigned flags;
};

static const struct worksheet individual[] = {
    {"gpu_timeline", sheet_of_timeline, XLSX_CHART_ONE},
    {"ops_summary_by_category", sheet_of_kernel_kinds, 0},
    {"ops_summary", sheet_of_operations, 0},
    {"kernel_summary", sheet_of_top, 0},
    {"short_kernel_histogram", sheet_of_kernel_lengths, 0},
    {"GEMM", sheet_of_gemms, 0},
    {"GEMM_roofline", sheet_of_roofline, 0},
    {"operator_flops", sheet_of_operator_flops, 0},
    {"coll_analysis", sheet_of_kinds, 0},
    {"memcpy", sheet_of_copies, 0},
    {"idle", sheet_of_idle, 0},
    {"launch", sheet_of_launch, 0},
    {"steps", sheet_of_steps, 0},
};

static const struct worksheet collective[] = {
    {"nccl_summary_implicit_sync", sheet_of_collectives, 0},
    {"nccl_summary_long", sheet_of_kinds, 0},
    {"nccl_summary_p2p", sheet_of_p2p, 0},
    {"nccl_summary_all2allv", sheet_of_alltoall, 0},
    {"nccl_pairs", sheet_of_pairs, 0},
    {"straggler_summary", sheet_of_stragglers, 0},
    {"nccl_implicit_sync", sheet_of_collective_instances, 0},
};

static void add_worksheets(struct xlsx *w, const struct analysis *a,
                           const struct worksheet *worksheets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sheet s;
        worksheets[i].make(&s, a);
        xlsx_add(w, worksheets[i].name, &s, worksheets[i].flags);
        sheet_release(&s);
    }
}

static int write_rank(const char *dir, const struct analysis *a, size_t index, FILE *notes,
                      struct err *e)
{
    struct analysis one;
    struct buf path = BUF_INIT;
    struct xlsx *w;
    int rc;
    buf_printf(&path, "%s/" WORKBOOKS_INDIVIDUAL "/rank%d_individual_report.xlsx", dir,
               a->ranks[index].rank->rank);
    rc = xlsx_open(&w, path.data, e);
    buf_release(&path);
    if (rc < 0)
        return -1;
    analysis_of_rank(&one, a, index);
    add_worksheets(w, &one, individual, sizeof individual / sizeof *individual);
    analysis_of_rank_release(&one);
    return xlsx_close(w, notes, e);
}

static int write_collectives(const char *dir, const struct analysis *a, FILE *notes, struct err *e)
{
    struct buf path = BUF_INIT;
    struct xlsx *w;
    int rc;
    buf_printf(&path, "%s/" WORKBOOKS_COLLECTIVE "/collective_all_ranks.xlsx", dir);
    rc = xlsx_open(&w, path.data, e);
    buf_release(&path);
    if (rc < 0)
        return -1;
    add_worksheets(w, a, collective, sizeof collective / sizeof *collective);
    add_long(w, a);
    return xlsx_close(w, notes, e);
}

int analyze_workbooks(const char *dir, const struct analysis *a, FILE *notes, struct err *e)
{
    for (size_t i = 0; i < a->nranks; i++) {
        if (write_rank(dir, a, i, notes, e) < 0)
            return -1;
    }
    return write_collectives(dir, a, notes, e);
}

/* SPDX-License-Identifier: MIT
 *
 * The workbooks of a comparison (workbooks.h).
 */
#include "report/workbooks.h"

#include "base/buf.h"
#include "base/order.h"
#include "compare/side.h"
#include "report/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL_RANKS INT64_MIN

/* The data of a comparison's workbooks. */
struct workbook_tables {
    const struct compare_report *r;
    struct compare_runs sides[2];
    const char *labels[2];
    int64_t *ranks; /* of either side, in order; owned */
    size_t nranks, cap_ranks;
    const struct compare_row **rows; /* of the parts of ranks, by rank and part; owned */
    size_t nrows, cap_rows;
};

/* ---- times ---- */

/* Milliseconds of a step of a rank in one run; NAN: the run has no such rank, or no times of it. */
static double run_ms(const struct analysis *a, int64_t rank, enum gpu_time type)
{
    const struct step_window *w = &a->step_time.window;
    const double steps = (w->several ? w->steps : 1) * 1e6;
    if (rank == ALL_RANKS)
        return gpu_time_of(&a->total, type) / (double)(a->ntimed > 0 ? a->ntimed : 1) / steps;
    for (size_t i = 0; i < a->nranks; i++) {
        if (a->ranks[i].rank->rank == rank && a->ranks[i].breakdown.timed_ops > 0)
            return gpu_time_of(&a->ranks[i].breakdown, type) / steps;
    }
    return NAN;
}

/* Mean of a side's runs that have it. */
static double side_ms(const struct compare_runs *side, int64_t rank, enum gpu_time type)
{
    double sum = 0, n = 0;
    if (side->predicted != NULL)
        return rank == ALL_RANKS && gpu_times[type].part != COMPARE_PART_COUNT
                   ? side->predicted->ns[gpu_times[type].part] / 1e6
                   : NAN;
    for (size_t i = 0; i < side->n; i++) {
        const double ms = run_ms(side->list[i], rank, type);
        sum += isfinite(ms) ? ms : 0;
        n += isfinite(ms);
    }
    return n > 0 ? sum / n : NAN;
}

static double side_share(const struct compare_runs *side, int64_t rank, enum gpu_time type)
{
    return side_ms(side, rank, type) / side_ms(side, rank, GPU_total_time);
}

/* ---- verdicts ---- */

static int by_rank_and_part(const void *pa, const void *pb)
{
    const struct compare_row *a = *(const struct compare_row *const *)pa;
    const struct compare_row *b = *(const struct compare_row *const *)pb;
    return a->of.rank != b->of.rank ? ORDER(a->of.rank, b->of.rank) : ORDER(a->of.part, b->of.part);
}

static const struct compare_row *row_of(const struct workbook_tables *m, int64_t rank,
                                        enum compare_part part)
{
    const struct compare_row key = {.of = {.rank = (int32_t)rank, .part = (int32_t)part}};
    const struct compare_row *wanted = &key, **found;
    if (rank == ALL_RANKS) {
        for (size_t i = 0; i < m->r->c->nrows; i++) {
            const struct compare_row *row = &m->r->c->rows[i];
            if (row->of.table == COMPARE_STEP && row->of.part == (int32_t)part)
                return row;
        }
        return NULL;
    }
    found =
        bsearch(&wanted, m->rows, m->nrows, sizeof(const struct compare_row *), by_rank_and_part);
    return found != NULL ? *found : NULL;
}

/* Of a time that the comparison has no row of, the noise is not known. */
static enum compare_verdict verdict_of(const struct workbook_tables *m, int64_t rank,
                                       enum gpu_time type, double base, double test)
{
    const struct compare_row *row = row_of(m, rank, gpu_times[type].part);
    const struct compare_row alone = {.of = {.table = COMPARE_GEMMS},
                                      .base_ns = base,
                                      .test_ns = test,
                                      .noise = {NAN, NAN, NAN, 0, 0}};
    if (row != NULL)
        return row->verdict;
    if (!isfinite(base) || !isfinite(test))
        return isfinite(test) ? COMPARE_IS_ADDED : COMPARE_IS_REMOVED;
    return compare_judge(&alone, m->r->c->threshold);
}

/* Beside a prediction there is only what both have. */
static bool is_row(const struct workbook_tables *m, double base, double test)
{
    const bool predicted = m->sides[0].predicted != NULL || m->sides[1].predicted != NULL;
    return !predicted || (isfinite(base) && isfinite(test));
}

static double change_of(double base, double test)
{
    return base == 0 && test == 0 ? 0 : test / base - 1;
}

/* ---- sheets of GPU times ---- */

static void dashboard(struct sheet *s, const struct workbook_tables *m)
{
    static const struct sheet_column columns[] = {
        {"metric", NULL, SHEET_TEXT, 0},  {"base_ms", NULL, SHEET_RATE, 0},
        {"test_ms", NULL, SHEET_RATE, 0}, {"improvement", NULL, SHEET_SHARE, 0},
        {"status", NULL, SHEET_TEXT, 0},  {XLSX_BETTER, NULL, SHEET_TEXT, 0},
    };
    struct buf name = BUF_INIT;
    sheet_init(s, "Summary_Dashboard", "", SHEET_COLUMNS(columns));
    for (int type = 0; type < GPU_TIME_COUNT; type++) {
        const double base = side_ms(&m->sides[0], ALL_RANKS, (enum gpu_time)type);
        const double test = side_ms(&m->sides[1], ALL_RANKS, (enum gpu_time)type);
        if (!is_row(m, base, test))
            continue;
        buf_reset(&name);
        buf_printf(&name, "GPU_%s", gpu_times[type].name);
        sheet_text(s, name.data);
        sheet_number(s, base);
        sheet_number(s, test);
        sheet_number(s, -change_of(base, test));
        sheet_text(s,
                   compare_verdict_name(verdict_of(m, ALL_RANKS, (enum gpu_time)type, base, test)));
        sheet_text(s, gpu_times[type].better);
    }
    buf_release(&name);
}

static void add_times(struct sheet *s, const struct workbook_tables *m, int64_t rank)
{
    for (int k = 0; k < GPU_TIME_COUNT; k++) {
        const enum gpu_time type = (enum gpu_time)k;
        const double base = side_ms(&m->sides[0], rank, type);
        const double test = side_ms(&m->sides[1], rank, type);
        if (!is_row(m, base, test))
            continue;
        const double shares[] = {side_share(&m->sides[0], rank, type),
                                 side_share(&m->sides[1], rank, type)};
        if (rank != ALL_RANKS)
            sheet_number(s, (double)rank);
        sheet_text(s, gpu_times[type].name);
        sheet_number(s, base);
        sheet_number(s, test);
        sheet_number(s, test - base);
        sheet_number(s, change_of(base, test));
        sheet_number(s, test / base);
        sheet_number(s, shares[0]);
        sheet_number(s, shares[1]);
        sheet_number(s, shares[1] - shares[0]);
        sheet_text(s, gpu_times[type].better);
        sheet_text(s, compare_verdict_name(verdict_of(m, rank, type, base, test)));
    }
}

#define TIME_COLUMNS                                                                    \
    {"type", NULL, SHEET_TEXT, 0}, {"base_time_ms", NULL, SHEET_RATE, 0},               \
        {"test_time_ms", NULL, SHEET_RATE, 0}, {"diff_time_ms", NULL, SHEET_RATE, 0},   \
        {XLSX_CHANGE, NULL, SHEET_SHARE, 0}, {"ratio", NULL, SHEET_RATE, 0},            \
        {"base_percent", NULL, SHEET_SHARE, 0}, {"test_percent", NULL, SHEET_SHARE, 0}, \
        {"diff_percent", NULL, SHEET_SHARE, 0}, {XLSX_BETTER, NULL, SHEET_TEXT, 0},     \
    {                                                                                   \
        "status", NULL, SHEET_TEXT, 0                                                   \
    }

static void summary_times(struct sheet *s, const struct workbook_tables *m)
{
    static const struct sheet_column columns[] = {TIME_COLUMNS};
    sheet_init(s, "GPU_Summary_Cmp", "", SHEET_COLUMNS(columns));
    add_times(s, m, ALL_RANKS);
}

static void rank_times(struct sheet *s, const struct workbook_tables *m)
{
    static const struct sheet_column columns[] = {{"rank", NULL, SHEET_COUNT, 0}, TIME_COLUMNS};
    sheet_init(s, "GPU_ByRank_Cmp", "", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < m->nranks; i++)
        add_times(s, m, m->ranks[i]);
}

static void raw_summary(struct sheet *s, const struct workbook_tables *m)
{
    static const struct sheet_column columns[] = {
        {"source", NULL, SHEET_TEXT, 0},
        {"type", NULL, SHEET_TEXT, 0},
        {"time_ms", NULL, SHEET_RATE, 0},
        {"percent", NULL, SHEET_SHARE, 0},
    };
    sheet_init(s, "GPU_Summary_Raw", "", SHEET_COLUMNS(columns));
    for (int side = 0; side < 2; side++) {
        for (int type = 0; type < GPU_TIME_COUNT; type++) {
            sheet_text(s, m->labels[side]);
            sheet_text(s, gpu_times[type].name);
            sheet_number(s, side_ms(&m->sides[side], ALL_RANKS, (enum gpu_time)type));
            sheet_number(s, side_share(&m->sides[side], ALL_RANKS, (enum gpu_time)type));
        }
    }
}

static void raw_ranks(struct sheet *s, const struct workbook_tables *m)
{
    static const struct sheet_column columns[] = {
        {"source", NULL, SHEET_TEXT, 0},  {"run", NULL, SHEET_COUNT, 0},
        {"rank", NULL, SHEET_COUNT, 0},   {"type", NULL, SHEET_TEXT, 0},
        {"time_ms", NULL, SHEET_RATE, 0}, {"percent", NULL, SHEET_SHARE, 0},
    };
    sheet_init(s, "GPU_AllRanks_Raw", "", SHEET_COLUMNS(columns));
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < m->sides[side].n * m->nranks * GPU_TIME_COUNT; i++) {
            const size_t run = i / (m->nranks * GPU_TIME_COUNT);
            const int64_t rank = m->ranks[i / GPU_TIME_COUNT % m->nranks];
            const enum gpu_time type = (enum gpu_time)(i % GPU_TIME_COUNT);
            const double ms = run_ms(m->sides[side].list[run], rank, type);
            if (!isfinite(ms))
                continue;
            sheet_text(s, m->labels[side]);
            sheet_number(s, (double)run + 1);
            sheet_number(s, (double)rank);
            sheet_text(s, gpu_times[type].name);
            sheet_number(s, ms);
            sheet_number(s, ms / run_ms(m->sides[side].list[run], rank, GPU_total_time));
        }
    }
}

/* A row a rank, a column a type: times or shares. */
static void raw_table(struct sheet *s, const struct workbook_tables *m, const char *name,
                      const struct sheet_column *columns,
                      double (*value)(const struct compare_runs *, int64_t, enum gpu_time))
{
    sheet_init(s, name, "", columns, 2 + GPU_TIME_COUNT);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < m->nranks; i++) {
            sheet_text(s, m->labels[side]);
            sheet_number(s, (double)m->ranks[i]);
            for (int type = 0; type < GPU_TIME_COUNT; type++)
                sheet_number(s, value(&m->sides[side], m->ranks[i], (enum gpu_time)type));
        }
    }
}

static void raw_times(struct sheet *s, const struct workbook_tables *m)
{
    static const struct sheet_column columns[] = {{"source", NULL, SHEET_TEXT, 0},
                                                  {"rank", NULL, SHEET_COUNT, 0},
#define X(name, better, part) {#name "_ms", NULL, SHEET_RATE, 0},
                                                  GPU_TIMES(X)
#undef X
    };
    raw_table(s, m, "GPU_Time_Raw", columns, side_ms);
}

static void raw_shares(struct sheet *s, const struct workbook_tables *m)
{
    static const struct sheet_column columns[] = {{"source", NULL, SHEET_TEXT, 0},
                                                  {"rank", NULL, SHEET_COUNT, 0},
#define X(name, better, part) {#name "_percent", NULL, SHEET_SHARE, 0},
                                                  GPU_TIMES(X)
#undef X
    };
    raw_table(s, m, "GPU_Pct_Raw", columns, side_share);
}

/* ---- collectives and the tables of compare ---- */

/* One side's figures of the rows of a table, below each other. */
static void raw_collectives(struct sheet *s, const struct workbook_tables *m,
                            enum compare_table table)
{
    static const struct sheet_column columns[] = {
        {"source", NULL, SHEET_TEXT, 0},     {"what", NULL, SHEET_TEXT, 0},
        {"time_us", NULL, SHEET_TIME, 0},    {"count", NULL, SHEET_RATE, 0},
        {"step_us", NULL, SHEET_TIME, 0},    {"wait_us", NULL, SHEET_TIME, 0},
        {"skew_us", NULL, SHEET_TIME, 0},    {"algbw_GBps", NULL, SHEET_RATE, 0},
        {"busbw_GBps", NULL, SHEET_RATE, 0}, {"of_expected", NULL, SHEET_SHARE, 0},
    };
    struct buf name = BUF_INIT;
    sheet_init(s, "raw", "", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < 2 * m->r->c->nrows; i++) {
        const bool test = i >= m->r->c->nrows;
        const struct compare_row *row = &m->r->c->rows[i % m->r->c->nrows];
        const double *figures = test ? row->test_figures : row->base_figures;
        if (row->of.table != (int32_t)table || !isfinite(test ? row->test_count : row->base_count))
            continue;
        sheet_text(s, m->labels[test]);
        sheet_text(s, compare_row_name(&name, &row->of));
        sheet_number(s, test ? row->test_ns : row->base_ns);
        sheet_number(s, test ? row->test_count : row->base_count);
        sheet_number(s, test ? row->test_step_ns : row->base_step_ns);
        for (int k = 0; k < COMPARE_FIGURE_COUNT; k++)
            sheet_number(s, table == COMPARE_COLLECTIVES ? figures[k] : NAN);
    }
    buf_release(&name);
}

static void settings(struct sheet *s, const struct workbook_tables *m)
{
    static const struct sheet_column columns[] = {
        {"setting", NULL, SHEET_TEXT, 0},
        {"base", NULL, SHEET_TEXT, 0},
        {"test", NULL, SHEET_TEXT, 0},
    };
    const struct comparison *c = m->r->c;
    sheet_init(s, "Settings", "", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < c->nsettings; i++) {
        sheet_text(s, c->settings[i].name);
        sheet_text(s, c->settings[i].base != NULL ? c->settings[i].base : "not set");
        sheet_text(s, c->settings[i].test != NULL ? c->settings[i].test : "not set");
    }
}

/* ---- workbooks ---- */

static void add_sheet(struct xlsx *w, const struct workbook_tables *m, const char *name,
                      void (*fill)(struct sheet *, const struct workbook_tables *), unsigned flags)
{
    struct sheet s;
    fill(&s, m);
    xlsx_add(w, name, &s, flags);
    sheet_release(&s);
}

static void add_table(struct xlsx *w, const struct workbook_tables *m, const char *name,
                      enum compare_table table)
{
    struct sheet s;
    compare_sheet(&s, m->r, table);
    xlsx_add(w, name, &s, 0);
    sheet_release(&s);
}

static void add_raw(struct xlsx *w, const struct workbook_tables *m, const char *name,
                    enum compare_table table, unsigned flags)
{
    struct sheet s;
    raw_collectives(&s, m, table);
    xlsx_add(w, name, &s, flags);
    sheet_release(&s);
}

static void fill_comparison(struct xlsx *w, const struct workbook_tables *m)
{
    static const struct {
        const char *name;
        enum compare_table table;
    } ours[] = {{"Causes", COMPARE_CAUSES},     {"Step", COMPARE_STEP},
                {"GEMMs", COMPARE_GEMMS},       {"Kernels", COMPARE_KERNELS},
                {"Copies", COMPARE_MEMORY},     {"Idle", COMPARE_IDLE_CAUSES},
                {"Messages", COMPARE_MESSAGES}, {"Stragglers", COMPARE_STRAGGLERS},
                {"Critical", COMPARE_CRITICAL}};
    add_sheet(w, m, "Summary_Dashboard", dashboard, XLSX_CHART);
    add_sheet(w, m, "GPU_Summary_Cmp", summary_times, 0);
    add_sheet(w, m, "GPU_ByRank_Cmp", rank_times, 0);
    add_table(w, m, "NCCL_ImplSync_Cmp", COMPARE_COLLECTIVES);
    add_table(w, m, "NCCL_Long_Cmp", COMPARE_RANK_COLLECTIVES);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        add_table(w, m, ours[i].name, ours[i].table);
    add_sheet(w, m, "Settings", settings, 0);
}

static void fill_report(struct xlsx *w, const struct workbook_tables *m)
{
    fill_comparison(w, m);
    add_sheet(w, m, "GPU_Summary_Raw", raw_summary, XLSX_HIDDEN);
    add_sheet(w, m, "GPU_AllRanks_Raw", raw_ranks, XLSX_HIDDEN);
    add_sheet(w, m, "GPU_Time_Raw", raw_times, XLSX_HIDDEN);
    add_sheet(w, m, "GPU_Pct_Raw", raw_shares, XLSX_HIDDEN);
    add_raw(w, m, "NCCL_ImplSync_Raw", COMPARE_COLLECTIVES, XLSX_HIDDEN);
    add_raw(w, m, "NCCL_Long_Raw", COMPARE_RANK_COLLECTIVES, XLSX_HIDDEN);
}

static void fill_times(struct xlsx *w, const struct workbook_tables *m)
{
    add_sheet(w, m, "Summary", raw_summary, 0);
    add_sheet(w, m, "All_Ranks_Combined", raw_ranks, 0);
    add_sheet(w, m, "Per_Rank_Time_ms", raw_times, 0);
    add_sheet(w, m, "Per_Rank_Percent", raw_shares, 0);
}

static void fill_time_comparison(struct xlsx *w, const struct workbook_tables *m)
{
    add_sheet(w, m, "Summary_Comparison", summary_times, 0);
    add_sheet(w, m, "Comparison_By_Rank", rank_times, 0);
}

static void fill_collectives(struct xlsx *w, const struct workbook_tables *m)
{
    add_raw(w, m, "nccl_summary_implicit_sync", COMPARE_COLLECTIVES, 0);
    add_raw(w, m, "nccl_summary_long", COMPARE_RANK_COLLECTIVES, 0);
}

static void fill_collective_comparison(struct xlsx *w, const struct workbook_tables *m)
{
    add_table(w, m, "nccl_summary_implicit_sync", COMPARE_COLLECTIVES);
    add_table(w, m, "nccl_summary_long", COMPARE_RANK_COLLECTIVES);
}

static void find_ranks(struct workbook_tables *m)
{
    size_t n = 0;
    for (int side = 0; side < 2; side++) {
        const struct analysis *a = m->sides[side].list[0];
        for (size_t i = 0; m->sides[side].n > 0 && i < a->nranks; i++) {
            ARRAY_GROW(m->ranks, m->cap_ranks, m->nranks + 1);
            m->ranks[m->nranks++] = a->ranks[i].rank->rank;
        }
    }
    qsort(m->ranks, m->nranks, sizeof *m->ranks, order_int64s);
    for (size_t i = 0; i < m->nranks; i++) {
        if (i == 0 || m->ranks[i] != m->ranks[n - 1])
            m->ranks[n++] = m->ranks[i];
    }
    m->nranks = n;
    for (size_t i = 0; i < m->r->c->nrows; i++) {
        if (m->r->c->rows[i].of.table != COMPARE_RANKS)
            continue;
        ARRAY_GROW(m->rows, m->cap_rows, m->nrows + 1);
        m->rows[m->nrows++] = &m->r->c->rows[i];
    }
    if (m->nrows > 0)
        qsort(m->rows, m->nrows, sizeof *m->rows, by_rank_and_part);
}

int compare_workbooks(const char *dir, const struct compare_report *r, struct compare_runs base,
                      struct compare_runs test, struct err *e)
{
    static const struct {
        const char *name;
        void (*fill)(struct xlsx *w, const struct workbook_tables *m);
    } books[] = {
        {"final_analysis_report", fill_report},
        {"gpu_timeline_combined", fill_times},
        {"gpu_timeline_comparison", fill_time_comparison},
        {"collective_combined", fill_collectives},
        {"collective_comparison", fill_collective_comparison},
        {WORKBOOKS_FOLDER "/comparison_report", fill_comparison},
    };
    struct workbook_tables m = {.r = r, .sides = {base, test}, .labels = {r->base, r->test}};
    struct buf path = BUF_INIT;
    int rc = 0;
    find_ranks(&m);
    for (size_t i = 0; i < sizeof books / sizeof *books && rc == 0; i++) {
        struct xlsx *w;
        buf_reset(&path);
        buf_printf(&path, "%s/%s.xlsx", dir, books[i].name);
        rc = xlsx_open(&w, path.data, e);
        if (rc < 0)
            break;
        books[i].fill(w, &m);
        rc = xlsx_close(w, stderr, e);
    }
    buf_release(&path);
    free(m.ranks);
    free(m.rows);
    return rc;
}

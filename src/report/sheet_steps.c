/* SPDX-License-Identifier: MIT
 *
 * Sheets of training steps.
 */
#include "report/analyze_sheets.h"
#include "report/table.h"

#include <math.h>

static double ns_or_nan(int64_t ns)
{
    return ns != UNKNOWN_NS ? (double)ns : NAN;
}

static double mean_of(double sum, uint32_t n)
{
    return n > 0 ? sum / n : NAN;
}

void sheet_of_steps(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"step", "step", SHEET_TEXT, 18},
        {"nth", NULL, SHEET_COUNT, 0},
        {"ranks", "ranks", SHEET_COUNT, 0},
        {"mean_us", NULL, SHEET_NS, 0},
        {"min_us", NULL, SHEET_NS, 0},
        {"max_us", "longest", SHEET_NS, 0},
        {"spread_us", "spread", SHEET_NS, 0},
        {"slowest", "rank", SHEET_COUNT, 0},
        {"device_us", "device", SHEET_NS, 0},
        {"device_max_us", NULL, SHEET_NS, 0},
        {"compute_us", NULL, SHEET_NS, 0},
        {"exposed_comm_us", NULL, SHEET_NS, 0},
        {"exposed_memory_us", NULL, SHEET_NS, 0},
        {"idle_us", NULL, SHEET_NS, 0},
        {"step_us", NULL, SHEET_NS, 0},
        {"counts", NULL, SHEET_COUNT, 0},
    };
    sheet_init(s, "steps", "Steps: the host's range; when the device was done",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->steps.count; i++) {
        const struct step_row *row = &a->steps.list[i];
        bool several = row->ranks > 1;
        sheet_text(s, row->name);
        sheet_number(s, row->nth);
        sheet_number(s, row->ranks);
        sheet_number(s, row->sum_ns / row->ranks);
        sheet_number(s, (double)row->min_ns);
        sheet_number(s, (double)row->max_ns);
        sheet_number(s, several ? (double)(row->max_ns - row->min_ns) : NAN);
        sheet_number(s, several ? row->slowest : NAN);
        sheet_number(s, mean_of(row->device_sum_ns, row->ended));
        sheet_number(s, ns_or_nan(row->device_max_ns));
        sheet_number(s, mean_of(row->compute_ns, row->timed));
        sheet_number(s, mean_of(row->exposed_comm_ns, row->timed));
        sheet_number(s, mean_of(row->exposed_memory_ns, row->timed));
        sheet_number(s, mean_of(row->idle_ns, row->timed));
        sheet_number(s, ns_or_nan(row->job_ns));
        sheet_number(s, row->counts);
    }
}

static void put_stats(struct sheet *s, const struct sample_stats *of)
{
    sheet_number(s, of->mean);
    sheet_number(s, of->median);
    sheet_number(s, of->p95);
    sheet_number(s, of->min);
    sheet_number(s, of->max);
    sheet_number(s, of->std);
    sheet_number(s, sample_cv(of));
}

static void put_summary(struct sheet *s, const char *what, const struct step_summary *sum)
{
    char first[32];
    if (sum->steps == 0)
        return;
    sheet_text(s, what);
    sheet_number(s, (double)sum->steps);
    put_stats(s, &sum->of);
    sheet_number(s, sum->warm_up ? sum->first_ns : NAN);
    if (sum->warm_up)
        sheet_note(s, "%s: without the first step (%s), more than %.1f times the others' median",
                   what, text_ns(first, sizeof first, sum->first_ns), STEP_WARM_UP);
}

void sheet_of_step_summary(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"clock", "step", SHEET_TEXT, 0},   {"steps", "steps", SHEET_COUNT, 0},
        {"mean_us", "mean", SHEET_NS, 0},   {"median_us", "median", SHEET_NS, 0},
        {"p95_us", "p95", SHEET_NS, 0},     {"min_us", "shortest", SHEET_NS, 0},
        {"max_us", "longest", SHEET_NS, 0}, {"std_us", NULL, SHEET_NS, 0},
        {"cv", "varies", SHEET_SHARE, 0},   {"warm_up_us", NULL, SHEET_NS, 0},
    };
    sheet_init(s, "step_summary", "Step time of the job (device), and lengths of the host's ranges",
               SHEET_COLUMNS(columns));
    s->off_page = a->steps.job.steps < 2; /* nothing to sum up */
    put_summary(s, "host", &a->steps.host);
    put_summary(s, a->job_steps.untimed ? "calls" : "device", &a->steps.job);
}

void sheet_of_step_ranks(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},        {"steps", "steps", SHEET_COUNT, 0},
        {"mean_us", "mean", SHEET_NS, 0},        {"median_us", "median", SHEET_NS, 0},
        {"p95_us", "p95", SHEET_NS, 0},          {"min_us", "shortest", SHEET_NS, 0},
        {"max_us", "longest", SHEET_NS, 0},      {"std_us", NULL, SHEET_NS, 0},
        {"cv", "varies", SHEET_SHARE, 0},        {"device_mean_us", NULL, SHEET_NS, 0},
        {"device_median_us", NULL, SHEET_NS, 0}, {"slowest", "slowest", SHEET_COUNT, 0},
    };
    sheet_init(s, "step_ranks", "Step time by rank; how often it was the slowest",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->steps.nranks; i++) {
        const struct step_rank *r = &a->steps.ranks[i];
        sheet_number(s, r->rank->rank);
        sheet_number(s, (double)r->steps);
        put_stats(s, &r->host);
        sheet_number(s, r->device.mean);
        sheet_number(s, r->device.median);
        sheet_number(s, a->steps.nranks > 1 ? (double)r->slowest : NAN);
    }
}

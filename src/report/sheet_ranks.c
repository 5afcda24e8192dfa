/* SPDX-License-Identifier: MIT
 *
 * Sheet of the ranks: where the time of each went.
 */
#include "report/analyze_sheets.h"

#include <math.h>

static void times(struct sheet *s, const struct time_breakdown *x)
{
    bool timed = x->timed_ops > 0;
#define X(name) sheet_number(s, timed ? (double)x->name##_ns : NAN);
    BREAKDOWN_TIMES(X)
#undef X
}

void sheet_of_ranks(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},
        {"span_us", "span", SHEET_NS, 0},
        {"compute_us", "compute", SHEET_NS, 0},
        {"comm_us", "comm.", SHEET_NS, 0},
        {"exposed_comm_us", "exp.comm", SHEET_NS, 0},
        {"memory_us", NULL, SHEET_NS, 0},
        {"exposed_memory_us", "exp.mem", SHEET_NS, 0},
        {"idle_us", "idle", SHEET_NS, 0},
        {"overlap_us", NULL, SHEET_NS, 0},
        {"exposed_wait_us", "waiting", SHEET_NS, 0},
        {"arrived_last", "last", SHEET_COUNT, 0},
        {"arrivals", "of", SHEET_COUNT, 0},
        {"mean_late_us", NULL, SHEET_NS, 0},
        {"caused_wait_us", NULL, SHEET_NS, 0},
        {"timed_ops", NULL, SHEET_COUNT, 0},
        {"untimed_ops", NULL, SHEET_COUNT, 0},
        {"dropped_ops", NULL, SHEET_COUNT, 0},
        {"host", NULL, SHEET_TEXT, 0},
        {"gpu", NULL, SHEET_TEXT, 0},
        {"from_us", NULL, SHEET_NS, 0},
        {"recorded_us", NULL, SHEET_NS, 0},
        {"recorded_compute_us", NULL, SHEET_NS, 0},
        {"recorded_comm_us", NULL, SHEET_NS, 0},
        {"recorded_exposed_comm_us", NULL, SHEET_NS, 0},
        {"recorded_memory_us", NULL, SHEET_NS, 0},
        {"recorded_exposed_memory_us", NULL, SHEET_NS, 0},
        {"recorded_idle_us", NULL, SHEET_NS, 0},
        {"recorded_overlap_us", NULL, SHEET_NS, 0},
    };
    sheet_init(s, "ranks", "Time per rank", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->nranks; i++) {
        const struct rank_result *r = &a->ranks[i];
        sheet_number(s, r->rank->rank);
        times(s, &r->breakdown);
        sheet_number(s, r->breakdown.wait_known ? (double)r->breakdown.exposed_wait_ns : NAN);
        const struct arrival *x = r->arrival;
        bool known = x->collectives > 0;
        sheet_number(s, known ? (double)x->last : NAN);
        sheet_number(s, known ? (double)x->collectives : NAN);
        sheet_number(s, x->late_ns / (double)x->collectives);
        sheet_number(s, known ? x->caused_ns : NAN);
        sheet_number(s, (double)r->breakdown.timed_ops);
        sheet_number(s, (double)time_breakdown_untimed(&r->breakdown));
        sheet_number(s, (double)r->rank->dropped);
        sheet_text(s, r->rank->host);
        sheet_text(s, r->rank->gpu);
        sheet_number(s, r->breakdown.timed_ops > 0 ? (double)r->breakdown.from_ns : NAN);
        times(s, &r->recorded);
    }
}

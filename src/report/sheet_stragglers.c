/* SPDX-License-Identifier: MIT
 *
 * Sheet of the ranks that come late, by the waiting that they cause.
 */
#include "base/order.h"
#include "report/analyze_internal.h"
#include "report/analyze_sheets.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>

/* Mostly the same rank, when it is the origin of most waiting in so many of the steps. */
#define STEADY_SHARE (2.0 / 3)
#define STEPS_MIN 3 /* with fewer nothing is said of it */

static int by_caused(const void *pa, const void *pb)
{
    const struct arrival *a = *(const struct arrival *const *)pa;
    const struct arrival *b = *(const struct arrival *const *)pb;
    double x = fmax(a->caused_ns, a->origin_ns), y = fmax(b->caused_ns, b->origin_ns);
    if (x != y)
        return x > y ? -1 : 1;
    return ORDER(a, b);
}

static void put_rank(struct sheet *s, const struct analysis *a, const struct arrival *x)
{
    const struct rank *rank = &a->run->ranks[x - a->stragglers.arrivals];
    uint32_t steps = counted_steps(&a->job_steps);
    double last = (double)x->last;
    sheet_number(s, rank->rank);
    sheet_text(s, rank->host);
    sheet_number(s, last);
    sheet_number(s, (double)x->collectives);
    sheet_number(s, last / (double)x->collectives);
    sheet_number(s, x->caused_ns);
    sheet_number(s, x->caused_ns / last);
    sheet_number(s, steps > 0 ? x->stepped_ns / (double)steps : NAN);
    if (x->last > 0) {
        const struct match *m = &a->comm.matches.list[x->worst];
        sheet_number(s, x->worst_ns);
        sheet_text(s, m->op < SPECTER_COMM_OP_COUNT ? specter_comm_op_name(m->op) : "");
        sheet_text(s, a->run->comms[m->comm].id);
        sheet_number(s, (double)m->seq);
    } else {
        for (int i = 0; i < 4; i++)
            sheet_number(s, NAN);
    }
    sheet_number(s, x->passed_ns);
    sheet_number(s, x->origin_ns);
    sheet_number(s, (double)x->explained);
    for (int k = 0; k < LATE_CAUSE_COUNT; k++)
        sheet_number(s, x->explained > 0 ? x->why_ns[k] : NAN);
    sheet_number(s, a->stragglers.steps > 0 ? (double)x->top_steps : NAN);
}

/* Notes whether one rank is the straggler of most steps, or one rank after the other. */
static void note_steps(struct sheet *s, const struct analysis *a)
{
    size_t top = 0;
    if (a->stragglers.steps < STEPS_MIN)
        return;
    for (size_t r = 1; r < a->run->nranks; r++) {
        if (a->stragglers.arrivals[r].top_steps > a->stragglers.arrivals[top].top_steps)
            top = r;
    }
    unsigned long long most = a->stragglers.arrivals[top].top_steps, all = a->stragglers.steps;
    bool steady = (double)most >= STEADY_SHARE * (double)all;
    sheet_note(s, "most waiting of a step has its origin in rank %d in %llu of %llu steps: %s",
               a->run->ranks[top].rank, most, all,
               most == all ? "always the same rank"
               : steady    ? "mostly the same rank"
                           : "it changes");
}

#define ON_PAGE_SHARE \
    0.01 /* of the recorded time of all ranks: with less waiting it is not on the page */

void sheet_of_stragglers(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},
        {"host", NULL, SHEET_TEXT, 0},
        {"arrived_last", "last", SHEET_COUNT, 0},
        {"arrivals", NULL, SHEET_COUNT, 0},
        {"last_share", NULL, SHEET_SHARE, 0},
        {"caused_wait_us", "caused", SHEET_NS, 0},
        {"caused_wait_mean_us", "each", SHEET_NS, 0},
        {"caused_wait_per_step_us", NULL, SHEET_NS, 0},
        {"worst_wait_us", "worst", SHEET_NS, 0},
        {"worst_op", NULL, SHEET_TEXT, 0},
        {"worst_comm", NULL, SHEET_TEXT, 0},
        {"worst_seq", NULL, SHEET_COUNT, 0},
        {"passed_wait_us", NULL, SHEET_NS, 0},
        {"origin_wait_us", "origin", SHEET_NS, 0},
        {"explained", NULL, SHEET_COUNT, 0},
        {"why_compute_us", "compute", SHEET_NS, 0},
        {"why_waiting_us", "waiting", SHEET_NS, 0},
        {"why_moving_us", NULL, SHEET_NS, 0},
        {"why_idle_us", "idle", SHEET_NS, 0},
        {"top_steps", "steps", SHEET_COUNT, 0},
    };
    const struct arrival **list = array_new(a->run->nranks + 1, sizeof *list);
    char residual[32];
    size_t n = 0;
    sheet_init(s, "stragglers", "Stragglers, by the waiting they cause", SHEET_COLUMNS(columns));
    s->off_page = !(a->stragglers.caused_ns >= ON_PAGE_SHARE * (double)a->total.recorded_ns) ||
                  (a->bubbles.why == NULL &&
                   !rule_applies(a, RULE_straggler)); /* then the schedule explains it */
    for (size_t r = 0; r < a->run->nranks; r++) {
        const struct arrival *x = &a->stragglers.arrivals[r];
        if (x->caused_ns > 0 || x->origin_ns > 0)
            list[n++] = x;
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_caused);
    for (size_t i = 0; i < n; i++)
        put_rank(s, a, list[i]);
    if (n > 0) {
        sheet_note(
            s, "caused: mean wait of the others where it was last, summed; origin: waiting that "
               "any rank caused and that goes back to this one;");
        sheet_note(
            s, "compute to idle: its time since the collective before, minus the median rank's");
        note_steps(s, a);
        if (a->bubbles.why == NULL)
            sheet_note(s,
                       "stages of a pipeline come to a step's end one after another: that is its "
                       "schedule, see bubble");
        if (a->run->ndomains > 1)
            sheet_note(s, "clocks of the hosts agree to %s",
                       text_ns(residual, sizeof residual, a->run->clock_residual_ns));
    }
    free(list);
}

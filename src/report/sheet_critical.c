/* SPDX-License-Identifier: MIT
 *
 * The sheets of the critical path.
 */
#include "base/order.h"
#include "report/analyze_sheets.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>

#define ALL_HOST 0.9  /* of all steps: a path that is the host alone, as its waits are not seen */
#define HOST_TOLD 0.3 /* of all steps: what so much host time is has to be said */

static void add_sum(struct sheet *s, const struct critical *c, const struct path_sum *sum)
{
    sheet_number(s, (double)sum->step_ns);
    sheet_number(s, share_of(sum->step_ns, c->length.step_ns));
    sheet_number(s, share_of(sum->all_ns, c->length.all_ns));
}

static double host_share(const struct critical *c)
{
    return share_of(path_kind_sum(c, PATH_HOST).all_ns, c->length.all_ns);
}

static void add_notes(struct sheet *s, const struct analysis *a)
{
    const struct critical *c = &a->critical;
    char length[32], moves[48] = "";
    text_ns(length, sizeof length, (double)c->length.step_ns);
    if (run_recorded_ranks(c->run) > 1)
        snprintf(moves, sizeof moves, "; moves between ranks: %llu",
                 (unsigned long long)c->changes_step);
    if (c->steps->source != STEPS_WHOLE)
        sheet_note(s, "step: the median one of %zu, %s%s", c->walked, length, moves);
    else
        sheet_note(s, "%s: the path is that of the whole trace, %s%s",
                   c->steps->doubt != NULL ? c->steps->doubt : "no steps are marked", length,
                   moves);
    if (c->inferred > 0)
        sheet_note(s, "no events were traced: what had ended just before counts as waited for");
    if (!(a->coverage & COVER_DEPS))
        sheet_note(s, "the trace does not hold what the host waited for: that is host time here");
    else if (host_share(c) >= HOST_TOLD)
        sheet_note(s, "host: devices may run earlier work meanwhile; idle time is where they wait");
    if (share_of(c->alone_ns, c->length.all_ns) >= 0.005)
        sheet_note(s, "%.0f %% is communication of which not all members have times: with waiting",
                   100 * share_of(c->alone_ns, c->length.all_ns));
    else if (run_recorded_ranks(c->run) == 1 && c->run->world_size > 1)
        sheet_note(s, "the path stays within the one rank that is in the trace");
}

void sheet_of_critical_path(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"kind", "kind", SHEET_TEXT, 0},     {"what", "what", SHEET_TEXT, 0},
        {"step_us", "step", SHEET_TIME, 0},  {"step_share", "of step", SHEET_SHARE, 0},
        {"share", "of all", SHEET_SHARE, 0},
    };
    const struct critical *c = &a->critical;
    size_t n = 0, *order;
    sheet_init(s, "critical_path", "Critical path: the chain of work that a step's end waits for",
               SHEET_COLUMNS(columns));
    if (c->why != NULL)
        return;
    s->off_page = !(a->coverage & COVER_DEPS) && host_share(c) >= ALL_HOST;
    /* Categories by their time in the chosen step. */
    order = array_new(PATH_CATEGORIES, sizeof *order);
    for (size_t k = 0; k < PATH_CATEGORIES; k++) {
        size_t at = n;
        if (c->categories[k].all_ns == 0)
            continue;
        for (; at > 0 && c->categories[order[at - 1]].step_ns < c->categories[k].step_ns; at--)
            order[at] = order[at - 1];
        order[at] = k;
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        enum path_kind kind = path_category_kind(order[i]);
        const char *name = path_category_name(order[i]);
        sheet_text(s, path_kind_name(kind));
        sheet_text(s, kind == PATH_COMPUTE || kind == PATH_COMM ? name : "");
        add_sum(s, c, &c->categories[order[i]]);
    }
    free(order);
    add_notes(s, a);
}

void sheet_of_critical_ops(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"name", "on the path", SHEET_TEXT, 40}, {"parts", "parts", SHEET_COUNT, 0},
        {"step_us", "step", SHEET_TIME, 0},      {"step_share", "of step", SHEET_SHARE, 0},
        {"share", "of all", SHEET_SHARE, 0},
    };
    const struct critical *c = &a->critical;
    sheet_init(s, "critical_ops", "Operations on the critical path", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < c->nops; i++) {
        sheet_text(s, c->ops[i].name);
        sheet_number(s, (double)c->ops[i].count);
        add_sum(s, c, &c->ops[i].sum);
    }
}

struct rank_order {
    const struct path_rank *row;
    int rank;
};

static int by_share(const void *pa, const void *pb)
{
    const struct rank_order *a = pa, *b = pb;
    if (a->row->sum.all_ns != b->row->sum.all_ns)
        return ORDER(b->row->sum.all_ns, a->row->sum.all_ns);
    return ORDER(a->rank, b->rank);
}

/* Of one rank there is nothing to tell. */
void sheet_of_critical_ranks(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"rank", "rank", SHEET_COUNT, 0},          {"step_us", "step", SHEET_TIME, 0},
        {"step_share", "of step", SHEET_SHARE, 0}, {"share", "of all", SHEET_SHARE, 0},
        {"entered", "entered", SHEET_COUNT, 0},    {"margin_us", "margin", SHEET_TIME, 0},
    };
    const struct critical *c = &a->critical;
    struct rank_order *list;
    sheet_init(s, "critical_ranks",
               "Ranks on the critical path; margin: by how much each came last, all steps",
               SHEET_COLUMNS(columns));
    if (c->why != NULL || run_recorded_ranks(c->run) < 2)
        return;
    list = array_new(c->run->nranks, sizeof *list);
    for (size_t r = 0; r < c->run->nranks; r++)
        list[r] = (struct rank_order){&c->ranks[r], c->run->ranks[r].rank};
    qsort(list, c->run->nranks, sizeof *list, by_share);
    for (size_t i = 0; i < c->run->nranks; i++) {
        sheet_number(s, list[i].rank);
        add_sum(s, c, &list[i].row->sum);
        sheet_number(s, (double)list[i].row->entered);
        sheet_number(s, (double)list[i].row->margin_ns);
    }
    free(list);
}

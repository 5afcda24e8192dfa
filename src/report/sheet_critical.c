/* SPDX-License-Identifier: MIT
 *
 * The sheets of the critical path, its object in JSON, and what is to be said of it.
 */
#include "base/buf.h"
#include "report/analyze_json_internal.h"
#include "report/analyze_sheets.h"
#include "report/findings_rules.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#define FAIR_FACTOR 1.5 /* times its fair share (1/ranks) that one rank must hold */
#define MARGIN_MIN 0.01 /* of all steps: less lateness than this is chance */
#define ALL_HOST 0.9    /* of all steps: a path that is the host alone, as its waits are not seen */
#define HOST_TOLD 0.3   /* of all steps: what so much host time is has to be said */

static void add_sum(struct sheet *s, const struct critical *c, const struct path_sum *sum)
{
    sheet_number(s, (double)sum->step_ns);
    sheet_number(s, share_of(sum->step_ns, c->length.step_ns));
    sheet_number(s, share_of(sum->all_ns, c->length.all_ns));
}

/* Categories by their time in the chosen step. */
static size_t *sorted_categories(const struct critical *c, size_t *n)
{
    size_t *list = array_new(PATH_CATEGORIES, sizeof *list);
    *n = 0;
    for (size_t k = 0; k < PATH_CATEGORIES; k++) {
        size_t at = *n;
        if (c->categories[k].all_ns == 0)
            continue;
        for (; at > 0 && c->categories[list[at - 1]].step_ns < c->categories[k].step_ns; at--)
            list[at] = list[at - 1];
        list[at] = k;
        ++*n;
    }
    return list;
}

static double host_share(const struct critical *c)
{
    return share_of(path_kind_sum(c, PATH_HOST).all_ns, c->length.all_ns);
}

static void add_notes(struct sheet *s, const struct analysis *a)
{
    const struct critical *c = &a->critical;
    char length[TIME_TEXT], moves[48] = "";
    text_ns(length, sizeof length, (double)c->length.step_ns);
    if (c->run->nranks > 1)
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
    else if (c->run->nranks == 1 && c->run->world_size > 1)
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
    size_t n, *order;
    sheet_init(s, "critical_path", "Critical path: the chain of work that a step's end waits for",
               SHEET_COLUMNS(columns));
    if (c->why != NULL)
        return;
    s->off_page = !(a->coverage & COVER_DEPS) && host_share(c) >= ALL_HOST;
    order = sorted_categories(c, &n);
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
        return a->row->sum.all_ns > b->row->sum.all_ns ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static struct rank_order *sorted_ranks(const struct critical *c)
{
    struct rank_order *list = array_new(c->run->nranks, sizeof *list);
    for (size_t r = 0; r < c->run->nranks; r++)
        list[r] = (struct rank_order){&c->ranks[r], c->run->ranks[r].rank};
    qsort(list, c->run->nranks, sizeof *list, by_share);
    return list;
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
    if (c->why != NULL || c->run->nranks < 2)
        return;
    list = sorted_ranks(c);
    for (size_t i = 0; i < c->run->nranks; i++) {
        sheet_number(s, list[i].rank);
        add_sum(s, c, &list[i].row->sum);
        sheet_number(s, (double)list[i].row->entered);
        sheet_number(s, (double)list[i].row->margin_ns);
    }
    free(list);
}

/* ---- JSON ---- */

void add_critical_json(struct cJSON *doc, const struct analysis *a)
{
    const struct critical *c = &a->critical;
    cJSON *o = cJSON_AddObjectToObject(doc, "critical");
    if (c->why != NULL) {
        cJSON_AddNullToObject(o, "step_us");
        cJSON_AddStringToObject(o, "reason", c->why);
        return;
    }
    cJSON_AddNumberToObject(o, "step_us", (double)c->length.step_ns / 1e3);
    cJSON_AddNumberToObject(o, "all_us", (double)c->length.all_ns / 1e3);
    cJSON_AddNumberToObject(o, "steps", (double)c->walked);
    cJSON_AddNumberToObject(o, "step", (double)c->chosen);
    cJSON_AddNumberToObject(o, "rank_changes", (double)c->changes_step);
    cJSON_AddNumberToObject(o, "inferred", (double)c->inferred);
    cJSON_AddNumberToObject(o, "alone_us", (double)c->alone_ns / 1e3);
    cJSON_AddNullToObject(o, "reason");
}

/* ---- in words ---- */

/* Where ranks are equal the path is on one of them by chance: only a rank for which others truly
 * waited holds it. */
size_t critical_holder(const struct analysis *a, double *share)
{
    const struct critical *c = &a->critical;
    struct rank_order *list, first;
    if (c->why != NULL || c->run->nranks < 2)
        return SIZE_MAX;
    list = sorted_ranks(c);
    first = list[0];
    free(list);
    *share = share_of(first.row->sum.all_ns, c->length.all_ns);
    if (!(*share > rule_threshold(RULE_critical_rank)) ||
        *share < FAIR_FACTOR / (double)c->run->nranks ||
        !(share_of(first.row->margin_ns, c->length.all_ns) >= MARGIN_MIN))
        return SIZE_MAX;
    return (size_t)(first.row - c->ranks);
}

bool rule_critical_rank(const struct analysis *a, double threshold, struct finding *f,
                        struct buf *b)
{
    const struct critical *c = &a->critical;
    size_t rank = critical_holder(a, &f->value);
    char margin[TIME_TEXT];
    (void)threshold;
    if (rank == SIZE_MAX || (worst_arrival(a) == rank && rule_speaks(a, RULE_straggler)))
        return false;
    f->weight = share_of(c->ranks[rank].margin_ns, c->length.all_ns);
    buf_printf(b,
               "Critical path: " RATE_TEXT " of it is on rank %d. Where it came last to "
               "communication, it did so %s behind the next rank, over all steps.",
               percent(f->value), c->run->ranks[rank].rank,
               text_ns(margin, sizeof margin, (double)c->ranks[rank].margin_ns));
    return true;
}

/* Late launches that cost idle time. A host that is ahead by little is on the path as well, and
 * costs nothing; where it is what binds the job, the rule of idle time has said so. */
bool rule_critical_host(const struct analysis *a, double threshold, struct finding *f,
                        struct buf *b)
{
    const struct critical *c = &a->critical;
    const int64_t *idle = a->idle.total.ns;
    double late = share_of(idle[IDLE_host_late] + idle[IDLE_host_sync], a->total.span_ns);
    int64_t host_ns = path_kind_sum(c, PATH_HOST).all_ns;
    char part[TIME_TEXT], whole[TIME_TEXT];
    if (c->why != NULL)
        return false;
    f->value = share_of(host_ns, c->length.all_ns);
    f->weight = 0; /* what is at stake, idle time, has a rule of its own */
    if (!(f->value > threshold) || !(a->coverage & COVER_DEPS))
        return false; /* a host whose waits are not seen may wait for the device */
    if (!(a->coverage & COVER_KERNELS) || !(late >= rule_threshold(RULE_idle)) || host_bound(a))
        return false;
    buf_printf(b,
               "Host on the critical path: the host's way to its next call is " RATE_TEXT
               " of it (%s of %s, all steps); GPUs are idle " RATE_TEXT " of the %s for that.",
               percent(f->value), text_ns(part, sizeof part, (double)host_ns),
               text_ns(whole, sizeof whole, (double)c->length.all_ns), percent(late), span_word(a));
    return true;
}

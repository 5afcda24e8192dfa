/* SPDX-License-Identifier: MIT */
#include "analysis/comm_rows.h"

#include "analysis/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An instance with the name that its row goes by. */
struct named_instance {
    const struct comm_instance *in;
    const char *name;
};

/* A growing list of numbers with a median. */
struct value_list {
    double *values; /* owned */
    size_t count, cap;
    double sum;
};

static void sample_add(struct value_list *s, double value)
{
    ARRAY_GROW(s->values, s->cap, s->count + 1);
    s->values[s->count++] = value;
    s->sum += value;
}

static void sample_reset(struct value_list *s)
{
    s->count = 0;
    s->sum = 0;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Sorts the sample; the mean of the two middle values when their number is even. */
static double sample_median(struct value_list *s)
{
    if (s->count == 0)
        return NAN;
    qsort(s->values, s->count, sizeof *s->values, by_value);
    return (s->values[(s->count - 1) / 2] + s->values[s->count / 2]) / 2;
}

/* The smallest value that `share` of the sorted values do not exceed. */
static double sample_percentile(const struct value_list *s, double share)
{
    size_t at = (size_t)ceil(share * (double)s->count);
    return s->count > 0 ? s->values[at > 0 ? at - 1 : 0] : NAN;
}

/* Order of two lists of numbers, by the first that differs. */
static int compare(const uint64_t *a, const uint64_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

#define KEYS 5

/* Order of instances by what makes a row. */
static int by_key(const void *x, const void *y)
{
    const struct named_instance *p = x, *q = y;
    const struct comm_instance *a = p->in, *b = q->in;
    int order = compare(
        (const uint64_t[KEYS]){a->op, a->dtype, a->bytes_known, a->bytes, (uint64_t)a->comm_size},
        (const uint64_t[KEYS]){b->op, b->dtype, b->bytes_known, b->bytes, (uint64_t)b->comm_size},
        KEYS);
    return order != 0 ? order : strcmp(p->name, q->name);
}

/* Order of rows in a report: what costs most first, then by key so that it is always the same. */
static int by_cost(const void *x, const void *y)
{
    const struct comm_row *a = x, *b = y;
    int order;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    order = compare(
        (const uint64_t[KEYS]){a->op, a->dtype, a->bytes_known, a->bytes, (uint64_t)a->comm_size},
        (const uint64_t[KEYS]){b->op, b->dtype, b->bytes_known, b->bytes, (uint64_t)b->comm_size},
        KEYS);
    return order != 0 ? order : strcmp(a->name, b->name);
}

/* Bandwidth from the instances list[0..n) of one row that are (grouped) or are not in a group. */
static void set_bandwidth(struct comm_row *row, const struct named_instance *list, size_t n,
                          bool grouped, struct value_list *times)
{
    double bytes = 0;
    sample_reset(times);
    for (size_t i = 0; i < n; i++) {
        const struct comm_instance *in = list[i].in;
        if (in->timed == 0 || in->grouped != grouped || in->moved_bytes == 0)
            continue;
        sample_add(times, (double)in->transfer_ns);
        bytes += (double)in->moved_bytes;
    }
    double median = sample_median(times);
    if (!(median > 0))
        return;
    row->algbw_GBps = bytes / (double)times->count / median; /* bytes/ns = 1e9 bytes/s */
    if (row->comm_size > 1)                                  /* one rank alone uses no link */
        row->busbw_GBps =
            row->algbw_GBps * specter_comm_op_bus_factor(row->op, (uint64_t)row->comm_size);
}

/* A bandwidth above that of all links of the GPU together is none: the median transfer is that of
 * members which began when a part of the data had come, or the size is of another group. */
static void drop_impossible(struct comm_row *row, const struct machine *machine)
{
    if (machine->gpu == NULL || isnan(row->busbw_GBps) ||
        !limit_beyond_links(machine->gpu, (enum specter_comm_op)row->op, row->algbw_GBps,
                            row->comm_size))
        return;
    row->beyond_links = true;
    row->algbw_GBps = row->busbw_GBps = NAN;
}

static void set_times(struct comm_row *row, const struct named_instance *list, size_t n,
                      struct value_list *times)
{
    double wait = 0;
    size_t waits = 0;
    sample_reset(times);
    for (size_t i = 0; i < n; i++) {
        const struct comm_instance *in = list[i].in;
        row->grouped += in->grouped;
        row->records += in->members;
        if (in->timed > 0)
            sample_add(times, (double)in->transfer_ns);
        if (in->timed < 2)
            continue;
        wait += in->wait_ns;
        waits++;
    }
    row->timed = times->count;
    row->total_ns = times->sum + wait;
    row->wait_ns = waits > 0 ? wait / (double)waits : NAN;
    row->median_ns = sample_median(times); /* sorts */
    row->mean_ns = times->count > 0 ? times->sum / (double)times->count : NAN;
    row->min_ns = times->count > 0 ? times->values[0] : NAN;
    row->p95_ns = sample_percentile(times, 0.95);
    row->max_ns = times->count > 0 ? times->values[times->count - 1] : NAN;
}

/* Durations of all members of an instance together. */
static double busy_of(const struct comm_instance *in)
{
    double wait = in->timed > 1 ? in->wait_ns : 0;
    return in->timed > 0 ? in->timed * ((double)in->transfer_ns + wait) / in->group_ops : 0;
}

static void set_skew(struct comm_row *row, const struct named_instance *list, size_t n)
{
    double sum = 0;
    size_t known = 0;
    row->skew_max_ns = NAN;
    for (size_t i = 0; i < n; i++) {
        const struct coll_timing *m = &list[i].in->timing;
        row->busy_ns += busy_of(list[i].in);
        if (m->last_start_ns == UNKNOWN_NS)
            continue;
        double skew = (double)(m->last_start_ns - m->first_start_ns);
        row->skew_max_ns = fmax(row->skew_max_ns, skew); /* a NAN gives way */
        sum += skew;
        known++;
    }
    row->skew_ns = known > 0 ? sum / (double)known : NAN;
}

/* It uses links, and all that is to take part in it has a trace and times. */
static bool is_comparable(const struct comm_instance *in)
{
    uint32_t all = in->p2p ? 2 : (uint32_t)in->comm_size;
    return all > 1 && !in->to_itself && in->members == all && in->timed == all && in->consistent;
}

static bool same_layout(const struct layout *a, const struct layout *b)
{
    return a->nodes == b->nodes && a->per_node == b->per_node;
}

/* Instances of a row differ only in where their members sit, which rarely changes from one to the
 * next. */
static void set_expected(struct comm_row *row, const struct named_instance *list, size_t n,
                         const struct comm_study *study, const struct comm_context *context,
                         struct value_list *times)
{
    struct layout last = {0}, where;
    double sum = 0, expected = NAN;
    sample_reset(times);
    for (size_t i = 0; i < n; i++) {
        const struct comm_instance *in = list[i].in;
        bool placed = expected_layout(context->node_map, study->run, in, &where);
        int nodes = placed ? where.nodes : 0;
        row->nodes = i == 0 || row->nodes == nodes ? nodes : 0;
        if (!placed || !is_comparable(in) || in->grouped)
            continue;
        if (!same_layout(&last, &where) || in->op == SPECTER_ALLTOALLV) /* whose sizes differ */
            expected = expected_ns(context->machine, context->node_map, study->run, in);
        last = where;
        if (isnan(expected))
            continue;
        sum += expected;
        sample_add(times, (double)in->transfer_ns);
    }
    row->compared = times->count;
    row->expected_ns = times->count > 0 ? sum / (double)times->count : NAN;
    row->of_expected = row->expected_ns / sample_median(times);
    row->expected_busbw_GBps = NAN;
    if (row->compared > 0)
        row->expected_busbw_GBps = (double)row->bytes / row->expected_ns *
                                   specter_comm_op_bus_factor(row->op, (uint64_t)row->comm_size);
    if (!(row->of_expected < INFINITY))
        row->of_expected = NAN;
}

/* Order of instances by the way in which they ran; those of which nothing was told come last. */
static int by_choice(const void *x, const void *y)
{
    const struct comm_detail *a = ((const struct named_instance *)x)->in->detail;
    const struct comm_detail *b = ((const struct named_instance *)y)->in->detail;
    int order;
    if (a == NULL || b == NULL)
        return (a == NULL) - (b == NULL);
    order = strcmp(a->algo, b->algo);
    if (order == 0)
        order = strcmp(a->proto, b->proto);
    return order != 0 ? order : (a->channels > b->channels) - (a->channels < b->channels);
}

/* Leaves the list in order of the ways. */
static void set_choice(struct comm_row *row, struct named_instance *list, size_t n)
{
    row->algo = row->proto = "";
    for (size_t i = 0; i < n; i++)
        row->profiled += list[i].in->detail != NULL;
    if (row->profiled == 0)
        return;
    qsort(list, n, sizeof *list, by_choice);
    for (size_t from = 0, to; from < row->profiled; from = to) {
        for (to = from + 1; to < row->profiled && by_choice(&list[from], &list[to]) == 0; to++)
            ;
        if (to - from <= row->alike)
            continue;
        row->alike = to - from;
        row->algo = list[from].in->detail->algo;
        row->proto = list[from].in->detail->proto;
        row->channels = list[from].in->detail->channels;
    }
}

static void add_row(struct comm_rows *rows, struct named_instance *list, size_t n,
                    const struct comm_study *study, const struct comm_context *context,
                    struct value_list *times)
{
    const struct comm_instance *in = list[0].in;
    struct comm_row *row;
    ARRAY_GROW(rows->list, rows->cap, rows->count + 1);
    row = &rows->list[rows->count++];
    *row = (struct comm_row){.op = in->op,
                             .dtype = in->dtype,
                             .bytes_known = in->bytes_known,
                             .bytes = in->bytes,
                             .comm_size = in->comm_size,
                             .name = list[0].name,
                             .count = n,
                             .algbw_GBps = NAN,
                             .busbw_GBps = NAN};
    set_times(row, list, n, times);
    set_bandwidth(row, list, n, false, times);
    if (isnan(row->algbw_GBps))
        set_bandwidth(row, list, n, true, times);
    drop_impossible(row, context->machine);
    set_skew(row, list, n);
    set_expected(row, list, n, study, context, times);
    set_choice(row, list, n);
}

/* Of all communication, also that which is in other tables. */
static void set_shares(struct comm_rows *rows, const struct comm_study *study)
{
    double all = 0;
    for (size_t i = 0; i < study->count; i++)
        all += busy_of(&study->list[i]);
    for (size_t i = 0; i < rows->count; i++)
        rows->list[i].share = all > 0 ? rows->list[i].busy_ns / all : NAN;
}

void comm_rows_init(struct comm_rows *rows, const struct comm_study *study,
                    const struct comm_context *context, bool p2p, bool by_name)
{
    struct named_instance *list = NULL;
    struct value_list times = {0};
    size_t n = 0, cap = 0;
    memset(rows, 0, sizeof *rows);
    for (size_t i = 0; i < study->count; i++) {
        const struct comm_instance *in = &study->list[i];
        if (in->p2p != p2p)
            continue;
        ARRAY_GROW(list, cap, n + 1);
        list[n++] =
            (struct named_instance){in, by_name ? comm_group_name(study->run, in->comm) : ""};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_key);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && by_key(&list[from], &list[to]) == 0; to++)
            ;
        add_row(rows, list + from, to - from, study, context, &times);
    }
    if (rows->count > 0)
        qsort(rows->list, rows->count, sizeof *rows->list, by_cost);
    set_shares(rows, study);
    free(times.values);
    free(list);
}

void comm_rows_release(struct comm_rows *rows)
{
    free(rows->list);
    memset(rows, 0, sizeof *rows);
}

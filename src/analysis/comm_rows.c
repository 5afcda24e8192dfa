/* SPDX-License-Identifier: MIT */
#include "analysis/comm_rows.h"

#include "analysis/limits.h"
#include "analysis/traffic.h"
#include "base/order.h"
#include "base/stats.h"
#include "model/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the model expects ---- */

void machine_find(struct machine *m, const struct run *run, const struct gpu_profile *gpu,
                  const struct network_profile *net)
{
    *m = (struct machine){
        .gpu = gpu,
        .net = net,
        .by = net != NULL ? NETWORK_TOLD : NETWORK_UNKNOWN,
        .nccl = run_nccl_version(run),
    };
    for (size_t r = 0; gpu == NULL && r < run->nranks; r++) {
        const char *name = run->ranks[r].gpu;
        const struct gpu_profile *own = name[0] != '\0' ? gpu_profile_of_device(name) : NULL;
        m->mixed = m->mixed || (own != NULL && m->gpu != NULL && own != m->gpu);
        if (m->gpu == NULL)
            m->gpu = own;
    }
    if (m->mixed)
        m->gpu = NULL;
    if (m->net != NULL || m->gpu == NULL || m->gpu->network == NULL)
        return;
    m->net = network_profile_find(m->gpu->network, NULL);
    if (m->net != NULL)
        m->by = NETWORK_USUAL;
}

/* The model's time of a collective on the machine, by its version of NCCL. */
static int collective_cost(const struct machine *m, enum specter_comm_op op, double bytes,
                           struct layout where, struct comm_cost *cost)
{
    struct network_profile copy;
    return model_collective(m->gpu, network_with_nccl(m->net, m->nccl, &copy), op, bytes, where,
                            cost, NULL);
}

/* Finds the layout of an instance's members: both ends of a message, or the communicator's ranks.
 * False: not known. */
static bool expected_layout(const struct node_map *node_map, const struct run *run,
                            const struct comm_instance *in, struct layout *out)
{
    int src, dst, across;
    if (!in->p2p)
        return node_map_layout(node_map, run, in->comm, out);
    pair_of(in, run, &src, &dst);
    across = node_map_across(node_map, run, src, dst, in->comm);
    *out = (struct layout){2, across > 0 ? 2 : 1, across > 0 ? 1 : 2};
    return across >= 0;
}

/* Returns the time of an instance by the cost models (model/cost.h), in ns: on the machine of the
 * recording, alone, on idle links, all members there at once. NAN where its size or layout, the
 * machine, or a figure of the machine is not known, or the instance was launched together with
 * others. */
static double expected_ns(const struct machine *m, const struct node_map *node_map,
                          const struct run *run, const struct comm_instance *in)
{
    struct layout where;
    struct comm_cost cost;
    double bytes = (double)in->bytes;
    int rc;
    if (m->gpu == NULL || m->net == NULL || in->grouped || !in->bytes_known ||
        in->op >= SPECTER_COMM_OP_COUNT || !expected_layout(node_map, run, in, &where))
        return NAN;
    if (in->op == SPECTER_ALLTOALLV && in->sized > 0)
        bytes = in->sent / in->sized;
    if (in->p2p)
        rc = model_p2p(m->gpu, m->net, bytes, where.nodes > 1, &cost, NULL);
    else
        rc = collective_cost(m, (enum specter_comm_op)in->op, bytes, where, &cost);
    return rc == 0 && cost.us > 0 ? 1e3 * cost.us : NAN;
}

/* Widens the row's intervals to that of an instance. */
static void take_interval(struct comm_row *row, const struct machine *m,
                          const struct comm_instance *in, struct layout where)
{
    struct accuracy_interval interval;
    double bytes =
        in->op == SPECTER_ALLTOALLV && in->sized > 0 ? in->sent / in->sized : (double)in->bytes;
    if (in->p2p)
        accuracy_interval_of_p2p(m->net, &interval);
    else
        accuracy_interval_of_comm(m->gpu, m->net, (enum specter_comm_op)in->op, bytes, where,
                                  &interval);
    if (!interval.known || isnan(row->factor50)) {
        row->factor50 = row->factor80 = NAN;
        return;
    }
    row->factor50 = fmax(row->factor50, interval.factor50);
    row->factor80 = fmax(row->factor80, interval.factor80);
}

struct comm_expected comm_row_expected(const struct machine *m, const struct comm_row *row,
                                       double bytes)
{
    const struct layout where = {row->comm_size, row->nodes,
                                 row->nodes > 0 ? row->comm_size / row->nodes : 0};
    struct accuracy_interval interval;
    struct comm_expected out = {NAN, NAN};
    struct comm_cost cost;
    if (m->gpu == NULL || m->net == NULL || row->op >= SPECTER_COMM_OP_COUNT ||
        row->op == SPECTER_SEND || row->op == SPECTER_RECV || row->nodes < 1 ||
        row->comm_size < 2 || row->comm_size % row->nodes != 0 ||
        collective_cost(m, (enum specter_comm_op)row->op, bytes, where, &cost) != 0 ||
        !(cost.us > 0))
        return out;
    out.busbw_GBps =
        bytes / cost.us / 1e3 * specter_comm_op_bus_factor(row->op, (uint64_t)row->comm_size);
    accuracy_interval_of_comm(m->gpu, m->net, (enum specter_comm_op)row->op, bytes, where,
                              &interval);
    out.factor80 = interval.known ? interval.factor80 : NAN;
    return out;
}

double expected_error(const struct machine *m, bool p2p)
{
    bool known = false;
    double error;
    for (size_t i = 0; i < network_profile_count && !known; i++)
        known = m->net == &network_profiles[i]; /* not a user's file of that name */
    if (!known)
        return NAN;
    error = accuracy_of(p2p ? ACCURACY_P2P : ACCURACY_COLLECTIVE, m->net->name, &known);
    return known ? error : NAN;
}

/* ---- rows ---- */

/* An instance with the name that its row goes by. */
struct named_instance {
    const struct comm_instance *in;
    const char *name;
};

#define KEYS 5

/* Order of instances by what makes a row. */
static int by_key(const void *x, const void *y)
{
    const struct named_instance *p = x, *q = y;
    const struct comm_instance *a = p->in, *b = q->in;
    int order = order_uint64s(
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
    order = order_uint64s(
        (const uint64_t[KEYS]){a->op, a->dtype, a->bytes_known, a->bytes, (uint64_t)a->comm_size},
        (const uint64_t[KEYS]){b->op, b->dtype, b->bytes_known, b->bytes, (uint64_t)b->comm_size},
        KEYS);
    return order != 0 ? order : strcmp(a->name, b->name);
}

/* Bandwidth from the instances list[0..n) of one row that are (grouped) or are not in a group. */
static void set_bandwidth(struct comm_row *row, const struct named_instance *list, size_t n,
                          bool grouped, struct sample *times)
{
    struct sample_stats of;
    double bytes = 0;
    sample_reset(times);
    for (size_t i = 0; i < n; i++) {
        const struct comm_instance *in = list[i].in;
        if (in->timed == 0 || in->grouped != grouped || in->moved_bytes == 0)
            continue;
        sample_add(times, in->transfer_ns);
        bytes += (double)in->moved_bytes;
    }
    sample_measure(times, &of);
    if (!(of.median > 0))
        return;
    row->algbw_GBps = bytes / (double)times->count / of.median; /* bytes/ns = 1e9 bytes/s */
    if (row->comm_size > 1)                                     /* one rank alone uses no link */
        row->busbw_GBps =
            row->algbw_GBps * specter_comm_op_bus_factor(row->op, (uint64_t)row->comm_size);
}

static void set_times(struct comm_row *row, const struct named_instance *list, size_t n,
                      struct sample *times)
{
    struct sample_stats of;
    double sum = 0, wait = 0;
    size_t waits = 0;
    sample_reset(times);
    for (size_t i = 0; i < n; i++) {
        const struct comm_instance *in = list[i].in;
        row->grouped += in->grouped;
        row->records += in->members;
        if (in->timed > 0) {
            sample_add(times, in->transfer_ns);
            sum += (double)in->transfer_ns;
        }
        if (in->timed < 2)
            continue;
        wait += in->wait_ns;
        waits++;
    }
    row->timed = times->count;
    row->total_ns = sum + wait;
    row->wait_ns = waits > 0 ? wait / (double)waits : NAN;
    sample_measure(times, &of);
    row->mean_ns = times->count > 0 ? sum / (double)times->count : NAN;
    row->median_ns = of.median;
    row->min_ns = of.min;
    row->p95_ns = of.p95;
    row->max_ns = of.max;
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

/* Instances of a row differ only in where their members sit, which rarely changes from one to the
 * next. */
static void set_expected(struct comm_row *row, const struct named_instance *list, size_t n,
                         const struct comm_study *study, const struct comm_context *context,
                         struct sample *times)
{
    struct layout last = {0}, where;
    struct sample_stats of;
    double sum = 0, expected = NAN;
    row->factor50 = row->factor80 = 0;
    sample_reset(times);
    for (size_t i = 0; i < n; i++) {
        const struct comm_instance *in = list[i].in;
        bool placed = expected_layout(context->node_map, study->run, in, &where);
        int nodes = placed ? where.nodes : 0;
        row->nodes = i == 0 || row->nodes == nodes ? nodes : 0;
        if (!placed || !is_comparable(in) || in->grouped)
            continue;
        if (last.nodes != where.nodes || last.per_node != where.per_node ||
            in->op == SPECTER_ALLTOALLV) { /* whose sizes differ */
            expected = expected_ns(context->machine, context->node_map, study->run, in);
            if (!isnan(expected))
                take_interval(row, context->machine, in, where);
        }
        last = where;
        if (isnan(expected))
            continue;
        sum += expected;
        sample_add(times, in->transfer_ns);
    }
    row->compared = times->count;
    if (row->compared == 0)
        row->factor50 = row->factor80 = NAN;
    row->expected_ns = times->count > 0 ? sum / (double)times->count : NAN;
    sample_measure(times, &of);
    row->of_expected = row->expected_ns / of.median;
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
                    struct sample *times)
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
    /* A bandwidth above that of all links of the GPU together is none: the median transfer is that
     * of members which began when a part of the data had come, or the size is of another group. */
    row->beyond_links = context->machine->gpu != NULL && !isnan(row->busbw_GBps) &&
                        limit_beyond_links(context->machine->gpu, (enum specter_comm_op)row->op,
                                           row->algbw_GBps, row->comm_size);
    if (row->beyond_links)
        row->algbw_GBps = row->busbw_GBps = NAN;
    set_skew(row, list, n);
    set_expected(row, list, n, study, context, times);
    set_choice(row, list, n);
}

void comm_rows_init(struct comm_rows *rows, const struct comm_study *study,
                    const struct comm_context *context, enum comm_rows_of of)
{
    struct named_instance *list = NULL;
    struct sample times = {0};
    double busy_ns = 0; /* of all communication, also that which is in other tables */
    size_t n = 0, cap = 0;
    memset(rows, 0, sizeof *rows);
    for (size_t i = 0; i < study->count; i++) {
        const struct comm_instance *in = &study->list[i];
        busy_ns += busy_of(in);
        if (in->p2p != (of == COMM_ROWS_MESSAGES))
            continue;
        ARRAY_GROW(list, cap, n + 1);
        list[n++] = (struct named_instance){
            in, of == COMM_ROWS_COLLECTIVES_BY_NAME ? comm_group_name(study->run, in->comm) : ""};
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
    for (size_t i = 0; i < rows->count; i++)
        rows->list[i].share = busy_ns > 0 ? rows->list[i].busy_ns / busy_ns : NAN;
    sample_release(&times);
    free(list);
}

void comm_rows_release(struct comm_rows *rows)
{
    free(rows->list);
    memset(rows, 0, sizeof *rows);
}

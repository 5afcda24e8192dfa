/* SPDX-License-Identifier: MIT
 *
 * Sheets of single collectives, and of what communication as a whole rests on.
 */
#include "base/arena.h"
#include "report/analyze_sheets.h"
#include "base/order.h"
#include "report/op_text.h"

#include <math.h>
#include <stdlib.h>

#define INSTANCES_LISTED 10000 /* in JSON; the other forms have all */

/* ---- single collectives ---- */

/* In order of time; those without come last. Equal ones in the order of the study. */
static int by_time(const void *x, const void *y)
{
    const struct comm_instance *a = *(const struct comm_instance *const *)x;
    const struct comm_instance *b = *(const struct comm_instance *const *)y;
    int64_t ta = a->timing.first_start_ns, tb = b->timing.first_start_ns;
    if ((ta == UNKNOWN_NS) != (tb == UNKNOWN_NS))
        return ta == UNKNOWN_NS ? 1 : -1;
    if (ta != tb)
        return ORDER(ta, tb);
    /* Of communicators beside each other that of the lowest rank: theirs is the order of files. */
    return a->first.rank != b->first.rank ? ORDER(a->first.rank, b->first.rank) : ORDER(a, b);
}

static const struct comm_instance **collectives_of(const struct comm_study *study, size_t *count)
{
    const struct comm_instance **list = array_new(study->count, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < study->count; i++) {
        if (!study->list[i].p2p)
            list[n++] = &study->list[i];
    }
    qsort(list, n, sizeof *list, by_time);
    *count = n;
    return list;
}

/* to - from; NAN when either is not known. */
static double ns_between(int64_t from, int64_t to)
{
    return from != UNKNOWN_NS && to != UNKNOWN_NS ? (double)(to - from) : NAN;
}

static double rank_number(const struct run *run, uint32_t index)
{
    return index != RANK_UNKNOWN ? run->ranks[index].rank : NAN;
}

static void who_cells(struct sheet *s, const struct analysis *a, const struct comm_instance *in)
{
    bool named = in->comm >= 0;
    int nodes = named ? a->node_map.comms[in->comm].nodes : 0;
    sheet_text(s, named ? a->run->comms[in->comm].id : "");
    sheet_number(s, in->seq >= 0 ? (double)in->seq : NAN);
    sheet_text(s, comm_op_text(in->op));
    sheet_text(s, comm_dtype_text(in->dtype));
    sheet_number(s, in->bytes_known ? (double)in->bytes : NAN);
    sheet_text(s, comm_group_name(a->run, in->comm));
    sheet_number(s, in->comm_size > 0 ? in->comm_size : NAN);
    sheet_number(s, nodes > 0 ? nodes : NAN);
    sheet_number(s, in->members);
    sheet_number(s, in->timed);
}

/* Since the first collective; NAN where their clocks do not agree. */
static double since_first(const struct analysis *a, const struct comm_instance *zero,
                          const struct comm_instance *in)
{
    const struct rank *ranks = a->run->ranks;
    if (!a->run->clock_aligned && ranks[zero->first.rank].domain != ranks[in->first.rank].domain)
        return NAN;
    return ns_between(zero->timing.first_start_ns, in->timing.first_start_ns);
}

static void time_cells(struct sheet *s, const struct analysis *a, const struct comm_instance *in,
                       const struct comm_instance *zero)
{
    const struct coll_timing *m = &in->timing;
    uint32_t step = op_step(&a->job_steps, in->first.rank, in->first.op);
    sheet_text(s, op_step_name(&a->job_steps, a->run, in->first.rank, step));
    sheet_number(s, since_first(a, zero, in));
    sheet_number(s, ns_between(m->last_start_ns != UNKNOWN_NS ? m->first_start_ns : UNKNOWN_NS,
                               m->last_start_ns));
    sheet_number(s, ns_between(m->first_end_ns, m->last_end_ns));
    sheet_number(s, in->timed > 0 && in->transfer_ns != UNKNOWN_NS ? (double)in->transfer_ns : NAN);
    sheet_number(s, in->wait_ns);
    sheet_number(s, m->wait_max_ns);
    sheet_number(s, m->arrive_wait_ns);
    sheet_number(s, rank_number(a->run, m->first_rank));
    sheet_number(s, rank_number(a->run, m->last_rank));
    sheet_number(s, alltoall_wall_ns(in));
    sheet_number(s, alltoall_moved_ns(in));
}

static void rate_cells(struct sheet *s, const struct comm_instance *in)
{
    double bw = NAN, factor = NAN;
    if (in->timed > 0 && in->transfer_ns > 0 && in->moved_bytes > 0)
        bw = (double)in->moved_bytes / (double)in->transfer_ns;
    if (in->comm_size > 1 && in->op < SPECTER_COMM_OP_COUNT)
        factor = specter_comm_op_bus_factor(in->op, (uint64_t)in->comm_size);
    sheet_number(s, bw);
    sheet_number(s, bw * factor);
    sheet_number(s, is_alltoall(in) ? alltoall_imbalance(in) : NAN);
    sheet_number(s, in->grouped);
    sheet_number(s, in->consistent);
}

void sheet_of_collective_instances(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"comm", NULL, SHEET_TEXT, 0},
        {"seq", "seq", SHEET_COUNT, 0},
        {"op", "op", SHEET_TEXT, 0},
        {"dtype", NULL, SHEET_TEXT, 0},
        {"bytes", "size", SHEET_BYTES, 0},
        {"group", "group", SHEET_TEXT, 10},
        {"comm_size", NULL, SHEET_COUNT, 0},
        {"nodes", NULL, SHEET_COUNT, 0},
        {"members", "ranks", SHEET_COUNT, 0},
        {"timed", NULL, SHEET_COUNT, 0},
        {"step", NULL, SHEET_TEXT, 0},
        {"start_us", NULL, SHEET_TIME, 0},
        {"start_skew_us", "skew", SHEET_TIME, 0},
        {"end_skew_us", NULL, SHEET_TIME, 0},
        {"transfer_us", "transfer", SHEET_TIME, 0},
        {"wait_us", "wait", SHEET_TIME, 0},
        {"wait_max_us", NULL, SHEET_TIME, 0},
        {"arrive_wait_us", NULL, SHEET_TIME, 0},
        {"first_rank", NULL, SHEET_COUNT, 0},
        {"last_rank", "last", SHEET_COUNT, 0},
        {"wall_us", NULL, SHEET_TIME, 0},
        {"moved_us", NULL, SHEET_TIME, 0},
        {"algbw_GBps", NULL, SHEET_RATE, 0},
        {"busbw_GBps", "busbw", SHEET_RATE, 0},
        {"imbalance", NULL, SHEET_RATE, 0},
        {"grouped", NULL, SHEET_COUNT, 0},
        {"consistent", NULL, SHEET_COUNT, 0},
    };
    size_t count;
    const struct comm_instance **list = collectives_of(&a->comm, &count);
    sheet_init(s, "collective_instances", "Collectives, one by one, in order of time",
               SHEET_COLUMNS(columns));
    s->json_rows = INSTANCES_LISTED;
    for (size_t i = 0; i < count && (a->all_rows || i < INSTANCES_LISTED); i++) {
        who_cells(s, a, list[i]);
        time_cells(s, a, list[i], list[0]);
        rate_cells(s, list[i]);
    }
    free(list);
}

/* ---- all together ---- */

void sheet_of_communication(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"gpu", "GPU", SHEET_TEXT, 0},
        {"network", "network", SHEET_TEXT, 0},
        {"network_by", NULL, SHEET_TEXT, 0},
        {"model_error", NULL, SHEET_SHARE, 0},
        {"model_error_p2p", NULL, SHEET_SHARE, 0},
        {"nodes_by", "nodes by", SHEET_TEXT, 0},
        {"nodes", "nodes", SHEET_COUNT, 0},
        {"collectives", "coll.", SHEET_COUNT, 0},
        {"messages", "messages", SHEET_COUNT, 0},
        {"unknown_ops", NULL, SHEET_COUNT, 0},
        {"without_data", NULL, SHEET_COUNT, 0},
        {"pairs", NULL, SHEET_COUNT, 0},
        {"messages_without_ends", NULL, SHEET_COUNT, 0},
        {"collectives_per_step", "a step", SHEET_RATE, 0},
    };
    uint64_t collectives = 0, messages = 0, unknown = 0;
    sheet_init(s, "communication", "Communication in all", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->comm.count; i++) {
        const struct comm_instance *in = &a->comm.list[i];
        collectives += !in->p2p;
        messages += in->p2p;
        unknown += in->op >= SPECTER_COMM_OP_COUNT;
    }
    if (a->comm.count == 0)
        return;
    const struct machine *m = &a->machine;
    sheet_text(s, m->gpu != NULL ? m->gpu->name : "");
    sheet_text(s, m->net != NULL ? m->net->name : "");
    sheet_text(s, m->by == NETWORK_TOLD ? "given" : m->by == NETWORK_USUAL ? "usual" : "");
    sheet_number(s, expected_error(m, false));
    sheet_number(s, expected_error(m, true));
    sheet_text(s, a->node_map.by == NODE_MAP_HOSTS    ? "hosts"
                  : a->node_map.by == NODE_MAP_LAYOUT ? "layout"
                                                      : NULL);
    sheet_number(s, a->node_map.nodes > 0 ? a->node_map.nodes : NAN);
    sheet_number(s, (double)collectives);
    sheet_number(s, (double)messages);
    sheet_number(s, (double)unknown);
    sheet_number(s, (double)a->traffic.without_data);
    sheet_number(s, (double)a->traffic.pairs.count);
    sheet_number(s, (double)a->traffic.pairs.endless);
    sheet_number(s, a->traffic.per_step);
}

/* SPDX-License-Identifier: MIT
 *
 * Sheets of what communication moved, and between which ranks.
 */
#include "report/analyze_sheets.h"
#include "report/op_text.h"

#include <math.h>

#define PAIRS_LISTED 64 /* in JSON; the other forms have all */

/* Nothing is known of the bytes when no instance has a size. */
static double known(const struct traffic_sum *sum, double bytes)
{
    return sum->unsized < sum->instances ? bytes : NAN;
}

#define SUM_COLUMNS                                                                    \
    {"instances", NULL, SHEET_COUNT, 0}, {"calls", "calls", SHEET_COUNT, 0},           \
        {"unsized", NULL, SHEET_COUNT, 0}, {"bytes", "S", SHEET_BYTES, 0},             \
        {"wire_bytes", "sent", SHEET_BYTES, 0}, {"intra_bytes", NULL, SHEET_BYTES, 0}, \
        {"inter_bytes", "to nodes", SHEET_BYTES, 0}, {"timed", NULL, SHEET_COUNT, 0},  \
    {                                                                                  \
        "time_us", NULL, SHEET_TIME, 0                                                 \
    }

static void sum_cells(struct sheet *s, const struct traffic_sum *sum)
{
    sheet_number(s, (double)sum->instances);
    sheet_number(s, (double)sum->calls);
    sheet_number(s, (double)sum->unsized);
    sheet_number(s, known(sum, sum->bytes));
    sheet_number(s, known(sum, sum->wire_bytes));
    sheet_number(s, known(sum, sum->wire_bytes - sum->inter_bytes));
    sheet_number(s, known(sum, sum->inter_bytes));
    sheet_number(s, (double)sum->timed);
    sheet_number(s, sum->timed > 0 ? sum->time_ns : NAN);
}

/* Notes on the split into nodes. */
static void note_places(struct sheet *s, const struct analysis *a)
{
    if (a->node_map.by == NODE_MAP_LAYOUT)
        sheet_note(s, "which ranks share a node: assumed, in order, %d to a node",
                   a->node_map.per_node);
    if (a->traffic.without_data > 0)
        sheet_note(s, "without operations that move no data: %llu",
                   (unsigned long long)a->traffic.without_data);
}

void sheet_of_traffic(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"op", "op", SHEET_TEXT, 0},
        {"dtype", "dtype", SHEET_TEXT, 0},
        {"group", NULL, SHEET_TEXT, 0},
        {"comm_size", NULL, SHEET_COUNT, 0},
        {NULL, "ranks", SHEET_TEXT, 16},
        {"nodes", NULL, SHEET_COUNT, 0},
        SUM_COLUMNS,
    };
    sheet_init(s, "traffic",
               "Traffic: full buffers S, what the GPUs send, and what of it leaves a node",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->traffic.nrows; i++) {
        const struct traffic_row *row = &a->traffic.rows[i];
        sheet_text(s, comm_op_text(row->op));
        sheet_text(s, comm_dtype_text(row->dtype));
        sheet_text(s, row->group);
        sheet_number(s, row->comm_size > 0 ? row->comm_size : NAN);
        sheet_text(s, comm_group_text(row->comm_size, row->group, &s->arena));
        sheet_number(s, row->nodes > 0 ? row->nodes : NAN);
        sum_cells(s, &row->sum);
    }
    note_places(s, a);
}

void sheet_of_traffic_sizes(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"op", "op", SHEET_TEXT, 0},
        {"from_bytes", "from", SHEET_BYTES, 0},
        {"below_bytes", "below", SHEET_BYTES, 0},
        SUM_COLUMNS,
    };
    sheet_init(s, "traffic_sizes", "Traffic by size of the full buffer", SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->traffic.nsizes; i++) {
        const struct size_row *row = &a->traffic.sizes[i];
        sheet_text(s, comm_op_text(row->op));
        sheet_number(s, row->bin >= 0 ? ldexp(1, row->bin) : NAN);
        sheet_number(s, row->bin >= 0 ? ldexp(1, row->bin + 1) : NAN);
        sum_cells(s, &row->sum);
    }
    note_places(s, a);
}

void sheet_of_comm_groups(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"group", "group", SHEET_TEXT, 16},       {"comm_size", "ranks", SHEET_COUNT, 0},
        {"nodes", "nodes", SHEET_COUNT, 0},       {"comms", "comms", SHEET_COUNT, 0},
        {"collectives", "coll.", SHEET_COUNT, 0}, {"messages", NULL, SHEET_COUNT, 0},
        {"per_step", "a step", SHEET_RATE, 0},    {"bytes", "S", SHEET_BYTES, 0},
        {"wire_bytes", NULL, SHEET_BYTES, 0},     {"inter_bytes", NULL, SHEET_BYTES, 0},
        {"rank_time_us", "time", SHEET_TIME, 0},  {"rank_time_max_us", "longest", SHEET_TIME, 0},
        {"max_rank", "rank", SHEET_COUNT, 0},     {"imbalance", NULL, SHEET_RATE, 0},
    };
    sheet_init(s, "comm_groups", "Communication by group: time of a rank in it, mean and longest",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->traffic.ngroups; i++) {
        const struct group_row *row = &a->traffic.groups[i];
        sheet_text(s, row->group);
        sheet_number(s, row->comm_size > 0 ? row->comm_size : NAN);
        sheet_number(s, row->nodes > 0 ? row->nodes : NAN);
        sheet_number(s, (double)row->comms);
        sheet_number(s, (double)row->collectives);
        sheet_number(s, (double)row->messages);
        sheet_number(s, row->per_step);
        sheet_number(s, known(&row->sum, row->sum.bytes));
        sheet_number(s, known(&row->sum, row->sum.wire_bytes));
        sheet_number(s, known(&row->sum, row->sum.inter_bytes));
        sheet_number(s, row->time_ns);
        sheet_number(s, row->time_max_ns);
        sheet_number(s, row->max_rank >= 0 ? row->max_rank : NAN);
        sheet_number(s, row->time_max_ns / row->time_ns);
    }
}

void sheet_of_pairs(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"src", "from", SHEET_COUNT, 0},    {"dst", "to", SHEET_COUNT, 0},
        {"nodes", "nodes", SHEET_TEXT, 0},  {"count", "count", SHEET_COUNT, 0},
        {"unsized", NULL, SHEET_COUNT, 0},  {"bytes", "bytes", SHEET_BYTES, 0},
        {"timed", NULL, SHEET_COUNT, 0},    {"two_sided", NULL, SHEET_COUNT, 0},
        {"time_us", "time", SHEET_TIME, 0}, {"bw_GBps", "GB/s", SHEET_RATE, 0},
    };
    size_t rows = a->all_rows ? a->traffic.pairs.count : PAIRS_LISTED;
    sheet_init(s, "pairs", "Messages between two ranks", SHEET_COLUMNS(columns));
    s->json_rows = PAIRS_LISTED;
    for (size_t i = 0; i < a->traffic.pairs.count && i < rows; i++) {
        const struct pair_row *row = &a->traffic.pairs.list[i];
        sheet_number(s, row->src);
        sheet_number(s, row->dst);
        int across = row->across;
        sheet_text(s, row->src == row->dst ? "self"
                      : across < 0         ? ""
                      : across > 0         ? "inter"
                                           : "intra");
        sheet_number(s, (double)row->count);
        sheet_number(s, (double)row->unsized);
        sheet_number(s, row->unsized < row->count ? row->bytes : NAN);
        sheet_number(s, (double)row->timed);
        sheet_number(s, (double)row->two_sided);
        sheet_number(s, row->time_ns);
        sheet_number(s, row->bw_GBps);
    }
    if (a->traffic.pairs.endless > 0)
        sheet_note(s, "without messages that do not tell both of their ends: %llu",
                   (unsigned long long)a->traffic.pairs.endless);
}

void sheet_of_alltoall(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"op", "op", SHEET_TEXT, 0},
        {"dtype", "dtype", SHEET_TEXT, 0},
        {"group", NULL, SHEET_TEXT, 0},
        {"comm_size", NULL, SHEET_COUNT, 0},
        {NULL, "ranks", SHEET_TEXT, 10},
        {"instances", "count", SHEET_COUNT, 0},
        {"whole", NULL, SHEET_COUNT, 0},
        {"bytes", "bytes", SHEET_BYTES, 0},
        {"imbalance", "max/mean", SHEET_RATE, 0},
        {"imbalance_max", NULL, SHEET_RATE, 0},
        {"timed", NULL, SHEET_COUNT, 0},
        {"wall_us", "wall", SHEET_TIME, 0},
        {"moved_us", "moved", SHEET_TIME, 0},
        {"throughput_GBps", "GB/s", SHEET_RATE, 0},
    };
    sheet_init(s, "alltoall", "All-to-all: bytes and throughput of all members together",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->alltoalls.count; i++) {
        const struct alltoall_row *row = &a->alltoalls.list[i];
        sheet_text(s, comm_op_text(row->op));
        sheet_text(s, comm_dtype_text(row->dtype));
        sheet_text(s, row->group);
        sheet_number(s, row->comm_size > 0 ? row->comm_size : NAN);
        sheet_text(s, comm_group_text(row->comm_size, row->group, &s->arena));
        sheet_number(s, (double)row->instances);
        sheet_number(s, (double)row->whole);
        sheet_number(s, row->whole > 0 ? row->bytes : NAN);
        sheet_number(s, row->imbalance);
        sheet_number(s, row->imbalance_max);
        sheet_number(s, (double)row->timed);
        sheet_number(s, row->wall_ns);
        sheet_number(s, row->moved_ns);
        sheet_number(s, row->bw_GBps);
    }
}

/* SPDX-License-Identifier: MIT
 *
 * Sums for the closing record: calls by function, times by kind of work and by communicator
 * (output.h).
 */
#include "output.h"

#include "format.h"
#include "hooks.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define INDEX_SLOTS (2 * OP_SUMS_ROWS)
#define SHARED_MAX 64 /* device intervals of groups that are remembered */

struct call_sum {
    uint64_t count, bytes;
};

/* Numbers of calls that are recorded, operations or not. */
static struct call_counts {
    struct call_sum comm_ops[SPECTER_COMM_OP_COUNT];
    struct call_sum gemms[HOOK_COUNT];
    struct call_sum copies;
    uint64_t timings[SPECTER_TIMING_COUNT];
    uint64_t deps, syncs, launches, graphs, marks;
} calls;

struct kind_sum {
    uint64_t count, bytes, timed;
    int64_t sum_ns;
};

struct row {
    uint64_t comm; /* 0: unknown */
    int32_t size;
    uint32_t merged;      /* rows that this one stands for, all beyond OP_SUMS_ROWS counted as one;
                             0: it is one itself */
    uint32_t last_shared; /* the shared interval that was counted last */
    uint8_t op;
    bool is_put;
    uint64_t count, bytes;       /* of all operations */
    uint64_t timed, timed_bytes; /* of those with a device time */
    uint64_t spans;              /* their intervals: operations of a group share one */
    int64_t sum_ns, min_ns, max_ns, from_ns, to_ns;
    uint32_t hist[SPECTER_HIST_BINS]; /* full bins stay as they are */
};

/* An interval that the operations of one group on one communicator and stream share. */
struct shared {
    uint32_t number; /* never 0 */
    uint64_t comm;
    uint32_t group, stream;
    bool counted[SPECTER_SUM_KIND_COUNT];
};

static struct all_sums {
    struct kind_sum kinds[SPECTER_SUM_KIND_COUNT];
    int64_t from_ns, to_ns; /* of all timed operations, when there are any */
    uint64_t devices;       /* a bit a device that worked */
    uint32_t shared_count;  /* wraps around */
    struct shared shared[SHARED_MAX];
    uint32_t nrows;
    uint16_t index[INDEX_SLOTS]; /* row + 1; 0: free */
    struct row others[SPECTER_COMM_OP_COUNT];
    struct row rows[OP_SUMS_ROWS]; /* those in use are all that is ever touched */
} sums;

/* ---- adding ---- */

/* Returns the bytes that an operation moves; 0 unknown. */
static uint64_t bytes_of(const struct record *r)
{
    uint64_t ranks;
    switch ((enum record_kind)r->kind) {
    case RECORD_NCCL:
        ranks = r->nccl.comm_size > 0 ? (uint64_t)r->nccl.comm_size : 0;
        return specter_comm_op_bytes(r->op, r->nccl.count, r->dtype, ranks);
    case RECORD_COPY:
        return r->copy.bytes != UINT64_MAX ? r->copy.bytes : 0;
    default:
        return 0;
    }
}

static void add_call(struct call_sum *sum, uint64_t bytes)
{
    sum->count++;
    sum->bytes += bytes;
}

static void count_call(const struct record *r, uint64_t bytes)
{
    switch ((enum record_kind)r->kind) {
    case RECORD_NCCL:
        add_call(&calls.comm_ops[r->op], bytes);
        break;
    case RECORD_GEMM:
        add_call(&calls.gemms[r->op], bytes);
        break;
    case RECORD_COPY:
        add_call(&calls.copies, bytes);
        break;
    case RECORD_LAUNCH:
        calls.launches += r->untraced.launches;
        break;
    case RECORD_GRAPH:
        calls.graphs++;
        break;
    case RECORD_MARK:
        calls.marks++;
        break;
    case RECORD_SYNC:
        calls.syncs++;
        break;
    case RECORD_EVENT:
    case RECORD_WAIT:
    case RECORD_KIND_COUNT:
        calls.deps++;
    }
    if (record_is_op(r))
        calls.timings[r->timing]++;
}

static enum specter_sum_kind kind_of(const struct record *r)
{
    switch ((enum record_kind)r->kind) {
    case RECORD_NCCL:
        return specter_comm_op_is_p2p(r->op) ? SPECTER_SUM_MESSAGES : SPECTER_SUM_COLLECTIVES;
    case RECORD_GEMM:
        return SPECTER_SUM_GEMMS;
    case RECORD_COPY:
        return SPECTER_SUM_COPIES;
    case RECORD_GRAPH:
        return SPECTER_SUM_GRAPHS;
    default:
        return SPECTER_SUM_KIND_COUNT;
    }
}

static bool is_timed(const struct record *r)
{
    return (r->timing == SPECTER_TIMING_DEVICE || r->timing == SPECTER_TIMING_SYNC ||
            r->timing == SPECTER_TIMING_GRAPH) &&
           r->start_ns != NO_TIME && r->dur_ns != NO_TIME && r->dur_ns >= 0;
}

static int bin_of(int64_t ns)
{
    int bin = ns > 0 ? 63 - __builtin_clzll((uint64_t)ns) : 0;
    if (bin < SPECTER_HIST_MIN)
        bin = SPECTER_HIST_MIN;
    return (bin < SPECTER_HIST_MAX ? bin : SPECTER_HIST_MAX) - SPECTER_HIST_MIN;
}

static void add_to_bin(uint32_t *bin, uint32_t count)
{
    *bin = count <= UINT32_MAX - *bin ? *bin + count : UINT32_MAX;
}

/* NULL: the operation has its interval for itself. */
static struct shared *find_shared(const struct record *r)
{
    struct shared *s;
    if (r->kind != RECORD_NCCL || r->nccl.group == NO_ID)
        return NULL;
    for (int i = 0; i < SHARED_MAX; i++) {
        s = &sums.shared[(sums.shared_count - (uint32_t)i) % SHARED_MAX];
        if (s->number != 0 && s->group == r->nccl.group && s->comm == r->nccl.comm &&
            s->stream == r->stream)
            return s;
    }
    sums.shared_count += sums.shared_count == UINT32_MAX ? 2 : 1;
    s = &sums.shared[sums.shared_count % SHARED_MAX];
    *s = (struct shared){.number = sums.shared_count,
                         .comm = r->nccl.comm,
                         .group = r->nccl.group,
                         .stream = r->stream};
    return s;
}

static struct row *find_row(const struct record *r)
{
    uint64_t hash = (r->nccl.comm ^ (uint64_t)(uint32_t)r->nccl.comm_size << 16 ^ r->op) *
                    UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(hash >> 32) % INDEX_SLOTS;
    struct row *row;
    for (; sums.index[at] != 0; at = (at + 1) % INDEX_SLOTS) {
        row = &sums.rows[sums.index[at] - 1];
        if (row->comm == r->nccl.comm && row->size == r->nccl.comm_size && row->op == r->op)
            return row;
    }
    if (sums.nrows == OP_SUMS_ROWS) {
        row = &sums.others[r->op];
        row->op = (uint8_t)r->op;
        row->merged += row->merged == 0; /* how many they are is not known */
        return row;
    }
    row = &sums.rows[sums.nrows++];
    sums.index[at] = (uint16_t)sums.nrows;
    memset(row, 0, sizeof *row);
    row->comm = r->nccl.comm;
    row->size = r->nccl.comm_size;
    row->op = (uint8_t)r->op;
    return row;
}

static void add_to_row(struct row *row, const struct record *r, uint64_t bytes, bool timed,
                       const struct shared *shared)
{
    row->count++;
    row->bytes += bytes;
    if (!timed)
        return;
    row->timed++;
    row->timed_bytes += bytes;
    if (shared != NULL && row->last_shared == shared->number)
        return;
    row->last_shared = shared != NULL ? shared->number : 0;
    row->min_ns = row->spans == 0 || r->dur_ns < row->min_ns ? r->dur_ns : row->min_ns;
    row->max_ns = row->spans == 0 || r->dur_ns > row->max_ns ? r->dur_ns : row->max_ns;
    row->from_ns = row->spans == 0 || r->start_ns < row->from_ns ? r->start_ns : row->from_ns;
    if (row->spans == 0 || r->start_ns + r->dur_ns > row->to_ns)
        row->to_ns = r->start_ns + r->dur_ns;
    row->sum_ns += r->dur_ns;
    row->spans++;
    add_to_bin(&row->hist[bin_of(r->dur_ns)], 1);
}

static void add_to_kind(enum specter_sum_kind kind, const struct record *r, uint64_t bytes,
                        bool timed, struct shared *shared)
{
    struct kind_sum *k = &sums.kinds[kind];
    k->count++;
    k->bytes += bytes;
    if (!timed)
        return;
    k->timed++;
    if (shared != NULL && shared->counted[kind])
        return;
    if (shared != NULL)
        shared->counted[kind] = true;
    k->sum_ns += r->dur_ns;
}

void op_sums_add(const struct record *r)
{
    enum specter_sum_kind kind = kind_of(r);
    uint64_t bytes = bytes_of(r);
    bool timed = is_timed(r);
    struct shared *shared = timed ? find_shared(r) : NULL;
    count_call(r, bytes);
    if (kind == SPECTER_SUM_KIND_COUNT)
        return;
    if (timed) {
        bool first = sums.devices == 0;
        int64_t end_ns = r->start_ns + r->dur_ns;
        sums.from_ns = first || r->start_ns < sums.from_ns ? r->start_ns : sums.from_ns;
        sums.to_ns = first || end_ns > sums.to_ns ? end_ns : sums.to_ns;
        sums.devices |= UINT64_C(1) << (r->device & 63);
    }
    add_to_kind(kind, r, bytes, timed, shared);
    if (r->kind == RECORD_NCCL)
        add_to_row(find_row(r), r, bytes, timed, shared);
}

/* ---- writing ---- */

static void put_count(struct out *o, const char *key, uint64_t value)
{
    put_RAW(o, key);
    put_U64(o, value);
}

static void put_time(struct out *o, const char *key, bool known, int64_t ns)
{
    put_RAW(o, key);
    put_US(o, known ? ns : NO_TIME);
}

void op_sums_put_time(struct out *o)
{
    static const char *const keys[] = {
#define X(id, key) "\"" key "\":{\"count\":",
        SPECTER_SUM_KINDS(X)
#undef X
    };
    bool known = sums.devices != 0;
    put_time(o, "{\"from_us\":", known, sums.from_ns);
    put_time(o, ",\"to_us\":", known, sums.to_ns);
    put_count(o, ",\"devices\":", (uint64_t)__builtin_popcountll(sums.devices));
    for (int i = 0; i < SPECTER_SUM_KIND_COUNT; i++) {
        const struct kind_sum *k = &sums.kinds[i];
        put_RAW(o, ",");
        put_count(o, keys[i], k->count);
        if (i != SPECTER_SUM_GEMMS && i != SPECTER_SUM_GRAPHS)
            put_count(o, ",\"bytes\":", k->bytes);
        put_count(o, ",\"timed\":", k->timed);
        put_time(o, ",\"us\":", true, k->sum_ns);
        put_RAW(o, "}");
    }
    put_RAW(o, "}");
}

static void put_id(struct out *o, uint64_t id)
{
    char text[17];
    for (int i = 0; i < 16; i++)
        text[i] = "0123456789abcdef"[id >> (60 - 4 * i) & 15];
    text[16] = '\0';
    put_STR(o, id != 0 ? text : NULL);
}

static void put_row(struct out *o, const struct row *row)
{
    bool known = row->spans > 0;
    put_RAW(o, o->p[-1] == '[' ? "{" : ",{");
    if (row->merged > 0) {
        put_count(o, "\"others\":", row->merged);
    } else {
        put_RAW(o, "\"comm\":");
        put_id(o, row->comm);
        put_RAW(o, ",\"size\":");
        put_I64(o, row->size > 0 ? row->size : INT64_MIN);
    }
    put_RAW(o, ",\"op\":");
    put_STR(o, specter_comm_op_name(row->op));
    put_count(o, ",\"count\":", row->count);
    put_count(o, ",\"bytes\":", row->bytes);
    put_count(o, ",\"timed\":", row->timed);
    put_count(o, ",\"timed_bytes\":", row->timed_bytes);
    put_count(o, ",\"spans\":", row->spans);
    put_time(o, ",\"us\":", true, row->sum_ns);
    put_time(o, ",\"min_us\":", known, row->min_ns);
    put_time(o, ",\"max_us\":", known, row->max_ns);
    put_time(o, ",\"from_us\":", known, row->from_ns);
    put_time(o, ",\"to_us\":", known, row->to_ns);
    put_RAW(o, ",\"hist\":[");
    for (int i = 0; i < SPECTER_HIST_BINS; i++) {
        if (row->hist[i] == 0)
            continue;
        put_count(o, o->p[-1] == '[' ? "[" : ",[", (uint64_t)(i + SPECTER_HIST_MIN));
        put_count(o, ",", row->hist[i]);
        put_RAW(o, "]");
    }
    put_RAW(o, "]}");
}

static void merge_row(struct row *into, const struct row *row)
{
    if (row->spans > 0) {
        bool first = into->spans == 0;
        into->min_ns = first || row->min_ns < into->min_ns ? row->min_ns : into->min_ns;
        into->max_ns = first || row->max_ns > into->max_ns ? row->max_ns : into->max_ns;
        into->from_ns = first || row->from_ns < into->from_ns ? row->from_ns : into->from_ns;
        into->to_ns = first || row->to_ns > into->to_ns ? row->to_ns : into->to_ns;
    }
    into->op = row->op;
    into->merged++;
    into->count += row->count;
    into->bytes += row->bytes;
    into->timed += row->timed;
    into->timed_bytes += row->timed_bytes;
    into->spans += row->spans;
    into->sum_ns += row->sum_ns;
    for (int i = 0; i < SPECTER_HIST_BINS; i++)
        add_to_bin(&into->hist[i], row->hist[i]);
}

/* The row with the most device time that is not written yet; NULL. */
static struct row *next_row(void)
{
    struct row *next = NULL;
    for (uint32_t i = 0; i < sums.nrows; i++) {
        struct row *row = &sums.rows[i];
        if (!row->is_put && (next == NULL || row->sum_ns > next->sum_ns))
            next = row;
    }
    return next;
}

void op_sums_put_comms(struct out *o, size_t room)
{
    static struct row others[SPECTER_COMM_OP_COUNT];
    const char *begin = o->p;
    struct row *row;
    bool seen[SPECTER_COMM_OP_COUNT] = {false};
    size_t kept = 2; /* for a row of each operation, and the brackets */
    memcpy(others, sums.others, sizeof others);
    for (uint32_t i = 0; i < sums.nrows; i++) {
        sums.rows[i].is_put = false;
        seen[sums.rows[i].op] = true;
    }
    for (int i = 0; i < SPECTER_COMM_OP_COUNT; i++)
        kept += seen[i] || others[i].count > 0 ? OP_SUMS_ROW_BYTES : 0;
    if (kept > room) {
        put_RAW(o, "null");
        return;
    }
    put_RAW(o, "[");
    while ((size_t)(o->p - begin) + kept + OP_SUMS_ROW_BYTES <= room &&
           (row = next_row()) != NULL) {
        put_row(o, row);
        row->is_put = true;
    }
    for (uint32_t i = 0; i < sums.nrows; i++) {
        if (!sums.rows[i].is_put)
            merge_row(&others[sums.rows[i].op], &sums.rows[i]);
    }
    for (int i = 0; i < SPECTER_COMM_OP_COUNT; i++) {
        if (others[i].count > 0)
            put_row(o, &others[i]);
    }
    put_RAW(o, "]");
}

static void put_call_sum(struct out *o, const char *name, const struct call_sum *sum,
                         bool with_bytes)
{
    if (sum->count == 0)
        return;
    if (o->p[-1] != '{')
        put_RAW(o, ",");
    put_STR(o, name);
    put_count(o, ":{\"count\":", sum->count);
    if (with_bytes)
        put_count(o, ",\"bytes\":", sum->bytes);
    put_RAW(o, "}");
}

static void put_calls(struct out *o)
{
    put_RAW(o, "\"nccl\":{");
    for (int i = 0; i < SPECTER_COMM_OP_COUNT; i++)
        put_call_sum(o, specter_comm_op_name(i), &calls.comm_ops[i], true);
    put_RAW(o, "},\"cublas\":{");
    for (int i = 0; i < HOOK_COUNT; i++) {
        char name[64];
        if (calls.gemms[i].count == 0)
            continue;
        format_gemm_name(name, function_names[i].name);
        put_call_sum(o, name, &calls.gemms[i], false);
    }
    put_RAW(o, "},\"timing\":{");
    for (int i = 0; i < SPECTER_TIMING_COUNT; i++) {
        if (calls.timings[i] == 0)
            continue;
        if (o->p[-1] != '{')
            put_RAW(o, ",");
        put_STR(o, specter_timing_name(i));
        put_count(o, ":", calls.timings[i]);
    }
    put_count(o, "},\"deps\":", calls.deps);
    put_count(o, ",\"syncs\":", calls.syncs);
    put_RAW(o, ",\"copies\":{");
    put_call_sum(o, "all", &calls.copies, true);
    put_count(o, "},\"launches\":", calls.launches);
    put_count(o, ",\"graphs\":", calls.graphs);
    put_count(o, ",\"marks\":", calls.marks);
}

void op_sums_put(struct out *o, size_t room)
{
    put_calls(o);
    put_RAW(o, ",\"time\":");
    op_sums_put_time(o);
    put_RAW(o, ",\"comms\":");
    op_sums_put_comms(o, room);
}

void op_sums_reset(void)
{
    memset(&calls, 0, sizeof calls);
    memset(&sums, 0, offsetof(struct all_sums, rows));
}

/* SPDX-License-Identifier: MIT
 *
 * Reads what `nsys export --type sqlite` writes: recognises it, takes the tables in turn, and tells
 * after the last file which collectives are the same.
 */
#include "trace/nsys.h"

#include "base/order.h"
#include "trace/comm_order.h"
#include "trace/kernel_names.h"
#include "trace/reader.h"

#include <stdlib.h>
#include <string.h>

#define SHIFT_MAX 8 /* collectives that the beginning of a profile may cut off */

/* ---- after the last file ----
 *
 * Finds the collectives of the ranks that are the same, after the last file: by NCCL's communicator
 * and order where payloads name it, else by the order on each stream. On a common clock that order
 * can be checked: members of one collective run at the same time. A profile that begins in the
 * middle of one has it on some ranks only; then the order of a rank is moved to where the times
 * fit. */

static int64_t stream_key(const struct op *op)
{
    return idmap_pair(op->device, op->stream);
}

/* ---- order against time ---- */

/* A collective whose place is known by its stream's order only. */
struct ordered_op {
    int32_t comm;
    uint32_t rank;
    struct op *op;
};

/* The collectives of one communicator on one rank: a part of the list of all. */
struct order_row {
    const struct ordered_op *list;
    size_t count;
    int64_t wall_ns; /* to be added to their times */
};

static int compare_placed(const void *pa, const void *pb)
{
    const struct ordered_op *a = pa, *b = pb;
    if (a->comm != b->comm)
        return ORDER(a->comm, b->comm);
    if (a->rank != b->rank)
        return ORDER(a->rank, b->rank);
    return ORDER(a->op, b->op); /* as in the rank */
}

static size_t find_placed(struct run *run, struct ordered_op **list)
{
    size_t n = 0, cap = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            struct op *op = &run->ranks[r].ops[i];
            if (op->class != OP_COLL || op->coll.comm < 0 || !order_is_guessed(run, op->coll.comm))
                continue;
            ARRAY_GROW(*list, cap, n + 1);
            (*list)[n++] = (struct ordered_op){op->coll.comm, (uint32_t)r, op};
        }
    }
    if (n > 0)
        qsort(*list, n, sizeof **list, compare_placed);
    return n;
}

/* The row that begins here. */
static struct order_row row_at(const struct run *run, const struct ordered_op *list, size_t n)
{
    struct order_row row = {list, 1, 0};
    const struct rank *rank = &run->ranks[list->rank];
    while (row.count < n && list[row.count].rank == list->rank &&
           list[row.count].comm == list->comm)
        row.count++;
    if (rank->mono_ns != UNKNOWN_NS && rank->real_ns != UNKNOWN_NS)
        row.wall_ns = rank->real_ns - rank->mono_ns;
    return row;
}

/* Returns how many of b fit a's when b's i-th is a's (i + shift)-th. */
static size_t fits(const struct order_row *a, const struct order_row *b, int64_t shift)
{
    size_t count = 0;
    for (size_t i = shift < 0 ? (size_t)-shift : 0; i < b->count; i++) {
        size_t at = (size_t)((int64_t)i + shift);
        if (at >= a->count)
            break;
        const struct op *x = a->list[at].op, *y = b->list[i].op;
        int64_t xs = x->start_ns + a->wall_ns, ys = y->start_ns + b->wall_ns;
        count += xs < ys + y->dur_ns && ys < xs + x->dur_ns;
    }
    return count;
}

struct order_check {
    size_t compared, apart; /* collectives; those that do not run at the same time */
    size_t moved;           /* ranks */
};

/* Moves the order of b to where most of it fits a's; both are rows of one communicator and file. */
static void align(const struct order_row *a, const struct order_row *b, struct order_check *v)
{
    int64_t best = 0;
    size_t most = fits(a, b, 0), both, missing;
    for (int64_t by = 1; by <= SHIFT_MAX; by++) {
        for (int64_t shift = -by; shift <= by; shift += 2 * by) {
            size_t count = fits(a, b, shift);
            if (count <= most)
                continue;
            most = count;
            best = shift;
        }
    }
    v->moved += best != 0;
    for (size_t i = 0; i < b->count; i++)
        b->list[i].op->coll.seq += best;
    missing = best < 0 ? (size_t)-best : 0; /* of b's, before a's first */
    both = b->count > missing ? b->count - missing : 0;
    missing = best > 0 && (size_t)best < a->count ? (size_t)best : 0; /* of a's, before b's first */
    both = both < a->count - missing ? both : a->count - missing;
    v->compared += both;
    v->apart += both - most;
}

static void check_order(struct run *run)
{
    struct order_check v = {0};
    struct ordered_op *list = NULL;
    size_t n = find_placed(run, &list);
    /* Every row against the first of its communicator, where they are of one file. */
    struct order_row first = {NULL, 0, 0};
    for (size_t i = 0; i < n;) {
        struct order_row row = row_at(run, list + i, n - i);
        i += row.count;
        for (size_t k = 0; k < row.count; k++)
            row.list[k].op->coll.seq += SHIFT_MAX; /* below 0 is unknown */
        if (first.list == NULL || first.list->comm != row.list->comm)
            first = row;
        else if (strcmp(run->ranks[row.list->rank].file, run->ranks[first.list->rank].file) == 0)
            align(&first, &row, &v);
    }
    free(list);
    if (v.moved > 0)
        run_note(run, false,
                 "the order of collectives is moved on %zu rank%s to where their times fit: the "
                 "profile begins in the middle of one",
                 v.moved, v.moved > 1 ? "s" : "");
    if (v.apart > 0)
        run_note(run, false,
                 "%zu of %zu collectives that are the same by their order do not run at the same "
                 "time on two ranks: the order may be wrong",
                 v.apart, v.compared);
}

/* ---- clocks ---- */

/* Times of a single file without a date have one zero at least. */
static void date_single_file(struct run *run)
{
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].mono_ns != UNKNOWN_NS ||
            strcmp(run->ranks[r].file, run->ranks[0].file) != 0)
            return;
    }
    for (size_t r = 0; r < run->nranks; r++)
        run->ranks[r].mono_ns = run->ranks[r].real_ns = 0;
}

/* ---- who is in a communicator that only order names ---- */

/* Numbers ranks that have none by file, process and device, when nothing else tells: then their
 * numbers are their places in a communicator of all. False where payloads or names of files say
 * who is who. */
static bool number_ranks(struct run *run)
{
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].rank >= 0 || run->ranks[r].nin > 0)
            return false;
    }
    for (size_t r = 0; r < run->nranks; r++)
        run->ranks[r].rank = (int)r;
    if (run->nranks > 1)
        run_note(run, false,
                 "the traces do not say which rank is which: %zu are numbered by file, process and "
                 "device",
                 run->nranks);
    return true;
}

/* A communicator by stream order is one of all ranks when every rank has it, as the run is taken to
 * be all of the job. */
static void fill_ordered(struct run *run)
{
    size_t *members = array_new(run->ncomms + 1, sizeof *members);
    struct ordered_op *list = NULL;
    size_t n = find_placed(run, &list);
    for (size_t i = 0; i < n; i++)
        members[list[i].comm] +=
            i == 0 || list[i].comm != list[i - 1].comm || list[i].rank != list[i - 1].rank;
    for (size_t c = 0; c < run->ncomms; c++) {
        const char *id = run->comms[c].id;
        if (members[c] != run->nranks || run->comms[c].size != 0 ||
            run_comm(run, id, strlen(id), (int64_t)run->nranks) < 0)
            continue;
        for (size_t r = 0; r < run->nranks; r++)
            rank_add_member(&run->ranks[r], (int)c, run->ranks[r].rank, -1);
    }
    free(members);
    free(list);
}

void nsys_finish(struct run *run)
{
    date_single_file(run);
    for (size_t r = 0; r < run->nranks; r++) {
        struct rank *rank = &run->ranks[r];
        rank_sort(rank);
        /* A launch's number is the count of launches of the same graph before it. */
        uint64_t *counts = NULL;
        size_t cap = 0;
        for (size_t i = 0; i < rank->nops; i++) {
            struct op *op = &rank->ops[i];
            if (op->class != OP_GRAPH || op->graph < 0)
                continue;
            ARRAY_GROW(counts, cap, (size_t)op->graph + 1);
            op->graph_launch.launch = counts[op->graph]++;
        }
        free(counts);
        /* A kernel that exchanges messages and whose call the profile does not hold takes its place
         * in the order of its stream where others there are collectives made of messages (an
         * all-to-all); which operation it is stays unknown. */
        struct idmap streams = {0};
        for (size_t i = 0; i < rank->nops; i++) {
            if (rank->ops[i].class == OP_COLL && kernel_is_sendrecv(rank->ops[i].name))
                idmap_add(&streams, stream_key(&rank->ops[i]));
        }
        for (size_t i = 0; i < rank->nops; i++) {
            struct op *op = &rank->ops[i];
            if (op->class == OP_P2P && op->coll.op == SPECTER_COMM_OP_COUNT &&
                idmap_find(&streams, stream_key(op)) != IDMAP_NONE)
                op->class = OP_COLL;
        }
        idmap_release(&streams);
        order_name_lanes(run, rank, 0, "communicators");
        order_number(rank);
    }
    check_order(run);
    if (number_ranks(run))
        fill_ordered(run);
    order_note_gaps(run);
}

static bool nsys_sniff(const char *head, size_t len)
{
    static const char magic[] = "SQLite format 3"; /* with its zero */
    return len >= sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

#ifdef SPECTER_HAVE_SQLITE

/* ---- help for the others ---- */

struct json_text nsys_name(struct nsys *n, int64_t id)
{
    struct nsys_text_slot *slot = &n->cache[(uint64_t)id % (sizeof n->cache / sizeof *n->cache)];
    struct json_text text = {NULL, 0, false};
    if (!slot->known || slot->id != id) {
        text = nsys_string(n->db, id);
        if (!slot->known)
            buf_init(&slot->text);
        buf_reset(&slot->text);
        buf_put(&slot->text, text.p != NULL ? text.p : "",
                text.len < NSYS_TEXT_MAX ? text.len : NSYS_TEXT_MAX);
        slot->id = id;
        slot->known = true;
        slot->there = text.p != NULL;
    }
    text.p = slot->there ? slot->text.data : NULL;
    text.len = (uint32_t)slot->text.len;
    return text;
}

bool nsys_times(int64_t start, int64_t end)
{
    return start != UNKNOWN_NS && end != UNKNOWN_NS && start > -RUN_TIME_MAX / 4 &&
           end < RUN_TIME_MAX / 4 && start <= end && end - start <= RUN_DUR_MAX;
}

void nsys_note_rows(struct nsys *n, enum nsys_table table, uint64_t count, const char *why)
{
    if (count > 0)
        run_note(n->run, true, "%s: %s: %llu row%s left out: %s", n->label, nsys_table_name(table),
                 (unsigned long long)count, count > 1 ? "s" : "", why);
}

void nsys_note_err(struct nsys *n, const struct err *e)
{
    run_note(n->run, true, "%s; what stands before it is used", e->msg);
}

/* ---- the session ---- */

static void take_session(struct nsys *n)
{
    static const char *const columns[] = {"utcEpochNs"};
    struct nsys_rows rows;
    struct err e = {0};
    int rc = nsys_scan(&rows, n->db, NSYS_SESSION, &(struct nsys_columns){columns, 1, 1}, &e);
    n->utc_ns = UNKNOWN_NS;
    if (rc > 0 && nsys_next(&rows, &e) > 0)
        n->utc_ns = nsys_int(&rows, 0, UNKNOWN_NS);
    if (n->utc_ns <= 0 || n->utc_ns >= RUN_TIME_MAX / 2)
        n->utc_ns = UNKNOWN_NS; /* no date */
    nsys_scan_end(&rows);
}

static void note_strings(struct nsys *n)
{
    uint64_t failed = nsys_failed_strings(n->db);
    if (failed > 0)
        run_note(n->run, true, "%s: %s: %llu text%s could not be read", n->label,
                 nsys_table_name(NSYS_STRINGS), (unsigned long long)failed, failed > 1 ? "s" : "");
}

static void set_rank(struct nsys *n, const struct nsys_member *m)
{
    const struct nsys_process *p = &n->processes.list[m->process];
    struct rank *rank = &n->run->ranks[m->rank];
    size_t devices = 0;
    for (size_t i = 0; i < n->members.count; i++)
        devices += n->members.list[i].process == m->process;
    rank->rank = n->members.count == 1 ? rank_in_name(n->label) : -1;
    if (devices > 1) {
        rank->process = (int)(n->members.list[0].rank + m->process);
        rank->device = m->device;
    }
    rank->nthreads = p->threads.count;
    rank->thread_ids = idmap_ids(&p->threads);
    rank->complete = true;
    rank->host_gpus = n->ngpus;
    rank->coverage |= COVER_NCCL | COVER_KERNELS | COVER_LAUNCHES | COVER_MEMORY;
    rank->coverage |= n->has_syncs ? COVER_DEPS : 0u;
    rank->coverage |= n->has_graphs ? COVER_GRAPHS : 0u;
    rank->coverage |= n->has_nvtx ? COVER_MARKS : 0u;
    if (n->utc_ns == UNKNOWN_NS)
        return;
    rank_shift(rank, n->utc_ns); /* each session has its own zero; the wall clock is common */
    rank->mono_ns = rank->real_ns = 0;
}

static void release(struct nsys *n)
{
    for (size_t i = 0; i < n->processes.count; i++) {
        struct nsys_process *p = &n->processes.list[i];
        idmap_release(&p->threads);
        idmap_release(&p->launch_ids);
        idmap_release(&p->sync_call_ids);
        idmap_release(&p->context_ids);
        idmap_release(&p->graph_ids);
        idmap_release(&p->joined);
        idmap_release(&p->comm_ids);
        free(p->comm_devices.list);
        free(p->launches.list);
        free(p->sync_calls.list);
        free(p->contexts.list);
        free(p->spans.list);
        free(p->by_time);
        free(p->ranges.list);
        free(p->calls.list);
        free(p->products.list);
        free(p->ordered.list);
        free(p->groups.list);
    }
    for (size_t i = 0; i < sizeof n->cache / sizeof *n->cache; i++) {
        if (n->cache[i].known)
            buf_release(&n->cache[i].text);
    }
    free(n->processes.list);
    free(n->members.list);
    free(n->fields.list);
    free(n);
}

int nsys_read_db(struct run *run, struct nsys_db *db, const char *label, struct err *e)
{
    struct nsys *n = array_new(1, sizeof *n);
    int rc;
    n->run = run;
    n->db = db;
    n->label = label;
    rc = nsys_work(n, e);
    if (rc == 0) {
        run->format = "nsys";
        take_session(n);
        nsys_devices(n);
        nsys_host(n);
        nsys_schemas(n);
        nsys_nvtx(n);
        nsys_comm(n);
        note_strings(n);
        for (size_t i = 0; i < n->members.count; i++)
            set_rank(n, &n->members.list[i]);
    }
    release(n);
    return rc;
}

static int nsys_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct nsys_db *db;
    int rc;
    if (nsys_db_open(&db, s, label, e) < 0)
        return -1;
    rc = nsys_read_db(run, db, label, e);
    nsys_db_close(db);
    return rc;
}

#else

static int nsys_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    (void)run;
    (void)s;
    return err_set(e, ERR_INPUT, "%s: an SQLite file, and this build has no SQLite", label);
}

#endif

const struct reader reader_nsys = {.name = "nsys",
                                   .sniff = nsys_sniff,
                                   .read = nsys_read,
                                   .apart = true,
                                   .grouped = true,
                                   .unique_comms = true,
                                   .finish = nsys_finish};

/* SPDX-License-Identifier: MIT
 *
 * Reads what `ncclras -f json` prints: NCCL's own view of a job that runs, all ranks in one file.
 * The form is that of rasDumpCommsToJSON() in NVIDIA/nccl, src/ras/client_support.cc.
 *
 * It counts the collectives that each rank of each communicator has called, by function; the sum is
 * the number of the next one. It holds no operations. Where ranks have called different numbers,
 * the first collective that a member has not called becomes an operation of those who have, not
 * finished, at the time of the snapshot: that is what they wait in, if the job hangs.
 */
#include "base/buf.h"
#include "base/json.h"
#include "trace/memo.h"
#include "trace/kernel_names.h"
#include "trace/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RAS_MAX ((size_t)256 << 20) /* 100,000 ranks take 60 MB */
#define BLOCK_SIZE ((size_t)1 << 20)
#define FUNCTIONS SPECTER_COMM_OP_COUNT

/* One rank of a communicator. */
struct ras_member {
    uint32_t comm;     /* index into the file's communicators */
    int32_t comm_rank; /* there */
    int64_t pid, device;
    const char *host; /* interned */
    int64_t calls;    /* collectives, of all functions */
    int64_t of[FUNCTIONS];
    int64_t error; /* NCCL's asynchronous error; 0: none */
    bool aborted;
    bool missing; /* RAS has no answer of it: no counts */
    bool dead;    /* and takes it for dead */
};

struct ras_comm {
    const char *id; /* interned */
    int64_t size;
    int comm;             /* of the run; -1 */
    int64_t least, most;  /* calls of its members */
    uint32_t slow, count; /* a member with the fewest calls; members that answered */
};

struct ras_file {
    struct run *run;
    const char *label;
    char *text; /* owned */
    size_t len;
    struct ras_comm *comms; /* owned */
    size_t ncomms, cap_comms;
    struct ras_member *members; /* owned */
    size_t nmembers, cap_members;
    int64_t at_ns; /* of the snapshot, since 1970 */
};

/* ---- the text ---- */

static void read_status(struct ras_member *m, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "async_error"))
            m->error = json_i64(j, 0);
        else if (json_text_is(key, "abort_flag"))
            m->aborted = json_bool(j, false);
        else if (json_text_is(key, "considered_dead"))
            m->dead = json_bool(j, false);
        else
            json_skip(j);
    }
}

/* Sends and receives are counted, too, and are no collectives. */
static void read_counts(struct ras_member *m, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        int op = comm_op_named(key.p, key.len);
        int64_t n = json_i64(j, -1);
        if (n < 0 || n > INT64_MAX / 64 || op >= FUNCTIONS || op == SPECTER_SEND ||
            op == SPECTER_RECV || json_text_is(key, "SendRecv"))
            continue;
        m->of[op] += n;
        m->calls += n;
    }
}

static void read_member(struct ras_file *f, struct json *j, bool missing)
{
    struct ras_member m = {.comm = (uint32_t)f->ncomms - 1,
                           .comm_rank = -1,
                           .pid = -1,
                           .device = -1,
                           .host = "",
                           .missing = missing};
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        int64_t number = -1;
        if (json_text_is(key, "rank")) {
            number = json_i64(j, -1);
            m.comm_rank = number >= 0 && number < RUN_RANKS_MAX ? (int32_t)number : -1;
        } else if (json_text_is(key, "host"))
            m.host = run_intern(f->run, json_string(j));
        else if (json_text_is(key, "pid"))
            m.pid = json_i64(j, -1);
        else if (json_text_is(key, "cuda_dev"))
            m.device = json_i64(j, -1);
        else if (json_text_is(key, "status"))
            read_status(&m, j);
        else if (json_text_is(key, "collective_counts"))
            read_counts(&m, j);
        else
            json_skip(j);
    }
    if (j->error != NULL || m.comm_rank < 0 || m.comm_rank >= f->comms[m.comm].size)
        return;
    ARRAY_GROW(f->members, f->cap_members, f->nmembers + 1);
    f->members[f->nmembers++] = m;
}

static void read_members(struct ras_file *f, struct json *j, bool missing)
{
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j))
        read_member(f, j, missing);
}

/* "hash" alone may be that of two communicators; NCCL writes "size" before the members. */
static void read_comm(struct ras_file *f, struct json *j)
{
    struct buf id = BUF_INIT;
    struct json_text key;
    struct ras_comm *c;
    if (!json_enter(j, '{'))
        return;
    ARRAY_GROW(f->comms, f->cap_comms, f->ncomms + 1);
    c = &f->comms[f->ncomms++];
    *c = (struct ras_comm){.comm = -1, .least = INT64_MAX, .most = -1};
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "hash") || json_text_is(key, "secondary_hash")) {
            if (id.len > 0)
                buf_putc(&id, '/');
            json_decode(json_string(j), &id);
        } else if (json_text_is(key, "size"))
            c->size = json_i64(j, -1);
        else if (json_text_is(key, "ranks"))
            read_members(f, j, false);
        else if (json_text_is(key, "missing_ranks"))
            read_members(f, j, true);
        else
            json_skip(j);
    }
    c->id = intern_add(&f->run->names, id.data, id.len);
    c->comm = c->size > 0 ? run_comm(f->run, c->id, id.len, c->size) : -1;
    buf_release(&id);
}

/* "2026-05-17 10:20:30", in the local time of the machine that RAS ran on; taken as UTC. */
static int64_t moment_of(struct json_text text)
{
    char copy[32] = "";
    struct tm tm = {0};
    if (text.len < sizeof copy)
        memcpy(copy, text.p, text.len);
    return strptime(copy, "%Y-%m-%d %H:%M:%S", &tm) != NULL ? (int64_t)timegm(&tm) * 1000000000 : 0;
}

static int read_text(struct ras_file *f, struct err *e)
{
    struct json j;
    struct json_text key;
    json_init(&j, f->text, f->len);
    json_enter(&j, '{');
    while (json_next_key(&j, &key)) {
        if (json_text_is(key, "communicators") && json_enter(&j, '[')) {
            while (json_next_item(&j))
                read_comm(f, &j);
        } else if (json_text_is(key, "timestamp"))
            f->at_ns = moment_of(json_string(&j));
        else
            json_skip(&j);
    }
    json_end(&j);
    if (j.error != NULL && f->nmembers == 0)
        return err_set(e, ERR_INPUT, "%s: byte %zu: %s", f->label, (size_t)(j.p - f->text),
                       j.error);
    if (f->nmembers == 0)
        return err_set(e, ERR_INPUT, "%s: no rank of a communicator in it", f->label);
    if (j.error != NULL)
        run_note(f->run, true, "%s: byte %zu: %s; what stands before it is used", f->label,
                 (size_t)(j.p - f->text), j.error);
    return 0;
}

/* ---- ranks ---- */

/* By process and GPU, the largest communicator first. */
static int by_gpu(const void *pa, const void *pb, void *file)
{
    const struct ras_member *a = pa, *b = pb;
    const struct ras_comm *comms = ((const struct ras_file *)file)->comms;
    int hosts = strcmp(a->host, b->host);
    int64_t sizes = comms[b->comm].size - comms[a->comm].size;
    if (hosts != 0)
        return hosts;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (sizes != 0)
        return sizes < 0 ? -1 : 1;
    return a->comm != b->comm ? (a->comm < b->comm ? -1 : 1) : a->comm_rank - b->comm_rank;
}

static void count_calls(struct ras_file *f)
{
    for (size_t i = 0; i < f->nmembers; i++) {
        const struct ras_member *m = &f->members[i];
        struct ras_comm *c = &f->comms[m->comm];
        if (m->missing)
            continue;
        c->count++;
        c->most = m->calls > c->most ? m->calls : c->most;
        if (m->calls < c->least) {
            c->least = m->calls;
            c->slow = (uint32_t)i;
        }
    }
}

/* The function of which this rank has called more than one that has called the fewest; COUNT where
 * that is several. */
static uint8_t function_ahead(const struct ras_member *m, const struct ras_member *slow)
{
    uint8_t found = FUNCTIONS;
    for (int op = 0; op < FUNCTIONS; op++) {
        if (m->of[op] <= slow->of[op])
            continue;
        if (found != FUNCTIONS)
            return FUNCTIONS;
        found = (uint8_t)op;
    }
    return found;
}

static void add_member(struct ras_file *f, struct rank *rank, const struct ras_member *m)
{
    const struct ras_comm *c = &f->comms[m->comm];
    struct op *op;
    if (c->comm < 0 || m->missing)
        return;
    rank_add_member(rank, c->comm, m->comm_rank, -1);
    rank->in[rank->nin - 1].called = m->calls - 1;
    if (m->calls <= c->least)
        return;
    op = rank_add_op(rank);
    op->id = rank->nops - 1;
    op->device = -1;
    op->class = OP_COLL;
    op->coll.op = function_ahead(m, &f->members[c->slow]);
    op->name = op->coll.op < FUNCTIONS ? specter_comm_op_name(op->coll.op) : "collective";
    op->coll.redop = SPECTER_REDOP_NONE;
    op->dtype = SPECTER_DTYPE_UNKNOWN;
    op->flags |= OP_BYTES_UNKNOWN;
    op->coll.comm = c->comm;
    op->coll.seq = c->least;
    op->coll.p2p_seq = op->coll.group = op->coll.peer = -1;
    op->timing = SPECTER_TIMING_NONE;
    op->stream = c->comm;
    op->host_ns = f->at_ns; /* had been called by then */
}

static void note_member(const struct ras_file *f, const struct ras_member *m)
{
    const char *id = f->comms[m->comm].id;
    if (m->missing)
        run_note(f->run, false, "%s: rank %d of communicator %s (%s, process %lld) %s", f->label,
                 m->comm_rank, id, m->host, (long long)m->pid,
                 m->dead ? "is dead, says RAS" : "does not answer RAS");
    else if (m->error != 0 || m->aborted)
        run_note(f->run, false, "%s: rank %d of communicator %s (%s, process %lld): %s %lld",
                 f->label, m->comm_rank, id, m->host, (long long)m->pid,
                 m->aborted ? "aborted, asynchronous error" : "asynchronous error",
                 (long long)m->error);
}

static bool same_gpu(const struct ras_member *a, const struct ras_member *b)
{
    return a->pid == b->pid && a->device == b->device && a->host == b->host;
}

static void add_ranks(struct ras_file *f)
{
    struct rank *rank = NULL;
    int32_t number = -1; /* in the job: that in the GPU's first communicator, the largest */
    qsort_r(f->members, f->nmembers, sizeof *f->members, by_gpu, f);
    count_calls(f);
    for (size_t i = 0; i < f->nmembers; i++) {
        const struct ras_member *m = &f->members[i];
        note_member(f, m);
        if (i == 0 || !same_gpu(m, m - 1)) {
            number = m->comm_rank;
            rank = NULL;
        }
        if (m->missing)
            continue;
        if (rank == NULL) {
            rank = run_add_rank(f->run);
            rank->file = arena_strdup(&f->run->arena, f->label);
            rank->rank = number;
            rank->host = m->host;
            rank->pid = m->pid;
            rank->coverage = COVER_NCCL;
            rank->complete = true; /* the format has no closing record */
            rank->undated = true;
            rank->end_ns = f->at_ns;
        }
        add_member(f, rank, m);
        rank->quiet = rank->nops == 0;
    }
}

static int read_all(struct ras_file *f, struct stream *s, struct err *e)
{
    size_t cap = 0;
    ssize_t n;
    do {
        ARRAY_ROOM(f->text, cap, f->len + BLOCK_SIZE);
        n = stream_read(s, f->text + f->len, cap - f->len, e);
        f->len += n > 0 ? (size_t)n : 0;
        if (f->len > RAS_MAX)
            return err_set(e, ERR_INPUT, "%s: more than %zu MiB: no RAS output is as large",
                           f->label, RAS_MAX >> 20);
    } while (n > 0);
    return n < 0 && f->len == 0 ? -1 : 0;
}

static int ras_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct ras_file f = {.run = run, .label = label};
    int rc = read_all(&f, s, e);
    run->format = "ras";
    if (rc == 0)
        rc = read_text(&f, e);
    if (rc == 0)
        add_ranks(&f);
    free(f.text);
    free(f.comms);
    free(f.members);
    return rc;
}

/* The keys that NCCL writes first. */
static bool ras_sniff(const char *head, size_t len)
{
    size_t i = 0;
    while (i < len && strchr(" \t\r\n", head[i]) != NULL)
        i++;
    return i < len && head[i] == '{' && head_has(head, len, "\"nccl_version\"") &&
           head_has(head, len, "\"communicators_count\"");
}

const struct reader reader_ras = {
    .name = "ras", .sniff = ras_sniff, .read = ras_read, .apart = true};

/* SPDX-License-Identifier: MIT
 *
 * Reads NCCL Inspector's logs (NCCL's profiler plugin of that name; JSON mode): one record a line,
 * one file a process.
 *
 *     {"header":{"id":"0x7f8c496ae9f661","rank":2,"n_ranks":8,"nnodes":1},
 *      "metadata":{"inspector_output_format_version":"v4.0","dump_timestamp_us":...,"hostname":"n0",
 *       "pid":163,...},
 *      "coll_perf":{"coll":"AllReduce","coll_sn":14,"coll_msg_size_bytes":4096,
 *       "coll_exec_time_us":61,"coll_timing_source":"kernel_gpu",...}}
 *
 * Later versions add header.comm_name, coll_algo and coll_proto, and p2p_perf with the same keys
 * under p2p_. docs/inputs.md says what is made of them.
 *
 * A record tells how long an operation ran, and only with NCCL_INSPECTOR_DUMP_VERBOSE=1 when. Where
 * it does not, the operation has a duration and no start: it counts in bandwidths, and in no share
 * of time.
 *
 * The plugin's format, and NCCL's way of counting, are from NVIDIA/nccl:
 * ext-profiler/inspector/{inspector,inspector_plugin}.cc, src/misc/profiler.cc.
 */
#include "base/buf.h"
#include "base/json.h"
#include "base/order.h"
#include "base/stream.h"
#include "trace/devices.h"
#include "trace/inspector.h"
#include "trace/reader.h"
#include "trace/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES ((size_t)1 << 20) /* of 64 channels, verbose: 20 KB */
#define HEAD_LINES 16                    /* looked at to recognise a file */
#define MEMBERS_MAX 4096                 /* communicators of one process */

/* One collective's number in its communicator. NCCL counts each function of a communicator apart
 * (comm->seqNumber[func]), a run all collectives of it together: what tells two functions apart
 * goes into the number. Equal on all ranks, as it must be. */
#define SEQ_OF(sn, op) ((sn)*16 + (op))
#define SN_MAX (INT64_MAX / 32)
_Static_assert(SPECTER_COMM_OP_COUNT <= 16, "a number holds which operation it is of");

/* The process is that rank of a communicator. */
struct comm_member {
    int32_t comm, rank;
    int32_t slot; /* which of its ranks in this communicator, by number */
};

struct inspector {
    struct run *run;
    struct rank *rank;
    const char *label;
    struct comm_member *members; /* owned */
    size_t nmembers, cap_members;
    size_t last; /* found */
    uint64_t usable, bad, first_bad, unknown;
    uint64_t lost; /* collectives that ACCL says it did not log */
    char bad_reason[160];
    int64_t last_ns; /* the latest time in the file; -1 */
};

/* ---- communicators ---- */

/* Index into members; -1 when the communicator is not believable. */
static int member_of(struct inspector *in, const struct inspector_record *rec)
{
    int comm = run_comm(in->run, rec->id.p, rec->id.len, rec->comm_size);
    if (comm < 0)
        return -1;
    for (size_t n = 0; n < in->nmembers; n++) {
        const struct comm_member *m = &in->members[in->last];
        if (m->comm == comm && m->rank == rec->comm_rank)
            return (int)in->last;
        in->last = (in->last + 1) % in->nmembers;
    }
    if (in->nmembers == MEMBERS_MAX)
        return -1;
    ARRAY_GROW(in->members, in->cap_members, in->nmembers + 1);
    in->last = in->nmembers++;
    in->members[in->last] = (struct comm_member){comm, (int32_t)rec->comm_rank, 0};
    if (rec->comm_name.len > 0)
        in->run->comms[comm].name = run_intern(in->run, rec->comm_name);
    if (rec->nodes > 0 && rec->nodes <= RUN_RANKS_MAX)
        in->run->comms[comm].nodes = (int)rec->nodes;
    return (int)in->last;
}

/* ---- operations ---- */

/* The plugin's size is that of the call's count: of one rank's or one peer's part where the buffer
 * has one for each rank (its own bandwidths multiply it by n_ranks likewise). */
static void set_bytes(struct op *op, int64_t bytes, int64_t nranks)
{
    bool all = specter_comm_op_bytes((enum specter_comm_op)op->coll.op, 1, SPECTER_INT8, 2) == 2;
    op->flags = OP_BYTES_UNKNOWN;
    if (op->coll.op >= SPECTER_COMM_OP_COUNT || bytes < 0 ||
        __builtin_mul_overflow((uint64_t)bytes, all ? (uint64_t)nranks : 1, &op->bytes)) {
        op->bytes = 0;
        return;
    }
    op->flags = 0;
}

/* "" for what NCCL did not say. */
static const char *word(struct run *run, struct json_text text)
{
    return json_text_is(text, "unknown") ? "" : run_intern(run, text);
}

static void add_op(struct inspector *in, const struct inspector_record *rec, int member, int what)
{
    struct op *op = rank_add_op(in->rank);
    op->class = rec->p2p ? OP_P2P : OP_COLL;
    op->name = run_intern(in->run, rec->what);
    op->id = in->rank->nops - 1;
    op->device = member; /* until number_gpus() knows better */
    op->coll.op = (uint8_t)what;
    op->coll.redop = SPECTER_REDOP_NONE;
    op->coll.comm = in->members[member].comm;
    op->coll.seq = op->coll.p2p_seq = -1;
    op->coll.group = -1;
    op->coll.peer = -1;
    set_bytes(op, rec->bytes, rec->comm_size);
    /* kernel_gpu: the longest of the channels' kernels by the GPU's own clock. The others are a
     * host thread's: when it polled (kernel_cpu), or from the call on (collective_cpu). Those are
     * not how long the device took. */
    bool device = json_text_is(rec->source, "kernel_gpu");
    op->timing = device || accl_device_timed(rec) ? SPECTER_TIMING_DEVICE : SPECTER_TIMING_HOST;
    if (rec->call_ns > 0) {
        op->host_ns = rec->call_ns;
        if (rec->call_end_ns >= rec->call_ns)
            op->host_end_ns = rec->call_end_ns;
    }
    if (rec->exec_ns >= 0 && rec->exec_ns < RUN_DUR_MAX)
        op->dur_ns = rec->exec_ns;
    if (device && rec->kernel_ns > 0)
        op->start_ns = rec->kernel_ns;
    if (rec->p2p) {
        /* p2p_sn counts all messages of the communicator, whichever rank is at the other end: it
         * does not say which receive belongs to which send. */
        op->coll.peer = rec->peer >= 0 && rec->peer < rec->comm_size ? (int32_t)rec->peer : -1;
        return;
    }
    if (rec->sn >= 0 && rec->sn < SN_MAX)
        op->coll.seq = SEQ_OF(rec->sn, op->coll.op);
    struct comm_detail *d;
    if (rec->algo.len == 0 && rec->proto.len == 0)
        return;
    d = rank_add_detail(in->rank);
    *d = (struct comm_detail){.channels = rec->channels,
                              .kernel_ns = op_timed(op) ? op->dur_ns : UNKNOWN_NS,
                              .algo = word(in->run, rec->algo),
                              .proto = word(in->run, rec->proto),
                              .seq = op->coll.seq,
                              .comm = op->coll.comm,
                              .peer = -1,
                              .member = (uint32_t)member,
                              .comm_op = SPECTER_COMM_OP_COUNT};
}

/* ---- lines ---- */

static void bad_line(struct inspector *in, uint64_t number, const char *reason, size_t offset)
{
    if (in->bad++ > 0)
        return;
    in->first_bad = number;
    if (offset > 0)
        snprintf(in->bad_reason, sizeof in->bad_reason, "%s at byte %zu", reason, offset);
    else
        snprintf(in->bad_reason, sizeof in->bad_reason, "%s", reason);
}

/* NULL, or what is wrong with it. */
static const char *take_record(struct inspector *in, struct inspector_record *rec)
{
    int member, what;
    if (!rec->coll && !rec->p2p) {
        in->unknown += rec->lost < 0;
        in->lost += rec->lost > 0 ? (uint64_t)rec->lost : 0;
        return NULL;
    }
    accl_name_record(rec, in->label);
    if (rec->id.len == 0 || rec->what.len == 0)
        return "a record without communicator or operation";
    if (rec->comm_size <= 0 || rec->comm_rank < 0 || rec->comm_rank >= rec->comm_size)
        return "a rank that its communicator does not have";
    what = specter_comm_op_parse(rec->what.p, rec->what.len);
    if (rec->p2p ? what != SPECTER_SEND && what != SPECTER_RECV
                 : what >= SPECTER_SEND && what < SPECTER_COMM_OP_COUNT)
        return "an operation of the other kind";
    member = member_of(in, rec);
    if (member < 0)
        return "communicators of an unbelievable size";
    add_op(in, rec, member, what);
    if (rec->host.len > 0 && in->rank->host[0] == '\0')
        in->rank->host = run_intern(in->run, rec->host);
    if (rec->pid >= 0)
        in->rank->pid = rec->pid;
    in->last_ns = rec->dump_ns > in->last_ns ? rec->dump_ns : in->last_ns;
    in->usable++;
    return NULL;
}

/* ---- the end of a file ---- */

static int by_comm_rank(const void *pa, const void *pb)
{
    const struct comm_member *a = pa, *b = pb;
    if (a->comm != b->comm)
        return ORDER(a->comm, b->comm);
    return ORDER(a->rank, b->rank);
}

/* A process that is several ranks of one communicator drives several GPUs, which the log does not
 * name: its first rank in each communicator is taken to be the same GPU, and so on. */
static void number_gpus(struct inspector *in)
{
    struct comm_member *sorted = array_new(in->nmembers + 1, sizeof *sorted);
    int32_t most = 0;
    memcpy(sorted, in->members, in->nmembers * sizeof *sorted);
    qsort(sorted, in->nmembers, sizeof *sorted, by_comm_rank);
    for (size_t i = 1; i < in->nmembers; i++) {
        sorted[i].slot = sorted[i].comm == sorted[i - 1].comm ? sorted[i - 1].slot + 1 : 0;
        most = sorted[i].slot > most ? sorted[i].slot : most;
    }
    for (size_t i = 0; i < in->nmembers; i++) {
        const struct comm_member *m =
            bsearch(&in->members[i], sorted, in->nmembers, sizeof *m, by_comm_rank);
        in->members[i].slot = most > 0 ? m->slot : -1;
        rank_add_member(in->rank, m->comm, m->rank, in->members[i].slot);
    }
    for (size_t i = 0; i < in->rank->nops; i++)
        in->rank->ops[i].device = in->members[in->rank->ops[i].device].slot;
    if (most > 0)
        run_note(in->run, false,
                 "one process is several ranks: the logs do not name GPUs, they are told apart by "
                 "the order of its ranks in each communicator");
    free(sorted);
}

static bool is_blank(const struct lines *l)
{
    size_t i = 0;
    while (i < l->len && (l->text[i] == ' ' || l->text[i] == '\t'))
        i++;
    return i == l->len;
}

/* A line of a log, or of the Prometheus exporter; `prom` is room for the latter. */
static void read_line(struct inspector *in, const struct lines *l, struct buf *prom)
{
    struct inspector_record rec;
    enum prom_line line = prom_line_read(prom, l->text, l->len);
    bool from_prom = line == PROM_RECORD;
    const char *wrong;
    if (line == PROM_NOTHING)
        return;
    if (line == PROM_WRONG && l->last) {
        in->rank->torn = true;
        return;
    }
    if (line == PROM_WRONG) {
        bad_line(in, l->number, "a label or the value is missing", 0);
        return;
    }
    if (!inspector_parse(&rec, from_prom ? prom->data : l->text, from_prom ? prom->len : l->len)) {
        if (l->last && rec.cut)
            in->rank->torn = true;
        else
            bad_line(in, l->number, rec.error, rec.offset + 1);
        return;
    }
    wrong = take_record(in, &rec);
    if (wrong != NULL)
        bad_line(in, l->number, wrong, 0);
}

static int read_lines(struct inspector *in, struct stream *s, struct err *e)
{
    struct buf prom = BUF_INIT;
    struct lines l;
    int rc;
    lines_init(&l, s, LINE_MAX_BYTES);
    while ((rc = lines_next(&l, e)) > 0) {
        if (l.too_long)
            bad_line(in, l.number, "longer than any line a log has", 0);
        else if (!is_blank(&l))
            read_line(in, &l, &prom);
    }
    buf_release(&prom);
    if (rc == 0 && in->usable == 0) {
        rc = err_set(e, ERR_INPUT, "%s: line %llu: %s", in->label,
                     (unsigned long long)(in->bad > 0 ? in->first_bad : l.number),
                     in->bad > 0 ? in->bad_reason : "not one whole record of an operation");
    } else if (rc < 0 && in->usable > 0) {
        run_note(in->run, true, "%s; what stands before it is used", e->msg);
        rc = 0;
    }
    lines_release(&l);
    return rc;
}

static int inspector_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct inspector in = {.run = run, .label = label, .last_ns = -1};
    int rc;
    in.rank = run_add_rank(run);
    in.rank->file = arena_strdup(&run->arena, label);
    run->format = "inspector";
    rc = read_lines(&in, s, e);
    if (rc == 0) {
        struct rank *rank = in.rank;
        rank->coverage = COVER_NCCL;
        rank->complete = true; /* the format has no closing record */
        rank->bad_lines = in.bad;
        if (in.last_ns >= 0) /* all times are of the host's wall clock */
            rank->end_ns = rank->mono_ns = rank->real_ns = in.last_ns;
        number_gpus(&in);
        if (in.bad > 0)
            run_note(in.run, true, "%s: line %llu: %s; %llu line%s of this file %s unusable",
                     in.label, (unsigned long long)in.first_bad, in.bad_reason,
                     (unsigned long long)in.bad, in.bad > 1 ? "s" : "", in.bad > 1 ? "are" : "is");
        if (in.unknown > 0)
            run_note(in.run, false, "the logs hold records of kinds this version does not know");
        if (in.lost > 0)
            run_note(in.run, true, "%s: %llu collective%s not logged: the profiler had no room",
                     in.label, (unsigned long long)in.lost, in.lost > 1 ? "s were" : " was");
        devices_split(in.run);
    } else {
        rank_clear(in.rank);
        run->nranks--;
    }
    free(in.members);
    return rc;
}

/* ---- after the last file ---- */

static int by_seq(const void *pa, const void *pb)
{
    const struct op *a = *(const struct op *const *)pa, *b = *(const struct op *const *)pb;
    if (a->coll.comm != b->coll.comm)
        return ORDER(a->coll.comm, b->coll.comm);
    if (a->coll.op != b->coll.op)
        return ORDER(a->coll.op, b->coll.op);
    return ORDER(a->coll.seq, b->coll.seq);
}

/* Returns how many numbers between the first and the last of each count have no record. */
static uint64_t count_gaps(const struct rank *rank)
{
    const struct op **list = array_new(rank->nops + 1, sizeof *list);
    size_t n = 0;
    uint64_t gaps = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].class == OP_COLL && rank->ops[i].coll.seq >= 0)
            list[n++] = &rank->ops[i];
    }
    qsort(list, n, sizeof *list, by_seq);
    for (size_t i = 1; i < n; i++) {
        const struct op *a = list[i - 1], *b = list[i];
        if (a->coll.comm == b->coll.comm && a->coll.op == b->coll.op && b->coll.seq > a->coll.seq)
            gaps += (uint64_t)(b->coll.seq - a->coll.seq) / 16 - 1;
    }
    free(list);
    return gaps;
}

static void inspector_finish(struct run *run)
{
    uint64_t gaps = 0, host_timed = 0, messages = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank *rank = &run->ranks[r];
        gaps += count_gaps(rank);
        for (size_t i = 0; i < rank->nops; i++) {
            host_timed += rank->ops[i].timing == SPECTER_TIMING_HOST;
            messages += rank->ops[i].class == OP_P2P;
        }
    }
    if (gaps > 0)
        run_note(run, false,
                 "%llu collectives between those that are there were not logged (small ones, or "
                 "several in one dump interval)",
                 (unsigned long long)gaps);
    if (host_timed > 0)
        run_note(run, false,
                 "%llu operations were timed by a host thread (kernel_cpu, collective_cpu) or by "
                 "what is not told (Prometheus): they are in no bandwidth, as that may not be how "
                 "long the device took",
                 (unsigned long long)host_timed);
    if (messages > 0)
        run_note(run, false,
                 "NCCL Inspector does not number messages so that a send and its receive can be "
                 "found: each is taken alone");
}

/* ---- recognising ---- */

static bool inspector_sniff(const char *head, size_t len)
{
    struct buf prom = BUF_INIT;
    bool found = false;
    for (int i = 0; i < HEAD_LINES && len > 0; i++) {
        const char *end = memchr(head, '\n', len);
        size_t n = end != NULL ? (size_t)(end - head) : len;
        if (inspector_is_record(head, n) || prom_line_read(&prom, head, n) > PROM_NOTHING)
            found = true;
        if (found)
            break;
        n += end != NULL;
        head += n;
        len -= n;
    }
    buf_release(&prom);
    return found;
}

const struct reader reader_inspector = {.name = "inspector",
                                        .apart = true,
                                        .grouped = true,
                                        .unique_comms = true,
                                        .sniff = inspector_sniff,
                                        .read = inspector_read,
                                        .finish = inspector_finish};

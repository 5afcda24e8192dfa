/* SPDX-License-Identifier: MIT
 *
 * Reads specter's own traces (JSON Lines, version 1) and those of the original Python tool, a line
 * at a time in bounded memory. A line that cannot be used is counted, the rest of the file stands.
 */
#include "trace/jsonl.h"

#include "base/buf.h"
#include "base/order.h"
#include "trace/comm_order.h"
#include "trace/devices.h"
#include "trace/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE ((size_t)128 << 10) /* holds a line of SPECTER_LINE_MAX twice */
#define PORTION ((size_t)64 << 10)     /* read at once: it stays in a near cache */
#define HEAD_LINES 16 /* looked at to recognise a file whose first line is damaged */

/* ---- lines ---- */

static void bad_line(struct jsonl *r, const char *reason, size_t offset)
{
    if (r->bad++ > 0)
        return;
    r->first_bad = r->line_no;
    if (offset > 0)
        snprintf(r->bad_reason, sizeof r->bad_reason, "%s at byte %zu", reason, offset);
    else
        snprintf(r->bad_reason, sizeof r->bad_reason, "%s", reason);
}

bool jsonl_holds_nothing(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r'))
        i++;
    return i == len || text[i] == '#';
}

/* `last`: the file ended without a newline, so the line may be cut. */
static void take_line(struct jsonl *r, const char *text, size_t len, bool last)
{
    const char *wrong;
    r->line_no++;
    if (len > 0 && text[len - 1] == '\r')
        len--;
    if (jsonl_holds_nothing(text, len))
        return;
    if (len >= SPECTER_LINE_MAX) {
        bad_line(r, "longer than any line a trace has", 0);
        return;
    }
    if (!line_parse(&r->line, text, len, last ? 0 : LINE_ROOM)) {
        if (last && r->line.cut && !r->has_shutdown)
            r->rank->torn = true;
        else
            bad_line(r, r->line.error, r->line.offset + 1);
        return;
    }
    wrong = jsonl_record(r, &r->line);
    if (wrong != NULL)
        bad_line(r, wrong, 0);
    else
        r->usable++;
}

/* Clock records are of no use to operations that are gone. */
static void hand_over(struct jsonl *r)
{
    run_hand_over(r->run, r->rank);
    if (r->run->taker != NULL)
        r->clocks.count = 0;
}

/* ---- the end of the file ---- */

struct position {
    uint64_t id;
    size_t at;
};

static int compare_positions(const void *pa, const void *pb)
{
    const struct position *a = pa, *b = pb;
    if (a->id != b->id)
        return ORDER(a->id, b->id);
    return ORDER(a->at, b->at);
}

/* An operation that is written twice (pending, then done) counts as the later line says. */
static void drop_replaced(struct rank *rank)
{
    struct position *list = array_new(rank->nops, sizeof *list);
    bool *keep = array_new(rank->nops, sizeof *keep);
    size_t kept = 0;
    for (size_t i = 0; i < rank->nops; i++)
        list[i] = (struct position){rank->ops[i].id, i};
    qsort(list, rank->nops, sizeof *list, compare_positions);
    for (size_t i = 0; i < rank->nops; i++)
        keep[list[i].at] = i + 1 == rank->nops || list[i + 1].id != list[i].id;
    for (size_t i = 0; i < rank->nops; i++) {
        if (keep[i])
            rank->ops[kept++] = rank->ops[i];
    }
    rank->nops = kept;
    free(list);
    free(keep);
}

static int by_start(const void *pa, const void *pb)
{
    const struct step *a = pa, *b = pb;
    return ORDER(a->start_ns, b->start_ns);
}

/* Returns whether anything was called, or began, at that moment or later, as far as the trace
 * shows; true of a trace without operations and launches. */
static bool works_from(const struct rank *rank, int64_t from_ns)
{
    if (rank->nops == 0 && rank->nlaunches == 0)
        return true;
    for (size_t i = rank->nops; i-- > 0;) {
        if (op_issued_ns(&rank->ops[i]) >= from_ns)
            return true;
    }
    for (size_t i = rank->nlaunches; i-- > 0;) {
        if (rank->launches[i].host_ns >= from_ns)
            return true;
    }
    return false;
}

/* Maps all times to the host's clock, the end of the trace as well: a new list of the rank that has
 * times is mapped here. Without init.mono_ns the trace keeps a zero of its own. */
static void map_times(struct jsonl *r)
{
    struct rank *rank = r->rank;
    int64_t base = rank->mono_ns != UNKNOWN_NS ? rank->mono_ns : 0;
    r->end_ns = ns_add(r->end_ns, base);
    if (rank->mono_ns == UNKNOWN_NS) {
        r->clocks.count = 0;
        rank->end_ns = UNKNOWN_NS; /* of a clock that nothing else is on */
    }
    if (r->end_ns > rank->end_ns)
        rank->end_ns = r->end_ns;
    rank->dump_ns = ns_add(rank->dump_ns, base);
    clock_ready(&r->clocks, base);
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        bool host = op->timing == SPECTER_TIMING_SYNC || op->timing == SPECTER_TIMING_HOST;
        int64_t start_ns = op->start_ns;
        op->start_ns = UNKNOWN_NS;
        if (start_ns != UNKNOWN_NS)
            op->start_ns =
                host ? ns_add(start_ns, base) : clock_to_host(&r->clocks, op->device, start_ns);
        op->host_ns = ns_add(op->host_ns, base);
        op->host_end_ns = ns_add(op->host_end_ns, base);
        if (op->timing == SPECTER_TIMING_HOST && op->host_ns == UNKNOWN_NS) {
            op->host_ns = op->start_ns; /* the call is all that was timed */
            op->host_end_ns = ns_add(op->start_ns, op->dur_ns);
        }
    }
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        rank->sync_calls[i].host_ns = ns_add(rank->sync_calls[i].host_ns, base);
        rank->sync_calls[i].host_end_ns = ns_add(rank->sync_calls[i].host_end_ns, base);
    }
    for (size_t i = 0; i < rank->nsteps; i++)
        rank->steps[i].start_ns = ns_add(rank->steps[i].start_ns, base);
    for (size_t i = 0; i < rank->nlaunches; i++) {
        rank->launches[i].host_ns = ns_add(rank->launches[i].host_ns, base);
        rank->launches[i].host_end_ns = ns_add(rank->launches[i].host_end_ns, base);
    }
    for (size_t i = 0; i < rank->nmarks; i++) {
        struct mark *mark = &rank->marks[i];
        bool open = mark->end_ns == UNKNOWN_NS;
        mark->start_ns = ns_add(mark->start_ns, base);
        mark->end_ns = open ? rank->end_ns : ns_add(mark->end_ns, base);
        if (open && mark->end_ns < mark->start_ns)
            mark->end_ns = mark->start_ns;
    }
}

static const char *gpu_name(const struct jsonl *r, const struct rank *rank)
{
    int64_t device = rank->device;
    if (device < 0 && rank->nops > 0)
        device = rank->ops[0].device;
    for (size_t i = 0; i < r->ngpus; i++) {
        if (r->gpus[i].device == device)
            return r->gpus[i].name;
    }
    return r->ngpus > 0 ? r->gpus[0].name : "";
}

static void note_unread(struct jsonl *r, const struct jsonl_unread *unread, bool loss,
                        const char *what)
{
    struct buf kinds = BUF_INIT;
    if (unread->total == 0)
        return;
    /* "3 copy, 2 graph", and that there are more kinds. */
    uint64_t others = unread->total;
    for (size_t i = 0; i < unread->nkinds; i++) {
        buf_printf(&kinds, "%s%llu %s", i > 0 ? ", " : "",
                   (unsigned long long)unread->kinds[i].count, unread->kinds[i].name);
        others -= unread->kinds[i].count;
    }
    if (others > 0)
        buf_printf(&kinds, ", %llu of other kinds", (unsigned long long)others);
    buf_putc(&kinds, '\0');
    run_note(r->run, loss, "%s: %s: %s", r->label, what, kinds.data);
    buf_release(&kinds);
}

static void finish_file(struct jsonl *r)
{
    size_t first = r->run->nranks - 1;
    if (r->ids_repeat)
        drop_replaced(r->rank);
    if (!r->has_init)
        r->rank->rank = rank_in_name(r->label);
    r->rank->nthreads = r->threads.count;
    r->rank->bad_lines = r->bad;
    map_times(r);
    if (r->legacy) {
        if (!r->typed || (r->saw_nccl && r->saw_gemm))
            r->rank->coverage = (r->saw_nccl ? COVER_NCCL : 0u) | (r->saw_gemm ? COVER_GEMM : 0u);
        else
            r->rank->coverage = COVER_NCCL | COVER_GEMM;
        run_note(r->run, false,
                 "traces of the original Python tool: communicators are told apart by size only%s",
                 r->synchronised
                     ? ""
                     : "; recorded without --sync, so that durations are those of the host "
                       "calls, not of the device");
    }
    if (r->bad > 0)
        run_note(r->run, true, "%s: line %llu: %s; %llu line%s of this file %s unusable", r->label,
                 (unsigned long long)r->first_bad, r->bad_reason, (unsigned long long)r->bad,
                 r->bad > 1 ? "s" : "", r->bad > 1 ? "are" : "is");
    note_unread(r, &r->lost, true, "records of device work that this version does not read");
    note_unread(r, &r->unknown, false, "records of kinds this version does not know");
    if (!r->has_init)
        run_note(r->run, false, "%s: no init record: rank, host and clock are unknown", r->label);
    devices_split(r->run);
    for (size_t i = first; i < r->run->nranks; i++) {
        r->run->ranks[i].gpu = gpu_name(r, &r->run->ranks[i]);
        rank_fit(&r->run->ranks[i]);
        /* A step lasts until the next one; the last one to the end of the trace. Some programs also
         * mark the end of their last step, so a last mark after all work begins no step; of two
         * marks this cannot be told. */
        struct rank *rank = &r->run->ranks[i];
        if (rank->nsteps > 0)
            qsort(rank->steps, rank->nsteps, sizeof *rank->steps, by_start);
        for (size_t k = 0; k < rank->nsteps; k++) {
            struct step *step = &rank->steps[k];
            step->end_ns = k + 1 < rank->nsteps ? step[1].start_ns : r->end_ns;
            step->cut = k + 1 == rank->nsteps && !rank->complete;
        }
        if (rank->nsteps > 2 && !works_from(rank, rank->steps[rank->nsteps - 1].start_ns))
            rank->nsteps--;
    }
}

static int no_record(const struct jsonl *r, struct err *e)
{
    return err_set(e, ERR_INPUT, "%s: line %llu: %s", r->label,
                   (unsigned long long)(r->bad > 0 ? r->first_bad : r->line_no),
                   r->bad > 0 ? r->bad_reason : "not one whole record");
}

static int read_file(struct jsonl *r, struct stream *s, struct err *e)
{
    char *block = array_new(1, BLOCK_SIZE + LINE_ROOM); /* all of it may be looked at */
    size_t have = 0, used;
    ssize_t n;
    while ((n = stream_read(s, block + have, PORTION, e)) > 0) {
        have += (size_t)n;
        const char *end;
        for (used = 0; used < have && (end = memchr(block + used, '\n', have - used)) != NULL;
             used = (size_t)(end - block) + 1)
            take_line(r, block + used, (size_t)(end - block) - used, false);
        hand_over(r);
        have -= used;
        memmove(block, block + used, have);
        if (have > SPECTER_LINE_MAX)
            have = SPECTER_LINE_MAX; /* too long already: enough is kept to say so at its end */
    }
    if (n == 0 && have > 0)
        take_line(r, block, have, true);
    hand_over(r);
    free(block);
    if (r->usable == 0 && n == 0)
        return no_record(r, e);
    if (r->usable == 0)
        return -1;
    if (n < 0)
        run_note(r->run, true, "%s; what stands before it is used", e->msg);
    finish_file(r);
    return 0;
}

static struct jsonl *jsonl_new(struct run *run, const char *label)
{
    struct jsonl *r = array_new(1, sizeof *r);
    r->run = run;
    r->label = label;
    r->line.record = SPECTER_REC_COUNT;
    r->rank = run_add_rank(run);
    r->rank->file = arena_strdup(&run->arena, label);
    run->format = "specter";
    return r;
}

/* rc: of the reading. Returns it. */
static int jsonl_free(struct jsonl *r, int rc)
{
    if (rc < 0) {
        rank_clear(r->rank);
        r->run->nranks--;
    }
    clock_release(&r->clocks);
    idmap_release(&r->threads);
    idmap_release(&r->members);
    free(r);
    return rc;
}

static int jsonl_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct jsonl *r = jsonl_new(run, label);
    return jsonl_free(r, read_file(r, s, e));
}

int jsonl_read_text(struct run *run, const char *text, size_t len, const char *label, struct err *e)
{
    struct jsonl *r = jsonl_new(run, label);
    const char *end;
    for (; (end = memchr(text, '\n', len)) != NULL; text = end + 1) {
        take_line(r, text, (size_t)(end - text), false);
        len -= (size_t)(end + 1 - text);
    }
    if (r->usable == 0)
        return jsonl_free(r, no_record(r, e));
    finish_file(r);
    return jsonl_free(r, 0);
}

/* ---- recognising ---- */

/* Calls is() for each of the first lines until it returns true; the last line may be cut. */
static bool any_line(const char *head, size_t len, bool (*is)(const struct line *, void *),
                     void *arg)
{
    struct line l = LINE_INIT;
    for (int i = 0; i < HEAD_LINES && len > 0;) {
        const char *end = memchr(head, '\n', len);
        size_t n = end != NULL ? (size_t)(end - head) : len;
        bool nothing = jsonl_holds_nothing(head, n);
        if (!nothing)
            line_parse(&l, head, n, 0);
        if (!nothing && is(&l, arg))
            return true;
        i += !nothing;
        n += end != NULL;
        head += n;
        len -= n;
    }
    return false;
}

static bool is_record(const struct line *l, void *arg)
{
    (void)arg;
    return l->record != SPECTER_REC_COUNT || json_text_is(l->kind, "group_start");
}

static bool jsonl_sniff(const char *head, size_t len)
{
    return any_line(head, len, is_record, NULL);
}

static bool is_init(const struct line *l, void *arg)
{
    struct identity *id = arg;
    struct json_text run = line_text(l, INIT_run);
    struct buf plain = BUF_INIT, safe = BUF_INIT;
    if (l->record != SPECTER_REC_INIT || l->error != NULL || !jsonl_init_believable(l))
        return false;
    json_decode(run, &plain);
    buf_put_printable(&safe, plain.data, plain.len);
    snprintf(id->run, sizeof id->run, "%s", safe.data);
    buf_release(&plain);
    buf_release(&safe);
    id->known = true;
    id->rank = line_i64(l, INIT_rank, -1);
    id->real_ns = line_real_ns(l);
    return true;
}

static void jsonl_identify(const char *head, size_t len, struct identity *id)
{
    static const char comm[] = "\"event\":\"comm\"";
    any_line(head, len, is_init, id);
    id->member = id->known && memmem(head, len, comm, sizeof comm - 1) != NULL;
}

/* The original Python tool writes no sequence numbers: its collectives are numbered by order. */
static void jsonl_finish(struct run *run)
{
    bool *by_order = array_new(run->ncomms + 1, sizeof *by_order);
    for (size_t c = 0; c < run->ncomms; c++)
        by_order[c] = strncmp(run->comms[c].id, JSONL_UNNAMED, strlen(JSONL_UNNAMED)) == 0;
    order_resync(run, by_order);
    free(by_order);
}

const struct reader reader_jsonl = {
    .name = "specter",
    .sniff = jsonl_sniff,
    .identify = jsonl_identify,
    .read = jsonl_read,
    .finish = jsonl_finish,
    .apart = true,
};

/* SPDX-License-Identifier: MIT
 *
 * A folder of tables: one row an operation, act, step, mark, rank, member of a communicator. They
 * join by rank, and operations that are one collective or message by match. Times are microseconds
 * with three decimals since the first event of the run.
 */
#include "report/export.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/whole_file.h"
#include "report/table.h"
#include "report/op_text.h"
#include "report/tracks.h"
#include "trace/match.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FLUSH ((size_t)1 << 18)

struct csv_export {
    const struct run *run;
    size_t only;
    int64_t origin_ns;
    int64_t **match; /* [nranks][nops]: number of the match; -1 none */
    struct sink *sink;
    struct buf out;
};

/* ---- cells: each begins with its comma ---- */

static void put_text(struct buf *b, const char *text)
{
    buf_putc(b, ',');
    csv_put_text(b, text);
}

static void put_known(struct buf *b, bool known, int64_t value)
{
    buf_putc(b, ',');
    if (known)
        buf_printf(b, "%" PRId64, value);
}

static void put_us(struct buf *b, int64_t ns)
{
    uint64_t n = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    buf_putc(b, ',');
    if (ns != UNKNOWN_NS)
        buf_printf(b, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", n / 1000, (unsigned)(n % 1000));
}

static void put_moment(const struct csv_export *t, struct buf *b, int64_t ns)
{
    put_us(b, ns == UNKNOWN_NS ? UNKNOWN_NS : ns - t->origin_ns);
}

static void end_row(struct csv_export *t)
{
    buf_putc(&t->out, '\n');
    if (t->out.len < FLUSH)
        return;
    sink_put(t->sink, t->out.data, t->out.len);
    buf_reset(&t->out);
}

/* ---- operations ---- */

static void put_comm(const struct csv_export *t, struct buf *b, const struct op *op)
{
    const struct comm *comm = op->coll.comm >= 0 ? &t->run->comms[op->coll.comm] : NULL;
    put_text(b, op->coll.op < SPECTER_COMM_OP_COUNT ? specter_comm_op_name(op->coll.op) : "");
    put_text(b, comm != NULL ? comm->id : "");
    put_text(b, comm != NULL ? comm->name : "");
    put_known(b, comm != NULL && comm->size > 0, comm != NULL ? comm->size : 0);
    put_known(b, op->coll.seq >= 0 || op->coll.p2p_seq >= 0,
              op->class == OP_P2P ? op->coll.p2p_seq : op->coll.seq);
    put_known(b, op->coll.peer >= 0, op->coll.peer);
    put_known(b, !(op->flags & OP_BYTES_UNKNOWN), (int64_t)op->coll.count);
    buf_puts(b, ",,,,");
}

static void put_ops(struct csv_export *t, size_t r)
{
    const struct rank *rank = &t->run->ranks[r];
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        bool comm = op_is_comm(op), timed = op_timed(op);
        bool sized = (comm || op->class == OP_MEMORY) && !(op->flags & OP_BYTES_UNKNOWN);
        struct buf *b = &t->out;
        buf_printf(b, "%d,%" PRIu64 ",%s", rank->rank, op->id, op_class_name(op->class));
        put_text(b, op->name);
        put_moment(t, b, timed ? op->start_ns : UNKNOWN_NS);
        put_us(b, timed ? op->dur_ns : UNKNOWN_NS);
        put_text(b, specter_timing_name(op->timing));
        put_moment(t, b, op->host_ns);
        put_moment(t, b, op->host_end_ns);
        put_known(b, op->device >= 0, op->device);
        put_known(b, op->stream >= 0, op->stream);
        put_known(b, true, op->tid);
        put_known(b, sized, (int64_t)op->bytes);
        put_text(b, op->dtype != SPECTER_DTYPE_UNKNOWN ? specter_dtype_name(op->dtype) : "");
        if (comm)
            put_comm(t, b, op);
        else {
            bool known = op->class == OP_GEMM && op->gemm.m > 0;
            buf_puts(b, ",,,,,,,");
            put_known(b, known, known ? op->gemm.m : 0);
            put_known(b, known, known ? op->gemm.n : 0);
            put_known(b, known, known ? op->gemm.k : 0);
            put_known(b, known, known ? op->gemm.batch : 0);
        }
        put_known(b, t->match[r][i] >= 0, t->match[r][i]);
        put_text(b, op->caller);
        end_row(t);
    }
}

/* ---- the others ---- */

static void put_sync_calls(struct csv_export *t, size_t r)
{
    const struct rank *rank = &t->run->ranks[r];
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        const struct sync_call *sync = &rank->sync_calls[i];
        buf_printf(&t->out, "%d", rank->rank);
        put_text(&t->out, sync_call_title(sync));
        put_moment(t, &t->out, sync->host_ns);
        put_moment(t, &t->out, sync->host_end_ns);
        put_known(&t->out, true, sync->tid);
        put_known(&t->out, sync->stream >= 0, sync->stream);
        put_known(&t->out, sync->event >= 0, sync->event);
        end_row(t);
    }
}

static void put_steps(struct csv_export *t, size_t r)
{
    const struct rank *rank = &t->run->ranks[r];
    for (size_t i = 0; i < rank->nsteps; i++) {
        buf_printf(&t->out, "%d,%zu", rank->rank, i);
        put_text(&t->out, rank->steps[i].name);
        put_moment(t, &t->out, rank->steps[i].start_ns);
        put_moment(t, &t->out, rank->steps[i].end_ns);
        end_row(t);
    }
}

static void put_marks(struct csv_export *t, size_t r)
{
    const struct rank *rank = &t->run->ranks[r];
    for (size_t i = 0; i < rank->nmarks; i++) {
        buf_printf(&t->out, "%d", rank->rank);
        put_text(&t->out, rank->marks[i].name);
        put_moment(t, &t->out, rank->marks[i].start_ns);
        put_moment(t, &t->out, rank->marks[i].end_ns);
        put_known(&t->out, true, rank->marks[i].tid);
        end_row(t);
    }
}

static void put_ranks(struct csv_export *t, size_t r)
{
    const struct rank *rank = &t->run->ranks[r];
    buf_printf(&t->out, "%d", rank->rank);
    put_text(&t->out, rank->host);
    put_text(&t->out, rank->gpu);
    put_known(&t->out, rank->pid >= 0, rank->pid);
    put_text(&t->out, rank->file);
    put_known(&t->out, true, rank->domain);
    put_known(&t->out, true, (int64_t)rank->dropped);
    put_known(&t->out, true, rank->complete);
    end_row(t);
}

static void put_members(struct csv_export *t, size_t r)
{
    const struct rank *rank = &t->run->ranks[r];
    for (size_t i = 0; i < rank->nin; i++) {
        const struct comm *comm = &t->run->comms[rank->in[i].comm];
        buf_printf(&t->out, "%d", rank->rank);
        put_text(&t->out, comm->id);
        put_text(&t->out, comm->name);
        put_known(&t->out, comm->size > 0, comm->size);
        put_known(&t->out, rank->in[i].rank >= 0, rank->in[i].rank);
        end_row(t);
    }
}

/* X(table, file, keys): a table that goes rank by rank through put_<table>(). */
#define TABLES(X)                                                                           \
    X(ops, "ops",                                                                           \
      "rank,id,class,name,start_us,duration_us,timing,host_us,host_end_us,device,stream,"   \
      "thread,bytes,dtype,op,comm,group,comm_size,seq,peer,count,m,n,k,batch,match,caller") \
    X(sync_calls, "acts", "rank,kind,host_us,host_end_us,thread,stream,event")              \
    X(steps, "steps", "rank,step,name,start_us,end_us")                                     \
    X(marks, "marks", "rank,name,start_us,end_us,thread")                                   \
    X(ranks, "ranks", "rank,host,gpu,pid,file,clock_domain,dropped,complete")               \
    X(members, "members", "rank,comm,group,comm_size,comm_rank")

static int put_table(struct csv_export *t, const char *where, const char *name, const char *keys,
                     void (*put)(struct csv_export *, size_t), struct err *e)
{
    struct buf path = BUF_INIT;
    int rc;
    buf_printf(&path, "%s/%s.csv", where, name);
    rc = sink_open(&t->sink, path.data, e);
    buf_release(&path);
    if (rc < 0)
        return -1;
    buf_puts(&t->out, keys);
    end_row(t);
    for (size_t r = 0; r < t->run->nranks; r++) {
        if (t->only == SIZE_MAX || t->only == r)
            put(t, r);
    }
    sink_put(t->sink, t->out.data, t->out.len);
    buf_reset(&t->out);
    return sink_close(t->sink, e);
}

int export_csv(const struct run *run, const char *where, size_t only, struct err *e)
{
    struct csv_export t = {.run = run, .only = only, .origin_ns = tracks_origin(run)};
    int rc = 0;
    struct matches m;
    if (mkdir(where, 0777) < 0 && errno != EEXIST)
        return err_set(e, ERR_INPUT, "cannot make '%s': %s", where, strerror(errno));
    buf_init(&t.out);
    t.match = array_new(run->nranks + 1, sizeof *t.match);
    for (size_t r = 0; r < run->nranks; r++) {
        t.match[r] = array_new(run->ranks[r].nops + 1, sizeof **t.match);
        memset(t.match[r], -1, (run->ranks[r].nops + 1) * sizeof **t.match);
    }
    matches_init(&m, run);
    for (size_t i = 0; i < m.count; i++) {
        for (uint32_t k = 0; k < m.list[i].nmembers; k++) {
            const struct match_member *member = &m.members[m.list[i].first + k];
            t.match[member->rank][member->op] = (int64_t)i;
        }
    }
    matches_release(&m);
#define X(table, file, keys) \
    if (rc == 0)             \
        rc = put_table(&t, where, file, keys, put_##table, e);
    TABLES(X)
#undef X
    for (size_t r = 0; r < run->nranks; r++)
        free(t.match[r]);
    free(t.match);
    buf_release(&t.out);
    return rc;
}

/* SPDX-License-Identifier: MIT
 *
 * Reads what `nsys export --type sqlite` writes: recognises it, and takes the tables in turn.
 */
#include "trace/nsys.h"

#include "trace/reader.h"

#include <stdlib.h>
#include <string.h>

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

bool nsys_times(const struct nsys *n, int64_t start, int64_t end)
{
    (void)n;
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
    int rc = nsys_scan(&rows, n->db, NSYS_SESSION, columns, 1, 1, &e);
    n->utc_ns = UNKNOWN_NS;
    if (rc > 0 && nsys_next(&rows, &e) > 0)
        n->utc_ns = nsys_int(&rows, 0, UNKNOWN_NS);
    if (n->utc_ns <= 0 || n->utc_ns >= RUN_TIME_MAX / 2)
        n->utc_ns = UNKNOWN_NS; /* no date */
    nsys_scan_end(&rows);
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
        free(p->begins);
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
        for (size_t i = 0; i < n->processes.count; i++)
            nsys_around(&n->processes.list[i]);
        nsys_products(n);
        nsys_comm(n);
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

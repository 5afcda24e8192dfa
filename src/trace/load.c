/* SPDX-License-Identifier: MIT
 *
 * From a path to a run: finds the traces that are meant and has them read. Files are read by
 * several threads, each file into a run of its own (a part), and the parts are put together in the
 * order of the files, so that the run is the same for any number of threads.
 */
#include "trace/load.h"

#include "base/pool.h"
#include "trace/run_absorb.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct failure {
    struct err err;
    bool cut; /* the end of an archive is missing; else one trace is */
};

/* One file to read, or one archive with the members to read. */
struct job {
    const char *path;
    const struct source **sources; /* owned; members in their order */
    size_t nsources, cap;
    struct run part;          /* what it holds, until it is part of the run */
    struct failure *failures; /* owned */
    size_t nfailures, cap_failures;
    bool ready;
};

struct reading {
    struct load *l;
    struct job *jobs; /* owned */
    size_t njobs, cap;
    bool apart;           /* into parts; else into the run itself, by one thread */
    pthread_mutex_t lock; /* of what follows, of the run, and of who takes operations */
    size_t joined;        /* so many jobs are part of the run */
    struct op_taker taker;
    atomic_uint_least64_t done; /* bytes of the files, */
    uint64_t total;             /* of so many */
};

/* ---- one file ---- */

static void failed(struct job *job, const struct err *e, bool cut)
{
    ARRAY_GROW(job->failures, job->cap_failures, job->nfailures + 1);
    job->failures[job->nfailures++] = (struct failure){*e, cut};
}

static void read_source(struct job *job, const struct source *source, struct run *into,
                        struct stream *s)
{
    struct err e = {0};
    size_t before = into->nranks;
    if (source->reader->read(into, s, source->label, &e) < 0)
        failed(job, &e, false);
    for (size_t r = before; r < into->nranks; r++)
        run_hand_over(into, &into->ranks[r]);
}

static void read_members(struct job *job, struct run *into, struct stream *s)
{
    struct err cut;
    const char *name;
    size_t next = 0;
    int rc;
    for (size_t member = 0; (rc = stream_tar_next(s, &name, &cut)) > 0; member++) {
        if (next < job->nsources && job->sources[next]->member == member)
            read_source(job, job->sources[next++], into, s);
    }
    if (rc < 0)
        failed(job, &cut, true);
}

static void read_path(struct reading *r, struct job *job, struct run *into)
{
    struct stream *s;
    struct err e;
    if (stream_open(&s, job->path, &e) < 0) {
        failed(job, &e, false);
        return;
    }
    stream_count(s, &r->done);
    if (job->sources[0]->archive)
        read_members(job, into, s);
    else
        read_source(job, job->sources[0], into, s);
    stream_close(s);
}

/* ---- putting together ---- */

static void join_job(struct reading *r, struct job *job)
{
    if (r->apart)
        run_absorb(r->l->run, &job->part);
    for (size_t i = 0; i < job->nfailures; i++) {
        const struct failure *f = &job->failures[i];
        if (f->cut)
            load_cut_archive(r->l, &f->err);
        else
            load_damaged(r->l, &f->err);
    }
}

/* A job is done; it and those behind it are joined as far as none before them is missing. */
static void job_ready(struct reading *r, struct job *job)
{
    pthread_mutex_lock(&r->lock);
    job->ready = true;
    while (r->joined < r->njobs && r->jobs[r->joined].ready)
        join_job(r, &r->jobs[r->joined++]);
    pthread_mutex_unlock(&r->lock);
}

static void do_job(void *arg, size_t i)
{
    struct reading *r = arg;
    struct job *job = &r->jobs[i];
    struct name_map names;
    if (!r->apart) {
        read_path(r, job, r->l->run);
        job_ready(r, job);
        return;
    }
    run_init(&job->part);
    job->part.taker = r->l->run->taker;
    read_path(r, job, &job->part);
    pthread_mutex_lock(&r->lock);
    name_map_make(&names, &r->l->run->names, &job->part.names);
    pthread_mutex_unlock(&r->lock);
    run_rename(&job->part, &names);
    name_map_release(&names);
    job_ready(r, job);
}

/* ---- all files ---- */

static void add_source(struct reading *r, const struct source *source)
{
    struct job *job = NULL;
    for (size_t i = r->njobs; source->archive && i-- > 0 && job == NULL;)
        job = strcmp(r->jobs[i].path, source->path) == 0 ? &r->jobs[i] : NULL;
    if (job == NULL) {
        ARRAY_GROW(r->jobs, r->cap, r->njobs + 1);
        job = &r->jobs[r->njobs++];
        memset(job, 0, sizeof *job);
        job->path = source->path;
        r->total += source->size;
    }
    ARRAY_GROW(job->sources, job->cap, job->nsources + 1);
    job->sources[job->nsources++] = source;
}

static int by_member(const void *pa, const void *pb)
{
    const struct source *a = *(const struct source *const *)pa;
    const struct source *b = *(const struct source *const *)pb;
    return (a->member > b->member) - (a->member < b->member);
}

static void make_jobs(struct reading *r, const struct reader *of)
{
    for (size_t i = 0; i < r->l->count; i++) {
        if (r->l->list[i].reader == of)
            add_source(r, &r->l->list[i]);
    }
    for (size_t i = 0; i < r->njobs; i++)
        qsort(r->jobs[i].sources, r->jobs[i].nsources, sizeof *r->jobs[i].sources, by_member);
}

static void show(void *arg)
{
    struct reading *r = arg;
    const struct load_opts *opts = r->l->opts;
    opts->progress(opts->progress_arg, atomic_load_explicit(&r->done, memory_order_relaxed),
                   r->total);
}

/* Whoever takes the operations gets them from one thread at a time. */
static void take_locked(void *arg, const struct rank *rank, const struct op *ops, size_t n)
{
    struct reading *r = arg;
    pthread_mutex_lock(&r->lock);
    r->l->opts->take(r->l->opts->take_arg, rank, ops, n);
    pthread_mutex_unlock(&r->lock);
}

static void read_files(struct load *l, const struct reader *of)
{
    struct reading r = {.l = l};
    struct pool_tick tick = {show, &r};
    size_t threads = l->opts->threads > 0 ? (size_t)l->opts->threads : pool_cpus();
    r.taker = (struct op_taker){take_locked, &r};
    l->run->taker = l->opts->take != NULL ? &r.taker : NULL;
    make_jobs(&r, of);
    r.apart = of->apart && r.njobs > 1;
    pthread_mutex_init(&r.lock, NULL);
    pool_run(r.apart ? threads : 1, r.njobs, do_job, &r, l->opts->progress ? &tick : NULL);
    pthread_mutex_destroy(&r.lock);
    l->run->taker = NULL;
    for (size_t i = 0; i < r.njobs; i++) {
        free(r.jobs[i].sources);
        free(r.jobs[i].failures);
    }
    free(r.jobs);
}

static int read_format(struct load *l, const struct reader *reader, struct err *e)
{
    read_files(l, reader);
    if (l->run->nranks == 0)
        return load_nothing(l, e);
    if (reader->finish != NULL)
        reader->finish(l->run);
    return 0;
}

/* What completes the format that was read, behind it. */
static int read_completing(struct load *l, const struct reader *chosen, struct err *e)
{
    for (size_t i = 0; i < load_nreaders; i++) {
        if (load_readers[i]->completes == chosen && load_count(l, load_readers[i]) > 0 &&
            read_format(l, load_readers[i], e) < 0)
            return -1;
    }
    return 0;
}

static void note_rest(struct load *l)
{
    if (l->nforeign > 0)
        run_note(l->run, false, "%zu file%s here %s no traces of a known format: %s%s", l->nforeign,
                 l->nforeign > 1 ? "s" : "", l->nforeign > 1 ? "are" : "is", l->foreign.data,
                 l->nforeign > NAMED_MAX ? ", ..." : "");
    if (l->ndamaged > NAMED_MAX)
        run_note(l->run, true, "%zu more files are left out", l->ndamaged - NAMED_MAX);
}

static int load(struct load *l, struct err *e)
{
    const struct reader *reader;
    if (load_find(l, e) < 0)
        return -1;
    if (l->count == 0)
        return load_nothing(l, e);
    reader = load_choose(l, e);
    if (reader == NULL || read_format(l, reader, e) < 0 || read_completing(l, reader, e) < 0)
        return -1;
    note_rest(l);
    run_finish(l->run);
    return 0;
}

int run_load(struct run *run, const char *path, const struct load_opts *opts, struct err *e)
{
    static const struct load_opts none;
    struct load l = {
        .run = run, .path = path, .opts = opts != NULL ? opts : &none, .foreign = BUF_INIT};
    int rc;
    run_init(run);
    run->source = load_printable(run, path);
    rc = load(&l, e);
    free(l.list);
    free(l.file_source);
    free(l.archives);
    idmap_release(&l.files);
    idmap_release(&l.folders);
    buf_release(&l.foreign);
    return rc;
}

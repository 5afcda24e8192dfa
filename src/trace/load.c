/* SPDX-License-Identifier: MIT
 *
 * From a path to a run: finds the traces that are meant and has them read. Files are read by
 * several threads, each file into a run of its own (a part), and the parts are put together in the
 * order of the files, so that the run is the same for any number of threads. Of formats that name
 * no runs the parts of one job alone (load_jobs.c).
 */
#include "trace/load.h"

#include "base/pool.h"
#include "trace/run_absorb.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One file to read, or one archive with the members to read. */
struct read_job {
    const char *path;
    const struct source **sources; /* owned; members in their order */
    size_t nsources, cap;
    struct run *parts; /* owned: what the sources hold, until it is part of the run. [nsources]
                          where files are grouped, else [1] */
    struct load_failure *failures; /* owned */
    size_t nfailures, cap_failures;
    bool ready;
};

/* Where what is read goes. */
enum into {
    INTO_RUN,   /* the run itself, by one thread */
    INTO_PARTS, /* a part for each job, put into the run as soon as those before it are */
    INTO_FILES, /* a part for each file; when all are read, load_jobs.c chooses among them */
};

struct reading {
    struct load *l;
    struct read_job *jobs; /* owned */
    size_t njobs, cap;
    enum into into;
    pthread_mutex_t lock; /* of what follows, of the run, and of who takes operations */
    size_t joined;        /* so many jobs are part of the run */
    struct op_taker taker;
    atomic_uint_least64_t done; /* bytes of the files, */
    uint64_t total;             /* of so many */
};

/* ---- one file ---- */

static void failed(struct read_job *job, const struct source *source, const struct err *e, bool cut)
{
    ARRAY_GROW(job->failures, job->cap_failures, job->nfailures + 1);
    job->failures[job->nfailures++] = (struct load_failure){*e, source, cut};
}

static struct run *part_of(const struct reading *r, const struct read_job *job, size_t source)
{
    return r->into == INTO_RUN     ? r->l->run
           : r->into == INTO_PARTS ? &job->parts[0]
                                   : &job->parts[source];
}

static void read_source(struct reading *r, struct read_job *job, size_t at, struct stream *s)
{
    const struct source *source = job->sources[at];
    struct run *into = part_of(r, job, at);
    struct err e = {0};
    size_t before = into->nranks;
    if (source->reader->read(into, s, source->label, &e) < 0)
        failed(job, source, &e, false);
    for (size_t i = before; i < into->nranks && r->into != INTO_FILES; i++)
        run_hand_over(into, &into->ranks[i]);
}

static void read_members(struct reading *r, struct read_job *job, struct stream *s)
{
    struct err cut;
    const char *name;
    size_t next = 0;
    int rc;
    for (size_t member = 0; (rc = stream_tar_next(s, &name, &cut)) > 0; member++) {
        if (next < job->nsources && job->sources[next]->member == member)
            read_source(r, job, next++, s);
    }
    if (rc < 0)
        failed(job, job->sources[0], &cut, true);
}

static void read_path(struct reading *r, struct read_job *job)
{
    struct stream *s;
    struct err e;
    if (stream_open(&s, job->path, &e) < 0) {
        failed(job, job->sources[0], &e, false);
        return;
    }
    stream_count(s, &r->done);
    if (job->sources[0]->archive)
        read_members(r, job, s);
    else
        read_source(r, job, 0, s);
    stream_close(s);
}

/* ---- putting together ---- */

void load_failed(struct load *l, const struct load_failure *f)
{
    if (f->cut)
        load_cut_archive(l, &f->err);
    else
        load_damaged(l, &f->err);
}

static void join_job(struct reading *r, struct read_job *job)
{
    if (r->into == INTO_PARTS)
        run_absorb(r->l->run, &job->parts[0]);
    for (size_t i = 0; i < job->nfailures; i++)
        load_failed(r->l, &job->failures[i]);
}

/* A job is done; it and those behind it are joined as far as none before them is missing. */
static void job_ready(struct reading *r, struct read_job *job)
{
    if (r->into == INTO_FILES)
        return;
    pthread_mutex_lock(&r->lock);
    job->ready = true;
    while (r->joined < r->njobs && r->jobs[r->joined].ready)
        join_job(r, &r->jobs[r->joined++]);
    pthread_mutex_unlock(&r->lock);
}

/* The run's texts in the place of the part's. */
static void rename_part(struct reading *r, struct run *part)
{
    struct name_map names;
    pthread_mutex_lock(&r->lock);
    name_map_init(&names, &r->l->run->names, &part->names);
    pthread_mutex_unlock(&r->lock);
    run_rename(part, &names);
    name_map_release(&names);
}

static void do_job(void *arg, size_t i)
{
    struct reading *r = arg;
    struct read_job *job = &r->jobs[i];
    size_t nparts = r->into == INTO_RUN ? 0 : r->into == INTO_PARTS ? 1 : job->nsources;
    job->parts = array_new(nparts, sizeof *job->parts);
    for (size_t p = 0; p < nparts; p++) {
        run_init(&job->parts[p]);
        job->parts[p].taker = r->l->run->taker;
    }
    read_path(r, job);
    for (size_t p = 0; p < nparts; p++)
        rename_part(r, &job->parts[p]);
    job_ready(r, job);
}

/* All files are read, each into a part: those of one job go into the run. */
static int join_files(struct reading *r, const struct reader *of, struct err *e)
{
    struct load_parts parts = {.reader = of};
    int rc;
    for (size_t i = 0; i < r->njobs; i++) {
        struct read_job *job = &r->jobs[i];
        for (size_t s = 0; s < job->nsources; s++) {
            ARRAY_GROW(parts.list, parts.cap, parts.count + 1);
            parts.list[parts.count++] = (struct load_part){job->sources[s], &job->parts[s]};
        }
        for (size_t f = 0; f < job->nfailures; f++) {
            ARRAY_GROW(parts.failures, parts.cap_failures, parts.nfailures + 1);
            parts.failures[parts.nfailures++] = job->failures[f];
        }
    }
    rc = load_join_parts(r->l, &parts, e);
    for (size_t i = 0; i < parts.count; i++)
        run_release(parts.list[i].part);
    free(parts.list);
    free(parts.failures);
    return rc;
}

/* ---- all files ---- */

static void add_source(struct reading *r, const struct source *source)
{
    struct read_job *job = NULL;
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
        if (r->l->list[i].reader == of || r->l->list[i].reader->form_of == of)
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

/* Operations are handed over by one thread at a time. */
static void take_locked(void *arg, const struct rank *rank, const struct op *ops, size_t n)
{
    struct reading *r = arg;
    pthread_mutex_lock(&r->lock);
    r->l->opts->take(r->l->opts->take_arg, rank, ops, n);
    pthread_mutex_unlock(&r->lock);
}

/* A single file is one recording, which needs no choice unless it was asked for by name. */
static enum into into_what(const struct reading *r, const struct reader *of)
{
    bool single = r->njobs == 1 && r->jobs[0].nsources == 1;
    if (of->grouped && of->identify == NULL && (!single || r->l->opts->run_id != NULL))
        return INTO_FILES;
    return of->apart && r->njobs > 1 ? INTO_PARTS : INTO_RUN;
}

static int read_files(struct load *l, const struct reader *of, struct err *e)
{
    struct reading r = {.l = l};
    struct pool_tick tick = {show, &r};
    size_t threads = l->opts->threads > 0 ? (size_t)l->opts->threads : pool_cpus();
    int rc = 0;
    r.taker = (struct op_taker){take_locked, &r};
    l->run->taker = l->opts->take != NULL ? &r.taker : NULL;
    make_jobs(&r, of);
    r.into = into_what(&r, of);
    pthread_mutex_init(&r.lock, NULL);
    pool_run(r.into != INTO_RUN ? threads : 1, r.njobs, do_job, &r,
             l->opts->progress ? &tick : NULL);
    if (r.into == INTO_FILES)
        rc = join_files(&r, of, e);
    pthread_mutex_destroy(&r.lock);
    l->run->taker = NULL;
    for (size_t i = 0; i < r.njobs; i++) {
        free(r.jobs[i].sources);
        free(r.jobs[i].parts);
        free(r.jobs[i].failures);
    }
    free(r.jobs);
    return rc;
}

static int read_format(struct load *l, const struct reader *reader, struct err *e)
{
    if (read_files(l, reader, e) < 0)
        return -1;
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

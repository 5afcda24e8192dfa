/* SPDX-License-Identifier: MIT
 *
 * From a path to a run: finds the traces that are meant and has them read. Files are read by
 * several threads, each file into a run of its own (a part), and the parts are put together in the
 * order of the files, so that the run is the same for any number of threads. Of formats that name
 * no runs the parts of one job alone.
 */
#include "trace/load.h"

#include "base/order.h"
#include "base/pool.h"
#include "trace/job.h"
#include "trace/share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- files beside traces ----
 *
 * Files that say more of a job than its traces do (reader->beside): set apart before the choice of
 * a format and a run, and read when the traces are. */

static void set_beside_apart(struct load *l)
{
    size_t kept = 0;
    l->beside = array_new(l->count + 1, sizeof *l->beside);
    for (size_t i = 0; i < l->count; i++) {
        const struct source source = l->list[i];
        if (source.reader->beside || source.reader->summed_up)
            l->beside[l->nbeside++] = source;
        if (!source.reader->beside)
            l->list[kept++] = source;
    }
    l->count = kept;
}

/* Returns whether traces that are read are in this folder or below it. */
static bool is_above_traces(const struct load *l, const char *folder)
{
    size_t len = strlen(folder);
    for (size_t i = 0; i < l->count; i++) {
        const char *of = l->list[i].folder;
        if (strncmp(of, folder, len) == 0 && (of[len] == '\0' || of[len] == '/' || len == 0))
            return true;
    }
    return l->count == 0;
}

static int read_into_run(struct run *run, const struct source *source, struct err *e)
{
    struct stream *s;
    const char *name;
    int rc = 1;
    if (stream_open(&s, source->path, e) < 0)
        return -1;
    for (size_t member = 0; source->archive && rc > 0 && member <= source->member; member++)
        rc = stream_tar_next(s, &name, e);
    if (rc > 0)
        rc = source->reader->read(run, s, source->label, e);
    else if (rc == 0)
        rc = err_set(e, ERR_INPUT, "%s: no longer in the archive", source->label);
    stream_close(s);
    return rc;
}

/* Notes the summary that a file of another format gives of itself. */
static int note_summary(const struct load *l, const struct source *source, struct err *e)
{
    struct run other;
    int rc;
    run_init(&other);
    rc = read_into_run(&other, source, e);
    if (rc == 0 && other.summary[0] != '\0')
        run_note(l->run, false, "%s: %s", source->label, other.summary);
    run_release(&other);
    return rc;
}

/* Reads the files beside, or above, the traces that are read. */
static void read_beside(struct load *l)
{
    for (size_t i = 0; i < l->nbeside; i++) {
        const struct source *source = &l->beside[i];
        struct err e;
        int rc;
        if (!is_above_traces(l, source->folder) || load_count(l, source->reader) > 0)
            continue;
        rc = source->reader->beside ? read_into_run(l->run, source, &e)
                                    : note_summary(l, source, &e);
        if (rc < 0)
            load_damaged(l, &e);
    }
}

/* Says what they tell where there are no traces: -1. */
static int beside_alone(struct load *l, struct err *e)
{
    struct buf text = BUF_INIT;
    read_beside(l);
    if (l->run->job == NULL)
        return load_nothing(l, e);
    job_text(&text, l->run->job);
    err_set(e, ERR_INPUT, "%s: %s; no trace lies beside it: give the folder of the job's traces",
            l->beside[0].label, text.data);
    buf_release(&text);
    return -1;
}

/* ---- files of traces ---- */

/* The destination of what is read. */
enum into {
    INTO_RUN,   /* the run itself, by one thread */
    INTO_PARTS, /* a part for each job, put into the run as soon as those before it are */
    INTO_FILES, /* a part for each file; when all are read, one job is chosen among them */
};

struct reading {
    struct load *l;
    struct read_job *jobs; /* owned */
    size_t njobs, cap;
    enum into into;
    pthread_mutex_t lock; /* of what follows, of the run, and of who takes operations */
    size_t joined;        /* so many jobs are part of the run */
    struct op_taker taker;
    struct err unshared;        /* what others should have read, and have not, ERR_NONE; of the */
    size_t unshared_job;        /* first such job */
    atomic_uint_least64_t done; /* bytes of the files, */
    uint64_t total;             /* of so many */
};

/* ---- one file ---- */

static void failed(struct read_job *job, const struct source *source, const struct err *e, bool cut)
{
    ARRAY_GROW(job->failures, job->cap_failures, job->nfailures + 1);
    job->failures[job->nfailures++] = (struct load_failure){*e, source, cut};
}

static void read_source(struct reading *r, struct read_job *job, size_t at, struct stream *s)
{
    const struct source *source = job->sources[at];
    struct run *into = r->into == INTO_RUN     ? r->l->run
                       : r->into == INTO_PARTS ? &job->parts[0]
                                               : &job->parts[at];
    struct err e = {0};
    size_t before = into->nranks;
    if (source->reader->read(into, s, source->label, &e) < 0)
        failed(job, source, &e, false);
    for (size_t i = before; i < into->nranks && r->into != INTO_FILES; i++)
        run_hand_over(into, &into->ranks[i]);
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
    if (job->sources[0]->archive) {
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
    } else {
        read_source(r, job, 0, s);
    }
    stream_close(s);
}

/* ---- putting together ---- */

static void not_shared(struct reading *r, struct read_job *job, const struct err *e)
{
    for (size_t p = 0; p < job->nparts; p++) {
        run_release(&job->parts[p]);
        run_init(&job->parts[p]);
    }
    pthread_mutex_lock(&r->lock);
    if (r->unshared.code == ERR_NONE || (size_t)(job - r->jobs) < r->unshared_job) {
        r->unshared = *e;
        r->unshared_job = (size_t)(job - r->jobs);
    }
    pthread_mutex_unlock(&r->lock);
}

static void take_shared(struct reading *r, struct read_job *job)
{
    struct run *into = r->into == INTO_RUN ? r->l->run : job->parts;
    const size_t nparts = r->into == INTO_RUN ? 1 : job->nparts;
    struct err e = {0};
    if (load_shared_take(r->l->opts->shared, job, into, nparts, &e) < 0) {
        not_shared(r, job, &e);
        return;
    }
    atomic_fetch_add_explicit(&r->done, job->sources[0]->size, memory_order_relaxed);
    for (size_t p = 0; p < nparts; p++) {
        for (size_t i = 0; i < into[p].nranks && r->into != INTO_FILES; i++)
            run_hand_over(&into[p], &into[p].ranks[i]);
    }
}

static void give_away(struct reading *r, struct read_job *job)
{
    struct buf bytes = BUF_INIT;
    load_share_pack(&bytes, job);
    for (size_t p = 0; p < job->nparts; p++)
        run_release(&job->parts[p]);
    pthread_mutex_lock(&r->lock);
    r->l->opts->share->put(r->l->opts->share->arg, bytes.data, bytes.len);
    pthread_mutex_unlock(&r->lock);
    buf_release(&bytes);
}

static void do_job(void *arg, size_t i)
{
    struct reading *r = arg;
    struct read_job *job = &r->jobs[i];
    const struct load_opts *opts = r->l->opts;
    if (opts->share != NULL && i % opts->share->parts != opts->share->part - 1)
        return;
    job->nparts = r->into == INTO_RUN ? 0 : r->into == INTO_PARTS ? 1 : job->nsources;
    job->parts = array_new(job->nparts, sizeof *job->parts);
    for (size_t p = 0; p < job->nparts; p++) {
        run_init(&job->parts[p]);
        job->parts[p].taker = r->l->run->taker;
    }
    if (opts->shared != NULL && job->sources[0]->reader->completes == NULL)
        take_shared(r, job);
    else
        read_path(r, job);
    if (opts->share != NULL) {
        give_away(r, job);
        return;
    }
    for (size_t p = 0; p < job->nparts; p++) {
        /* The run's texts in the place of the part's. */
        struct name_map names;
        pthread_mutex_lock(&r->lock);
        name_map_init(&names, &r->l->run->names, &job->parts[p].names);
        pthread_mutex_unlock(&r->lock);
        run_rename(&job->parts[p], &names);
        name_map_release(&names);
    }
    /* A job is done; it and those after it are joined as far as none before them is missing. */
    if (r->into == INTO_FILES)
        return;
    pthread_mutex_lock(&r->lock);
    job->ready = true;
    while (r->joined < r->njobs && r->jobs[r->joined].ready) {
        struct read_job *next = &r->jobs[r->joined++];
        if (r->into == INTO_PARTS)
            run_absorb(r->l->run, &next->parts[0]);
        for (size_t k = 0; k < next->nfailures; k++)
            load_note_failure(r->l, &next->failures[k]);
    }
    pthread_mutex_unlock(&r->lock);
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
    rc = load_join(r->l, &parts, e);
    for (size_t i = 0; i < parts.count; i++)
        run_release(parts.list[i].part);
    free(parts.list);
    free(parts.failures);
    return rc;
}

/* Releases the parts of files that are not joined. Returns -1. */
static int drop_parts(struct reading *r)
{
    for (size_t i = 0; i < r->njobs; i++) {
        for (size_t p = 0; p < r->jobs[i].nparts && r->into == INTO_FILES; p++)
            run_release(&r->jobs[i].parts[p]);
    }
    return -1;
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
    return ORDER(a->member, b->member);
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

static int read_format(struct load *l, const struct reader *reader, struct err *e)
{
    struct reading r = {.l = l};
    struct pool_tick tick = {show, &r};
    size_t threads = l->opts->threads > 0 ? (size_t)l->opts->threads : pool_cpus();
    bool single;
    int rc = 0;
    r.taker = (struct op_taker){take_locked, &r};
    l->run->taker = l->opts->take != NULL ? &r.taker : NULL;
    for (size_t i = 0; i < r.l->count; i++) {
        if (r.l->list[i].reader == reader || r.l->list[i].reader->form_of == reader)
            add_source(&r, &r.l->list[i]);
    }
    for (size_t i = 0; i < r.njobs; i++)
        qsort(r.jobs[i].sources, r.jobs[i].nsources, sizeof *r.jobs[i].sources, by_member);
    /* A single file is one recording, which needs no choice unless it was asked for by name. */
    single = r.njobs == 1 && r.jobs[0].nsources == 1;
    if (reader->grouped && reader->identify == NULL && (!single || l->opts->run_id != NULL))
        r.into = INTO_FILES;
    else
        r.into = reader->apart && (r.njobs > 1 || l->opts->share != NULL) ? INTO_PARTS : INTO_RUN;
    pthread_mutex_init(&r.lock, NULL);
    if (l->opts->share == NULL || load_share_wanted(l->opts->share, r.jobs, r.njobs))
        pool_run(r.into != INTO_RUN ? threads : 1, r.njobs, do_job, &r,
                 l->opts->progress ? &tick : NULL);
    if (r.unshared.code != ERR_NONE)
        *e = r.unshared;
    if (r.into == INTO_FILES && l->opts->share == NULL && r.unshared.code == ERR_NONE)
        rc = join_files(&r, reader, e);
    else if (r.unshared.code != ERR_NONE)
        rc = drop_parts(&r);
    pthread_mutex_destroy(&r.lock);
    l->run->taker = NULL;
    for (size_t i = 0; i < r.njobs; i++) {
        free(r.jobs[i].sources);
        free(r.jobs[i].parts);
        free(r.jobs[i].failures);
    }
    free(r.jobs);
    if (rc != 0)
        return -1;
    if (l->opts->share != NULL)
        return 0;
    if (l->run->nranks == 0)
        return load_nothing(l, e);
    if (reader->finish != NULL)
        reader->finish(l->run);
    return 0;
}

static int load(struct load *l, struct err *e)
{
    const struct reader *reader;
    if (load_find(l, e) < 0)
        return -1;
    set_beside_apart(l);
    if (l->count == 0)
        return l->nbeside > 0 ? beside_alone(l, e) : load_nothing(l, e);
    reader = load_choose(l, e);
    if (reader == NULL || read_format(l, reader, e) < 0)
        return -1;
    if (l->opts->share != NULL)
        return 0;
    if (l->opts->shared != NULL && load_shared_all_taken(l->opts->shared, e) < 0)
        return -1;
    /* Formats that complete the one that was read come after it. */
    for (size_t i = 0; i < load_nreaders; i++) {
        if (load_readers[i]->completes == reader && load_count(l, load_readers[i]) > 0 &&
            read_format(l, load_readers[i], e) < 0)
            return -1;
    }
    read_beside(l);
    if (l->nforeign > 0)
        run_note(l->run, false, "%zu file%s here %s no traces of a known format: %s%s", l->nforeign,
                 l->nforeign > 1 ? "s" : "", l->nforeign > 1 ? "are" : "is", l->foreign.data,
                 l->nforeign > NAMED_MAX ? ", ..." : "");
    if (l->ndamaged > NAMED_MAX)
        run_note(l->run, true, "%zu more files are left out", l->ndamaged - NAMED_MAX);
    run_finish(l->run);
    job_apply(l->run);
    return 0;
}

void load_release(struct load *l)
{
    free(l->list);
    free(l->beside);
    free(l->file_source);
    free(l->archives);
    idmap_release(&l->files);
    idmap_release(&l->folders);
    buf_release(&l->foreign);
}

int run_load(struct run *run, const char *path, const struct load_opts *opts, struct err *e)
{
    static const struct load_opts none;
    struct load l = {.run = run,
                     .path = path,
                     .opts = opts != NULL ? opts : &none,
                     .entries_max = FOLDER_ENTRIES_MAX,
                     .foreign = BUF_INIT};
    int rc;
    run_init(run);
    run->source = load_printable(run, path);
    rc = load(&l, e);
    load_release(&l);
    return rc;
}

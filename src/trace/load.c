/* SPDX-License-Identifier: MIT
 *
 * From a path to a run: finds the traces that are meant and has them read. Files are read by
 * several threads, each file into a run of its own (a part), and the parts are put together in the
 * order of the files, so that the run is the same for any number of threads. Of formats that name
 * no runs the parts of one job alone.
 */
#include "trace/load.h"
#include "trace/share.h"

#include "base/order.h"
#include "base/pool.h"
#include "trace/rank_join.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- jobs ----
 *
 * Which of the files that were read are one job (recordings.c), and which of the jobs is meant: the
 * one asked for, else the newest. Each job is a run, called as its folder, as seen from where the
 * search began, where it has that for itself; else as its first file. */

/* Files that were written closer together may be copies made at once. */
#define COPIED_NS 1000000000

struct jobs {
    struct load *l;
    const struct load_parts *parts;
    struct recording *list;        /* owned; of parts that hold ranks */
    const struct source **sources; /* owned: of each */
    size_t n;
    uint32_t count; /* of jobs */
};

/* ---- names ---- */

const char *load_file_name(const struct load *l, const struct source *s)
{
    const char *path = l->path, *label = s->label;
    size_t top = strlen(path);
    while (top > 0 && path[top - 1] == '/')
        top--;
    if (!s->archive && strncmp(label, path, top) == 0 && label[top] == '/')
        return label + top + strspn(label + top, "/");
    if (s->archive && strncmp(label, s->path, strlen(s->path)) == 0 &&
        label[strlen(s->path)] == ':')
        return label + strlen(s->path) + 1;
    return label;
}

const char *load_folder_name(const struct load *l, const struct source *s)
{
    size_t top = strlen(l->path);
    return strlen(s->folder) > top ? load_printable(l->run, s->folder + top + 1) : "";
}

/* Returns whether the job has all files of the folder, and only those. */
static bool has_folder(const struct jobs *j, uint32_t job, const char *folder)
{
    for (size_t i = 0; i < j->n; i++) {
        if ((j->list[i].job == job) != (j->sources[i]->folder == folder))
            return false;
    }
    return true;
}

static const char *job_name(const struct jobs *j, uint32_t job)
{
    const struct source *s;
    const char *folder;
    size_t first = 0;
    while (j->list[first].job != job)
        first++;
    s = j->sources[first];
    folder = load_folder_name(j->l, s);
    return folder[0] != '\0' && has_folder(j, job, s->folder) ? folder : load_file_name(j->l, s);
}

/* ---- which is meant ---- */

/* When it began, by its times; else when its files were written. */
static int64_t job_date(const struct jobs *j, uint32_t job, bool *dated)
{
    int64_t date = 0, written = 0;
    *dated = false;
    for (size_t i = 0; i < j->n; i++) {
        const struct recording *r = &j->list[i];
        if (r->job != job)
            continue;
        if (r->begin_ns != UNKNOWN_NS && (!*dated || r->begin_ns < date))
            date = r->begin_ns;
        *dated = *dated || r->begin_ns != UNKNOWN_NS;
        if (j->sources[i]->mtime_ns > written)
            written = j->sources[i]->mtime_ns;
    }
    return *dated ? date : written;
}

/* "'a' (8 files, 2026-05-26 07:58, another time), 'b' (1 file)": all jobs but one; UINT32_MAX: all.
 */
static void list_jobs(struct jobs *j, uint32_t but, struct buf *out)
{
    size_t shown = 0;
    for (uint32_t job = 0; job < j->count; job++) {
        size_t files = 0;
        for (size_t i = 0; i < j->n; i++)
            files += j->list[i].job == job;
        bool dated;
        time_t date = (time_t)(job_date(j, job, &dated) / 1000000000);
        struct tm utc;
        char text[64] = "";
        if (job == but)
            continue;
        if (shown++ == NAMED_MAX) {
            buf_puts(out, ", ...");
            return;
        }
        if (dated && gmtime_r(&date, &utc) != NULL)
            strftime(text, sizeof text, ", %Y-%m-%d %H:%M:%S", &utc);
        buf_printf(out, "%s'%s' (%zu file%s%s", shown > 1 ? ", " : "", job_name(j, job), files,
                   files > 1 ? "s" : "", text);
        if (but != UINT32_MAX)
            buf_printf(out, ", %s", recordings_why(j->list, j->n, job, but, &j->l->run->arena));
        buf_putc(out, ')');
    }
}

/* The job of that name, or that a file of that name is of; UINT32_MAX. */
static uint32_t named_job(const struct jobs *j, const char *name)
{
    for (uint32_t job = 0; job < j->count; job++) {
        if (strcmp(job_name(j, job), name) == 0)
            return job;
    }
    for (size_t i = 0; i < j->n; i++) {
        if (strcmp(load_file_name(j->l, j->sources[i]), name) == 0)
            return j->list[i].job;
    }
    return UINT32_MAX;
}

/* UINT32_MAX where nothing tells. */
static uint32_t newest_job(const struct jobs *j)
{
    uint32_t newest = 0;
    bool newest_dated, dated, sure = true;
    int64_t newest_ns = job_date(j, 0, &newest_dated);
    for (uint32_t job = 1; job < j->count; job++) {
        int64_t date = job_date(j, job, &dated), after = date - newest_ns;
        bool is_distinct =
            dated && newest_dated ? after != 0 : after >= COPIED_NS || after <= -COPIED_NS;
        if (after > 0) {
            sure = is_distinct;
            newest = job;
            newest_ns = date;
            newest_dated = dated;
        } else {
            sure = sure && is_distinct;
        }
    }
    return sure ? newest : UINT32_MAX;
}

static int choose(struct jobs *j, uint32_t *chosen, struct err *e)
{
    const char *run_id = j->l->opts->run_id, *path = load_printable(j->l->run, j->l->path);
    struct buf others = BUF_INIT;
    *chosen = run_id != NULL ? named_job(j, run_id) : newest_job(j);
    list_jobs(j, *chosen, &others);
    if (*chosen == UINT32_MAX && run_id != NULL)
        err_set(e, ERR_INPUT, "no run '%s' in '%s': there %s %s", run_id, path,
                j->count == 1 ? "is" : "are", others.data);
    else if (*chosen == UINT32_MAX)
        err_set(e, ERR_INPUT,
                "'%s' holds %u runs and nothing tells which is the newest: choose one by --run: %s",
                path, j->count, others.data);
    else if (j->count > 1)
        run_note(j->l->run, false, "%u other run%s here: %s; '%s', %s, is read (--run chooses)",
                 j->count - 1, j->count > 2 ? "s" : "", others.data, job_name(j, *chosen),
                 run_id != NULL ? "the one asked for" : "the newest");
    buf_release(&others);
    return *chosen == UINT32_MAX ? -1 : 0;
}

/* ---- into the run ---- */

/* Returns whether all that was read from this folder is of other jobs. */
static bool of_other_jobs(const struct jobs *j, uint32_t chosen, const char *folder)
{
    bool other = false;
    for (size_t i = 0; i < j->n; i++) {
        if (j->sources[i]->folder != folder)
            continue;
        if (j->list[i].job == chosen)
            return false;
        other = true;
    }
    return other;
}

static void absorb(struct jobs *j, uint32_t chosen)
{
    uint32_t *processes = NULL;
    size_t n = 0, cap = 0, next = 0;
    for (size_t i = 0; i < j->parts->count; i++) {
        struct run *part = j->parts->list[i].part;
        const struct recording *r =
            next < j->n && j->list[next].part == part ? &j->list[next++] : NULL;
        if (r != NULL && r->job != chosen)
            continue;
        ARRAY_GROW(processes, cap, n + part->nranks + 1);
        for (size_t k = 0; k < part->nranks; k++) {
            processes[n++] = r->processes[k];
            run_hand_over(part, &part->ranks[k]);
        }
        run_absorb(j->l->run, part);
    }
    run_join_windows(j->l->run, processes);
    free(processes);
}

static void note_failure(struct load *l, const struct load_failure *f)
{
    if (f->cut)
        load_cut_archive(l, &f->err);
    else
        load_damaged(l, &f->err);
}

/* Puts the parts of one job into the run: of several the one asked for, else the
 * newest. Leaves in the list of sources what completes files of that job, and drops what completes
 * files of others. -1 with e filled: no such run, or nothing tells which is the newest. */
static int join_parts(struct load *l, struct load_parts *parts, struct err *e)
{
    struct jobs j = {.l = l, .parts = parts};
    uint32_t chosen = UINT32_MAX;
    int rc = 0;
    j.list = array_new(j.parts->count + 1, sizeof *j.list);
    j.sources = array_new(j.parts->count + 1, sizeof *j.sources);
    for (size_t i = 0; i < j.parts->count; i++) {
        const struct load_part *p = &j.parts->list[i];
        if (p->part->nranks == 0)
            continue;
        j.sources[j.n] = p->source;
        j.list[j.n++] = (struct recording){
            .part = p->part, .label = p->source->label, .folder = p->source->folder};
    }
    j.count = recordings_group(j.list, j.n, parts->reader->unique_comms, &l->run->arena);
    if (j.n > 0)
        rc = choose(&j, &chosen, e);
    for (size_t i = 0; i < parts->nfailures && rc == 0; i++) {
        if (!of_other_jobs(&j, chosen, parts->failures[i].source->folder))
            note_failure(l, &parts->failures[i]);
    }
    if (rc == 0) {
        size_t kept = 0;
        for (size_t i = 0; i < l->count; i++) {
            if (l->list[i].reader->completes == NULL ||
                !of_other_jobs(&j, chosen, l->list[i].folder))
                l->list[kept++] = l->list[i];
        }
        l->count = kept;
        absorb(&j, chosen);
    }
    free(j.list);
    free(j.sources);
    return rc;
}

/* Where what is read goes. */
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
    struct err unshared;        /* what others should have read, and have not; ERR_NONE */
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

static void take_shared(struct reading *r, struct read_job *job)
{
    struct run *into = r->into == INTO_RUN ? r->l->run : job->parts;
    const size_t nparts = r->into == INTO_RUN ? 1 : job->nparts;
    struct err e = {0};
    if (load_shared_take(r->l->opts->shared, job, into, nparts, &e) < 0) {
        pthread_mutex_lock(&r->lock);
        if (r->unshared.code == ERR_NONE)
            r->unshared = e;
        pthread_mutex_unlock(&r->lock);
    }
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
            note_failure(r->l, &next->failures[k]);
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
    rc = join_parts(r->l, &parts, e);
    for (size_t i = 0; i < parts.count; i++)
        run_release(parts.list[i].part);
    free(parts.list);
    free(parts.failures);
    return rc;
}

/* Of files that are not joined. Returns -1. */
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
    if (l->count == 0)
        return load_nothing(l, e);
    reader = load_choose(l, e);
    if (reader == NULL || read_format(l, reader, e) < 0)
        return -1;
    if (l->opts->share != NULL)
        return 0;
    if (l->opts->shared != NULL && load_shared_all_taken(l->opts->shared, e) < 0)
        return -1;
    /* What completes the format that was read, after it. */
    for (size_t i = 0; i < load_nreaders; i++) {
        if (load_readers[i]->completes == reader && load_count(l, load_readers[i]) > 0 &&
            read_format(l, load_readers[i], e) < 0)
            return -1;
    }
    if (l->nforeign > 0)
        run_note(l->run, false, "%zu file%s here %s no traces of a known format: %s%s", l->nforeign,
                 l->nforeign > 1 ? "s" : "", l->nforeign > 1 ? "are" : "is", l->foreign.data,
                 l->nforeign > NAMED_MAX ? ", ..." : "");
    if (l->ndamaged > NAMED_MAX)
        run_note(l->run, true, "%zu more files are left out", l->ndamaged - NAMED_MAX);
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

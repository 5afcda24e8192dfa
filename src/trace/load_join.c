/* SPDX-License-Identifier: MIT
 *
 * Joins the files that are one job (recordings.c), and chooses among the jobs: the one asked for,
 * else the newest. Each job is a run, called as its folder, as seen from where the search began,
 * where it has that for itself; else as its first file.
 */
#include "trace/load.h"

#include "trace/rank_join.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* Returns when the job began, by its times; else when the last of its files was written. */
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

void load_note_failure(struct load *l, const struct load_failure *f)
{
    if (f->cut)
        load_cut_archive(l, &f->err);
    else
        load_damaged(l, &f->err);
}

int load_join(struct load *l, struct load_parts *parts, struct err *e)
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
            load_note_failure(l, &parts->failures[i]);
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

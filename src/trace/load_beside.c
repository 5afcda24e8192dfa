/* SPDX-License-Identifier: MIT
 *
 * Files that say more of a job than its traces do (reader->beside): set apart before the choice of
 * a format and a run, and read when the traces are.
 */
#include "trace/job.h"
#include "trace/load.h"

#include <string.h>

void load_set_beside_apart(struct load *l)
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

static int read_source(struct run *run, const struct source *source, struct err *e)
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

/* What a file of another format says as a whole. */
static int note_summary(const struct load *l, const struct source *source, struct err *e)
{
    struct run other;
    int rc;
    run_init(&other);
    rc = read_source(&other, source, e);
    if (rc == 0 && other.summary[0] != '\0')
        run_note(l->run, false, "%s: %s", source->label, other.summary);
    run_release(&other);
    return rc;
}

void load_read_beside(struct load *l)
{
    for (size_t i = 0; i < l->nbeside; i++) {
        const struct source *source = &l->beside[i];
        struct err e;
        int rc;
        if (!is_above_traces(l, source->folder) || load_count(l, source->reader) > 0)
            continue;
        rc = source->reader->beside ? read_source(l->run, source, &e) : note_summary(l, source, &e);
        if (rc < 0)
            load_damaged(l, &e);
    }
}

int load_beside_alone(struct load *l, struct err *e)
{
    struct buf text = BUF_INIT;
    load_read_beside(l);
    if (l->run->job == NULL)
        return load_nothing(l, e);
    job_text(&text, l->run->job);
    err_set(e, ERR_INPUT, "%s: %s; no trace lies beside it: give the folder of the job's traces",
            l->beside[0].label, text.data);
    buf_release(&text);
    return -1;
}

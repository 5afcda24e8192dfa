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
        if (l->list[i].reader->beside)
            l->beside[l->nbeside++] = l->list[i];
        else
            l->list[kept++] = l->list[i];
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

static int read_source(const struct load *l, const struct source *source, struct err *e)
{
    struct stream *s;
    const char *name;
    int rc;
    if (stream_open(&s, source->path, e) < 0)
        return -1;
    for (size_t member = 0; source->archive && (rc = stream_tar_next(s, &name, e)) > 0; member++) {
        if (member == source->member)
            break;
    }
    rc = source->reader->read(l->run, s, source->label, e);
    stream_close(s);
    return rc;
}

void load_read_beside(struct load *l)
{
    for (size_t i = 0; i < l->nbeside; i++) {
        struct err e;
        if (is_above_traces(l, l->beside[i].folder) && read_source(l, &l->beside[i], &e) < 0)
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

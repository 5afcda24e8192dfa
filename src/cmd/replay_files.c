/* SPDX-License-Identifier: MIT */
#include "cmd/replay_files.h"

int replay_files_open(struct replay_files *f, const char *timeline, const char *html, struct err *e)
{
    *f = (struct replay_files){0};
    if (timeline != NULL && timeline_file_open(&f->timeline, timeline, e) < 0)
        return -1;
    if (html == NULL || replay_html_open(&f->html, html, e) == 0)
        return 0;
    replay_files_close(f, NULL, NULL, e);
    return -1;
}

static void observe(void *context, const struct replay_job *job, const struct replay_scale *scale)
{
    struct replay_files *f = context;
    if (f->timeline != NULL) {
        struct replay_watch watch = timeline_file_watch(f->timeline);
        watch.observe(watch.context, job, scale);
    }
    if (f->html != NULL) {
        struct replay_watch watch = replay_html_watch(f->html);
        watch.observe(watch.context, job, scale);
    }
}

struct replay_watch replay_files_watch(struct replay_files *f)
{
    return (struct replay_watch){f->timeline != NULL || f->html != NULL ? observe : NULL, f};
}

int replay_files_close(struct replay_files *f, struct replay *rep, const struct run *run,
                       struct err *e)
{
    int rc = 0;
    if (f->timeline != NULL)
        rc = timeline_file_close(f->timeline, rep != NULL ? e : NULL);
    if (f->html != NULL &&
        replay_html_close(f->html, rep, run, rep != NULL && rc == 0 ? e : NULL) < 0)
        rc = -1;
    return rc;
}

/* SPDX-License-Identifier: MIT
 *
 * For replay.c: the files that a replay writes while it runs, --timeline and --html.
 */
#ifndef SPECTER_CMD_REPLAY_FILES_H
#define SPECTER_CMD_REPLAY_FILES_H

#include "report/replay_html.h"
#include "report/timeline.h"

struct replay_files {
    struct timeline_file *timeline;
    struct replay_html *html;
};

/* Names; NULL: no such file. They are made at once, so that a long replay is not in
 * vain. */
int replay_files_open(struct replay_files *f, const char *timeline, const char *html,
                      struct err *e);

struct replay_watch replay_files_watch(struct replay_files *f);

/* Writes what is left. rep NULL: the replay failed, whose error stays in e. */
int replay_files_close(struct replay_files *f, struct replay *rep, const struct run *run,
                       struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * specter analyze --summary: the answer of the closing records alone.
 */
#ifndef SPECTER_CMD_ANALYZE_SUMMARY_H
#define SPECTER_CMD_ANALYZE_SUMMARY_H

#include "report/analyze_report.h"

/* Texts are borrowed; NULL: not given. */
struct summary_opts {
    const char *dir, *run_id, *json, *tables;
    bool formatted; /* tables in `format` in place of the screen */
    enum sheet_form format;
    bool list_tables, strict;
    enum color_when colored; /* screen_init() */
};

/* Returns the status; -1 with e filled. */
int cmd_analyze_summary(const struct summary_opts *o, struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * A replay as one page that needs nothing else: no network, no script. Charts are inline SVG;
 * colours follow the reader's light or dark scheme; it prints.
 *
 *     struct replay_html *h;
 *     if (replay_html_open(&h, "out.html", e) < 0) return -1;
 *     opts.watch = replay_html_watch(h);
 *     ... replay_run(&rep, &run, &opts, e) ...
 *     rc = replay_html_close(h, &rep, &run, e);
 *
 * What comes from a trace is escaped; the same replay gives the same bytes.
 */
#ifndef SPECTER_REPORT_REPLAY_HTML_H
#define SPECTER_REPORT_REPLAY_HTML_H

#include "sim/replay/replay.h"

struct replay_html;

/* The step that is drawn is one of the first scale that is asked for. */
int replay_html_open(struct replay_html **out, const char *path, struct err *e);
struct replay_watch replay_html_watch(struct replay_html *h);

/* Writes the page and releases it; rep NULL: an empty one, as the replay failed. */
int replay_html_close(struct replay_html *h, struct replay *rep, const struct run *run,
                      struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * A bar on stderr while something long goes on: how much of it is done, how fast, how long it will
 * take, what was done last. Only where stderr is a terminal that can go back in its line.
 *
 *     sweep_progress_start(&p, total, color);
 *     sweep_progress_show(&p, done, "a100_sxm");      as often as one likes
 *     sweep_progress_end(&p);                         takes the bar away
 */
#ifndef SPECTER_CMD_SWEEP_PROGRESS_H
#define SPECTER_CMD_SWEEP_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct sweep_progress {
    bool on, color;
    size_t total;
    int64_t start_ns, shown_ns;
};

/* --color: auto, always or never; NULL is auto: unless NO_COLOR is set. 0, or -1 with e filled. */
int sweep_color_parse(const char *when, bool *color, struct err *e);

void sweep_progress_start(struct sweep_progress *p, size_t total, bool color);
void sweep_progress_show(struct sweep_progress *p, size_t done, const char *what);

/* For those that count in other things: the time since the start, and a bar filled to that share
 * with a text behind it. */
int64_t sweep_progress_ns(const struct sweep_progress *p);
void sweep_progress_draw(struct sweep_progress *p, double share, const char *rest);

void sweep_progress_end(struct sweep_progress *p);

#endif

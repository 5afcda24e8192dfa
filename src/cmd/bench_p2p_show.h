/* SPDX-License-Identifier: MIT
 *
 * What `specter bench p2p` has measured, or `specter bench report` has read, for its user: checks,
 * text, JSON, a page.
 */
#ifndef SPECTER_CMD_BENCH_P2P_SHOW_H
#define SPECTER_CMD_BENCH_P2P_SHOW_H

#include "bench/temperatures.h"
#include "cmd/bench.h"
#include "report/bench_p2p.h"

struct bench_p2p_show {
    const char *json, *html, *fail_on; /* as the options; NULL: not given */
    bool full;
    const char *folder; /* whose temperatures.csv the page has; "": none */
};

/* The profiles that links are held against: as the options name them, else those of the GPU of that
 * name and of its usual network; gpu NULL where neither is known. 0, or -1 with e filled. */
int bench_p2p_target(const char *gpu, const char *network, const char *device, struct arena *a,
                     struct bench_target *out, struct err *e);

/* Fills *checks, which r has from then on; r->links are known. 0, or -1 with e
 * filled: something cannot be written, or (ERR_NO) a condition of --fail-on holds. */
int bench_p2p_show(struct bench_p2p_report *r, struct bench_checks *checks,
                   const struct bench_p2p_show *show, struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The timeline of a page: rows of slices, a row a rank and stream, which page.js draws with zoom,
 * search and hover. Here they become data: compact JSON, names once.
 *
 *     struct page_timeline t;
 *     page_timeline_init(&t);
 *     page_timeline_row(&t, &(struct timeline_row){.rank = 0, .name = "stream 7"});
 *     page_timeline_add(&t, &(struct timeline_item){.start_ns = 0, .dur_ns = 900, .name = id});
 *     page_timeline_put(&page.body, &t, false);
 *     page_timeline_release(&t);
 *
 * The form, which docs/analyze.md describes:
 *
 *     {"from": ns, "span": ns, "names": [[title, colour, bytes, type, group, what], ...],
 *      "panels": [{"side": "base", "label": "run1", "step": ns}, ...],
 *      "rows": [{"rank": 0, "name": "stream 7", "side": "", "first": 0,
 *                "ops": [gap, duration, name, ...], "links": [index, link, wait, ...],
 *                "path": [index, offset, length, ...]}]}
 *
 * from, span: the first begin, where it is before 0, and the last end. gap is from the end of the
 * operation before (negative where it nests in it); index counts the operations of the row, and is
 * told as the distance to the one before, as link is. panels: rows of these sides stand one above
 * the other, with a step from 0 to `step` (0: none); of a row `first` is the step's first
 * operation.
 */
#ifndef SPECTER_REPORT_PAGE_TIMELINE_H
#define SPECTER_REPORT_PAGE_TIMELINE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/idmap.h"
#include "trace/step_time.h"

#define PAGE_TIMELINE_MAX ((size_t)5 << 20) /* bytes: a larger one has less in it, and says so */

struct timeline_row {
    int rank;
    const char *name; /* "stream 7" */
    const char *side; /* "source", "target", "base", "test"; "": there is one only */
};

struct timeline_item {
    int64_t start_ns, dur_ns;
    uint32_t name;
    bool in_step;        /* of the panel's step */
    int64_t link;        /* equal for the members of a collective; -1: none */
    int64_t wait_ns;     /* of dur_ns, from its start: for other ranks */
    int64_t path_ns;     /* part of it on the critical path: from there on, after the start, */
    int64_t path_dur_ns; /* so long; 0: it is not on it */
};

struct page_timeline {
    struct arena arena;
    struct intern texts;
    struct idmap ids; /* of texts, by address */
    struct buf names, panels, rows, ops, links, path;
    bool open;                       /* a row is begun */
    int64_t at_ns, begin_ns, end_ns; /* end of the slice before; of all: at most 0, and the end */
    size_t count, linked, pathed;    /* of the row: slices, and which was linked last */
    size_t first;                    /* of the row: the first in the step; SIZE_MAX: none */
    int64_t last_link;
    uint64_t nrows, nops;
};

void page_timeline_init(struct page_timeline *t);
void page_timeline_release(struct page_timeline *t);

/* The number of an operation's name with what the name alone tells of it: size, type, group. Colour
 * as of pages (page.h). */
uint32_t page_timeline_name(struct page_timeline *t, const struct run *run, const struct op *op);

/* The same of a slice that is no operation; what: shown where an operation has its caller. */
uint32_t page_timeline_text(struct page_timeline *t, const char *title, int colour,
                            const char *what);

/* Side `side` of several, one above the other; label is from outside, step_ns 0: none is known. */
void page_timeline_panel(struct page_timeline *t, const char *side, const char *label,
                         int64_t step_ns);

/* Begins a row; then its slices, by start. */
void page_timeline_row(struct page_timeline *t, const struct timeline_row *row);
void page_timeline_add(struct page_timeline *t, const struct timeline_item *item);

/* Number of bytes that it takes so far. */
size_t page_timeline_size(const struct page_timeline *t);

/* The timeline with its tools and keys. has_path: a critical path is in it. */
void page_timeline_put(struct buf *b, struct page_timeline *t, bool has_path);

/* ---- a run in it (run_timeline.c): streams of its ranks, from what tracks.h draws ----
 *
 *     struct run_timeline r;
 *     run_timeline_init(&r, a, STEP_NONE);
 *     run_timeline_add(&timeline, &r, &(struct timeline_part){.step = STEP_NONE, .every = 1});
 *     run_timeline_release(&r);
 */

struct analysis;
struct critical_part;

struct run_timeline {
    const struct analysis *a;           /* borrowed */
    uint32_t only;                      /* the step alone; STEP_NONE: all */
    struct run part;                    /* that step; nranks 0: all is there */
    uint32_t **match;                   /* owned [nranks][nops]: UINT32_MAX: none */
    const struct critical_part ***path; /* owned [nranks][nops]: NULL: it is not on it */
};

/* The part that is drawn, and its start. */
struct timeline_part {
    uint32_t step;   /* STEP_NONE: none is known */
    size_t every;    /* one of so many ranks */
    int64_t zero_ns; /* is 0 in the timeline; where clocks of ranks cannot be compared it is the
                        first operation of each rank's step, or of the rank where that has none */
    const char *side;
    int64_t first_link; /* numbers of collectives begin with it */
};

/* only: the step that is drawn alone; STEP_NONE: all that was recorded. */
void run_timeline_init(struct run_timeline *r, const struct analysis *a, uint32_t only);
void run_timeline_release(struct run_timeline *r);
void run_timeline_add(struct page_timeline *out, const struct run_timeline *r,
                      const struct timeline_part *part);

/* When the first operation of the step begins, of all without one; 0: there is none. */
int64_t run_timeline_first(const struct analysis *a, uint32_t step);

/* The step of median length of those that count, which the critical path is of; STEP_NONE: there
 * are no several. Its length is from the end of the one before to its own, in a->step_time. */
uint32_t run_timeline_median(const struct analysis *a);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Inside the report of a replay: what its writers (replay_*.c) share.
 */
#ifndef SPECTER_REPORT_REPLAY_INTERNAL_H
#define SPECTER_REPORT_REPLAY_INTERNAL_H

#include "report/page_timeline.h"
#include "sim/replay/replay.h"

#define SHARE_SHOWN 0.0005 /* a smaller share is printed as 0.0 % */

/* The parts of an iteration, which add up to it. */
#define REPLAY_PARTS 9

struct replay_part {
    const char *name, *brief; /* brief: heading of a column, 8 characters at most */
    size_t offset;            /* of a double in struct iteration_time */
};

extern const struct replay_part replay_parts[REPLAY_PARTS];

double replay_part_share(const struct iteration_time *time, int part); /* of the iteration */

/* Returns whether the part has SHARE_SHOWN at any scale; the first is always seen. */
bool replay_part_seen(const struct replay *rep, int part);

/* "9.10 to 11.2 ms"; "not known"; in buf, which it returns. */
char *replay_interval(char *buf, size_t size, const double ends_ns[2]);

/* "+2.1 %", "-0.3 %", "+0.0 %". */
char *replay_change(char *buf, size_t size, double share);

/* Returns whether the interval is known, and SHARE_SHOWN of it rests on what was never measured.
 * Then a "?" is behind it. */
bool replay_unmeasured(const struct replay_scale *s);

/* Communication of one axis; NULL: none at this scale. */
const struct axis_time *replay_axis(const struct replay_scale *s, const char *name);

/* The exposed part of the iteration, in %; 0 where an iteration takes no time. */
double replay_exposed_percent(const struct replay_scale *s, const struct axis_time *axis);

/* A thousand is "1 k": "23.4 M"; NAN is "-". */
char *replay_rate(char *buf, size_t size, double per_s);

/* From the scale at *at on: how many GPUs ("8 GPUs", "8 to 64 GPUs": those with the same critical
 * path in a row) and its words. false when there is none left. */
bool replay_next_path(struct replay *rep, size_t *at, char gpus[64], const char **words);

/* One to three sentences of a critical path, in the arena:
 *
 *     52 % of the step is dp AllReduce, nearly all in the last 3 of its 12 calls, not overlapped,
 *     41 % GEMMs, 7 % rest */
const char *replay_path_text(struct replay *rep, const struct path_summary *s);

struct buf;

/* "8 h100_sxm: 4.18 ms a step, recorded. 8 a100_sxm: 10.0 ms, 2.4 times as long." Appended. */
void replay_answer_text(struct buf *b, const struct replay *rep);

#define REPLAY_NOT_TRUSTED "Not to be trusted: on the recording's hardware the replay is far off."

/* Appends what limits a step: the largest part of its critical path, and the second where it has
 * 10 % and fits into `columns`; "-": nothing. */
void replay_limit_text(struct buf *b, const struct replay_scale *s, size_t columns);

/* "The recording replays to 4.18 ms (+0.0 %). At 64 GPUs the critical path rests on: measured times
 * 71 %, model of GEMMs 29 %." Appended. */
void replay_basis_text(struct buf *b, const struct replay *rep);

/* Returns a replay's assumptions, and what it could not know: sentences, NULL after the last. In
 * the arena. */
const char **replay_assumptions(struct replay *rep);
const char **replay_notes(struct replay *rep);

/* Returns whether the first of them is one that no reader of the result should miss. */
bool replay_first_note(const struct replay *rep);

/* The reason why a prediction is bound otherwise than the recording; NULL: it is not. */
const char *replay_bounds_cause(enum bounds_cause cause);

/* Lists what the intervals rest on: the sentence that is returned leads to those of the list, NULL
 * after the last. In the arena. */
#define REPLAY_BARS_MAX (BASIS_COUNT - 1) /* measured times have no error */
const char *replay_error_text(struct replay *rep, const char *list[REPLAY_BARS_MAX + 1]);

/* "15.7 ms recorded, 15.8 ms replayed on the same hardware (+0.6 %)". */
const char *replay_own_text(struct replay *rep);

/* "4 of known length: median 1.00 ms, 0.98 ms to 1.02 ms"; NULL: there was one only. */
const char *replay_spread_text(struct replay *rep);

/* Work of an iteration, and the peak: "4190000 tokens, 3.2e+15 FLOPs an iteration (given); ...";
 * NULL: none. */
const char *replay_work_text(struct replay *rep);

/* ---- the timeline of the page ----
 *
 * One step of some ranks as it was recorded and, in a row below each, as it was predicted, with the
 * same operation of both linked. */

struct replay_job;

/* Starts zeroed, with page_timeline_init(). */
struct replay_timeline {
    struct page_timeline out;
    size_t ranks, shown;          /* of the run that was simulated; with rows */
    int64_t source_ns, target_ns; /* how long the step takes in each */
    bool full;                    /* no more rows had room */
};

/* Adds the last step, while the job can tell when everything ran: after the recording was measured,
 * or (simulated) after a simulation. */
void replay_timeline_add(struct replay_timeline *t, const struct replay_job *job, bool simulated);

#endif

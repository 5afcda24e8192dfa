/* SPDX-License-Identifier: MIT */
#ifndef SPECTER_TRACE_STEP_TIME_H
#define SPECTER_TRACE_STEP_TIME_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
/*
 * The steps of a job, and how long one takes: the one definition behind `analyze`, `metrics`,
 * `replay`, `sweep` and their pages. Recorded and simulated times go through the same functions.
 *
 * The choice of steps is the first of these that the recording allows:
 *
 *   marked    the ranges that the program or the profiler named (ProfilerStep#N, markers). A step
 *             lasts from its mark to the next one. Work belongs to the step in which the host
 *             called for it, wherever the device runs it
 *   repeated  the sequence of operations that each rank repeats (same class, operation,
 *             communicator, bytes or shape, stream), three times or more, and that makes up most of
 *             what it did. Layers of one step repeat as well: a sequence is a step only where the
 *             rest of the recording does not repeat as often and, in recordings that show all
 *             kernels and copies, each repetition has an optimizer's kernel or copies a batch
 *             (1 KiB) from the host or a result to it
 *   whole     all that was recorded counts as one step
 *
 * A step counts when all ranks recorded it to its end. The last one does not where the recording
 * ends in it (a signal, a full ring, a profile that stopped): its end is not in the recording, or
 * it holds fewer operations than any step before it; a rank's recording ends in one step only.
 * Ranks that hold different steps, as rings do, are compared in those that all hold: by number, else
 * by time, else from the last one back.
 *
 * The length of a step. It ends when the last rank's device is done with all that was called for in
 * it or before. It lasts from the end of the step before to its own end, which in a loop is what
 * passes from one start to the next. So the first step has no length; of the others the first is
 * left out where it warms up, that is, takes more than STEP_WARM_UP times the median of those after
 * it (from three of these lengths on). The step time is the mean of what is left:
 *
 *     (end of the last step - end of the step before the first that counts) / steps between
 *
 * A recorder that paused (run->pauses) divides the steps: of those after a pause the first has no
 * length either, and the step time is the mean of all others. A step never spans a pause. Where
 * each pause comes after a single step, only the last step counts.
 *
 * A device that lags behind a host which never waits for it catches up once, and not in every step:
 * so that is no less than what the host took from its last call in the one step to its last call in
 * the other, and each step ends as its last call does.
 *
 * Where only one step counts, or the whole recording is one, it lasts from when the last rank began
 * it to the end of the last rank's work, host or device: what ranks start apart is not part of it.
 *
 * Where clocks of ranks cannot be compared, each rank has ends of its own, and the job's step time
 * is that of the rank whose steps take longest.
 */
/* clang-format on */

#include "base/interval.h"
#include "trace/run.h"

#define STEP_NONE UINT32_MAX /* no step that counts */
#define STEP_WARM_UP 1.5     /* times the median of the others */
#define STEPS_FEW 3          /* of fewer steps it is not known how even they are */

enum step_source { STEPS_MARKED, STEPS_REPEATED, STEPS_WHOLE };

/* Steps without a pause between them: time is measured from the end of step `before` to that of
 * step `last`. Equal: the one step has no length. */
struct step_part {
    uint32_t before, last;
};

/* One rank's part in the job's steps. */
struct rank_steps {
    enum step_source source; /* of the job, as are the next three */
    uint32_t count;          /* at least 1 */
    const struct step_part *parts;
    size_t nparts;
    size_t period;    /* operations in one, when they repeat; else 0 */
    uint32_t *of;     /* [nops] step of each operation; STEP_NONE; owned */
    bool *ends;       /* [nops] the operation can end a step: it has a recorded time, or none has;
                         owned */
    bool timed;       /* an operation has a recorded time */
    int64_t *from_ns; /* [count + 1] when each begins on the host, and the last ends; owned; NULL
                         when the whole recording is one */
};

struct job_steps {
    enum step_source source;
    uint32_t count;
    struct step_part *parts;  /* owned [nparts]; several only where a recorder paused */
    size_t nparts;            /* at least 1 */
    bool several;             /* a part holds two steps; else only one step counts */
    bool warm_up;             /* the first step that has a length warms up and is left out */
    uint32_t cut;             /* marked steps that do not count, as the recording ends in them */
    bool apart;               /* clocks cannot be compared: each rank is measured on its own */
    const char *doubt;        /* why what is marked or repeats is not taken for steps; NULL */
    bool untimed;             /* no operation has a device time: steps end with their marks */
    size_t repeats;           /* how often a sequence repeats that is not taken for a step; 0 */
    struct rank_steps *ranks; /* owned [nranks] */
    size_t nranks;
};

/* The run must be finished. */
void job_steps_find(struct job_steps *steps, const struct run *run);
void job_steps_release(struct job_steps *steps);

/* Returns whether a mark has a begin and an end that can be true. */
bool step_believable(const struct step *step);

/* Step in which the rank's host was at that moment; STEP_NONE. */
uint32_t job_steps_at(const struct job_steps *steps, size_t rank, int64_t t_ns);

/* True for a step whose end and that of the step before have no pause between them. */
bool step_has_length(const struct job_steps *steps, uint32_t step);

/* True for a step whose length is part of the step time, where several count. */
bool step_counts(const struct job_steps *steps, uint32_t step);

/* Of one rank and part of its steps, recorded or simulated; UNKNOWN_NS. */
struct step_bounds {
    int64_t begin_ns, end_ns;   /* of its steps on the host */
    int64_t before_ns, last_ns; /* when the work of step `before` was done, and that of the last */
    int64_t called_before_ns, called_last_ns; /* the last call of these, of what can end a step */
};

/* The call of an operation at that moment; UNKNOWN_NS. b: [nparts] */
void step_bounds_add_call(struct step_bounds *b, const struct rank_steps *steps, size_t op,
                          int64_t t_ns);

/* The time that is measured, and how many steps it holds. */
struct step_window {
    int64_t start_ns, end_ns;
    uint32_t steps;
    bool several;            /* it reaches from the end of one step to that of another */
    struct interval *pauses; /* [npauses] within: from the end of the last step before a pause to
                                that of the first after it. Room for the steps' nparts - 1 */
    size_t npauses;
};

/* Fills w but for `pauses`, which is the caller's, from the bounds of n ranks, [n][nparts]: of the
 * job, or of one rank where clocks cannot be compared. steps 0: nothing has a time. */
void steps_window(struct step_window *w, const struct job_steps *steps,
                  const struct step_bounds *list, size_t n);

/* The length of a window without its pauses, and the part of it that has passed at a moment: 0
 * before the window. */
int64_t step_window_ns(const struct step_window *w);
int64_t step_window_at(const struct step_window *w, int64_t t_ns);

/* The mean step of a window; 0 where it holds none. */
double step_window_mean(const struct step_window *w);

/* As recorded, into list[nparts]. */
void steps_bounds(struct step_bounds *list, const struct job_steps *steps, const struct run *run,
                  size_t rank);

/* When the rank's device was done with each of the job's steps and all before it, as recorded;
 * UNKNOWN_NS. The caller frees it. */
int64_t *rank_step_ends(const struct job_steps *steps, const struct run *run, size_t rank);

/* The job's step time as recorded. */
struct step_time {
    double ns;                   /* NAN: nothing has a time */
    double warm_up_ns;           /* how long the step took that warms up; NAN: none does */
    struct step_window window;   /* apart: of the rank whose steps take longest */
    struct step_window *windows; /* [nranks] of each rank: that of the job, unless they are apart;
                                    steps 0: it has none. Owned */
    struct interval *pauses;     /* of the windows; owned */
    int64_t *ends_ns; /* [steps.count] when the last rank was done with each, UNKNOWN_NS; owned. Of
                         that rank, where clocks are apart. Where the step time is that of a host
                         which is ahead of its device, as its calls come: lengths between ends add
                         up to the window's */
};

void step_time_measure(struct step_time *out, const struct job_steps *steps, const struct run *run);
void step_time_release(struct step_time *t);

/* Fills the parts of steps that are otherwise complete; called by job_steps_find(). False where
 * pauses leave no two of several steps together: only the last one may count. */
bool job_steps_divide(struct job_steps *steps, const struct run *run);

/* True for a rank of which nothing was recorded but who it is, while of others something was. */
bool steps_blank(const struct run *run, size_t rank);

/* "marked steps", ... */
const char *step_source_name(enum step_source source);

/* ---- period.c ----
 *
 * The part of a sequence of symbols that repeats itself and covers most of it.
 *
 *     struct period s = period_find(symbols, n);
 *     if (s.period > 0) ...                         s.length / s.period times, from s.first on
 */

/* A stretch of symbols that repeats itself: length, in which every symbol equals the one `period`
 * before it. period 0: none that covers at least half. */
struct period {
    size_t first, length, period;
    uint64_t compared; /* equal symbols that were compared on the way: linear in the sequence */
};

struct period period_find(const uint64_t *symbols, size_t n);

/* ---- some steps as a run (run_part.c) ----
 *
 * Some steps of a run as a run of its own, for what is the same of every step and takes long.
 *
 *     struct run part;
 *     if (run_part_init(&part, &run, &steps, first, last) == 0) {
 *         ...
 *         run_part_release(&part);
 *     } */

/* The part of a run that was called for in the steps from first to last, which count, and no pause
 * is between them. All but the lists of what happened is borrowed from the run, which must outlive
 * it. -1: when a rank began them is not known; nothing needs releasing. */
int run_part_init(struct run *part, const struct run *run, const struct job_steps *steps,
                  uint32_t first, uint32_t last);
void run_part_release(struct run *part);

/* The n steps in a row that count whose mean length is nearest to the mean of all, with the step
 * before them: first and last for run_part_init(). False: there are no more than n, or not without
 * a pause between them. */
bool run_part_typical(const struct job_steps *steps, const struct step_time *time, uint32_t n,
                      uint32_t *first, uint32_t *last);

#endif

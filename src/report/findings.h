/* SPDX-License-Identifier: MIT
 *
 * States the results of an analysis in words, the most important finding first. Each rule is one
 * function and one line of RULES, with the threshold that decides whether it speaks;
 * docs/analyze.md explains them.
 *
 *     struct findings f;
 *     findings_init(&f, &analysis);
 *     findings_simulate(&f, &analysis);
 *     for (size_t i = 0; i < f.count; i++)
 *         puts(f.list[i].text);
 *     findings_release(&f);
 *
 * To add a rule: a line in RULES, a function rule_<name> in findings.c, a paragraph in the
 * document.
 */
#ifndef SPECTER_REPORT_FINDINGS_H
#define SPECTER_REPORT_FINDINGS_H

#include "analysis/analysis.h"
#include "analysis/hang.h"
#include "base/arena.h"
#include "base/buf.h"
#include "compare/savings.h"

/* X(name, threshold, what is compared with it). Shares are of the span, pooled over the ranks. */
#define RULES(X)                                                                       \
    X(hang, 1, "communication that never ended")                                       \
    X(under_way, 1, "operations that had not ended when dumps were written")           \
    X(snapshot, 1, "what a snapshot without operations says of itself")                \
    X(untimed, 0.01, "share of operations without device time")                        \
    X(compute, 0.50, "share of the step in which GPUs compute")                        \
    X(exposed_comm, 0.10, "exposed communication, share of the step")                  \
    X(exposed_memory, 0.10, "exposed copies, share of the step")                       \
    X(idle, 0.10, "share of the step without traced work")                             \
    X(step_variance, 0.10, "standard deviation of the steps over their mean")          \
    X(straggler, 0.50, "share of all waiting for stragglers that one rank causes")     \
    X(slow_rank, 1.20, "longest compute time of a rank over the median rank's")        \
    X(slow_collective, 0.50, "bandwidth of a collective over the model's, when below") \
    X(slow_group, 1.30, "a communicator's transfers over those of others of its kind") \
    X(bubble, 0.10, "share of a pipeline's steps in which a stage has nothing to do")  \
    X(critical_rank, 0.50, "share of the critical path that one rank holds")           \
    X(critical_host, 0.30, "share of the critical path that waits for the host")       \
    X(gemm_efficiency, 0.40, "achieved over dense peak of the GEMMs, when below")      \
    X(gemm_peak, 1.01, "achieved over dense peak of one GEMM shape")

enum rule_id {
#define X(name, threshold, what) RULE_##name,
    RULES(X)
#undef X
        RULE_COUNT
};

struct finding {
    enum rule_id id;
    const char *rule; /* its name in RULES */
    double threshold;
    double value;         /* what was compared */
    double weight;        /* share of the span that is at stake: the order of findings */
    struct remedy remedy; /* what is simulated to tell what it costs */
    double saves_ns;      /* of a step, as the simulation tells; NAN: it does not */
    const char *text;     /* one paragraph, safe for a terminal; in the findings' arena */
    size_t headline; /* of it, the first so many bytes say what was found; without a full stop */
};

struct findings {
    struct arena arena;
    struct finding list[RULE_COUNT]; /* by weight, largest first */
    size_t count;
};

/* All rules that have something to say; the analysis must outlive f. */
void findings_init(struct findings *f, const struct analysis *a);
void findings_release(struct findings *f);

#define FINDING_SAVES 0.001 /* of the step: less is nothing */

/* Simulates the recording with the remedy of each finding that has one: fills saves_ns, and its
 * share of a step becomes the weight. Does nothing where the recording cannot be simulated. */
void findings_simulate(struct findings *f, const struct analysis *a);

/* Limits of the traces: what they do not record or hold too little of, and how that limits the
 * numbers, one sentence each; ends with NULL. `list` has room for COVERAGE_LIMITS pointers to
 * constant text. */
#define COVERAGE_LIMITS 8
void coverage_limits(const struct analysis *a, const char *list[COVERAGE_LIMITS]);

/* ---- hangs (hang_text.c) ---- */

/* A hang in one sentence: who is at fault, in which operation of which communicator, and who has
 * waited for how long. Appends it, without a full stop; safe for a terminal. */
void hang_text(struct buf *out, const struct hang *hang, const struct run *run);

/* Its keys in JSON (docs/analyze.md, "Hangs"), into an object. */
struct cJSON;
void hang_json(struct cJSON *o, const struct hang *hang, const struct run *run);

/* Appends "ranks 12, 14 block the others": all who are at fault, each once. False, and nothing,
 * when no rank is. */
bool hang_culprits_text(struct buf *out, const struct hangs *h);

/* Likewise of what is under way and no hang as far as the traces show; there must be some. */
void hang_under_way_text(struct buf *out, const struct hangs *h, const struct run *run);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The critical path of a step: the chain of work, each part waiting for the one before, that ends
 * with the step's last operation. Definitions: docs/analyze.md, "Critical path".
 *
 * The walk goes back from that end. At the start of an operation it goes on with what ended last of
 * what the operation had to wait for: the operation before it on its stream, one after whose event
 * its stream waited, the host call that launched it. From the host it goes on with what the thread
 * last waited for on the device. Inside communication it goes to the member that came last, from
 * when on data moved: on its rank the walk goes on. So a rank that is late for others holds the
 * path up to that moment, whatever made it late.
 *
 * The steps are those of the step time (trace/step_time.h): each lasts from the end of the one
 * before to the end of the last operation that was called for in it. The parts of its path are
 * disjoint, leave nothing out, and so add up to its length, to the nanosecond: over all steps to
 * the step time times their number.
 */
#ifndef SPECTER_ANALYSIS_CRITICAL_H
#define SPECTER_ANALYSIS_CRITICAL_H

#include "base/idmap.h"
#include "trace/match.h"
#include "trace/run.h"
#include "trace/step_time.h"

#define PATH_LAUNCH_NS INT64_C(20000) /* longer between cause and start is no launch latency */

/* X(id, name, what it is) */
#define PATH_KINDS(X)                                                                      \
    X(COMPUTE, "compute", "GEMMs and other kernels")                                       \
    X(COMM, "communication", "collectives, from when the last member has come")            \
    X(P2P, "p2p", "messages, from when both ends have come")                               \
    X(MEMORY, "memory", "copies and memsets")                                              \
    X(GRAPH, "graph", "launches of graphs")                                                \
    X(UNTIMED, "untimed", "between operations, where kernels without times were launched") \
    X(HOST, "host", "the host had not called yet")                                         \
    X(LAUNCH, "launch", "from the launch, or the operation before, to the start")          \
    X(UNEXPLAINED, "unexplained", "nothing in the trace says what was waited for")

enum path_kind {
#define X(id, name, what) PATH_##id,
    PATH_KINDS(X)
#undef X
        PATH_KIND_COUNT
};

/* Categories: kernels by class, collectives by operation, every other kind as one. */
#define PATH_COMM_OPS (SPECTER_COMM_OP_COUNT + 1) /* the last: not told */
#define PATH_CATEGORIES (SPECTER_KERNEL_CLASS_COUNT + PATH_COMM_OPS + PATH_KIND_COUNT)

struct critical_part {
    int64_t start_ns, end_ns;
    uint32_t rank; /* index into run->ranks */
    uint32_t op;   /* index into its ops: what ran, or what had not started yet */
    uint8_t kind;  /* enum path_kind */
};

/* Of the step of median length, struct critical.chosen; over all steps that count. */
struct path_sum {
    int64_t step_ns, all_ns;
};

struct path_op {
    const char *name; /* borrowed from the run */
    uint8_t class;    /* enum op_class */
    uint64_t count;   /* parts, over all steps */
    struct path_sum sum;
};

struct path_rank {
    struct path_sum sum;
    uint64_t entered;  /* times the path came to it from another rank, over all steps */
    int64_t margin_ns; /* by how much it came later than the member before it, summed over the
                          communication on the path in which it was last, over all steps */
};

struct critical {
    const struct run *run;         /* borrowed */
    const char *why;               /* there is no path: why; NULL */
    const struct job_steps *steps; /* borrowed */
    size_t walked;                 /* steps that count, with work */
    size_t chosen;                 /* of them the one of median length */
    struct path_sum length;
    struct path_sum categories[PATH_CATEGORIES];
    struct path_op *ops; /* owned; by all_ns, largest first */
    size_t nops, cap_ops;
    struct idmap names;
    struct path_rank *ranks;            /* owned [run->nranks] */
    uint64_t changes_step, changes_all; /* of rank */
    uint64_t inferred;           /* times the trace held no event and one was taken to be there */
    int64_t alone_ns;            /* over all steps, in communication of which not all members are
                                    seen, so that waiting is in it */
    struct critical_part *parts; /* owned; of the chosen step, the latest first */
    size_t nparts, cap_parts;
};

/* matches: of the run, borrowed for the call, as is time; its steps must outlive the result. */
void critical_init(struct critical *c, const struct run *run, const struct matches *matches,
                   const struct job_steps *steps, const struct step_time *time);
void critical_release(struct critical *c);

const char *path_kind_name(enum path_kind kind);

/* Of a category below PATH_CATEGORIES: its name ("gemm", "AllReduce", "host"), and its kind. */
const char *path_category_name(size_t category);
enum path_kind path_category_kind(size_t category);

/* Sum of a kind over its categories. */
struct path_sum path_kind_sum(const struct critical *c, enum path_kind kind);

/* ---- critical_links.c, for critical.c ----
 *
 * The operations that those of one rank wait for, and the calls of its host. */

#define LINK_NONE UINT32_MAX
#define LINK_ANY (UINT32_MAX - 1) /* a host that waited: the trace does not tell for what */

/* A call of the host. */
struct linked_call {
    int64_t start_ns, end_ns;
    uint32_t tid;
    int32_t device, stream;
    uint32_t target; /* operation for whose end the host may have waited; LINK_NONE,
                        LINK_ANY */
    bool untimed;    /* launches work that has no times */
    bool behind;     /* it waits, and such work was launched after the target */
};

struct op_end {
    int64_t end_ns;
    uint32_t op;
};

/* By operation, [nops]; LINK_NONE where there is none, but for `late`. */
struct rank_links {
    const struct rank *rank; /* borrowed */
    uint32_t *prev;          /* owned; operation with times before it on its stream */
    uint32_t *dep;  /* owned; likewise the last to end of those whose events it waits for */
    uint32_t *late; /* owned; 1 + the match that held it up: of those launched together the
                       one whose last member came last; 0: none */
    uint32_t *call; /* owned; in `calls`: the host's that launched it */
    struct linked_call *calls; /* owned; by start */
    size_t ncalls;
    struct op_end *ends; /* owned; by end */
    size_t nends;
};

void rank_links_init(struct rank_links *l, const struct rank *rank);
void rank_links_release(struct rank_links *l);

/* The operation that ended last, not after t_ns; LINK_NONE. */
uint32_t rank_links_ended(const struct rank_links *l, int64_t t_ns);

/* Returns whether work without times was called for between two operations, on the stream of one of
 * them. `pred` LINK_NONE: since the last operation of the stream. */
bool rank_links_untimed(const struct rank_links *l, uint32_t op, uint32_t pred);

/* The last member of a match to come, and when the one before it came. */
struct last_member {
    struct match_member who;
    int64_t start_ns, second_ns;
    bool known; /* at least two have times */
    bool all;   /* all members have */
};

/* Fills late of every rank. Returns the last member of each match; the caller frees the array. */
struct last_member *links_add_matches(struct rank_links *links, const struct run *run,
                                      const struct matches *m);

#endif

/* SPDX-License-Identifier: MIT
 *
 * What makes a large job slow beside its size: the variation of its operations, slow ranks, slow
 * links. Derivations and limits: src/sim/README.md, "Variation".
 *
 * Variation is drawn anew in each of several simulations (draws). Ranks that are not simulated
 * enter as order statistics: a collective waits for the latest of all its members, so a simulated
 * rank that stands for others is made as late as the latest of these would be (arrivals.h).
 */
#ifndef SPECTER_SIM_WHATIF_WHATIF_H
#define SPECTER_SIM_WHATIF_WHATIF_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JITTER_DRAWS 32 /* the usual ones */
#define JITTER_SEED 1
#define JITTER_SEED_MAX ((1LL << 53) - 1) /* which every reader of JSON takes for itself */
#define JITTER_DRAWS_MAX 10000

enum jitter_source {
    JITTER_OFF,
    JITTER_TRACE, /* as the iterations of the recording differ */
    JITTER_GIVEN, /* every operation varies by cv */
};

/* A fault of a part of the job. */
enum fault_kind {
    FAULT_SLOW_RANK, /* computation and host of a rank take `slow` times as long */
    FAULT_SLOW_NODE, /* of all ranks of a node */
    FAULT_SLOW_LINK, /* the NICs of a node run at 1/slow */
    FAULT_NO_NIC,    /* `count` NICs of a node do not work: the others carry its traffic */
};

struct whatif_fault {
    enum fault_kind kind;
    int64_t where; /* rank or node of the job at the scale in question */
    double slow;   /* at least 1 */
    int64_t count;
    const char *text; /* as given; borrowed */
};

struct whatif_opts {
    enum jitter_source jitter;
    double cv;     /* of JITTER_GIVEN: standard deviation / mean of an operation */
    int64_t draws; /* 2 to JITTER_DRAWS_MAX; not looked at without jitter */
    uint64_t seed;
    const struct whatif_fault *faults; /* borrowed */
    size_t nfaults;
};

/* Standard deviations relative to what varies; 0 where a recording does not tell. */
struct jitter {
    double work;         /* of a rank's operation by itself */
    double step;         /* of all operations of a rank in one iteration */
    double rank;         /* of a rank, in all iterations, among ranks that do the same */
    double iteration;    /* of all ranks in one iteration */
    double transfer;     /* of a collective's or message's own time */
    double host;         /* of a rank's CPU time in one iteration */
    uint32_t iterations; /* that were compared; fewer than JITTER_STEPS_MIN: nothing is known */
    uint32_t alike;      /* the most ranks that do the same; below 2 `rank` is not known */
};

/* Two differences of iterations that are warm. */
#define JITTER_STEPS_MIN 3

/* Iteration times over draws: each draw gives as many as the recording has behind the first. */
struct jitter_result {
    uint64_t draws, samples; /* 0: not asked for */
    double mean_ns, p50_ns, p95_ns;
};

/* "off", "trace", "5", "5%": a percentage above 0 and at most 100. -1 with e filled (ERR_USAGE), as
 * of those below. */
int whatif_parse_jitter(const char *text, struct whatif_opts *out, struct err *e);

/* `text` of --straggler ("rank=3,slow=1.2", "node=0,slow=1.2"), --slow-link ("node=0,slow=2") or
 * --failed-nic ("node=0,count=1"): the option's name without dashes tells which. */
int whatif_parse_fault(const char *option, const char *text, struct whatif_fault *out,
                       struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The causes of a change of the step: the base's job is simulated with the test's times of one kind
 * of work at a time, each collective, the GEMMs, other kernels, copies, CPU time, and ranks that
 * are slower than the others; waits and overlap follow from the simulation. What other work
 * overlaps changes the step by 0.
 *
 *     struct causes c;
 *     causes_find(&c, &comparison, base, test);
 *     if (c.unknown == NULL)
 *         for (size_t i = 0; i < c.n; i++)
 *             use(&c.list[i]);
 *     causes_release(&c);
 *
 * Work is matched by place, the n-th of its kind in a step of a rank (work_places.h), and each
 * place changes as it did; where a kind has other places on each side, all of it takes test / base
 * times as long. GEMMs, kernels and copies that one side alone has are taken together by class,
 * where each side has some. The change that all ranks share is the work's: the lower median of
 * their ratios; what a rank's own GEMMs and kernels changed beyond it is the rank's.
 *
 * The time that communication takes of work that it overlaps, other communication included, is no
 * change of that work: it follows from all causes, and each has part in it as its own time changed.
 * Launches that times of work include are the host's, where its CPU time changed, else as that.
 *
 * So does a collective over nodes that is shorter because its last member comes later: the others
 * have done a part of it by then, at most as much as altered_done_early() allows. What its kind is
 * shorter by where no member comes later is the network's.
 *
 * Several collectives share the change that they make together in proportion to what each does.
 *
 * Of a long recording only some steps are simulated (simulated_run.h).
 *
 * The changes of all causes and rest_ns add up to change_ns, to the nanosecond: the rest is what
 * several causes do together, what the simulation leaves out, and work that one side alone has.
 */
#ifndef SPECTER_COMPARE_CAUSES_H
#define SPECTER_COMPARE_CAUSES_H

#include "compare/compare.h"

#define CAUSE_LEAST 0.001     /* of the base's step: a smaller change of its own time is no cause */
#define CAUSE_RANK_LEAST 0.01 /* of a rank's work */
#define CAUSES_OFF 0.01       /* of the base's step */
#define CAUSES_OF_A_KIND 8    /* collectives, ranks: those that changed most; others are the rest */

/* X(id, name) */
#define CAUSE_KINDS(X)          \
    X(COLLECTIVE, "collective") \
    X(GEMMS, "gemms")           \
    X(KERNELS, "kernels")       \
    X(COPIES, "copies")         \
    X(HOST, "host")             \
    X(RANK, "rank")

enum cause_kind {
#define X(id, name) CAUSE_##id,
    CAUSE_KINDS(X)
#undef X
        CAUSE_KIND_COUNT
};

struct cause {
    enum cause_kind kind;
    const struct compare_row *row; /* COLLECTIVE; NULL */
    int rank;                      /* RANK: the global rank */
    double base_ns, test_ns; /* its own time in a step, mean of ranks; of RANK the rank's work, base
                                with the change that all ranks share */
    double early_ns;         /* COLLECTIVE: of base_ns - test_ns, what is no change of its own */
    int64_t change_ns;       /* of the step */
};

struct causes {
    struct cause *list; /* owned; by |change_ns|, largest first */
    size_t n, cap;
    int64_t change_ns; /* of the step, as recorded */
    int64_t rest_ns;
    double simulated_ns; /* the base's step */
    double off_ns;       /* by how much that is longer than recorded */
    const char *unknown; /* why causes are not known; NULL: they are. In the comparison's arena */
    bool no_cpu_times;   /* a side does not hold when the host called */
};

/* c: of these runs. Never fails. */
void causes_find(struct causes *out, struct comparison *c, struct compare_runs base,
                 struct compare_runs test);
void causes_release(struct causes *c);

const char *cause_kind_name(enum cause_kind kind);

/* Returns whether the simulation is off by more than the step changed, and by more than
 * CAUSES_OFF of it. */
bool causes_are_rough(const struct causes *c);

/* Returns whether its own time changed and the step did not: other work hides it. */
bool cause_is_hidden(const struct cause *cause, double base_step_ns);

/* Returns whether most of its change follows from members that come late. */
bool cause_is_lateness(const struct cause *cause);

#endif

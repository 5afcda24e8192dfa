/* SPDX-License-Identifier: MIT
 *
 * The checks of a benchmark: a few numbers that say whether it can be trusted and whether the
 * machine is sound, each with its limit and the GPU, link or size to look at. `bench` prints them,
 * and
 * `--fail-on` asks for them by name: `throttled>0`, `failed>0`.
 *
 *     struct bench_checks checks;
 *     bench_checks_init(&checks);
 *     bench_checks_studies(&checks, &studies);      each as the benchmark has it
 *     bench_checks_gpus(&checks, gpus, ngpus);
 *     bench_checks_apply("failed>0", &checks, e);
 *
 * To add one: a line in BENCH_CHECKS, a function or a line that takes it, a row in docs/bench.md.
 */
#ifndef SPECTER_BENCH_CHECKS_H
#define SPECTER_BENCH_CHECKS_H

#include "bench/drift.h"
#include "bench/gemm.h"
#include "bench/judge.h"
#include "bench/links.h"
#include "bench/overlap.h"
#include "bench/state.h"

struct err;

#define BENCH_CHECK_FLAT_TO 4096    /* bytes: so small messages take the same time */
#define BENCH_CHECK_LARGE (1 << 20) /* bytes: from here on times must repeat */
/* Bytes: here rates are at their limit, whatever the machine. */
#define BENCH_CHECK_HUGE (256 << 20)

/* X(name, kind, limit, "the benchmark has no ...", what the number is): more than the limit fails;
 * NAN: it never does. */
#define BENCH_CHECKS(X)                                                                            \
    X(missing, SHARE, 0, "plan", "share of the configurations that were not measured")             \
    X(wrong, COUNT, 0, "checked result", "measurements with a wrong result (a count)")             \
    X(throttled, SHARE, 0, "state of a GPU", "share of a GPU's samples in which it throttled")     \
    X(drift, COUNT, BENCH_DRIFT_INVESTIGATE, "clock that was compared",                            \
      "ppm that two clocks drift apart")                                                           \
    X(cv, SHARE, 0.05, "times of single iterations", "variation of repeated measurements")         \
    X(slow, SHARE, 0.1, "row that the models know", "share of the sizes that are slow")            \
    X(links, COUNT, 0, "fit of a link", "links that are slow, late or asymmetric (a count)")       \
    X(flat, SHARE, 0.25, "two sizes up to 4 KiB", "growth of the time up to 4 KiB")                \
    X(asymptote, SHARE, 0.05, "two large sizes", "change of the largest size's rate per doubling") \
    X(ratio, SHARE, NAN, "row that the models know", "lowest rate as a share of the predicted")    \
    X(gemm, SHARE, NAN, "overlap", "largest slow-down of GEMMs overlapped by collectives")         \
    X(collective, SHARE, NAN, "overlap", "largest slow-down of collectives overlapped by GEMMs")   \
    X(together, SHARE, NAN, "overlap", "longest time of both, over what either takes at best")

enum bench_check_name {
#define X(name, kind, limit, lacks, help) BENCH_CHECK_##name,
    BENCH_CHECKS(X)
#undef X
        BENCH_CHECK_COUNT
};

/* One number, the worst that was taken. */
struct bench_figure {
    double value; /* NAN: not known */
    char where[96];
};

struct bench_checks {
    struct bench_figure figures[BENCH_CHECK_COUNT];
};

enum bench_check_verdict { BENCH_CHECK_PASS, BENCH_CHECK_FAIL, BENCH_CHECK_UNKNOWN };

const char *bench_check_word(enum bench_check_name name); /* "throttled" */
double bench_check_limit(enum bench_check_name name);     /* NAN: it has none */
bool bench_check_is_share(enum bench_check_name name);    /* 0.05 is 5 % */
enum bench_check_verdict bench_check_verdict(const struct bench_checks *g,
                                             enum bench_check_name name);
int bench_checks_failed(const struct bench_checks *g); /* how many fail */

void bench_checks_init(struct bench_checks *g);

/* Keeps the number if it is worse than the one that is there. */
void bench_checks_take(struct bench_checks *g, enum bench_check_name name, double value,
                       const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* wrong, cv, slow, flat, asymptote, ratio of collectives. The asymptote is asked for where the
 * models expect it, or from BENCH_CHECK_HUGE on. */
void bench_checks_studies(struct bench_checks *g, const struct bench_studies *studies);
/* cv, slow of GEMMs. */
void bench_checks_gemms(struct bench_checks *g, const struct bench_gemm_result *result);
/* cv, links, flat, asymptote of messages one way. */
void bench_checks_links(struct bench_checks *g, const struct bench_p2p_log *log,
                        const struct bench_links *links);
/* ratio of the largest message of each link. node_of: by rank; the profiles are not NULL. */
void bench_checks_predicted(struct bench_checks *g, const struct bench_p2p_log *log,
                            const struct bench_links *links, const int *node_of,
                            const struct gpu_profile *gpu, const struct network_profile *net);
/* drift: each GPU against its host, each host of another node against rank 0's. */
void bench_checks_drift(struct bench_checks *g, const struct bench_drift_log *log,
                        const int *node_of);
/* throttled. */
void bench_checks_gpus(struct bench_checks *g, const struct bench_gpu_summary *gpus, int n);
/* cv of all rows; gemm, collective, together of those with the first number of channels. */
void bench_checks_overlap(struct bench_checks *g, const struct bench_overlap_log *log);
/* missing: of `wanted` configurations `done` were measured. */
void bench_checks_done(struct bench_checks *g, size_t done, size_t wanted);

/* Checks the form alone. 0, or -1 with e filled (ERR_USAGE). */
int bench_checks_parse(const char *expr, struct err *e);
/* As conditions_apply(). Besides the names there is `failed`, how many fail. */
int bench_checks_apply(const char *expr, const struct bench_checks *g, struct err *e);

#endif

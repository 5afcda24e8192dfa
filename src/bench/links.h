/* SPDX-License-Identifier: MIT
 *
 * Fits a directed link to times of messages over it: time = alpha + bytes / beta, in up to three
 * pieces, where the library switches protocols.
 *
 *     struct bench_links links;
 *     bench_links_fit(&log, node_of, &links);
 *     const struct bench_link *l = bench_link_of(&links, 2, 3);
 *     bench_links_release(&links);
 *
 * A piece is fitted to the medians of its sizes by least squares of the relative error, that is
 * with weights 1 / time^2, so that small sizes count as much as large ones; neither alpha nor 1 /
 * beta is below 0. A switch is taken where it lowers the sum of squares (in units of the variance
 * of a median, and of BENCH_LINK_NOISE) by more than its three parameters are worth (Schwarz 1978).
 *
 * alpha is that of the first piece, the latency; beta that of the last, the rate of large messages.
 * Their 90 % intervals are those of a bootstrap (Efron 1979) with a fixed seed: repetitions are
 * drawn anew with replacement, and all pieces are fitted to their medians.
 */
#ifndef SPECTER_BENCH_LINKS_H
#define SPECTER_BENCH_LINKS_H

#include "bench/p2p.h"
#include "bench/samples.h"

#define BENCH_LINK_PIECES 3
#define BENCH_LINK_NOISE 0.02  /* of a median: real curves are no straight lines */
#define BENCH_LINK_SLOWER 0.05 /* of the rate: less is never called slow */
#define BENCH_LINK_LATER 0.15  /* of the latency: likewise */

struct bench_link_piece {
    uint64_t from, to; /* bytes, both included */
    double alpha_us;
    double beta_GBps; /* INFINITY: time does not grow with size here */
};

struct bench_link {
    int src, dst;
    bool near; /* both on one node */
    struct bench_link_piece pieces[BENCH_LINK_PIECES];
    size_t npieces; /* 0: measured at fewer than two sizes, nothing else is known */
    double alpha_us, alpha_low_us, alpha_high_us;
    double beta_GBps, beta_low_GBps, beta_high_GBps; /* NAN: sizes too small to tell */
    double error;                   /* mean of |fitted - median| / median over sizes */
    double alpha_ratio, beta_ratio; /* to the median of its kind; NAN: not known */
    double back_ratio;              /* beta / beta of the other direction; NAN: not known */
    bool slow, late;                /* in its rate, in its latency */
    bool asymmetric;                /* slower than its other direction */
};

/* Links within nodes, and between nodes. Of an even number the median is the better of the two in
 * the middle. */
struct bench_link_kind {
    size_t n; /* that are known */
    double alpha_us, beta_GBps;
    double alpha_limit, beta_limit; /* share above, below which a link is named: four times the
                                       spread (1.4826 x median deviation), and no less than the
                                       constants above */
};

struct bench_links {
    int ranks;
    struct bench_link *list;         /* owned; src * ranks + dst */
    struct bench_link_kind kinds[2]; /* between nodes, within */
};

/* The times of one size over a link, one a repetition. */
struct bench_link_point {
    uint64_t bytes;
    const double *us; /* above 0 */
    size_t n;
};

/* Fits one link to its points, which are in ascending order of bytes. Sets pieces, npieces, alpha,
 * beta, their intervals, and error; all else in *out stays as it is. Fewer than two points: npieces
 * is 0 and the numbers are NAN. */
void bench_link_fit(const struct bench_link_point *points, size_t n, struct bench_link *out);

/* Measured points of a link one way, by sizes ascending; times that are not above 0 are left out.
 */
struct bench_link_points {
    struct bench_link_point *list; /* owned */
    size_t n;
    double *us; /* owned: the times of all points */
};
void bench_link_points_of(const struct bench_p2p_log *log, int src, int dst,
                          struct bench_link_points *out);
void bench_link_points_release(struct bench_link_points *points);

/* All links of a log (its messages one way), each beside those of its kind. node_of: by rank. */
void bench_links_fit(const struct bench_p2p_log *log, const int *node_of, struct bench_links *out);
void bench_links_release(struct bench_links *links);

const struct bench_link *bench_link_of(const struct bench_links *links, int src, int dst);

/* ---- findings ----
 *
 * Findings: the links that differ from the others of their kind, in as few statements as say it:
 * where all links of a GPU are slow, or all that leave or reach it, it is the GPU that is named. */

enum bench_link_fault {
    BENCH_LINK_SLOW,       /* the rate is below that of its kind */
    BENCH_LINK_LATE,       /* the latency is above; of a pair, since one clock tells no direction */
    BENCH_LINK_ASYMMETRIC, /* the rate is below that of the other direction alone */
};

struct bench_link_finding {
    enum bench_link_fault fault;
    int src, dst; /* -1: any. Both of a GPU with all its links: src is it, dst -1, whole is set */
    bool whole;
    bool near;
    size_t links;    /* that it stands for */
    double ratio;    /* the median of these, to the others' median or the other direction's */
    double value;    /* GB/s or us of the first of them */
    double expected; /* GB/s or us: what `ratio` is to */
};

/* Worst first: slow by ratio, then late, then asymmetric. Returns their number; *out is owned. */
size_t bench_link_findings(const struct bench_links *links, struct bench_link_finding **out);

/* ---- heat ----
 *
 * The correlation of message times with the temperature of GPUs.
 *
 * A message's time, the median of its repetitions one way, is divided by the median over all links
 * of the same kind (within a node, between nodes) at the same size, and the result by the median
 * over all sizes of its own link. The ratio that remains depends on neither the size nor the link.
 * Slow and late links are left out, because their loss differs from size to size. With few links
 * these medians contain part of the effect of heat, so the slope comes out too small: by a fifth
 * with 12 links. Dividing by the fit of the link would lose more of it. The temperature is that of
 * the warmer of a message's two GPUs. */
struct bench_correlation bench_links_heat(const struct bench_p2p_log *log,
                                          const struct bench_links *links);

#endif

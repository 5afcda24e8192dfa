/* SPDX-License-Identifier: MIT
 *
 * The work of GEMMs on the multiprocessors: C is cut into tiles, each multiprocessor
 * computes one at a time, and where there are few of them k is cut as well. Memory is not looked at
 * here but as a floor. Derivation: README.md beside this file; for gemm.c alone.
 */
#ifndef SPECTER_MODEL_GEMM_TILES_H
#define SPECTER_MODEL_GEMM_TILES_H

#include "model/cost.h"

#include <stdbool.h>
#include <stddef.h>

/* The rates of one SM in a microsecond, and the costs of a tile. */
struct tile_rates {
    double sms;
    double in_size, out_size;   /* bytes of an element of A and B, of C */
    double flops;               /* per us and multiprocessor */
    double in_bytes, out_bytes; /* per us: operands from L2, results to it */
    double all_bytes;           /* per us: L2 to all multiprocessors */
    double step_us;             /* 128 bytes of k */
    double tile_us, split_us;
    double min_side; /* of the longer side: the smallest that the MMA instruction takes */
    bool may_split;
};

/* One tile on one multiprocessor, by what bounds it. */
struct tile_time {
    double compute_us, l2_us, steps_us; /* of the inner loop: the longest counts */
    double ends_us;                     /* prologue, epilogue, storing the result */
};

struct tile_choice {
    double us;             /* memory and split_us included */
    double work_us;        /* of the multiprocessors alone */
    double split_us;       /* adding up the parts of k */
    double m, n, split;    /* of a tile; parts of k */
    double waves;          /* tiles / multiprocessors */
    struct tile_time tile; /* of a group: its longest */
    const char *bound;     /* of work_us: "compute", "l2", "latency" */
};

/* The fastest way to do `count` products, of one kind, in one launch whose bytes take mem_us. */
struct tile_choice tiles_choose(const struct tile_rates *rates, const struct gemm_shape *shapes,
                                size_t count, double mem_us);

#define TILES_MAX GEMM_CANDIDATES_MAX

/* All ways to do one product, that of tiles_choose() among them. Returns their number. */
size_t tiles_all(const struct tile_rates *rates, const struct gemm_shape *shape, double mem_us,
                 struct tile_choice out[TILES_MAX]);

/* Of two things that overlap: the longer, and the share of the shorter that cannot be hidden. */
double tiles_overlap(double a_us, double b_us);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Brings a GPU to a temperature by GEMMs, so that measurements begin in the state that a long run
 * is in. Step by step, so that the ranks of a job can do it together and end together.
 *
 *     if (bench_warm_open(&warm, bus_id, &blas, 50, 60, e) < 0) ...
 *     while (!bench_warm_done(&warm)) bench_warm_step(&warm, e);
 */
#ifndef SPECTER_BENCH_WARM_H
#define SPECTER_BENCH_WARM_H

#include "bench/blas.h"

#define BENCH_WARM_S 60 /* at most, as a rule */

struct bench_warm {
    struct bench_blas *blas; /* borrowed */
    void *device;            /* NVML's */
    void *begin, *end;       /* events; owned by the GPU */
    int wanted, celsius;     /* celsius: as of the last step */
    int limit_s;             /* of the machine's time and of the GPU's */
    double began_s, spent_s; /* spent_s: of the GPU's time */
};

/* blas has operands of bench_gemm_types[0]. -1 with e filled: NVML does not tell the temperature.
 */
int bench_warm_open(struct bench_warm *w, const char *bus_id, struct bench_blas *blas, int celsius,
                    int limit_s, struct err *e);
void bench_warm_close(struct bench_warm *w);

bool bench_warm_has_it(const struct bench_warm *w); /* the temperature */
bool bench_warm_done(const struct bench_warm *w);   /* has it, or the time is up */

/* GEMMs for about half a second, or none where it has the temperature. */
int bench_warm_step(struct bench_warm *w, struct err *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Chooses a collective's algorithm, protocol and number of channels. The stand-in has a choice of
 * its own, and obeys what the program forces:
 *
 * - NCCL_ALGO and NCCL_PROTO, read as each communicator is made: "ring", "^LL",
 *   "LL,Simple;allreduce:tree": a list for all functions, then lists for single ones; ^ excludes;
 *   upper and lower case are alike. An unknown word is ncclInvalidUsage.
 * - NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS, NCCL_MIN_CTAS, NCCL_MAX_CTAS and NCCL_NTHREADS, read
 *   once a process, as NCCL does. The CTAs take the place of minCTAs and maxCTAs of ncclConfig_t.
 *
 * An AllReduce runs as a tree or around the ring, everything else around the ring: other algorithms
 * are known by name and not available, and an operation that is left with nothing is
 * ncclInvalidUsage. Only the five collectives that NCCL tunes are bound by these settings; messages
 * and what is made of them have a limit on channels alone.
 */
#ifndef EMU_TUNING_H
#define EMU_TUNING_H

#include <nccl.h>
#include <stdbool.h>
#include <stdint.h>

#include "collective.h"

#define TUNING_FUNCTIONS 5

struct tuning {
    uint8_t algorithms[TUNING_FUNCTIONS]; /* bits of enum collective_algorithm, by function */
    uint8_t protocols[TUNING_FUNCTIONS];  /* likewise of enum collective_protocol */
    unsigned channels_min, channels_max;  /* 0: not limited */
    unsigned threads;                     /* of a channel; 0: not set */
};

/* The choice for one operation. */
struct run_method {
    enum collective_algorithm algorithm;
    enum collective_protocol protocol;
    double rate_max; /* GB/s of its channels together; 0: they do not limit it */
};

/* From the environment and ncclConfig_t's CTAs (0: not set). ncclInvalidUsage: a bad list; the
 * reason is noted for ncclGetLastError. */
ncclResult_t tuning_read(struct tuning *t, int ctas_min, int ctas_max);

/* ncclInvalidUsage where nothing is left for the operation (`nodes`: 1 or more). `op` is an enum
 * collective_op; bytes as in struct collective. */
ncclResult_t tuning_choose(const struct tuning *t, enum collective_op op, unsigned ranks,
                           unsigned nodes, uint64_t bytes, struct run_method *choice);

/* GB/s to which limits on channels and threads bind a link; 0: they do not. */
double tuning_rate(const struct tuning *t, enum collective_protocol protocol);

/* Channels of an operation of so many bytes, each of which has an SM. */
unsigned tuning_channels(const struct tuning *t, uint64_t bytes);

/* Returns whether the program forces nothing. */
bool tuning_is_free(const struct tuning *t);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Tokens a second, and how well the GPUs' arithmetic is used.
 *
 * Told how many floating-point operations the model needs for an iteration of the job, utilisation
 * is model FLOPs utilisation (MFU): those over what all GPUs could do in the iteration at their
 * dense peak. Without, the operations of the recorded GEMMs count (2mnk x batch), and those of
 * convolutions and attention that a profile tells (op_flops()). They hold what is computed again in
 * the backward pass, which a recording cannot tell apart, and lack products without a shape:
 * hardware FLOPs utilisation (HFU).
 *
 * The peak is that of the products' types by their shares of the operations: work / sum of
 * (work of a type / its peak).
 */
#ifndef SPECTER_SIM_REPLAY_THROUGHPUT_H
#define SPECTER_SIM_REPLAY_THROUGHPUT_H

#include "sim/grid/grid.h"
#include "specter/trace.h"

struct replay_job;
struct gpu_profile;

/* Of one iteration of the whole job as recorded, at scale 1. */
struct workload {
    double tokens;      /* given by the user; 0: not */
    double flops;       /* given, or of the recorded products; 0: not known */
    bool given;         /* flops were */
    double peak_tflops; /* of one target GPU for the mix; 0: not known */
    const char *mix;    /* "bf16", "fp8e4m3 80 %, bf16 20 %"; in the arena of the replay */
    const char *of; /* "GEMMs, convolutions and attention": what the flops are of, unless given */
    const char *missing; /* why flops or peak are not known; NULL */
    uint64_t shapeless;  /* recorded products without a shape: not counted */
    bool extrapolated;   /* ranks without operations are taken to do what the others do */
};

struct throughput {
    double tokens_per_s, tokens_per_s_gpu; /* 0: no tokens were given */
    double utilisation;                    /* 0: not known; above 1: the inputs do not fit */
    /* all NAN where the recording does not tell how the job scales */
};

/* tokens, flops: as given by the user; 0: not. */
void workload_measure(struct workload *w, const struct replay_job *job, double tokens,
                      double flops);

/* Of an iteration of span_ns on so many GPUs. work: how often the recorded job's work is done (the
 * scale; 1 where its batch is divided). Tokens multiply with it unless what grows is the model (tp)
 * or its depth (pp). */
struct throughput throughput_of(const struct workload *w, double work, double gpus, double span_ns,
                                enum grid_role grown);

#endif

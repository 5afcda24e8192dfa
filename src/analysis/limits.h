/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Figures that physics forbids: recorded sizes and times that no hardware of the recording's kind
 * can have. They come from input that is wrong (times cut or scaled by a tool, sizes of another
 * job, clocks that do not agree), and every figure that is computed from them would be wrong as
 * well. A command that prints figures asks before it computes any:
 *
 *     if (limits_check(&run, e) < 0)
 *         return e->code;
 *
 * Only what is certain is a limit: figures of the GPU that the recording names (a GPU without a
 * profile has none), with room for what measurement and boost clocks add:
 *
 *   GEMM        FLOPs per second above the dense peak of its type (of fp32 with TF32, of fp64
 *               with emulation by int8), times LIMIT_PEAK; kernels named sparse have none
 *   copy        between host and device: above its host link or NVLink; on the device: twice its
 *               bytes, and of a fill once, above the memory bandwidth, from 4 L2 caches on. Times
 *               LIMIT_LINK
 *   collective, what a rank must at least send or receive (limit_comm_bytes()), above NVLink, or
 *   message     the bridge that such a GPU can have, and host link together, times LIMIT_LINK.
 *               Where all members are timed: over the time of the longest. In any case: less
 *               LIMIT_BUFFERED bytes, which may have come before it began, over the time of the
 *               shortest; and all of it over that time above LIMIT_MEMORY times the memory
 *               bandwidth
 *   wait        of one member of a collective for another: longer than from the first to the last
 *               moment of both ranks' recordings; where these do not overlap, longer than the
 *               longest recording of any rank
 *
 * Times may be whole microseconds: LIMIT_NS is added to each.
 */
/* clang-format on */
#ifndef SPECTER_ANALYSIS_LIMITS_H
#define SPECTER_ANALYSIS_LIMITS_H

#include "model/profile.h"
#include "trace/run.h"

#define LIMIT_PEAK 1.15 /* clocks above the one that the peak is quoted at */
#define LIMIT_PEAK_CARD \
    3.0 /* of graphics cards: such clocks, and fp16 accumulation at twice the rate */
#define LIMIT_LINK 1.25
#define LIMIT_MEMORY 3.0                     /* caches are faster than memory */
#define LIMIT_BUFFERED ((double)(128 << 20)) /* NCCL's buffers of all channels */
#define LIMIT_NS 1000

/* 0, or -1 with e filled (ERR_INPUT): the first figure that cannot be, and what it is limited by.
 */
int limits_check(const struct run *run, struct err *e);

/* The bytes that each of n ranks must at least send or receive in a collective of full size
 * `bytes`, whatever algorithm carries it out, switches that reduce among them; 0: nothing is
 * certain. */
double limit_comm_bytes(enum specter_comm_op op, double bytes, int n);

/* Returns whether that algorithm bandwidth of a collective or message is more than NVLink (or a
 * bridge) and host link of the GPU together can move. GPUs whose switches do not reduce (NVIDIA's
 * before Hopper, others) are judged by bus bandwidth. False where the GPU's links are not known. */
bool limit_beyond_links(const struct gpu_profile *gpu, enum specter_comm_op op, double algbw_GBps,
                        int n);

#endif

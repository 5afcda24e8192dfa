/* SPDX-License-Identifier: MIT
 *
 * Ranges of NVTX, as nsys, ncu and `specter capture` take them. NVTX has no library of its own: a
 * tool names one in NVTX_INJECTION64_PATH, and the first range opens it. Without a tool, ranges
 * cost nothing and need nothing.
 */
#ifndef SPECTER_BENCH_NVTX_H
#define SPECTER_BENCH_NVTX_H

void bench_nvtx_push(const char *name); /* of the calling thread */
void bench_nvtx_pop(void);

#endif

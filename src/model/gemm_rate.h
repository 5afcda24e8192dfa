/* SPDX-License-Identifier: MIT
 *
 * The clock of GEMMs, shared by gemm.c and other.c. Derivation: README.md.
 */
#ifndef SPECTER_MODEL_GEMM_RATE_H
#define SPECTER_MODEL_GEMM_RATE_H

#include "model/profile.h"

/* Share of boost_MHz at which a large product of `type` runs, whose dense peak is peak_tflops: that
 * of clock_MHz where the profile has one, else what tdp_W lets it sustain; 1 where neither is
 * known. Above 1 where the clock that is held is higher. */
double gemm_clock(const struct gpu_profile *gpu, double peak_tflops, enum specter_dtype type);

#endif

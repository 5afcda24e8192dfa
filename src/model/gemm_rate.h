/* SPDX-License-Identifier: MIT
 *
 * The clock of matrix products, shared by gemm.c and other.c. Derivation: README.md.
 */
#ifndef SPECTER_MODEL_GEMM_RATE_H
#define SPECTER_MODEL_GEMM_RATE_H

#include "model/profile.h"

/* Share of boost_MHz that tdp_W lets a large product of `type` sustain, whose dense peak is
 * peak_tflops; 1 where the power is not known. */
double gemm_clock(const struct gpu_profile *gpu, double peak_tflops, enum specter_dtype type);

#endif

/* SPDX-License-Identifier: MIT
 *
 * HIP in the place of the CUDA driver, for programs on ROCm: the functions of struct driver, out of
 * libamdhip64. HIP has no contexts to speak of, so a device stands for its context: the handle is
 * its number and one. Results, stream handles 0 to 2, capture states and modes have CUDA's values.
 */
#ifndef SPECTER_TRACER_HIP_H
#define SPECTER_TRACER_HIP_H

#include "driver.h"

/* True when all that is needed was found; *d is filled then. */
bool hip_bind(struct driver *d, void *library);

#endif

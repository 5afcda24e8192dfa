/* SPDX-License-Identifier: MIT
 *
 * cuGetProcAddress() in front of the driver's. A static CUDA runtime, which cuDNN, cuFFT, cuSPARSE,
 * and whatever nvcc links by default carry within them, asks dlsym() for this one function and
 * this one for all others, so a preload sees nothing else of what such a library launches.
 *
 * The driver is asked with the arguments as they are. Where hooks/lookups.def has a hook for what
 * it gave, the program gets an entry (dlsym.h) that stands for exactly that pointer, in the place
 * of the pointer; else the pointer. Nothing is recorded, started or allocated here: programs ask
 * before they initialise CUDA, and may fork after it.
 *
 * Libraries that are recorded by their own calls get the driver's pointers; they are known by the
 * file name of the object that asks: NCCL, whose threads launch kernels outside every call, cuBLAS,
 * a CUDA runtime of its own, and CUPTI. SPECTER_NO_DLSYM switches all of this off,
 * SPECTER_NO_LAUNCHES, _COPIES and _GRAPHS what each leaves out.
 */
#ifndef SPECTER_TRACER_LOOKUP_H
#define SPECTER_TRACER_LOOKUP_H

#include "record.h"

#include <stdbool.h>

/* Returns whether programs get hooks for the functions that leave records of this kind. */
bool lookup_wants(enum record_kind kind);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The half-precision type that the prototypes of cublasHgemm and its kin name. The CUDA headers
 * define it for C++ only, so C sources that expand hooks.def include this header beside
 * cublas_v2.h, whether that is the real one or ours. Only pointers to it cross the interface.
 */
#ifndef SPECTER_ABI_HALF_H
#define SPECTER_ABI_HALF_H

#ifndef __cplusplus
typedef struct specter_half {
    unsigned short bits; /* IEEE 754 binary16 */
} __half;
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * Types that nccl.def needs and an older nccl.h lacks: those of functions that came after it. They
 * have the names and, where a field is read, the layout of NCCL's own headers. With newer headers
 * nothing here is used.
 */
#ifndef SPECTER_TRACER_HOOKS_NCCL_TYPES_H
#define SPECTER_TRACER_HOOKS_NCCL_TYPES_H

#include <nccl.h>

#if NCCL_VERSION_CODE < 22200
typedef struct ncclSimInfo_v22200 ncclSimInfo_t;
#endif
#if NCCL_VERSION_CODE < 22700
typedef struct ncclWindow *ncclWindow_t;
#endif
#if NCCL_VERSION_CODE < 22902
typedef struct {
    int opCnt;
    int peer;
    int sigIdx;
    int ctx;
} ncclWaitSignalDesc_t;
#endif
#if NCCL_VERSION_CODE < 23200
typedef struct ncclCollConfig_v23200 ncclCollConfig_t;
#endif

#ifndef NCCL_SPLIT_NOCOLOR
#define NCCL_SPLIT_NOCOLOR -1
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * NCCL() defines a function of libnccl.so.2: as in the real library ncclX is a weak alias of
 * pncclX.
 */
#ifndef EMU_NCCL_CALL_H
#define EMU_NCCL_CALL_H

#include <nccl.h>

#include "../../tracer/hooks/nccl_types.h"

#include "comm.h"

/* Defines pncclX, and ncclX as its weak alias. */
#define NCCL(_ret, _fn, _params)                                     \
    EMU_API _ret p##_fn _params;                                     \
    EMU_API _ret _fn _params __attribute__((weak, alias("p" #_fn))); \
    _ret p##_fn _params

#endif

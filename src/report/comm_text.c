/* SPDX-License-Identifier: MIT */
#include "report/comm_text.h"

#include "specter/trace.h"

const char *comm_op_text(unsigned op)
{
    return op < SPECTER_COMM_OP_COUNT ? specter_comm_op_name((enum specter_comm_op)op) : "unknown";
}

const char *comm_dtype_text(unsigned dtype)
{
    return dtype < SPECTER_DTYPE_COUNT ? specter_dtype_name((enum specter_dtype)dtype) : "";
}

const char *comm_gemm_dtype_text(unsigned dtype, unsigned compute)
{
    return comm_dtype_text(dtype == SPECTER_FP32 && compute == SPECTER_TF32 ? compute : dtype);
}

const char *comm_group_text(int size, const char *name, struct arena *arena)
{
    const char *space = name[0] != '\0' ? " " : "";
    return size > 0 ? arena_printf(arena, "%d%s%s", size, space, name)
                    : arena_printf(arena, "-%s%s", space, name);
}

/* SPDX-License-Identifier: MIT
 *
 * The part of NVTX 3 between a program and a tool, as far as the tracer needs it. Facts from
 * nvtx3/nvToolsExt.h and nvtx3/nvtxDetail/nvtxTypes.h of the CUDA toolkit (NVTX_VERSION 3); the
 * names are our own, so that both can be included together, and tests/tracer/nvtx_calls.c compares
 * them.
 *
 * Each object that uses NVTX has its own copy of it. At its first call the copy opens the library
 * that NVTX_INJECTION64_PATH names and calls its InitializeInjectionNvtx2() with a function that
 * gives tables by number. The table of callbacks gives, for a module, an array of the places where
 * the copy keeps its function pointers; the tool writes its own functions there.
 */
#ifndef SPECTER_TRACER_ABI_NVTX_H
#define SPECTER_TRACER_ABI_NVTX_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_TABLE_CALLBACKS 1

enum nvtx_module { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

enum nvtx_core {
    NVTX_MARK_EX = 1,
    NVTX_MARK_A,
    NVTX_MARK_W,
    NVTX_RANGE_START_EX,
    NVTX_RANGE_START_A,
    NVTX_RANGE_START_W,
    NVTX_RANGE_END,
    NVTX_RANGE_PUSH_EX,
    NVTX_RANGE_PUSH_A,
    NVTX_RANGE_PUSH_W,
    NVTX_RANGE_POP,
};

enum nvtx_core2 {
    NVTX_DOMAIN_MARK_EX = 1,
    NVTX_DOMAIN_RANGE_START_EX,
    NVTX_DOMAIN_RANGE_END,
    NVTX_DOMAIN_RANGE_PUSH_EX,
    NVTX_DOMAIN_RANGE_POP,
    NVTX_DOMAIN_REGISTER_STRING_A = 10,
    NVTX_DOMAIN_REGISTER_STRING_W,
    NVTX_DOMAIN_CREATE_A,
    NVTX_DOMAIN_CREATE_W,
    NVTX_DOMAIN_DESTROY,
};

typedef void (*nvtx_function)(void);

/* The places of a module's function pointers, by nvtx_core or nvtx_core2; `size` of them. */
struct nvtx_callbacks {
    size_t struct_size;
    int (*places)(int module, nvtx_function ***table, unsigned *size); /* 0: no such module */
};

typedef const void *(*nvtx_get_table)(uint32_t table);

enum nvtx_message {
    NVTX_MESSAGE_NONE,
    NVTX_MESSAGE_ASCII,
    NVTX_MESSAGE_WIDE,
    NVTX_MESSAGE_STRING, /* a handle that registering gave */
};

/* nvtxEventAttributes_t */
struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type; /* enum nvtx_message */
    const void *message;
};

#endif

/* SPDX-License-Identifier: MIT
 *
 * Kernels. One of the stand-ins' own (emuKernel) has the time that it was made with. A foreign one,
 * whose code is a GPU's, computes nothing: its output stays as it was, and it takes
 *
 *     kernel_ns + threads x kernel_thread_bytes / (memory_GBps x memory_efficiency)
 *
 * on the device (keys of the fabric), where `threads` are those of the whole grid: most kernels of
 * training besides products are bound by memory.
 *
 * A kernel is known by a handle, which is any address: a function of a module is its own handle, a
 * kernel of the runtime goes by the host function that stands for it.
 */
#ifndef EMU_KERNEL_H
#define EMU_KERNEL_H

#include "core.h"

/* Limits of every GPU of compute capability 8 and later. */
#define EMU_THREADS_PER_BLOCK 1024u
#define EMU_THREADS_PER_SM 2048u
#define EMU_BLOCKS_PER_SM 32u
#define EMU_REGISTERS_PER_SM 65536u
#define EMU_SHARED_PER_BLOCK 49152u /* more a kernel must ask for: cuFuncSetAttribute */
#define EMU_SHARED_RESERVED 1024u   /* of each block, for the system */

/* Facts of a kernel from its code; 0 where the code does not tell. */
struct emu_kernel_facts {
    const char *name;      /* of a kernel: lives as long as the process */
    unsigned registers;    /* of a thread */
    unsigned shared_bytes; /* static */
    unsigned local_bytes;
    unsigned constant_bytes;
    unsigned threads_max; /* of a block; 0: as many as the device allows */
    unsigned version;     /* 10 x compute capability */
};

struct emu_kernel {
    struct emu_kernel_facts facts;
    bool foreign;
    uint64_t ns;                 /* of one that is not */
    unsigned shared_dynamic_max; /* as cuFuncSetAttribute left it */
    int carveout;
    bool big_clusters; /* non-portable cluster sizes are allowed */
    const void *handle;
    struct emu_kernel *next;    /* of the same bucket */
    struct emu_kernel *sibling; /* of the same module: its owner's to use */
    void *module;               /* NULL: none */
};

struct emu_grid {
    unsigned blocks[3], threads[3];
    size_t shared_bytes; /* dynamic */
};

/* A foreign kernel under a handle; NULL: its own. The handle must be free. */
EMU_API struct emu_kernel *emu_kernel_register(const void *handle,
                                               const struct emu_kernel_facts *facts);
/* Launches that are under way go on, and keep the name. NULL: nothing is done. */
EMU_API void emu_kernel_forget(const void *handle);

EMU_API struct emu_kernel *emu_kernel_find(const void *handle); /* NULL: not a kernel */
EMU_API const char *emu_kernel_name(const void *handle);        /* NULL: not a kernel */

/* CUDA_ERROR_INVALID_HANDLE for what is not a kernel, _INVALID_VALUE for a grid that the device
 * does not take or shared memory that the kernel was not allowed. */
EMU_API CUresult emu_kernel_launch(struct emu_thread *self, const void *handle,
                                   const struct emu_grid *grid, CUstream stream);

/* Returns whether such a grid can run on a device. */
EMU_API bool emu_kernel_takes(const struct emu_kernel *kernel, const struct emu_grid *grid);

EMU_API unsigned emu_kernel_threads_max(const struct emu_kernel *kernel); /* of a block */

/* Blocks of so many threads that an SM holds at once, by threads, registers and shared memory. */
EMU_API unsigned emu_kernel_blocks_per_sm(const struct emu_kernel *kernel, unsigned threads,
                                          size_t shared_dynamic);

#endif

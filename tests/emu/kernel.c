/* SPDX-License-Identifier: MIT
 *
 * Kernels: a name and a time, which is that of reading and writing memory: what other kernels of
 * training do, apart from products.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "emu.h"
#include "fabric.h"
#include "listen.h"

struct kernel {
    char *name;
    uint64_t ns;
    struct kernel *next;
};

static struct kernel *kernels;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct kernel *new_kernel(const char *name, uint64_t ns)
{
    struct kernel *k = emu_alloc(sizeof(*k));

    k->name = emu_alloc(strlen(name) + 1);
    strcpy(k->name, name);
    k->ns = ns;
    k->next = kernels;
    return kernels = k;
}

EMU_API const void *emuKernel(const char *name, uint64_t ns)
{
    struct kernel *k;

    pthread_mutex_lock(&lock);
    for (k = kernels; k && (k->ns != ns || strcmp(k->name, name) != 0); k = k->next)
        ;
    if (!k)
        k = new_kernel(name, ns);
    pthread_mutex_unlock(&lock);
    return k;
}

EMU_API uint64_t emuMemoryNs(uint64_t bytes)
{
    const struct emu_fabric *f = emu_fabric();

    return (uint64_t)((double)bytes / (f->memory_GBps * f->memory_efficiency));
}

static const struct kernel *find(const void *kernel)
{
    const struct kernel *k;

    pthread_mutex_lock(&lock);
    for (k = kernels; k && k != kernel; k = k->next)
        ;
    pthread_mutex_unlock(&lock);
    return k;
}

const char *emu_kernel_name(const void *kernel)
{
    const struct kernel *k = find(kernel);

    return k ? k->name : NULL;
}

static uint64_t run_kernel(void *data, const struct emu_turn *turn, CUresult *error)
{
    const struct kernel *k = data;

    (void)error;
    if (!emu_compute_shares(turn, k->ns))
        return turn->start + k->ns;
    return turn->start + (uint64_t)emu_compute_memory(turn, (double)k->ns);
}

static void tell_kernel(const void *data, struct emu_told *told)
{
    const struct kernel *k = data;

    *told = (struct emu_told){.type = TOLD_KERNEL,
                              .name = k->name,
                              .launch = "cudaLaunchKernel",
                              .grid = {1, 1, 1},
                              .block = {1, 1, 1}};
}

static const struct emu_kind kernel_kind = {"kernel", NULL, run_kernel, NULL, NULL, tell_kernel};

CUresult emu_kernel_launch(struct emu_thread *self, const void *kernel, CUstream handle)
{
    const struct kernel *k = find(kernel);
    CUstream stream;
    CUresult result = k ? emu_stream_find(self, handle, NULL, &stream) : CUDA_ERROR_INVALID_HANDLE;

    if (result)
        return result;
    return emu_submit(self, stream, emu_work_new(&kernel_kind, (void *)(uintptr_t)k), self->clock);
}

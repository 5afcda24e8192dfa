/* SPDX-License-Identifier: MIT
 *
 * See kernel.h. Handles are looked up, never trusted; a program that links PyTorch has some ten
 * thousand of them.
 */
#include "kernel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "emu.h"
#include "fabric.h"
#include "listen.h"

#define BUCKETS 16384 /* a power of two */

#define WARP 32
#define REGISTER_UNIT 256 /* registers of a warp come in such parts */
#define SHARED_UNIT 128
#define PARTS 4 /* of an SM, each with its own registers and warps */
#define GRID_Y_MAX 65535
#define BLOCK_Z_MAX 64

static struct emu_kernel *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct emu_kernel **bucket_of(const void *handle)
{
    return &buckets[(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 50 & (BUCKETS - 1)];
}

static struct emu_kernel *new_kernel(const struct emu_kernel_facts *facts)
{
    struct emu_kernel *k = emu_alloc(sizeof *k);
    char *name = emu_alloc(strlen(facts->name) + 1);
    strcpy(name, facts->name);
    k->facts = *facts;
    k->facts.name = name;
    k->foreign = true;
    if (facts->shared_bytes < EMU_SHARED_PER_BLOCK)
        k->shared_dynamic_max = EMU_SHARED_PER_BLOCK - facts->shared_bytes;
    k->carveout = -1;
    return k;
}

/* The lock is held. */
static void put(struct emu_kernel *k, const void *handle)
{
    struct emu_kernel **at;
    k->handle = handle != NULL ? handle : k;
    at = bucket_of(k->handle);
    k->next = *at;
    *at = k;
}

struct emu_kernel *emu_kernel_register(const void *handle, const struct emu_kernel_facts *facts)
{
    struct emu_kernel *k = new_kernel(facts);
    pthread_mutex_lock(&lock);
    put(k, handle);
    pthread_mutex_unlock(&lock);
    return k;
}

void emu_kernel_forget(const void *handle)
{
    struct emu_kernel **at, *k;
    pthread_mutex_lock(&lock);
    for (at = bucket_of(handle); *at != NULL && (*at)->handle != handle; at = &(*at)->next)
        ;
    k = *at;
    if (k != NULL)
        *at = k->next;
    pthread_mutex_unlock(&lock);
    free(k);
}

EMU_API const void *emuKernel(const char *name, uint64_t ns)
{
    static struct emu_kernel *own;
    const struct emu_kernel_facts facts = {.name = name};
    struct emu_kernel *k;
    pthread_mutex_lock(&lock);
    for (k = own; k != NULL && (k->ns != ns || strcmp(k->facts.name, name) != 0); k = k->sibling)
        ;
    if (k == NULL) {
        k = new_kernel(&facts);
        k->foreign = false;
        k->ns = ns;
        k->sibling = own;
        own = k;
        put(k, NULL);
    }
    pthread_mutex_unlock(&lock);
    return k;
}

EMU_API uint64_t emuMemoryNs(uint64_t bytes)
{
    const struct emu_fabric *f = emu_fabric();
    return (uint64_t)((double)bytes / (f->memory_GBps * f->memory_efficiency));
}

struct emu_kernel *emu_kernel_find(const void *handle)
{
    struct emu_kernel *k;
    pthread_mutex_lock(&lock);
    for (k = *bucket_of(handle); k != NULL && k->handle != handle; k = k->next)
        ;
    pthread_mutex_unlock(&lock);
    return k;
}

const char *emu_kernel_name(const void *handle)
{
    const struct emu_kernel *k = emu_kernel_find(handle);
    return k != NULL ? k->facts.name : NULL;
}

/* ---- launches ---- */

static uint64_t product(const unsigned size[3])
{
    return (uint64_t)size[0] * size[1] * size[2];
}

unsigned emu_kernel_threads_max(const struct emu_kernel *k)
{
    return k->facts.threads_max ? k->facts.threads_max : EMU_THREADS_PER_BLOCK;
}

bool emu_kernel_takes(const struct emu_kernel *k, const struct emu_grid *g)
{
    return product(g->blocks) && product(g->threads) && g->blocks[0] <= INT32_MAX &&
           g->blocks[1] <= GRID_Y_MAX && g->blocks[2] <= GRID_Y_MAX &&
           g->threads[0] <= EMU_THREADS_PER_BLOCK && g->threads[1] <= EMU_THREADS_PER_BLOCK &&
           g->threads[2] <= BLOCK_Z_MAX && product(g->threads) <= emu_kernel_threads_max(k) &&
           g->shared_bytes <= k->shared_dynamic_max;
}

static uint64_t time_of(const struct emu_kernel *k, const struct emu_grid *g)
{
    const struct emu_fabric *f = emu_fabric();
    if (!k->foreign)
        return k->ns;
    return f->kernel_ns +
           emuMemoryNs(product(g->blocks) * product(g->threads) * f->kernel_thread_bytes);
}

/* Nothing of the kernel itself, whose module may be unloaded before a graph is launched again. */
struct kernel_run {
    const char *name;
    unsigned registers, shared_bytes; /* static and dynamic */
    struct emu_grid grid;
    uint64_t ns;
};

static uint64_t run_kernel(void *data, const struct emu_turn *turn, CUresult *error)
{
    const struct kernel_run *l = data;
    uint64_t ns = turn->clock < 1 ? (uint64_t)((double)l->ns / turn->clock) : l->ns;
    (void)error;
    if (!emu_compute_shares(turn, ns))
        return turn->start + ns;
    return turn->start + (uint64_t)emu_compute_memory(turn, (double)ns);
}

static void describe_kernel(const void *data, struct emu_description *what)
{
    const struct kernel_run *l = data;
    const unsigned *blocks = l->grid.blocks, *threads = l->grid.threads;
    *what = (struct emu_description){.type = EMU_KERNEL,
                                     .name = l->name,
                                     .launch = "cudaLaunchKernel",
                                     .grid = {blocks[0], blocks[1], blocks[2]},
                                     .block = {threads[0], threads[1], threads[2]},
                                     .registers = l->registers,
                                     .shared_bytes = l->shared_bytes};
}

static const struct emu_kind kernel_kind = {.name = "kernel",
                                            .run = run_kernel,
                                            .release = free,
                                            .describe = describe_kernel,
                                            .load = EMU_LOAD_KERNEL};

CUresult emu_kernel_launch(struct emu_thread *self, const void *handle, const struct emu_grid *grid,
                           CUstream stream)
{
    const struct emu_kernel *k = emu_kernel_find(handle);
    struct kernel_run *l;
    CUstream to;
    CUresult result =
        k != NULL ? emu_stream_find(self, stream, NULL, &to) : CUDA_ERROR_INVALID_HANDLE;
    if (!result && k->foreign && !emu_kernel_takes(k, grid))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    l = emu_alloc(sizeof *l);
    *l = (struct kernel_run){k->facts.name, k->facts.registers,
                             k->facts.shared_bytes + (unsigned)grid->shared_bytes, *grid,
                             time_of(k, grid)};
    return emu_submit(self, to, emu_work_new(&kernel_kind, l), self->clock);
}

/* ---- what an SM holds ---- */

static unsigned in_units(unsigned amount, unsigned unit)
{
    return (amount + unit - 1) / unit * unit;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned emu_kernel_blocks_per_sm(const struct emu_kernel *kernel, unsigned threads,
                                  size_t shared_dynamic)
{
    const unsigned sm_shared = (unsigned)emu_fabric()->sm_shared_KiB * 1024;
    unsigned warps = (threads + WARP - 1) / WARP, blocks = EMU_BLOCKS_PER_SM;
    unsigned of_warp = in_units(kernel->facts.registers * WARP, REGISTER_UNIT);
    size_t shared = kernel->facts.shared_bytes + shared_dynamic + EMU_SHARED_RESERVED;
    if (!warps || threads > emu_kernel_threads_max(kernel) || shared > sm_shared)
        return 0;
    blocks = least(blocks, EMU_THREADS_PER_SM / (warps * WARP));
    if (of_warp)
        blocks = least(blocks, EMU_REGISTERS_PER_SM / PARTS / of_warp * PARTS / warps);
    return least(blocks, sm_shared / in_units((unsigned)shared, SHARED_UNIT));
}

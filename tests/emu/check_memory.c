/* SPDX-License-Identifier: MIT
 *
 * Memory: pools and their counts, what is known of a pointer, registration, handles that another
 * process opens, and what the end of a context leaves.
 */
#include <sys/wait.h>

#include "check.h"
#include "memory.h"

#define IPC_BYTES (1 << 20)

static uint64_t pool_says(cudaMemPool_t pool, enum cudaMemPoolAttr what)
{
    uint64_t value = 0;
    OK(cudaMemPoolGetAttribute(pool, what, &value));
    return value;
}

/* Memory may be freed by the other call than that which it is from. */
static void mixed_frees(cudaMemPool_t pool, cudaStream_t stream)
{
    void *memory;
    OK(cudaMalloc(&memory, 4096));
    OK(cudaFreeAsync(memory, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(pool_says(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    OK(cudaMallocAsync(&memory, 4096, stream));
    OK(cudaFree(memory));
    CHECK(pool_says(pool, cudaMemPoolAttrUsedMemCurrent), 0);
}

static void pools(void)
{
    struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 0},
                                       cudaMemAccessFlagsProtReadWrite};
    uint64_t threshold = 1 << 20, none = 0;
    cudaStream_t stream;
    cudaMemPool_t pool;
    char *memory, back = 0;
    OK(cudaStreamCreate(&stream));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(pool_says(pool, cudaMemPoolAttrReleaseThreshold), 1 << 20);
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaMallocAsync((void **)&memory, 4096, stream));
    OK(cudaMemsetAsync(memory, 7, 4096, stream));
    OK(cudaMemcpyAsync(&back, memory + 4095, 1, cudaMemcpyDeviceToHost, stream));
    CHECK(pool_says(pool, cudaMemPoolAttrUsedMemCurrent), 4096);
    OK(cudaFreeAsync(memory, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back, 7);
    CHECK(pool_says(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    CHECK(pool_says(pool, cudaMemPoolAttrUsedMemHigh), 4096);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &none));
    CHECK(pool_says(pool, cudaMemPoolAttrUsedMemHigh), 0);
    OK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaFreeAsync(&back, stream), cudaErrorInvalidValue);
    mixed_frees(pool, stream);
    CHECK(cudaMallocAsync((void **)&memory, (size_t)1 << 45, stream), cudaErrorMemoryAllocation);
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 1000), cudaErrorInvalidDevice);
    (void)cudaGetLastError();
}

static struct cudaPointerAttributes known(const void *pointer)
{
    struct cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, pointer));
    return attributes;
}

static void pointers(void)
{
    static char own[8192];
    char *device, *pinned;
    OK(cudaMalloc((void **)&device, 4096));
    OK(cudaMallocHost((void **)&pinned, 4096));
    CHECK(known(device + 4095).type, cudaMemoryTypeDevice);
    CHECK(known(device + 1).devicePointer == device + 1, 1);
    CHECK(known(device).hostPointer == NULL, 1);
    CHECK(known(pinned).type, cudaMemoryTypeHost);
    CHECK(known(pinned + 1).hostPointer == pinned + 1, 1);
    CHECK(known(own).type, cudaMemoryTypeUnregistered);
    CHECK(known(own).device, cudaInvalidDeviceId);
    CHECK(known(own).devicePointer == NULL, 1);
    OK(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault));
    CHECK(known(own + 8191).type, cudaMemoryTypeHost);
    CHECK(cudaHostRegister(own, 1, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
    CHECK(cudaFreeHost(own), cudaErrorInvalidValue);
    OK(cudaHostUnregister(own));
    CHECK(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered);
    CHECK(known(own).type, cudaMemoryTypeUnregistered);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(device));
    (void)cudaGetLastError();
}

/* Device memory is gone with its context, and the program's own is only not registered any more. */
static void end(void)
{
    static _Alignas(4096) char own[8192]; /* whole pages, which could be unmapped */
    cudaMemPool_t pool;
    size_t before, after, all;
    char *pooled, *device;
    OK(cudaMemGetInfo(&before, &all));
    own[8191] = 'o';
    OK(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault));
    OK(cudaMalloc((void **)&device, 1 << 20));
    OK(cudaMallocAsync((void **)&pooled, 1 << 20, NULL));
    OK(cudaDeviceReset());
    CHECK(own[8191], 'o');
    CHECK(known(own).type, cudaMemoryTypeUnregistered);
    CHECK(known(device).type, cudaMemoryTypeUnregistered);
    OK(cudaMemGetInfo(&after, &all));
    CHECK(after, before);
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(pool_says(pool, cudaMemPoolAttrUsedMemCurrent), 0);
}

/* ---- between processes ---- */

/* Frees exported memory, and opens a file of the same size, which gets the number of its file. */
static FILE *give_number_away(void *memory, const cudaIpcMemHandle_t *handle)
{
    struct memory_export shared;
    FILE *file;
    memcpy(&shared, handle, sizeof shared);
    OK(cudaFree(memory));
    file = tmpfile();
    CHECK(file && fileno(file) == shared.file, 1);
    OK(ftruncate(fileno(file), IPC_BYTES));
    return file;
}

static void send_handle(int to, int done)
{
    cudaIpcMemHandle_t handle, none;
    char *memory, word[6] = "hello", answer = 0;
    FILE *other;
    void *opened;
    OK(cudaMalloc((void **)&memory, IPC_BYTES));
    OK(cudaMemcpy(memory + 70000, word, sizeof word, cudaMemcpyHostToDevice));
    OK(cudaIpcGetMemHandle(&handle, memory + 5));
    CHECK(cudaIpcGetMemHandle(&none, word), cudaErrorInvalidValue);
    CHECK(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess),
          cudaErrorDeviceUninitialized);
    CHECK(write(to, &handle, sizeof handle), sizeof handle);
    CHECK(read(done, &answer, 1), 1);
    OK(cudaMemcpy(word, memory + 70000, sizeof word, cudaMemcpyDeviceToHost));
    OK(strcmp(word, "hallo"));
    other = give_number_away(memory, &handle);
    CHECK(write(to, "f", 1), 1);
    CHECK(read(done, &answer, 1), 1);
    OK(fclose(other));
}

static void take_handle(int from, int done)
{
    cudaIpcMemHandle_t handle;
    char *memory, word[6];
    CHECK(read(from, &handle, sizeof handle), sizeof handle);
    CHECK(cudaIpcOpenMemHandle((void **)&memory, handle, 0), cudaErrorInvalidValue);
    OK(cudaIpcOpenMemHandle((void **)&memory, handle, cudaIpcMemLazyEnablePeerAccess));
    CHECK(known(memory).type, cudaMemoryTypeDevice);
    OK(cudaMemcpy(word, memory + 70000, sizeof word, cudaMemcpyDeviceToHost));
    OK(strcmp(word, "hello"));
    OK(cudaMemcpy(memory + 70001, "a", 1, cudaMemcpyHostToDevice));
    CHECK(cudaFree(memory), cudaErrorInvalidValue);
    CHECK(cudaHostUnregister(memory), cudaErrorHostMemoryNotRegistered);
    OK(cudaIpcCloseMemHandle(memory));
    CHECK(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue);
    CHECK(write(done, "d", 1), 1);
    CHECK(read(from, word, 1), 1);
    CHECK(cudaIpcOpenMemHandle((void **)&memory, handle, cudaIpcMemLazyEnablePeerAccess),
          cudaErrorInvalidResourceHandle);
    CHECK(write(done, "d", 1), 1);
}

/* Before the first call of either: a driver does not survive a fork. */
static pid_t other_process(int *to, int *done)
{
    int there[2], back[2];
    pid_t child;
    OK(pipe(there));
    OK(pipe(back));
    child = fork();
    if (child == 0) {
        take_handle(there[0], back[1]);
        exit(0);
    }
    *to = there[1];
    *done = back[0];
    return child;
}

int main(void)
{
    int to, done, status;
    pid_t child = other_process(&to, &done);
    send_handle(to, done);
    CHECK(waitpid(child, &status, 0), child);
    CHECK(status, 0);
    pools();
    pointers();
    end();
    puts("memory is counted, known and shared");
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Copies, kernels and graphs for the tracer's tests, one scenario a name: `work SCENARIO`. As
 * calls.c beside it: prints only what went wrong.
 */
#include "calls.h"
#include "emu.h"

#include <cuda.h>
#include <pthread.h>
#include <string.h>

#define KIB 1024
#define BIG (256 * KIB)

/* Names with versions and twins, which headers reach through macros or not at all. */
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream);
CUresult cuLaunchKernel(CUfunction f, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z,
                        unsigned int shared, CUstream stream, void **params, void **extra);
cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                 cudaStream_t stream);
cudaError_t cudaLaunchKernel_ptsz(const void *func, dim3 grid, dim3 block, void **args,
                                  size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared, cudaStream_t stream);

static const dim3 one = {1, 1, 1};

static const void *kernel(const char *name)
{
    return emuKernel(name, 5000);
}

static void launch(const char *name, cudaStream_t stream)
{
    OK(cudaLaunchKernel(kernel(name), one, one, NULL, 0, stream));
}

static void reduce(struct world *w, size_t count)
{
    OK(ncclAllReduce(w->a, w->b, count, ncclFloat32, ncclSum, w->comm, w->stream));
}

static void product(struct world *w)
{
    float alpha = 1, beta = 0;
    OK(cublasGemmEx(w->cublas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &alpha, w->a, CUDA_R_32F, 4, w->b,
                    CUDA_R_32F, 4, &beta, w->c, CUDA_R_32F, 4, CUBLAS_COMPUTE_32F,
                    CUBLAS_GEMM_DEFAULT));
}

/* ---- copies ---- */

static void copies(struct world *w)
{
    static char host[BIG], other[BIG];
    char *device, *peer, *pinned;
    struct cudaMemcpy3DParms box = {.extent = {KIB, 4, 32}, .kind = cudaMemcpyDefault};
    OK(cudaMalloc((void **)&device, BIG));
    OK(cudaHostAlloc((void **)&pinned, BIG, cudaHostAllocDefault));
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&peer, BIG));
    OK(cudaSetDevice(0));
    memset(host, 7, sizeof host);

    OK(cudaMemcpyAsync(device, host, BIG, cudaMemcpyHostToDevice, w->stream));
    OK(cudaMemcpyAsync(pinned, device, BIG - 1, cudaMemcpyDefault, w->stream));
    OK(cudaMemcpyAsync(device + BIG / 2, device, BIG / 2, cudaMemcpyDefault, w->stream));
    OK(cudaMemcpyAsync(peer, device, 64 * KIB, cudaMemcpyDeviceToDevice, w->stream));
    OK(cudaMemcpyPeerAsync(peer, 1, device, 0, 64 * KIB - 1, w->stream));
    OK(cudaMemcpyAsync(device, host, 100, cudaMemcpyHostToDevice, w->stream));
    OK(cudaStreamSynchronize(w->stream)); /* the default streams do not wait for this one */
    OK(cudaMemcpyAsync_ptsz(device, host, 101, cudaMemcpyHostToDevice, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(other, host, 102, cudaMemcpyDefault));
    OK(cudaMemcpy(other, device, BIG, cudaMemcpyDeviceToHost));
    CHECK(memcmp(other, host, BIG / 2) == 0);
    OK(cudaMemcpy2D(other, KIB, device, KIB, KIB, 3, cudaMemcpyDeviceToHost));
    box.dstPtr = (struct cudaPitchedPtr){device, KIB, KIB, 4};
    box.srcPtr = (struct cudaPitchedPtr){host, KIB, KIB, 4};
    OK(cudaMemcpy3DAsync(&box, w->stream));
    OK(cudaStreamSynchronize(w->stream));
    OK(cudaMemset(device, 0, 200));
    OK(cudaDeviceSynchronize());
    OK(cudaMemsetAsync(device, 0, BIG, w->stream));
    OK(cudaMemset2DAsync(device, KIB, 0, KIB, 65, w->stream));

    OK(cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)device, host, 301, w->stream));
    OK(cudaStreamSynchronize(w->stream));
    OK(cuMemcpyDtoH_v2(other, (CUdeviceptr)(uintptr_t)device, 302));
    OK(cuMemsetD32Async((CUdeviceptr)(uintptr_t)device, 0, 303, w->stream));

    CHECK(cudaMemcpyAsync(NULL, host, 4, cudaMemcpyHostToDevice, w->stream) != 0);
    OK(cudaStreamSynchronize(w->stream));
}

/* ---- kernels ---- */

static void kernels(struct world *w)
{
    cudaLaunchConfig_t config = {.gridDim = one, .blockDim = one, .stream = w->stream};
    cudaStream_t other;
    cudaEvent_t event;
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));

    launch("vectorized_elementwise_kernel", w->stream);
    emu_work(30000);
    launch("vectorized_elementwise_kernel", w->stream);
    launch("flash_fwd_kernel", w->stream);
    reduce(w, 1); /* ends a run of 3 */
    launch("reduce_kernel", w->stream);
    OK(cudaLaunchKernelExC(&config, kernel("triton_poi_fused_add_0"), NULL));
    OK(cuLaunchKernel((CUfunction)(uintptr_t)kernel("matmul_kernel"), 1, 1, 1, 1, 1, 1, 0,
                      w->stream, NULL, NULL));
    OK(__cudaLaunchKernel((cudaKernel_t)(uintptr_t)kernel("adam_kernel"), one, one, NULL, 0,
                          w->stream));
    launch("secret", other);
    product(w);                        /* ends a run of 4; not the other stream's */
    OK(cudaEventRecord(event, other)); /* that of 1 */
    launch("secret", NULL);
    OK(cudaLaunchKernel_ptsz(kernel("secret"), one, one, NULL, 0, NULL));
    OK(cudaStreamSynchronize(w->stream)); /* ends none */
    OK(cudaDeviceSynchronize());          /* ends both */
    CHECK(cudaLaunchKernel(&one, one, one, NULL, 0, w->stream) != 0);
    CHECK(cudaGetLastError() == cudaErrorInvalidDeviceFunction);
    launch("secret", w->stream); /* of 1, at the exit */
}

/* More streams than a thread keeps count of. */
static void many_streams(struct world *w)
{
    cudaStream_t streams[12];
    (void)w;
    for (int i = 0; i < 12; i++)
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 12; i++)
            launch("secret", streams[i]);
    OK(cudaDeviceSynchronize());
}

/* One handle, of three streams. */
static void streams_anew(struct world *w)
{
    (void)w;
    for (int i = 0; i < 3; i++) {
        cudaStream_t stream;
        OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        launch("secret", stream);
        if (i == 1)
            OK(cudaStreamSynchronize(stream));
        OK(cudaStreamDestroy(stream));
    }
}

static void *launch_some(void *world)
{
    struct world *w = world;
    OK(cudaSetDevice(0));
    for (int i = 0; i < 1000; i++)
        launch(i % 2 ? "reduce_kernel" : "gemm", w->stream);
    return NULL;
}

static void *launch_own(void *world)
{
    (void)world;
    OK(cudaSetDevice(0));
    launch("own", cudaStreamPerThread);
    return NULL;
}

/* Launches of threads that have ended are written; a thread that takes over the memory of another
 * has a default stream of its own. */
static void threads(struct world *w)
{
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&ids[i], NULL, launch_some, w) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&ids[i], NULL, launch_own, w) == 0);
        pthread_join(ids[i], NULL);
        usleep(150000); /* until the writer has seen it end */
    }
    launch("secret", w->stream);
}

static void *launch_on(void *world)
{
    struct world *w = world;
    OK(cudaSetDevice(0));
    while (failures == 0)
        launch("gemm", w->stream);
    return NULL;
}

/* The process ends while another thread launches. */
static void exits(struct world *w)
{
    pthread_t id;
    CHECK(pthread_create(&id, NULL, launch_on, w) == 0);
    usleep(20000);
    exit(failures != 0);
}

/* ---- graphs ---- */

static cudaGraph_t captured(struct world *w)
{
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeGlobal));
    product(w);
    reduce(w, 2);
    OK(ncclGroupStart());
    reduce(w, 3);
    reduce(w, 4);
    OK(ncclGroupEnd());
    OK(cudaMemsetAsync(w->a, 0, 100, w->stream));
    launch("triton_red_fused_0", w->stream);
    OK(cudaMemsetAsync(w->a, 0, 1 << 16, w->stream));
    launch("secret", w->stream);
    launch("secret", w->stream);
    OK(cudaStreamEndCapture(w->stream, &graph));
    return graph;
}

static void graphs(struct world *w)
{
    cudaGraph_t first, second, copy, bare;
    cudaGraphExec_t exec, again, by_hand;
    cudaGraphExecUpdateResultInfo info;
    launch("before", w->stream);
    first = captured(w);
    product(w);
    second = captured(w);
    OK(cudaGraphInstantiate(&exec, first, 0));
    OK(cudaGraphLaunch(exec, w->stream));
    OK(cudaGraphLaunch(exec, w->stream));
    OK(cudaGraphExecUpdate(exec, second, &info)); /* launches what was captured second */
    OK(cudaGraphLaunch(exec, w->stream));
    OK(cudaGraphClone(&copy, first));
    OK(cudaGraphInstantiate(&again, copy, 0));
    OK(cudaGraphLaunch(again, w->stream)); /* the third of the first */
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphCreate(&bare, 0)); /* perhaps where the other was */
    OK(cudaGraphInstantiate(&by_hand, bare, 0));
    OK(cudaGraphLaunch(by_hand, w->stream));
    OK(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeRelaxed));
    OK(cudaGraphLaunch(again, w->stream)); /* not now, and none of the first's */
    OK(cudaStreamEndCapture(w->stream, &bare));
    OK(cudaGraphLaunch(again, w->stream)); /* the fourth of the first */
    OK(cudaStreamSynchronize(w->stream));
}

/* A capture that fails leaves no graph, and what is launched afterwards is in none. */
static void failed_capture(struct world *w)
{
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeGlobal));
    launch("secret", w->stream);
    CHECK(cudaStreamSynchronize(w->stream) != 0);
    CHECK(cudaStreamEndCapture(w->stream, &graph) != 0);
    launch("secret", w->stream);
    launch("secret", w->stream);
    OK(cudaStreamSynchronize(w->stream));
}

/* ---- bounds ---- */

/* Work that comes to an idle stream has launch work in its time, work that queues behind a long
 * kernel does not. */
static void bounds(struct world *w)
{
    const void *slow = emuKernel("slow", 2000000);
    reduce(w, 1); /* idle */
    OK(cudaStreamSynchronize(w->stream));
    OK(cudaLaunchKernel(slow, one, one, NULL, 0, w->stream));
    reduce(w, 2); /* queued, as all that follow */
    product(w);
    OK(ncclGroupStart());
    reduce(w, 3);
    reduce(w, 4);
    OK(ncclGroupEnd());
    OK(cudaMemsetAsync(w->a, 0, 1 << 16, w->stream));
    OK(cudaStreamSynchronize(w->stream));
    emu_work(1000000);
    OK(ncclGroupStart()); /* idle: both are launched by the end */
    reduce(w, 5);
    emu_work(50000);
    reduce(w, 6);
    OK(ncclGroupEnd());
    OK(cudaStreamSynchronize(w->stream));
}

static const struct scenario {
    const char *name;
    void (*run)(struct world *w);
} scenarios[] = {
    {"copies", copies},
    {"kernels", kernels},
    {"many_streams", many_streams},
    {"streams_anew", streams_anew},
    {"threads", threads},
    {"exits", exits},
    {"graphs", graphs},
    {"failed_capture", failed_capture},
    {"bounds", bounds},
};

int main(int argc, char **argv)
{
    struct world w;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (argc != 2 || strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        world_open(&w, 0, NULL);
        scenarios[i].run(&w);
        return failures != 0;
    }
    fprintf(stderr, "work: no scenario '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}

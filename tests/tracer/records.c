/* SPDX-License-Identifier: MIT
 *
 * Every kind of record there is, for files with bounds: `records ROUNDS`. A round is an iteration
 * of two members in one process: a collective, products, copies, kernels of every class, events, a
 * range, and the first launch of a graph whose list of operations is longer than a slot. What it
 * marks has names that grow most when they are written.
 */
#include "calls.h"
#include "emu.h"

#include <specter/specter.h>

#define PRODUCTS 200 /* in a round's graph */

static struct world pair[2];
static const dim3 one = {1, 1, 1};

static void open_pair(void)
{
    ncclComm_t comms[2];
    OK(ncclCommInitAll(comms, 2, NULL));
    for (int i = 0; i < 2; i++)
        world_open(&pair[i], i, comms[i]);
    OK(cudaSetDevice(0));
}

static void reduce_both(void)
{
    OK(ncclGroupStart());
    for (int i = 0; i < 2; i++)
        OK(ncclAllReduce(pair[i].a, pair[i].b, 64, ncclFloat32, ncclSum, pair[i].comm,
                         pair[i].stream));
    OK(ncclGroupEnd());
}

static void product(const struct world *w)
{
    float alpha = 1, beta = 0;
    OK(cublasSgemm(w->cublas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &alpha, w->a, 4, w->b, 4, &beta,
                   w->c, 4));
}

static void kernels(const struct world *w)
{
    static const char *const names[] = {
        "flash_fwd_kernel", "cutlass_gemm", "vectorized_elementwise_kernel",
        "reduce_kernel",    "adam_kernel",  "secret"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        OK(cudaLaunchKernel(emuKernel(names[i], 5000), one, one, NULL, 0, w->stream));
}

static void events(const struct world *w)
{
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event, w->stream));
    OK(cudaStreamWaitEvent(w->stream, event, 0));
    OK(cudaEventSynchronize(event));
    OK(cudaEventDestroy(event));
}

static void new_graph(const struct world *w)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < PRODUCTS; i++)
        product(w);
    OK(cudaStreamEndCapture(w->stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, w->stream));
    OK(cudaStreamSynchronize(w->stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

static void iterate(const char *name)
{
    const struct world *w = &pair[0];
    specter_iteration(name);
    specter_range_push(name);
    reduce_both();
    product(w);
    OK(cudaMemsetAsync(w->a, 0, 1 << 16, w->stream));
    kernels(w);
    events(w);
    new_graph(w);
    specter_range_pop();
}

int main(int argc, char **argv)
{
    char name[64];
    if (argc != 2)
        return 2;
    for (size_t i = 0; i < sizeof name - 1; i++)
        name[i] = '\1'; /* six bytes each in JSON */
    name[sizeof name - 1] = '\0';
    open_pair();
    for (long i = atol(argv[1]); i > 0; i--)
        iterate(name);
    for (int i = 0; i < 2; i++)
        OK(cudaStreamSynchronize(pair[i].stream));
    return failures != 0;
}

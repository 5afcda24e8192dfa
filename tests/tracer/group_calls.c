/* SPDX-License-Identifier: MIT
 *
 * Groups, and what happens beside them: `group_calls SCENARIO`. Prints only what went wrong.
 */
#include "calls.h"
#include "emu.h"

#include <specter/specter.h>
#include <string.h>

static void reduce(struct world *w, size_t count)
{
    OK(ncclAllReduce(w->a, w->b, count, ncclFloat32, ncclSum, w->comm, w->stream));
}

static void exchange(struct world *w, size_t count)
{
    OK(ncclSend(w->a, count, ncclFloat32, 0, w->comm, w->stream));
    OK(ncclRecv(w->b, count, ncclFloat32, 0, w->comm, w->stream));
}

static void launch(const char *name, cudaStream_t stream)
{
    const dim3 one = {1, 1, 1};
    OK(cudaLaunchKernel(emuKernel(name, 5000), one, one, NULL, 0, stream));
}

/* Calls after a group that failed get the numbers that its calls had. */
static void fails(struct world *w)
{
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    ncclComm_t lost = NULL, part = NULL;
    reduce(w, 1);
    OK(ncclGroupStart());
    reduce(w, 2);
    reduce(w, 3);
    exchange(w, 4);
    OK(ncclCommSplit(w->comm, 0, 0, &lost, NULL));
    CHECK(ncclAllReduce(w->a, w->b, 5, (ncclDataType_t)99, ncclSum, w->comm, w->stream) != 0);
    CHECK(ncclGroupEnd() != ncclSuccess);
    OK(ncclGroupStart());
    reduce(w, 6);
    OK(ncclGroupSimulateEnd(&info));
    specter_iteration("again");
    OK(ncclGroupStart());
    reduce(w, 7);
    exchange(w, 8);
    OK(ncclGroupEnd());
    reduce(w, 9);
    OK(ncclCommSplit(w->comm, 0, 0, &part, NULL));
    OK(cudaStreamSynchronize(w->stream));
}

/* A group is launched at its end: after the kernels that were launched since it began. */
static void launches(struct world *w)
{
    launch("before", w->stream);
    OK(ncclGroupStart());
    launch("before", w->stream);
    reduce(w, 1);
    launch("within", w->stream);
    launch("within", w->stream);
    launch("within", w->stream);
    OK(ncclGroupEnd());
    launch("behind", w->stream);
    OK(cudaStreamSynchronize(w->stream));
}

static void iterations(struct world *w)
{
    for (int i = 1; i <= 3; i++) {
        specter_iteration("step");
        for (int k = 0; k < i; k++)
            launch("kernel", w->stream);
    }
    OK(cudaStreamSynchronize(w->stream));
}

#define STREAMS 70 /* more than a group can time */

/* One capture of many streams, and one group on all of them. */
static void captured(struct world *w)
{
    cudaStream_t streams[STREAMS] = {w->stream};
    cudaEvent_t event;
    cudaGraph_t graph;
    OK(cudaEventCreate(&event));
    for (int i = 1; i < STREAMS; i++)
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(event, w->stream));
    OK(ncclGroupStart());
    for (int i = 0; i < STREAMS; i++) {
        if (i > 0)
            OK(cudaStreamWaitEvent(streams[i], event, 0));
        OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, streams[i]));
    }
    OK(ncclGroupEnd());
    for (int i = 1; i < STREAMS; i++) {
        OK(cudaEventRecord(event, streams[i]));
        OK(cudaStreamWaitEvent(w->stream, event, 0));
    }
    OK(cudaStreamEndCapture(w->stream, &graph));
    reduce(w, 2);
    OK(cudaStreamSynchronize(w->stream));
}

/* Work has ended on the stream of a group that is never closed. */
static void beside_open(struct world *w)
{
    const float one = 1;
    OK(ncclGroupStart());
    reduce(w, 1);
    OK(cublasSgemm(w->cublas, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, w->a, 16, w->b, 16, &one,
                   w->c, 16));
    OK(cudaStreamSynchronize(w->stream));
}

static const struct scenario {
    const char *name;
    void (*run)(struct world *w);
} scenarios[] = {
    {"fails", fails},       {"launches", launches},       {"iterations", iterations},
    {"captured", captured}, {"beside_open", beside_open},
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
    fprintf(stderr, "group_calls: no scenario '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}

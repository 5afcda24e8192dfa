/* SPDX-License-Identifier: MIT
 *
 * The rules of stream capture that a tracer can break, and that graphs do what was captured. One
 * process, or several: the graph holds an AllReduce over all.
 */
#include <pthread.h>

#include "check.h"
#include "emu.h"

static cudaStream_t stream, side;
static cudaEvent_t event, fork_event, join_event;
static float *buffer;
static uint64_t now; /* the main thread's clock, handed to the other */

static void *query(void *exchanged)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
    emu_join(now);
    if (exchanged != NULL)
        OK(cudaThreadExchangeStreamCaptureMode(&mode));
    return (void *)(intptr_t)cudaEventQuery(event);
}

/* An event query by another thread, and what it answered. */
static cudaError_t query_elsewhere(int exchanged)
{
    pthread_t thread;
    void *answer;
    now = emu_time();
    OK(pthread_create(&thread, NULL, query, exchanged ? (void *)1 : NULL));
    OK(pthread_join(thread, &answer));
    return (cudaError_t)(intptr_t)answer;
}

static cudaError_t captured(enum cudaStreamCaptureMode mode, int exchanged, cudaError_t *answer)
{
    cudaGraph_t graph = NULL;
    cudaError_t error;
    OK(cudaStreamBeginCapture(stream, mode));
    OK(cudaMemsetAsync(buffer, 0, 64, stream));
    *answer = query_elsewhere(exchanged);
    error = cudaStreamEndCapture(stream, &graph);
    CHECK(graph == NULL, error != cudaSuccess);
    if (graph != NULL)
        OK(cudaGraphDestroy(graph));
    return error;
}

static void queries_of_other_threads(void)
{
    cudaError_t answer;
    OK(cudaEventRecord(event, side));
    OK(cudaStreamSynchronize(side));
    CHECK(captured(cudaStreamCaptureModeGlobal, 0, &answer), cudaErrorStreamCaptureInvalidated);
    CHECK(answer, cudaErrorStreamCaptureUnsupported);
    CHECK(captured(cudaStreamCaptureModeGlobal, 1, &answer), cudaSuccess);
    CHECK(answer, cudaSuccess);
    CHECK(captured(cudaStreamCaptureModeThreadLocal, 0, &answer), cudaSuccess);
    CHECK(answer, cudaSuccess);
    CHECK(captured(cudaStreamCaptureModeRelaxed, 0, &answer), cudaSuccess);
}

static void events_of_a_capture(void)
{
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    float ms;
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status, cudaStreamCaptureStatusNone);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(event, stream));
    CHECK(cudaEventQuery(event), cudaErrorCapturedEvent);
    CHECK(cudaEventElapsedTime(&ms, event, event), cudaErrorCapturedEvent);
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status, cudaStreamCaptureStatusActive);
    CHECK(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status, cudaStreamCaptureStatusInvalidated);
    CHECK(cudaMemsetAsync(buffer, 0, 64, stream), cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    OK(cudaEventRecord(event, stream));
    OK(cudaEventSynchronize(event));
}

static void legacy_stream(void)
{
    enum cudaStreamCaptureStatus status;
    cudaStream_t blocking;
    cudaGraph_t graph;
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaStreamIsCapturing(0, &status), cudaErrorStreamCaptureImplicit);
    OK(cudaStreamIsCapturing(blocking, &status));
    CHECK(status, cudaStreamCaptureStatusActive);
    CHECK(cudaMemsetAsync(buffer, 0, 64, 0), cudaErrorStreamCaptureImplicit);
    CHECK(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal),
          cudaErrorStreamCaptureUnsupported);
    OK(cudaStreamDestroy(blocking));
}

static void forks(int join)
{
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(buffer, 0, 64, stream));
    OK(cudaEventRecord(fork_event, stream));
    OK(cudaStreamWaitEvent(side, fork_event, 0));
    OK(cudaMemsetAsync(buffer + 16, 0, 64, side));
    OK(cudaEventRecord(join_event, side));
    if (join)
        OK(cudaStreamWaitEvent(stream, join_event, 0));
    CHECK(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureUnmatched);
    if (join) {
        OK(cudaStreamEndCapture(stream, &graph));
        OK(cudaGraphDestroy(graph));
    } else {
        CHECK(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
    }
    OK(cudaMemsetAsync(buffer, 0, 64, side));
    OK(cudaStreamSynchronize(side));
}

/* A graph of a copy and an AllReduce, launched three times, with an event recorded by each. */
static void graphs(ncclComm_t comm)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    float *one, sum;
    OK(cudaMallocHost((void **)&one, sizeof *one));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemcpyAsync(buffer, one, sizeof *one, cudaMemcpyHostToDevice, stream));
    OK(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, comm, stream));
    OK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; i++) {
        *one = (float)(check_rank() + i);
        OK(cudaGraphLaunch(exec, stream));
        OK(ncclAllReduce(buffer, buffer + 1, 1, ncclFloat32, ncclMax, comm, stream));
        OK(cudaStreamSynchronize(stream));
        OK(cudaEventQuery(event));
        OK(cudaMemcpy(&sum, buffer + 1, sizeof sum, cudaMemcpyDeviceToHost));
        CHECK(sum, check_world() * (check_world() - 1) / 2 + i * check_world());
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaFreeHost(one));
}

int main(void)
{
    ncclComm_t comm = check_comm("capture");
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaEventCreate(&fork_event));
    OK(cudaEventCreate(&join_event));
    OK(cudaMalloc((void **)&buffer, 4096));
    queries_of_other_threads();
    events_of_a_capture();
    legacy_stream();
    forks(1);
    forks(0);
    graphs(comm);
    OK(ncclCommDestroy(comm));
    if (check_rank() == 0)
        puts("capture rules hold");
    return 0;
}

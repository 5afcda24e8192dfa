/* SPDX-License-Identifier: MIT
 *
 * Functions that a stream calls on the host, what is told of a capture and its graph, priorities,
 * attributes of a device, and the driver's functions by name.
 */
#include <cuda.h>

#include "check.h"
#include "emu.h"

#include <pthread.h>
#include <unistd.h>

/* Other headers have other parameters. */
#define cudaStreamGetCaptureInfo capture_info
#define cudaGraphNodeGetDependencies dependencies_of
typedef cudaError_t capture_info_call(cudaStream_t, enum cudaStreamCaptureStatus *,
                                      unsigned long long *, cudaGraph_t *, const cudaGraphNode_t **,
                                      const void **, size_t *);
typedef cudaError_t dependencies_call(cudaGraphNode_t, cudaGraphNode_t *, void *, size_t *);
extern capture_info_call capture_info __asm__("cudaStreamGetCaptureInfo");
extern dependencies_call dependencies_of __asm__("cudaGraphNodeGetDependencies");
cudaError_t cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long,
                                             enum cudaDriverEntryPointQueryResult *);

static int calls, order[8];

static void note(void *number)
{
    order[calls++] = (int)(intptr_t)number;
}

static void called_back(cudaStream_t stream, cudaError_t status, void *number)
{
    note(stream != NULL && status == cudaSuccess ? number : NULL);
}

#define NUMBER(_n) ((void *)(intptr_t)(_n))

static void in_order(void)
{
    cudaEvent_t begin, end;
    cudaStream_t stream;
    float ms;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(begin, stream));
    OK(cudaLaunchKernel(emuKernel("first", 1000000), (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0,
                        stream));
    OK(cudaLaunchHostFunc(stream, note, NUMBER(1)));
    OK(cudaStreamAddCallback(stream, called_back, NUMBER(2), 0));
    OK(cudaEventRecord(end, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(calls, 2);
    CHECK(order[0] * 10 + order[1], 12);
    OK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(ms > 1, 1);
    CHECK(cudaStreamAddCallback(stream, called_back, NULL, 1), cudaErrorInvalidValue);
    CHECK(cudaLaunchHostFunc(stream, NULL, NULL), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

/* One host function after another. */
static void captured(void)
{
    enum cudaStreamCaptureStatus status;
    const cudaGraphNode_t *after;
    cudaGraphNode_t nodes[4], before[4];
    unsigned long long id = 0;
    cudaGraph_t graph, ended;
    cudaGraphExec_t exec;
    cudaStream_t stream;
    size_t count = 0;
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100));
    OK(cudaStreamGetPriority(stream, &calls));
    CHECK(calls, -5);
    calls = 0;
    OK(capture_info(stream, &status, NULL, NULL, NULL, NULL, NULL));
    CHECK(status, cudaStreamCaptureStatusNone);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaLaunchHostFunc(stream, note, NUMBER(3)));
    OK(cudaLaunchHostFunc(stream, note, NUMBER(4)));
    OK(capture_info(stream, &status, &id, &graph, &after, NULL, &count));
    CHECK(status == cudaStreamCaptureStatusActive && id != 0 && count == 1, 1);
    OK(cudaGraphGetNodes(graph, NULL, &count));
    CHECK(count, 2);
    OK(cudaGraphGetNodes(graph, nodes, &count));
    CHECK(after[0] == nodes[1], 1);
    count = 4;
    OK(dependencies_of(nodes[1], before, NULL, &count));
    CHECK(count == 1 && before[0] == nodes[0] && before[3] == NULL, 1);
    CHECK(cudaStreamAddCallback(stream, called_back, NULL, 0), cudaErrorStreamCaptureUnsupported);
    CHECK(calls, 0);
    OK(cudaStreamEndCapture(stream, &ended));
    OK(cudaGraphDebugDotPrint(ended, "/dev/null", 0));
    CHECK(cudaGraphDebugDotPrint(ended, "/", 0), cudaErrorOperatingSystem);
    (void)cudaGetLastError();
    OK(cudaGraphInstantiateWithFlags(&exec, ended, 0));
    OK(cudaGraphDestroy(ended));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(calls, 4);
    CHECK(order[0] * 1000 + order[1] * 100 + order[2] * 10 + order[3], 3434);
}

static void device(void)
{
    struct cudaDeviceProp p;
    int value;
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK(value, p.multiProcessorCount);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0));
    CHECK(value, 1);
    CHECK(p.warpSize * 100000 + p.maxThreadsPerMultiProcessor, 3202048);
    CHECK(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)0, 0), cudaErrorInvalidValue);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, -1),
          cudaErrorInvalidDevice);
    OK(cudaDeviceCanAccessPeer(&value, 0, 1));
    CHECK(value, 1);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    (void)cudaGetLastError();
}

static void driver(void)
{
    enum cudaDriverEntryPointQueryResult found;
    CUresult (*version)(int *);
    int number = 0;

    OK(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", (void **)&version, 12000, 0, &found));
    CHECK(found, cudaDriverEntryPointSuccess);
    OK(version(&number));
    CHECK(number / 1000, 13);
    OK(cudaGetDriverEntryPointByVersion("cuNothing", (void **)&version, 12000, 0, &found));
    CHECK(found, cudaDriverEntryPointSymbolNotFound);
    CHECK(version == NULL, 1);
}

static void sleep_a_little(void *unused)
{
    (void)unused;
    usleep(100000);
}

static void *wait_for_stream(void *stream)
{
    OK(cudaStreamSynchronize(stream));
    for (;;)
        pthread_testcancel();
    return NULL;
}

/* A thread that is cancelled while it waits leaves the stream to the others. */
static void cancelled(void)
{
    cudaStream_t stream;
    pthread_t waits;
    void *how;
    OK(cudaStreamCreate(&stream));
    OK(cudaLaunchHostFunc(stream, sleep_a_little, NULL));
    CHECK(pthread_create(&waits, NULL, wait_for_stream, stream), 0);
    usleep(20000);
    CHECK(pthread_cancel(waits), 0);
    CHECK(pthread_join(waits, &how), 0);
    CHECK(how == PTHREAD_CANCELED, 1);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}

int main(void)
{
    alarm(60); /* where a wait has no end */
    in_order();
    cancelled();
    captured();
    device();
    driver();
    puts("host functions run in order; captures, devices and entry points answer");
    return 0;
}

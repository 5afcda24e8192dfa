/* SPDX-License-Identifier: MIT
 *
 * CUPTI as Kineto uses it: every call and every piece of device work has its record, with true
 * times, whatever the buffers; one subscriber; times of the program's own clock; nothing is lost
 * between threads; and no virtual clock moves because of it.
 */
#include <cublas_v2.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "abi/cupti.h"

#include "check.h"
#include "emu.h"

#define BYTES (1 << 20)
#define RECORDS 20000
#define THREADS 4
#define LAUNCHES 200

/* ---- the program's side: buffers, and what was in them ---- */

static size_t buffer_size = 1 << 20, buffer_most;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_Activity *records[RECORDS];
static unsigned record_count, buffer_count;

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = buffer_size ? aligned_alloc(8, (buffer_size + 7) / 8 * 8) : NULL;
    *size = buffer_size;
    *most = buffer_most;
}

/* Buffers are kept: the records point into them. */
static void completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                      size_t valid)
{
    CUpti_Activity *record = NULL;
    (void)context;
    (void)stream;
    CHECK(valid <= size, 1);
    pthread_mutex_lock(&lock);
    buffer_count++;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        records[record_count++] = record;
    CHECK(record_count < RECORDS, 1);
    pthread_mutex_unlock(&lock);
}

static void forget(void)
{
    OK(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    record_count = buffer_count = 0;
}

static unsigned count_of(CUpti_ActivityKind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < record_count; i++)
        count += records[i]->kind == kind;
    return count;
}

/* The n-th record of a kind. */
static const void *record_of(CUpti_ActivityKind kind, unsigned n)
{
    for (unsigned i = 0; i < record_count; i++)
        if (records[i]->kind == kind && !n--)
            return records[i];
    CHECK(kind, -1);
    return NULL;
}

static const CUpti_ActivityKernel10 *kernel(unsigned n)
{
    return record_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, n);
}

static const CUpti_ActivityAPI *call_of(uint32_t correlation)
{
    for (unsigned i = 0; i < record_count; i++)
        if (records[i]->kind == CUPTI_ACTIVITY_KIND_RUNTIME ||
            records[i]->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
            const CUpti_ActivityAPI *call = (const void *)records[i];

            if (call->correlationId == correlation)
                return call;
        }
    return NULL;
}

static const CUpti_ActivityKind recorded[] = {
    CUPTI_ACTIVITY_KIND_MEMCPY,          CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_DRIVER,          CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_CUDA_EVENT,      CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
};

static void record_all(bool enable)
{
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
        OK(enable ? cuptiActivityEnable(recorded[i]) : cuptiActivityDisable(recorded[i]));
}

/* ---- what is recorded ---- */

static cudaStream_t streams[2];
static cudaEvent_t event;
static cublasHandle_t blas;
static char *device, *host;

static void launch(const char *name, uint64_t ns, cudaStream_t stream)
{
    OK(cudaLaunchKernel(emuKernel(name, ns), (dim3){2, 3, 4}, (dim3){64, 1, 1}, NULL, 0, stream));
}

static void start(void)
{
    OK(cudaStreamCreate(&streams[0]));
    OK(cudaStreamCreate(&streams[1]));
    OK(cudaEventCreate(&event));
    OK(cublasCreate_v2(&blas));
    OK(cublasSetStream_v2(blas, streams[0]));
    OK(cudaMalloc((void **)&device, 16 * BYTES));
    OK(cudaMallocHost((void **)&host, BYTES));
}

static void work(void)
{
    const float one = 1, zero = 0;
    float *d = (float *)(void *)device;
    OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 71));
    launch("first_kernel", 5000, streams[0]);
    launch("second_kernel", 7000, streams[0]);
    OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 72));
    OK(cublasSgemm_v2(blas, CUBLAS_OP_N, CUBLAS_OP_N, 512, 512, 512, &one, d, 512, d + 262144, 512,
                      &zero, d + 524288, 512));
    OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL));
    OK(cudaEventRecord(event, streams[0]));
    OK(cudaStreamWaitEvent(streams[1], event, 0));
    OK(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, streams[1]));
    OK(cudaMemsetAsync(device, 3, 4096, streams[1]));
    OK(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDeviceToHost, streams[1]));
    OK(cudaStreamSynchronize(streams[1]));
    OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL));
    OK(cudaDeviceSynchronize());
}

/* Work of one stream does not overlap; a record of a call is there for each piece, and ended before
 * the work began. */
static void check_order(void)
{
    uint64_t ends[64] = {0};
    for (unsigned i = 0; i < count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); i++) {
        const CUpti_ActivityKernel10 *k = kernel(i);
        const CUpti_ActivityAPI *call = call_of(k->correlationId);
        CHECK(k->streamId < 64 && k->start >= ends[k->streamId] && k->end > k->start, 1);
        CHECK(call && call->start <= call->end && call->end <= k->start, 1);
        ends[k->streamId] = k->end;
    }
}

static void check_work(uint64_t begun)
{
    const CUpti_ActivityMemcpy6 *in = record_of(CUPTI_ACTIVITY_KIND_MEMCPY, 0),
                                *out = record_of(CUPTI_ACTIVITY_KIND_MEMCPY, 1);
    const CUpti_ActivityMemset4 *fill = record_of(CUPTI_ACTIVITY_KIND_MEMSET, 0);
    const CUpti_ActivityCudaEvent2 *mark = record_of(CUPTI_ACTIVITY_KIND_CUDA_EVENT, 0);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 3);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_MEMCPY), 2);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_MEMSET), 1);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_CUDA_EVENT), 1);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), 3);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_OVERHEAD), 0);
    CHECK(strcmp(kernel(0)->name, "first_kernel"), 0);
    CHECK(strcmp(kernel(1)->name, "second_kernel"), 0);
    CHECK(strncmp(kernel(2)->name, "cutlass_80_simt_sgemm_", 22), 0);
    CHECK(kernel(0)->end - kernel(0)->start, 5000);
    CHECK(kernel(1)->end - kernel(1)->start, 7000);
    CHECK(kernel(0)->start > begun && out->end < emuHostClockNs(), 1);
    CHECK(in->bytes == BYTES && out->bytes == BYTES && fill->bytes == 4096 && fill->value == 3, 1);
    CHECK(in->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    CHECK(out->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    CHECK(in->srcKind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED &&
              in->dstKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
          1);
    CHECK(in->start >= kernel(2)->end, 1); /* by the event */
    CHECK(mark->streamId == kernel(0)->streamId && mark->streamId != in->streamId, 1);
    CHECK(mark->deviceTimestamp, kernel(2)->end);
    check_order();
}

/* Each call of the program has its number, and above it the id that the program pushed last. */
static void check_external(void)
{
    unsigned found[3] = {0};
    for (unsigned i = 0; i < record_count; i++) {
        const CUpti_ActivityExternalCorrelation *e = (const void *)records[i];
        if (e->kind != CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)
            continue;
        CHECK(e->externalKind, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
        CHECK(call_of(e->correlationId) != NULL, 1);
        found[e->externalId == 71 ? 1 : e->externalId == 72 ? 2 : 0]++;
        for (unsigned k = 0; k < 3; k++)
            if (kernel(k)->correlationId == e->correlationId)
                CHECK(e->externalId, k < 2 ? 71 : 72);
    }
    CHECK(found[0] == 0 && found[1] == 8 && found[2] == 1, 1);
}

/* ---- the checks ---- */

static void check_records(void)
{
    uint64_t begun;
    OK(cuptiActivityEnableCudaEventDeviceTimestamps(1));
    CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_INVALID_KIND);
    record_all(true);
    begun = emuHostClockNs();
    work();
    OK(cuptiActivityFlushAll(0));
    CHECK(buffer_count, 1);
    check_work(begun);
    check_external();
    record_all(false);
    forget();
    work();
    OK(cuptiActivityFlushAll(0));
    CHECK(record_count, 0);
    CHECK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL),
          CUPTI_ERROR_QUEUE_EMPTY);
    CHECK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1),
          CUPTI_ERROR_INVALID_PARAMETER);
    puts("records: complete, in order, with true times");
}

/* A call that is switched off has no record; its work has. */
static void check_one_call(void)
{
    const CUpti_ActivityKernel10 *k;
    record_all(true);
    OK(cuptiActivityEnableRuntimeApi(211, 0)); /* cudaLaunchKernel */
    forget();
    launch("silent", 1000, streams[0]);
    OK(cudaDeviceSynchronize());
    OK(cuptiActivityFlushAll(0));
    k = kernel(0);
    CHECK(call_of(k->correlationId) == NULL, 1);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME), 1);
    record_all(false);
    puts("one call switched off");
}

/* The same work in buffers of any size gives the same records, or says how many it has lost. */
static void check_buffers(void)
{
    static const struct {
        size_t size, most;
    } cases[] = {{1 << 20, 0}, {1 << 20, 3}, {1 << 20, 1}, {1001, 0}, {233, 0},
                 {208, 0},     {100, 0},     {40, 0},      {7, 0},    {0, 0}};
    size_t whole = 0, dropped;

    record_all(true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer_size = cases[i].size;
        buffer_most = cases[i].most;
        forget();
        OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
        work();
        OK(cuptiActivityFlushAll(0));
        OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
        whole = whole ? whole : record_count;
        CHECK(record_count + dropped, whole);
        CHECK(dropped == 0, cases[i].size >= sizeof(CUpti_ActivityKernel10));
        if (cases[i].most)
            CHECK(buffer_count, (whole + cases[i].most - 1) / cases[i].most);
    }
    record_all(false);
    buffer_size = 1 << 20;
    buffer_most = 0;
    forget();
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    puts("buffers of any size");
}

/* ---- graphs and libraries ---- */

static void check_graph(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeRelaxed));
    launch("in_graph", 3000, streams[0]);
    launch("in_graph", 3000, streams[0]);
    OK(cudaStreamEndCapture(streams[0], &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    record_all(true);
    forget();
    OK(cudaGraphLaunch(exec, streams[0]));
    OK(cudaDeviceSynchronize());
    OK(cuptiActivityFlushAll(0));
    CHECK(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 2);
    CHECK(kernel(0)->correlationId, kernel(1)->correlationId);
    CHECK(kernel(0)->graphNodeId == 1 && kernel(1)->graphNodeId == 2, 1);
    CHECK(call_of(kernel(0)->correlationId)->cbid, 311); /* cudaGraphLaunch */
    record_all(false);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    puts("graphs");
}

static void check_nccl(void)
{
    ncclComm_t comm;
    int zero = 0;
    OK(ncclCommInitAll(&comm, 1, &zero));
    record_all(true);
    forget();
    OK(ncclGroupStart());
    OK(ncclAllReduce(device, device, 1000, ncclFloat, ncclSum, comm, streams[0]));
    OK(ncclGroupEnd());
    OK(ncclAllGather(device, device, 1000, ncclBfloat16, comm, streams[0]));
    OK(cudaDeviceSynchronize());
    OK(cuptiActivityFlushAll(0));
    CHECK(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 2);
    CHECK(strcmp(kernel(0)->name,
                 "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
          0);
    CHECK(strncmp(kernel(1)->name, "ncclDevKernel_AllGather_RING_LL(", 32), 0);
    CHECK(call_of(kernel(0)->correlationId)->kind, CUPTI_ACTIVITY_KIND_DRIVER);
    check_order();
    record_all(false);
    OK(ncclCommDestroy(comm));
    puts("libraries");
}

/* ---- the subscriber ---- */

static unsigned entered, left, contexts;
static uint32_t last_correlation;

static void called_back(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                        const void *data)
{
    const CUpti_CallbackData *call = data;
    CHECK(user == &entered, 1);
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        contexts += cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED;
        return;
    }
    CHECK(domain, CUPTI_CB_DOMAIN_RUNTIME_API);
    if (call->callbackSite == CUPTI_API_ENTER) {
        entered++;
        *call->correlationData = call->correlationId;
        last_correlation = call->correlationId;
        return;
    }
    left++;
    CHECK(*call->correlationData, call->correlationId);
}

/* Before the first context. */
static void check_subscriber(void)
{
    CUpti_SubscriberHandle one, two;
    const char *text;
    OK(cuptiSubscribe(&one, called_back, &entered));
    CHECK(cuptiSubscribe(&two, called_back, &entered), 39);
    OK(cuptiGetResultString(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, &text));
    CHECK(strcmp(text, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"), 0);
    OK(cuptiEnableDomain(1, one, CUPTI_CB_DOMAIN_RESOURCE));
    OK(cudaSetDevice(0));
    CHECK(contexts, 1);
    OK(cuptiEnableCallback(1, one, CUPTI_CB_DOMAIN_RUNTIME_API, 211)); /* cudaLaunchKernel */
    launch("watched", 100, NULL);
    launch("watched", 100, NULL);
    OK(cudaDeviceSynchronize());
    CHECK(entered == 2 && left == 2 && last_correlation > 0, 1);
    OK(cuptiUnsubscribe(one));
    CHECK(cuptiUnsubscribe(one), CUPTI_ERROR_INVALID_PARAMETER);
    launch("unwatched", 100, NULL);
    OK(cudaDeviceSynchronize());
    CHECK(entered, 2);
    OK(cuptiSubscribe(&two, called_back, &entered));
    OK(cuptiFinalize());
    OK(cuptiSubscribe(&one, called_back, &entered));
    OK(cuptiUnsubscribe(one));
    puts("one subscriber");
}

/* ---- the program's clock ---- */

static uint64_t own_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 3 * ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

/* Its units; and all that is between two readings of it lies between them, though virtual time runs
 * ahead of it, and was ahead before. */
static void check_clock(void)
{
    uint64_t begun, ended;
    double took;
    record_all(true);
    OK(cuptiActivityRegisterTimestampCallback(own_clock));
    launch("earlier", 40000000, streams[0]);
    OK(cudaDeviceSynchronize());
    emu_work(3000000000u);
    forget();
    begun = own_clock();
    launch("long", 30000000, streams[0]);
    OK(cudaDeviceSynchronize());
    ended = own_clock();
    OK(cuptiActivityFlushAll(0));
    took = (double)(kernel(0)->end - kernel(0)->start) / 3;
    CHECK(took > 30000000 * 0.9999 && took < 30000000 * 1.0001, 1);
    for (unsigned i = 0; i < record_count; i++) {
        const CUpti_ActivityAPI *call = (const void *)records[i];
        if (call->kind == CUPTI_ACTIVITY_KIND_RUNTIME)
            CHECK(call->start >= begun && call->end <= ended, 1);
    }
    CHECK(kernel(0)->start >= begun && kernel(0)->end <= ended, 1);
    record_all(false);
    puts("the program's clock");
}

/* ---- threads ---- */

static void *launch_many(void *argument)
{
    uint64_t id = *(uint64_t *)argument;
    cudaStream_t stream;
    OK(cudaSetDevice(0));
    OK(cudaStreamCreate(&stream));
    OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, id));
    for (int i = 0; i < LAUNCHES; i++) {
        launch("of_a_thread", 1000 + id, stream);
        if (i % 50 == 0)
            OK(cuptiActivityFlushAll(0));
    }
    OK(cudaStreamSynchronize(stream));
    OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, &id));
    CHECK(id, *(uint64_t *)argument);
    return NULL;
}

static uint64_t external_of(uint32_t correlation)
{
    for (unsigned i = 0; i < record_count; i++) {
        const CUpti_ActivityExternalCorrelation *e = (const void *)records[i];
        if (e->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION && e->correlationId == correlation)
            return e->externalId;
    }
    return 0;
}

static void check_threads(void)
{
    uint64_t ids[THREADS];
    pthread_t threads[THREADS];
    buffer_size = 1001;
    record_all(true);
    forget();
    for (unsigned i = 0; i < THREADS; i++) {
        ids[i] = i + 1;
        OK(pthread_create(&threads[i], NULL, launch_many, &ids[i]));
    }
    for (unsigned i = 0; i < THREADS; i++)
        OK(pthread_join(threads[i], NULL));
    OK(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    CHECK(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), THREADS * LAUNCHES);
    for (unsigned i = 0; i < record_count; i++) {
        const CUpti_ActivityKernel10 *k = (const void *)records[i];
        if (k->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            CHECK(external_of(k->correlationId), k->end - k->start - 1000);
    }
    record_all(false);
    puts("threads");
}

/* The virtual time that the work takes, for comparison between runs with and without records. */
static void print_time(bool with_records)
{
    start();
    record_all(with_records);
    work();
    printf("%llu\n", (unsigned long long)emuHostClockNs());
}

/* Two kernels ten seconds apart: what the GPU's and the host's clock gain on the machine's time. */
static void print_drift(void)
{
    const CUpti_ActivityAPI *first, *last;
    double apart_ns = 1e10, calls;
    start();
    record_all(true);
    launch("first", 5000, streams[0]);
    OK(cudaStreamSynchronize(streams[0]));
    emu_join(emu_time() / 1000000000 * 1000000000 + (uint64_t)apart_ns);
    launch("last", 5000, streams[0]);
    OK(cudaStreamSynchronize(streams[0]));
    OK(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    first = call_of(kernel(0)->correlationId);
    last = call_of(kernel(1)->correlationId);
    calls = (double)(last->start - first->start);
    printf("GPU %+.1f ppm of its host\n",
           ((double)(kernel(1)->start - kernel(0)->start) / calls - 1) * 1e6);
}

int main(int argc, char **argv)
{
    OK(cuptiActivityRegisterCallbacks(requested, completed));
    if (argc > 1 && strcmp(argv[1], "drift") == 0) {
        print_drift();
        return 0;
    }
    if (argc > 1) {
        print_time(strcmp(argv[1], "recorded") == 0);
        return 0;
    }
    check_subscriber();
    start();
    check_records();
    check_one_call();
    check_buffers();
    check_graph();
    check_nccl();
    check_threads();
    check_clock();
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Programs for the tracer's tests, one a name: `calls SCENARIO`. Each makes a few calls of the GPU
 * libraries in a situation that a tracer must get right, and prints only what went wrong. All run
 * in one process: communicators of one member, or ncclCommInitAll.
 */
#include "calls.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <errno.h>
#include <half.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The real header declares it for C++ only. */
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const __half *alpha,
                           const __half *A, int lda, const __half *B, int ldb, const __half *beta,
                           __half *C, int ldc);

/* ---- what is called, and what comes of it ---- */

static void gemms(struct world *w)
{
    float one = 1, zero = 0, minus = -0.5f;
    __half h1 = {0x3c00}, h2 = {0x4000};
    OK(cublasGemmEx(w->cublas, CUBLAS_OP_N, CUBLAS_OP_T, 64, 32, 16, &one, w->a, CUDA_R_16F, 64,
                    w->b, CUDA_R_16F, 32, &zero, w->c, CUDA_R_16F, 64, CUBLAS_COMPUTE_32F,
                    CUBLAS_GEMM_DEFAULT));
    OK(cublasGemmStridedBatchedEx(w->cublas, CUBLAS_OP_T, CUBLAS_OP_N, 8, 8, 4, &one, w->a,
                                  CUDA_R_16BF, 4, 32, w->b, CUDA_R_16BF, 4, 32, &minus, w->c,
                                  CUDA_R_32F, 8, 64, 5, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    OK(cublasSgemm(w->cublas, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, w->a, 16, w->b, 16, &one,
                   w->c, 16));
    OK(cublasSetMathMode(w->cublas, CUBLAS_TF32_TENSOR_OP_MATH));
    OK(cublasSgemm(w->cublas, CUBLAS_OP_C, CUBLAS_OP_N, 16, 16, 16, &one, w->a, 16, w->b, 16, &one,
                   w->c, 16));
    OK(cublasHgemm(w->cublas, CUBLAS_OP_N, CUBLAS_OP_N, 16, 8, 4, &h1, (__half *)w->a, 16,
                   (__half *)w->b, 4, &h2, (__half *)w->c, 16));
    OK(cudaStreamSynchronize(w->stream));
}

static void lt_matmul(struct world *w)
{
    float one = 1, zero = 0;
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c;
    cublasOperation_t transpose = CUBLAS_OP_T;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU;
    OK(cublasLtCreate(&lt));
    OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                      sizeof transpose));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                      sizeof epilogue));
    OK(cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, 24, 40, 24)); /* k x m, transposed */
    OK(cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, 24, 48, 24));
    OK(cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, 40, 48, 40));
    OK(cublasLtMatmul(lt, desc, &one, w->a, a, w->b, b, &zero, w->c, c, w->c, c, NULL, NULL, 0,
                      w->stream));
    OK(cudaStreamSynchronize(w->stream));
}

static void collectives(struct world *w)
{
    OK(ncclAllReduce(w->a, w->a, 1000, ncclFloat16, ncclSum, w->comm, w->stream));
    OK(ncclAllReduce(w->a, w->b, 1000, ncclFloat32, ncclMax, w->comm, w->stream));
    OK(ncclBroadcast(w->a, w->b, 10, ncclInt8, 0, w->comm, w->stream));
    OK(ncclBcast(w->a, 11, ncclUint8, 0, w->comm, w->stream));
    OK(ncclReduce(w->a, w->b, 12, ncclFloat64, ncclAvg, 0, w->comm, w->stream));
    OK(ncclAllGather(w->a, w->a, 13, ncclBfloat16, w->comm, w->stream));
    OK(ncclReduceScatter(w->a, w->b, 14, ncclInt64, ncclProd, w->comm, w->stream));
    OK(ncclAlltoAll(w->a, w->b, 15, ncclUint32, w->comm, w->stream));
    OK(ncclGroupStart());
    OK(ncclSend(w->a, 16, ncclInt32, 0, w->comm, w->stream));
    OK(ncclRecv(w->b, 16, ncclInt32, 0, w->comm, w->stream));
    OK(ncclGroupEnd());
    OK(cudaStreamSynchronize(w->stream));
}

static void events(struct world *w)
{
    cudaEvent_t first, second;
    cudaStream_t other;
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventCreate(&first));
    OK(cudaEventCreate(&second));
    OK(cudaEventRecord(first, w->stream));
    OK(cudaStreamWaitEvent(other, first, 0));
    OK(cudaEventRecordWithFlags(second, other, cudaEventRecordDefault));
    OK(cudaEventSynchronize(second));
    OK(cudaStreamSynchronize(other));
    OK(cudaDeviceSynchronize());
}

/* Nested groups on two devices of one thread; an empty group; a group that fails. */
static void groups(struct world *w)
{
    struct world d[2];
    ncclComm_t comms[2];
    OK(ncclCommInitAll(comms, 2, NULL));
    for (int i = 0; i < 2; i++)
        world_open(&d[i], i, comms[i]);
    OK(ncclGroupStart());
    OK(ncclGroupEnd());
    for (int round = 0; round < 2; round++) {
        OK(ncclGroupStart());
        for (int i = 0; i < 2; i++)
            OK(ncclAllReduce(d[i].a, d[i].b, 256, ncclFloat32, ncclSum, d[i].comm, d[i].stream));
        OK(ncclGroupStart());
        for (int i = 0; i < 2; i++)
            OK(ncclAllGather(d[i].a, d[i].b, 64, ncclFloat32, d[i].comm, d[i].stream));
        OK(ncclGroupEnd());
        OK(ncclGroupEnd());
    }
    OK(ncclGroupStart());
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
    CHECK(ncclAllReduce(w->a, w->b, 1, (ncclDataType_t)99, ncclSum, w->comm, w->stream) != 0);
    CHECK(ncclGroupEnd() != ncclSuccess);
    CHECK(ncclAllReduce(w->a, w->b, 1, (ncclDataType_t)99, ncclSum, w->comm, w->stream) != 0);
    for (int i = 0; i < 2; i++) {
        OK(cudaSetDevice(i));
        OK(cudaStreamSynchronize(d[i].stream));
    }
}

static void splits(struct world *w)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t named, none = w->comm, in_group;
    config.commName = "data \"parallel\"";
    OK(ncclCommSplit(w->comm, 7, 1, &named, &config));
    OK(ncclCommSplit(w->comm, NCCL_SPLIT_NOCOLOR, 0, &none, NULL));
    OK(ncclGroupStart());
    OK(ncclCommSplit(w->comm, 3, 0, &in_group, NULL));
    OK(ncclGroupEnd());
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, named, w->stream));
    OK(ncclAllReduce(w->a, w->b, 2, ncclFloat32, ncclSum, in_group, w->stream));
    OK(cudaStreamSynchronize(w->stream));
    OK(ncclCommFinalize(named));
    OK(ncclCommDestroy(named));
    OK(ncclCommAbort(in_group));
}

static void await(ncclComm_t comm)
{
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress)
        OK(ncclCommGetAsyncError(comm, &state));
    OK(state);
}

static void nonblocking(struct world *w)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    ncclResult_t result;
    config.blocking = 0;
    OK(ncclGetUniqueId(&id));
    result = ncclCommInitRankConfig(&comm, 1, id, 0, &config);
    CHECK(result == ncclSuccess || result == ncclInProgress);
    await(comm);
    result = ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, comm, w->stream);
    CHECK(result == ncclInProgress);
    await(comm);
    OK(ncclGroupStart());
    result = ncclAllReduce(w->a, w->b, 2, ncclFloat32, ncclSum, comm, w->stream);
    CHECK(result == ncclSuccess || result == ncclInProgress);
    CHECK(ncclGroupEnd() == ncclInProgress);
    await(comm);
    OK(cudaStreamSynchronize(w->stream));
}

/* While the writer polls, the strictest kind of capture goes on for a while. */
static void capture(struct world *w)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t event;
    float one = 1, zero = 0;
    OK(cudaEventCreate(&event));
    OK(ncclAllReduce(w->a, w->b, 64, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 5; i++) {
        OK(ncclAllReduce(w->a, w->b, 128, ncclFloat32, ncclSum, w->comm, w->stream));
        OK(cublasGemmEx(w->cublas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, w->a, CUDA_R_32F, 4,
                        w->b, CUDA_R_32F, 4, &zero, w->c, CUDA_R_32F, 4, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT));
        OK(cudaEventRecord(event, w->stream));
        usleep(20000);
    }
    OK(ncclGroupStart());
    OK(ncclAllReduce(w->a, w->b, 256, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(ncclGroupEnd());
    OK(cudaStreamEndCapture(w->stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, w->stream));
    OK(cudaStreamSynchronize(w->stream));
}

/* A stream handle of 0 means the current context's stream, which here is another device's. */
static void default_streams(struct world *w)
{
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, NULL));
    OK(ncclAllReduce(w->a, w->b, 2, ncclFloat32, ncclSum, w->comm, cudaStreamLegacy));
    OK(ncclAllReduce(w->a, w->b, 3, ncclFloat32, ncclSum, w->comm, cudaStreamPerThread));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(1));
    (void)ncclAllReduce(w->a, w->b, 4, ncclFloat32, ncclSum, w->comm, NULL);
    OK(cudaSetDevice(0));
    OK(cudaDeviceSynchronize());
}

static void reset(struct world *w)
{
    struct world again;
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(cudaStreamSynchronize(w->stream));
    OK(ncclCommDestroy(w->comm));
    usleep(50000); /* the times are taken */
    OK(cudaDeviceReset());
    world_open(&again, 0, NULL);
    for (size_t count = 2; count < 4; count++) {
        OK(ncclAllReduce(again.a, again.b, count, ncclFloat32, ncclSum, again.comm, again.stream));
        OK(cudaStreamSynchronize(again.stream));
        usleep(50000);
    }
}

/* Calls that are only estimated are not recorded, and later ones are outside the group. */
static void simulates(struct world *w)
{
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    OK(ncclGroupStart());
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(ncclGroupSimulateEnd(&info));
    OK(ncclAllReduce(w->a, w->b, 2, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(cudaStreamSynchronize(w->stream));
}

/* errno and dlerror() belong to the program. */
static void keeps_errno(struct world *w)
{
    for (int i = 0; i < 3; i++) {
        errno = 4711;
        OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
        CHECK(errno == 4711);
        CHECK(dlerror() == NULL);
        OK(cudaStreamSynchronize(w->stream));
        CHECK(errno == 4711);
    }
}

/* ---- processes and threads ---- */

static void *use_thread(void *world)
{
    struct world *w = world;
    OK(cudaSetDevice(0));
    for (int i = 0; i < 500; i++) {
        OK(ncclGroupStart());
        OK(ncclAllReduce(w->a, w->b, 16, ncclFloat32, ncclSum, w->comm, w->stream));
        OK(ncclGroupStart());
        OK(ncclAllReduce(w->a, w->b, 32, ncclFloat32, ncclSum, w->comm, w->stream));
        OK(ncclGroupEnd());
        OK(ncclGroupEnd());
    }
    OK(cudaStreamSynchronize(w->stream));
    return NULL;
}

static void threads(struct world *w)
{
    struct world each[4];
    pthread_t ids[4];
    (void)w;
    for (int round = 0; round < 2; round++) { /* the second four take over what the first left */
        for (int i = 0; i < 4; i++) {
            world_open(&each[i], 0, NULL);
            CHECK(pthread_create(&ids[i], NULL, use_thread, &each[i]) == 0);
        }
        for (int i = 0; i < 4; i++)
            pthread_join(ids[i], NULL);
        usleep(50000);
    }
}

#define MANY_THREADS 64

static pthread_barrier_t all_there;

static void *use_shared(void *world)
{
    struct world *w = world;
    cudaEvent_t event;
    OK(cudaSetDevice(0));
    OK(cudaEventCreate(&event));
    for (int i = 0; i < 20; i++)
        OK(cudaEventRecord(event, w->stream));
    pthread_barrier_wait(&all_there); /* none has ended before all have recorded */
    return NULL;
}

static void many_threads(struct world *w)
{
    pthread_t ids[MANY_THREADS];
    CHECK(pthread_barrier_init(&all_there, NULL, MANY_THREADS) == 0);
    for (int i = 0; i < MANY_THREADS; i++)
        CHECK(pthread_create(&ids[i], NULL, use_shared, w) == 0);
    for (int i = 0; i < MANY_THREADS; i++)
        pthread_join(ids[i], NULL);
    OK(cudaStreamSynchronize(w->stream));
}

static void *use_no_context(void *world)
{
    struct world *w = world;
    OK(ncclAllReduce(w->a, w->b, 16, ncclFloat32, ncclSum, w->comm, NULL));
    return NULL;
}

/* A thread that has made no context current cannot ask about stream 0; nothing is captured. */
static void no_context(struct world *w)
{
    pthread_t id;
    CHECK(pthread_create(&id, NULL, use_no_context, w) == 0);
    pthread_join(id, NULL);
    OK(cudaDeviceSynchronize());
}

/* The libraries do not survive a fork; the tracer's part of it can be seen with calls that fail or
 * need no device. */
static void forks(struct world *w)
{
    int status;
    pid_t child;
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(cudaStreamSynchronize(w->stream));
    child = fork();
    if (child == 0) {
        OK(ncclGroupStart());
        OK(ncclGroupEnd());
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    child = fork();
    if (child == 0)
        exit(7); /* makes no traced call: no file */
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    OK(ncclAllReduce(w->a, w->b, 2, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(cudaStreamSynchronize(w->stream));
}

static void ends_at_once(struct world *w)
{
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(cudaStreamSynchronize(w->stream));
    usleep(600000);
    OK(ncclAllReduce(w->a, w->b, 2, ncclFloat32, ncclSum, w->comm, w->stream));
    _exit(9);
}

static void ends_in_group(struct world *w)
{
    OK(ncclGroupStart());
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
    exit(5);
}

/* More than the writer keeps in wait, at a pace that fills no ring. */
static void ends_in_big_group(struct world *w)
{
    OK(ncclGroupStart());
    for (int i = 0; i < 20002; i++) {
        OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
        if (i % 2000 == 0)
            usleep(50000);
    }
    exit(5);
}

static void late_call(void)
{
    OK(ncclGroupStart());
    OK(ncclGroupEnd());
}

/* A handler that was registered before the tracer's runs after it. */
static void calls_after_exit(struct world *w)
{
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
}

static void goes_on(struct world *w)
{
    alarm(60); /* in case the test does not kill it */
    for (;;) {
        OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
        OK(cudaStreamSynchronize(w->stream));
    }
}

static void many(struct world *w)
{
    for (int i = 0; i < 3000; i++) {
        OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
        if (i % 100 == 0)
            OK(cudaStreamSynchronize(w->stream));
        if (i % 1000 == 0)
            usleep(150000); /* long enough for a batch to be written */
    }
    OK(cudaStreamSynchronize(w->stream));
    puts("done");
}

/* SIGXFSZ must neither end the program nor wait for it. */
static void file_limit(struct world *w)
{
    struct rlimit limit = {20000, RLIM_INFINITY};
    sigset_t pending;
    signal(SIGXFSZ, SIG_DFL);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    many(w);
    CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ));
}

/* The trace must not end up where the program writes its own output. */
static void closes_everything(struct world *w)
{
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(cudaStreamSynchronize(w->stream));
    usleep(200000);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    for (int fd = 3; fd < 300; fd++)
        CHECK(open("own.txt", O_CREAT | O_WRONLY | O_APPEND, 0600) >= 0);
    OK(ncclGroupStart());
    OK(ncclGroupEnd());
    usleep(200000);
}

static void nothing(struct world *w)
{
    (void)w;
}

/* ---- which ---- */

static const struct scenario {
    const char *name;
    void (*run)(struct world *w);
    bool without_world; /* makes no call of its own beforehand */
} scenarios[] = {
    {"gemms", gemms, false},
    {"lt", lt_matmul, false},
    {"collectives", collectives, false},
    {"events", events, false},
    {"groups", groups, false},
    {"splits", splits, false},
    {"nonblocking", nonblocking, false},
    {"capture", capture, false},
    {"default_streams", default_streams, false},
    {"reset", reset, false},
    {"simulate", simulates, false},
    {"errno", keeps_errno, false},
    {"threads", threads, false},
    {"many_threads", many_threads, false},
    {"no_context", no_context, false},
    {"forks", forks, false},
    {"exit_at_once", ends_at_once, false},
    {"exit_in_group", ends_in_group, false},
    {"exit_in_big_group", ends_in_big_group, false},
    {"late", calls_after_exit, false},
    {"goes_on", goes_on, false},
    {"many", many, false},
    {"file_limit", file_limit, false},
    {"closes_everything", closes_everything, false},
    {"nothing", nothing, true},
};

int main(int argc, char **argv)
{
    struct world w;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (argc != 2 || strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        if (strcmp(argv[1], "late") == 0)
            atexit(late_call);
        if (!scenarios[i].without_world)
            world_open(&w, 0, NULL);
        scenarios[i].run(&w);
        return failures != 0;
    }
    fprintf(stderr, "calls: no scenario '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}

/* SPDX-License-Identifier: MIT
 *
 * A training step as large models do it, in plain C over cuBLAS and NCCL: layers of two matrix
 * products, tensor-parallel within a group and data-parallel across groups.
 *
 *   compute stream   forward and backward products of each layer; after each direction of a layer
 *                    an AllReduce of activations over the tensor-parallel communicator
 *   comm stream      the gradients of a bucket of layers, reduced over the data-parallel
 *                    communicator while the backward pass goes on
 *
 * A step begins with gradients set to zero. The kernels between the products (normalisation,
 * activation, optimizer) have no source here: on the stand-ins (tests/emu) they are a name and a
 * time, elsewhere they are left out. Neither changes a value.
 *
 * Started once for each rank, with RANK and WORLD_SIZE set (LOCAL_RANK chooses the device):
 *
 *     examples/launch.sh -n 8 build/examples/train --tp 2 --iters 5
 *
 * The numbers are chosen so that every value is a power of two and known: inputs and activations
 * are 1, so --verify can tell whether every product and every reduction took place.
 */
#include "specter/specter.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <nccl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LAYERS_MAX 1024
#define EXPANSION 4 /* width of the hidden product over the model's */
#define HOST_WORK_NS 15000
/* Passes over as many bytes as the gradients have: the gradient itself, both moments and the weight
 * in fp32, read and written, and the weight. */
#define OPTIMIZER_PASSES 14
#define KERNEL_NS 1000 /* a kernel between products that reads and writes nothing */
#define KERNEL_BYTES_PER_US 2500000

/* What the program counts of its own calls, for tests that compare with a trace. */
#define COUNTED(X)       \
    X(AllReduce)         \
    X(GemmEx)            \
    X(CommInitRank)      \
    X(CommSplit)         \
    X(CommDestroy)       \
    X(EventRecord)       \
    X(StreamWaitEvent)   \
    X(StreamSynchronize) \
    X(DeviceSynchronize) \
    X(MemcpyAsync)       \
    X(MemsetAsync)       \
    X(LaunchKernel)

enum counted {
#define X(_name) COUNT_##_name,
    COUNTED(X)
#undef X
        COUNT_KINDS
};

static const char *const count_names[COUNT_KINDS] = {
#define X(_name) #_name,
    COUNTED(X)
#undef X
};

struct options {
    int iters, layers, hidden, tokens, tp, buckets;
    bool verify, no_kernels;
    const char *count_file, *id_file;
};

/* What stand-ins offer beyond the real libraries (tests/emu/emu.h); NULL on real ones. */
struct stand_in {
    void (*work)(uint64_t ns);
    const void *(*kernel)(const char *name, uint64_t ns);
};

struct layer {
    uint16_t *w1, *w2;       /* hidden x wide, wide x hidden */
    uint16_t *input, *inner; /* activations kept for the backward pass */
    uint16_t *grads;         /* of w1 and w2 in one piece, within the buffer of all */
};

struct job {
    struct options o;
    int rank, world, wide; /* wide: this rank's columns of the first product */
    ncclComm_t all, tp, dp;
    cudaStream_t compute, comm;
    cudaEvent_t *bucket_ready, reduced;
    cublasHandle_t cublas;
    struct layer layers[LAYERS_MAX];
    uint16_t *output, *d_output, *d_inner, *grads;
    float *loss;
    struct stand_in stand_in;
    double checksum;
    unsigned long counts[COUNT_KINDS];
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "train: %s: %s\n", what, why);
    exit(1);
}

#define CUDA(_call)                                   \
    do {                                              \
        cudaError_t error_ = (_call);                 \
        if (error_ != cudaSuccess)                    \
            fail(#_call, cudaGetErrorString(error_)); \
    } while (0)

#define NCCL(_call)                                    \
    do {                                               \
        ncclResult_t result_ = (_call);                \
        if (result_ != ncclSuccess)                    \
            fail(#_call, ncclGetErrorString(result_)); \
    } while (0)

#define CUBLAS(_call)                         \
    do {                                      \
        if ((_call) != CUBLAS_STATUS_SUCCESS) \
            fail(#_call, "cuBLAS refused");   \
    } while (0)

/* ---- start ---- */

static int env_number(const char *name, int otherwise)
{
    const char *value = getenv(name);

    return value && *value ? (int)strtol(value, NULL, 10) : otherwise;
}

static int positive(const char *option, const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*end || end == text || value < 1 || value > 1 << 24)
        fail(option, "not a positive number");
    return (int)value;
}

static void usage(FILE *to)
{
    fputs("usage: train [--iters N] [--layers N] [--hidden N] [--tokens N] [--tp N] [--buckets N]\n"
          "             [--no-kernels] [--verify] [--count FILE] [--id FILE]\n"
          "  --iters, --layers, --hidden, --tokens   sizes (3, 4, 2048, 4096)\n"
          "  --tp N       ranks that share a layer (1)\n"
          "  --buckets N  gradient buckets (2)\n"
          "  --no-kernels leave out what stand-ins have between the products\n"
          "  --verify     check values; needs sizes that are powers of two\n"
          "  --count FILE write the calls made, one `name count` a line, to FILE.<rank>\n"
          "  --id FILE    where rank 0 leaves the unique id (SPECTER_EXAMPLE_ID)\n",
          to);
}

static struct options read_options(int argc, char **argv)
{
    static const struct option table[] = {
        {"iters", required_argument, NULL, 'i'},  {"layers", required_argument, NULL, 'l'},
        {"hidden", required_argument, NULL, 'h'}, {"tokens", required_argument, NULL, 't'},
        {"tp", required_argument, NULL, 'p'},     {"buckets", required_argument, NULL, 'b'},
        {"no-kernels", no_argument, NULL, 'n'},   {"verify", no_argument, NULL, 'v'},
        {"count", required_argument, NULL, 'c'},  {"id", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'H'},         {NULL, 0, NULL, 0},
    };
    struct options o = {3, 4, 2048, 4096, 1, 2, false, false, NULL, getenv("SPECTER_EXAMPLE_ID")};
    int *const numbers[128] = {['i'] = &o.iters,  ['l'] = &o.layers, ['h'] = &o.hidden,
                               ['t'] = &o.tokens, ['p'] = &o.tp,     ['b'] = &o.buckets};
    int c, which = 0;

    while ((c = getopt_long(argc, argv, "", table, &which)) != -1) {
        if (numbers[c])
            *numbers[c] = positive(table[which].name, optarg);
        else if (c == 'n')
            o.no_kernels = true;
        else if (c == 'v')
            o.verify = true;
        else if (c == 'c')
            o.count_file = optarg;
        else if (c == 'f')
            o.id_file = optarg;
        else {
            usage(c == 'H' ? stdout : stderr);
            exit(c == 'H' ? 0 : 2);
        }
    }
    if (o.layers > LAYERS_MAX || o.buckets > o.layers || (o.hidden * EXPANSION) % o.tp)
        fail("options", "more buckets than layers, or a width that --tp does not divide");
    return o;
}

/* Rank 0 writes the id beside the file and renames it, so that others never read half of it. */
static void publish_id(const ncclUniqueId *id, const char *path)
{
    char made[4096];
    FILE *file;

    if (snprintf(made, sizeof(made), "%s.%d", path, (int)getpid()) >= (int)sizeof(made))
        fail(path, "name too long");
    file = fopen(made, "wb");
    if (!file || fwrite(id, sizeof(*id), 1, file) != 1 || fclose(file) != 0 ||
        rename(made, path) != 0)
        fail(path, strerror(errno));
}

static void read_id(ncclUniqueId *id, const char *path)
{
    const struct timespec pause = {0, 2000000};

    for (int tries = 0; tries < 30000; tries++) {
        FILE *file = fopen(path, "rb");

        if (file) {
            size_t got = fread(id, sizeof(*id), 1, file);

            fclose(file);
            if (got == 1)
                return;
        }
        nanosleep(&pause, NULL);
    }
    fail(path, "no unique id came in a minute");
}

static void make_communicators(struct job *j)
{
    ncclUniqueId id;

    if (j->rank == 0)
        NCCL(ncclGetUniqueId(&id));
    if (j->world > 1 && !j->o.id_file)
        fail("--id", "needed with more than one rank");
    if (j->world > 1 && j->rank == 0)
        publish_id(&id, j->o.id_file);
    else if (j->world > 1)
        read_id(&id, j->o.id_file);
    NCCL(ncclCommInitRank(&j->all, j->world, id, j->rank));
    j->counts[COUNT_CommInitRank]++;
    NCCL(ncclCommSplit(j->all, j->rank / j->o.tp, j->rank, &j->tp, NULL));
    NCCL(ncclCommSplit(j->all, j->rank % j->o.tp, j->rank, &j->dp, NULL));
    j->counts[COUNT_CommSplit] += 2;
}

/* A power of two as bfloat16: the upper half of its float. */
static uint16_t bf16(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

static uint16_t *empty(size_t count)
{
    uint16_t *device;

    CUDA(cudaMalloc((void **)&device, count * sizeof(*device)));
    return device;
}

/* The values matter to --verify only; products take as long without. */
static uint16_t *filled(struct job *j, size_t count, float value)
{
    uint16_t *device = empty(count), *host;

    if (!j->o.verify)
        return device;
    host = malloc(count * sizeof(*host));
    if (!host)
        fail("malloc", strerror(errno));
    for (size_t i = 0; i < count; i++)
        host[i] = bf16(value);
    CUDA(
        cudaMemcpyAsync(device, host, count * sizeof(*device), cudaMemcpyHostToDevice, j->compute));
    j->counts[COUNT_MemcpyAsync]++;
    CUDA(cudaStreamSynchronize(j->compute));
    j->counts[COUNT_StreamSynchronize]++;
    free(host);
    return device;
}

static size_t layer_grads(const struct job *j)
{
    return 2 * (size_t)j->o.hidden * (size_t)j->wide;
}

static size_t grads_bytes(const struct job *j)
{
    return layer_grads(j) * (size_t)j->o.layers * sizeof(*j->grads);
}

static void make_buffers(struct job *j)
{
    size_t hidden = (size_t)j->o.hidden, wide = (size_t)j->wide, tokens = (size_t)j->o.tokens;

    j->grads = empty(layer_grads(j) * (size_t)j->o.layers);
    for (int i = 0; i < j->o.layers; i++) {
        struct layer *l = &j->layers[i];

        l->w1 = filled(j, hidden * wide, 1 / (float)hidden);
        l->w2 = filled(j, hidden * wide, 1 / (float)(hidden * EXPANSION));
        l->input = i ? empty(tokens * hidden) : filled(j, tokens * hidden, 1);
        l->inner = empty(tokens * wide);
        l->grads = j->grads + (size_t)i * layer_grads(j);
    }
    j->output = empty(tokens * hidden);
    j->d_output = filled(j, tokens * hidden, 1);
    j->d_inner = empty(tokens * wide);
    CUDA(cudaMalloc((void **)&j->loss, sizeof(*j->loss)));
}

static void make_streams(struct job *j)
{
    CUDA(cudaStreamCreateWithFlags(&j->compute, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithPriority(&j->comm, cudaStreamNonBlocking, -1));
    j->bucket_ready = calloc((size_t)j->o.buckets, sizeof(cudaEvent_t));
    if (!j->bucket_ready)
        fail("calloc", strerror(errno));
    for (int i = 0; i < j->o.buckets; i++)
        CUDA(cudaEventCreateWithFlags(&j->bucket_ready[i], cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&j->reduced, cudaEventDisableTiming));
    CUBLAS(cublasCreate(&j->cublas));
    CUBLAS(cublasSetStream(j->cublas, j->compute));
}

/* ---- one step ---- */

/* What a framework does on the host between launches: on the stand-ins the virtual clock moves on,
 * elsewhere the time is spent. */
static void host_work(const struct job *j)
{
    struct timespec start, now;

    if (j->stand_in.work) {
        j->stand_in.work(HOST_WORK_NS);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < HOST_WORK_NS);
}

/* A kernel that reads and writes so many bytes, on the stand-ins. */
static void kernel(struct job *j, const char *name, size_t bytes)
{
    const dim3 grid = {1, 1, 1}, block = {256, 1, 1};

    if (!j->stand_in.kernel)
        return;
    CUDA(cudaLaunchKernel(j->stand_in.kernel(name, KERNEL_NS + bytes * 1000 / KERNEL_BYTES_PER_US),
                          grid, block, NULL, 0, j->compute));
    j->counts[COUNT_LaunchKernel]++;
}

/* C = op(A) op(B), all row-major: rows x depth times depth x cols. cuBLAS is column-major, so it is
 * asked for the transposed product of the swapped factors. */
static void product(struct job *j, const uint16_t *a, bool transpose_a, const uint16_t *b,
                    bool transpose_b, uint16_t *c, int rows, int cols, int depth)
{
    const float one = 1, zero = 0;

    CUBLAS(cublasGemmEx(j->cublas, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                        transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, cols, rows, depth, &one, b,
                        CUDA_R_16BF, transpose_b ? depth : cols, a, CUDA_R_16BF,
                        transpose_a ? rows : depth, &zero, c, CUDA_R_16BF, cols, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT));
    j->counts[COUNT_GemmEx]++;
}

static void reduce(struct job *j, void *buffer, size_t count, ncclDataType_t type, ncclRedOp_t op,
                   ncclComm_t comm, cudaStream_t stream)
{
    NCCL(ncclAllReduce(buffer, buffer, count, type, op, comm, stream));
    j->counts[COUNT_AllReduce]++;
}

static void record(struct job *j, cudaEvent_t event, cudaStream_t stream)
{
    CUDA(cudaEventRecord(event, stream));
    j->counts[COUNT_EventRecord]++;
}

static void wait_for(struct job *j, cudaStream_t stream, cudaEvent_t event)
{
    CUDA(cudaStreamWaitEvent(stream, event, 0));
    j->counts[COUNT_StreamWaitEvent]++;
}

static uint16_t *layer_output(struct job *j, int layer)
{
    return layer + 1 < j->o.layers ? j->layers[layer + 1].input : j->output;
}

static void forward(struct job *j)
{
    int hidden = j->o.hidden, tokens = j->o.tokens;
    size_t activations = (size_t)tokens * (size_t)hidden;
    size_t inner = (size_t)tokens * (size_t)j->wide;

    for (int i = 0; i < j->o.layers; i++) {
        struct layer *l = &j->layers[i];

        host_work(j);
        kernel(j, "layer_norm_forward", 2 * activations * sizeof(uint16_t));
        product(j, l->input, false, l->w1, false, l->inner, tokens, j->wide, hidden);
        kernel(j, "gelu_forward", 2 * inner * sizeof(uint16_t));
        product(j, l->inner, false, l->w2, false, layer_output(j, i), tokens, hidden, j->wide);
        if (j->o.tp > 1)
            reduce(j, layer_output(j, i), activations, ncclBfloat16, ncclSum, j->tp, j->compute);
    }
}

static void layer_backward(struct job *j, struct layer *l)
{
    int hidden = j->o.hidden, tokens = j->o.tokens;
    uint16_t *dw1 = l->grads, *dw2 = l->grads + layer_grads(j) / 2;

    product(j, l->inner, true, j->d_output, false, dw2, j->wide, hidden, tokens);
    product(j, j->d_output, false, l->w2, true, j->d_inner, tokens, j->wide, hidden);
    kernel(j, "gelu_backward", 3 * (size_t)tokens * (size_t)j->wide * sizeof(uint16_t));
    product(j, l->input, true, j->d_inner, false, dw1, hidden, j->wide, tokens);
    product(j, j->d_inner, false, l->w1, true, j->d_output, tokens, hidden, j->wide);
    kernel(j, "layer_norm_backward", 3 * (size_t)tokens * (size_t)hidden * sizeof(uint16_t));
    if (j->o.tp > 1)
        reduce(j, j->d_output, (size_t)tokens * (size_t)hidden, ncclBfloat16, ncclSum, j->tp,
               j->compute);
}

/* First layer of a bucket; buckets are as even as layers allow. */
static int bucket_start(const struct job *j, int bucket)
{
    return bucket * j->o.layers / j->o.buckets;
}

static void backward(struct job *j)
{
    for (int bucket = j->o.buckets - 1; bucket >= 0; bucket--) {
        int first = bucket_start(j, bucket), end = bucket_start(j, bucket + 1);

        for (int i = end - 1; i >= first; i--) {
            host_work(j);
            layer_backward(j, &j->layers[i]);
        }
        record(j, j->bucket_ready[bucket], j->compute);
        wait_for(j, j->comm, j->bucket_ready[bucket]);
        reduce(j, j->layers[first].grads, (size_t)(end - first) * layer_grads(j), ncclBfloat16,
               ncclSum, j->dp, j->comm);
    }
    record(j, j->reduced, j->comm);
    wait_for(j, j->compute, j->reduced);
}

/* The loss of all ranks: here rank + 1 + iteration of each. */
static void reduce_loss(struct job *j, int iter)
{
    float loss = (float)(j->rank + 1 + iter);

    CUDA(cudaMemcpyAsync(j->loss, &loss, sizeof(loss), cudaMemcpyHostToDevice, j->compute));
    reduce(j, j->loss, 1, ncclFloat32, ncclSum, j->all, j->compute);
    CUDA(cudaStreamSynchronize(j->compute));
    CUDA(cudaMemcpyAsync(&loss, j->loss, sizeof(loss), cudaMemcpyDeviceToHost, j->compute));
    CUDA(cudaStreamSynchronize(j->compute));
    j->counts[COUNT_MemcpyAsync] += 2;
    j->counts[COUNT_StreamSynchronize] += 2;
    j->checksum += (double)loss;
}

static void zero_grads(struct job *j)
{
    CUDA(cudaMemsetAsync(j->grads, 0, grads_bytes(j), j->compute));
    j->counts[COUNT_MemsetAsync]++;
}

static void step(struct job *j, int iter)
{
    specter_iteration("step");
    zero_grads(j);
    forward(j);
    backward(j);
    kernel(j, "fused_adam", OPTIMIZER_PASSES * grads_bytes(j));
    reduce_loss(j, iter);
}

/* ---- end ---- */

static float first_of(struct job *j, const uint16_t *device)
{
    uint16_t host;
    uint32_t bits;
    float value;

    CUDA(cudaMemcpyAsync(&host, device, sizeof(host), cudaMemcpyDeviceToHost, j->compute));
    CUDA(cudaStreamSynchronize(j->compute));
    j->counts[COUNT_MemcpyAsync]++;
    j->counts[COUNT_StreamSynchronize]++;
    bits = (uint32_t)host << 16;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static bool equal(const char *what, double got, double want)
{
    if (got != want)
        fprintf(stderr, "train: %s is %g, not %g\n", what, got, want);
    return got == want;
}

/* Activations are 1; every gradient is the sum over tokens and data-parallel ranks, of 1 for the
 * second product and of 1/EXPANSION for the first. */
static bool verify(struct job *j)
{
    double ranks = (double)j->world / j->o.tp, iters = j->o.iters, world = j->world;
    double want = world * (world + 1) / 2 * iters + world * iters * (iters - 1) / 2;
    const uint16_t *grads = j->layers[0].grads;
    bool good = equal("checksum of losses", j->checksum, want);

    good &= equal("output", (double)first_of(j, j->output), 1);
    good &= equal("gradient of the input", (double)first_of(j, j->d_output), 1);
    good &= equal("gradient of the first product", (double)first_of(j, grads),
                  (double)j->o.tokens / EXPANSION * ranks);
    good &= equal("gradient of the second product", (double)first_of(j, grads + layer_grads(j) / 2),
                  (double)j->o.tokens * ranks);
    return good;
}

static void write_counts(const struct job *j)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s.%d", j->o.count_file, j->rank);
    file = fopen(path, "w");
    if (!file)
        fail(path, strerror(errno));
    for (int i = 0; i < COUNT_KINDS; i++)
        fprintf(file, "%s %lu\n", count_names[i], j->counts[i]);
    if (fclose(file) != 0)
        fail(path, strerror(errno));
}

static void finish(struct job *j)
{
    ncclComm_t *const comms[] = {&j->dp, &j->tp, &j->all};

    CUDA(cudaDeviceSynchronize());
    j->counts[COUNT_DeviceSynchronize]++;
    for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
        NCCL(ncclCommDestroy(*comms[i]));
        j->counts[COUNT_CommDestroy]++;
    }
    CUBLAS(cublasDestroy(j->cublas));
    for (int i = 0; i < j->o.buckets; i++)
        CUDA(cudaEventDestroy(j->bucket_ready[i]));
    CUDA(cudaEventDestroy(j->reduced));
    free(j->bucket_ready);
    CUDA(cudaStreamDestroy(j->compute));
    CUDA(cudaStreamDestroy(j->comm));
}

int main(int argc, char **argv)
{
    static struct job j;
    bool good = true;
    int devices;

    j.o = read_options(argc, argv);
    j.rank = env_number("RANK", 0);
    j.world = env_number("WORLD_SIZE", 1);
    if (j.world < 1 || j.rank < 0 || j.rank >= j.world || j.world % j.o.tp)
        fail("RANK, WORLD_SIZE", "not a rank of a world that --tp divides");
    *(void **)&j.stand_in.work = dlsym(RTLD_DEFAULT, "emu_work");
    if (!j.o.no_kernels)
        *(void **)&j.stand_in.kernel = dlsym(RTLD_DEFAULT, "emuKernel");
    j.wide = j.o.hidden * EXPANSION / j.o.tp;
    CUDA(cudaGetDeviceCount(&devices));
    CUDA(cudaSetDevice(env_number("LOCAL_RANK", j.rank) % devices));
    make_streams(&j);
    make_communicators(&j);
    make_buffers(&j);
    for (int i = 0; i < j.o.iters; i++)
        step(&j, i);
    if (j.o.verify)
        good = verify(&j);
    finish(&j);
    if (j.o.count_file)
        write_counts(&j);
    if (j.rank == 0)
        printf("%d ranks, %d iterations, checksum %.0f%s\n", j.world, j.o.iters, j.checksum,
               !j.o.verify ? ""
               : good      ? ", verified"
                           : ", WRONG");
    return good ? 0 : 1;
}

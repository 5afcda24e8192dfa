/* SPDX-License-Identifier: MIT
 *
 * Layers of the training example, forward and backward, and one step.
 */
#include "train.h"

#include "specter/specter.h"

#include <time.h>

#define HOST_WORK_NS 15000
/* Passes over as many bytes as the gradients have: the gradient itself, both moments and the weight
 * in fp32, read and written, and the weight. */
#define OPTIMIZER_PASSES 14
#define KERNEL_NS 1000 /* a kernel between products that reads and writes nothing */

/* A framework's work on the host between launches: on the stand-ins the virtual clock moves on,
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
    CUDA(cudaLaunchKernel(j->stand_in.kernel(name, KERNEL_NS + j->stand_in.memory_ns(bytes)), grid,
                          block, NULL, 0, j->compute));
    j->counts[COUNT_LaunchKernel]++;
}

/* C = op(A) op(B), or C += that, all row-major: rows x depth times depth x cols. cuBLAS is
 * column-major, so it is asked for the transposed product of the swapped factors. */
static void product(struct job *j, const uint16_t *a, bool transpose_a, const uint16_t *b,
                    bool transpose_b, uint16_t *c, int rows, int cols, int depth, bool add)
{
    const float one = 1, beta = add ? 1 : 0;

    CUBLAS(cublasGemmEx(j->cublas, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                        transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, cols, rows, depth, &one, b,
                        CUDA_R_16BF, transpose_b ? depth : cols, a, CUDA_R_16BF,
                        transpose_a ? rows : depth, &beta, c, CUDA_R_16BF, cols, CUBLAS_COMPUTE_32F,
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

/* A value as the item() of frameworks reads it: the call copies to pageable memory and returns when
 * the copy is over, so that the synchronisation after it has nothing to wait for. */
static void read_back(struct job *j, void *value, const void *device, size_t bytes)
{
    CUDA(cudaMemcpyAsync(value, device, bytes, cudaMemcpyDeviceToHost, j->compute));
    CUDA(cudaStreamSynchronize(j->compute));
    j->counts[COUNT_MemcpyAsync]++;
    j->counts[COUNT_StreamSynchronize]++;
}

/* One of the values that --item asks for besides the loss. */
static void read_item(struct job *j, const uint16_t *device)
{
    uint16_t value;

    if (++j->items < j->o.item)
        read_back(j, &value, device, sizeof(value));
}

static uint16_t *layer_output(struct job *j, int layer)
{
    return layer + 1 < j->o.layers ? j->layers[layer + 1].input : j->output;
}

/* ---- messages ---- */

void exchange(struct job *j, ncclComm_t comm, const uint16_t *send, int to, uint16_t *receive,
              int from)
{
    if (to < 0 && from < 0)
        return;
    NCCL(ncclGroupStart());
    if (to >= 0) {
        NCCL(ncclSend(send, activations(j), ncclBfloat16, to, comm, j->compute));
        j->counts[COUNT_Send]++;
    }
    if (from >= 0) {
        NCCL(ncclRecv(receive, activations(j), ncclBfloat16, from, comm, j->compute));
        j->counts[COUNT_Recv]++;
    }
    NCCL(ncclGroupEnd());
}

/* Tokens go to the experts that they chose, or come back: as many to each, in messages to every
 * member, as PyTorch makes an all-to-all. */
static void all_to_all(struct job *j, uint16_t *tokens)
{
    size_t part = activations(j) / (size_t)j->o.ep, bytes = part * sizeof(*tokens);

    NCCL(ncclGroupStart());
    for (int peer = 0; peer < j->o.ep; peer++) {
        size_t at = (size_t)peer * part;

        NCCL(ncclSend(tokens + at, part, ncclBfloat16, peer, j->ep, j->compute));
        NCCL(ncclRecv(j->exchanged + at, part, ncclBfloat16, peer, j->ep, j->compute));
    }
    NCCL(ncclGroupEnd());
    j->counts[COUNT_Send] += (unsigned long)j->o.ep;
    j->counts[COUNT_Recv] += (unsigned long)j->o.ep;
    CUDA(cudaMemcpyAsync(tokens, j->exchanged, bytes * (size_t)j->o.ep, cudaMemcpyDeviceToDevice,
                         j->compute));
    j->counts[COUNT_MemcpyAsync]++;
}

/* ---- shards of parameters ---- */

/* Asks for the weights of a layer on the communication stream, after the use of those that lay
 * there before. */
static void gather_weights(struct job *j, int layer)
{
    struct layer *l;
    size_t part = layer_grads(j) / (size_t)j->dp_size;

    if (!j->o.fsdp || layer < 0 || layer >= j->o.layers)
        return;
    l = &j->layers[layer];
    record(j, j->used, j->compute);
    wait_for(j, j->comm, j->used);
    NCCL(ncclAllGather(l->shard, l->w1, part, ncclBfloat16, j->dp, j->comm));
    j->counts[COUNT_AllGather]++;
    record(j, l->gathered, j->comm);
}

/* Waits for the weights of a layer, with those of the next one on their way. */
static void use_weights(struct job *j, int layer, int next)
{
    gather_weights(j, next);
    if (j->o.fsdp)
        wait_for(j, j->compute, j->layers[layer].gathered);
}

static void scatter_gradients(struct job *j, int layer)
{
    size_t part = layer_grads(j) / (size_t)j->dp_size;

    if (!j->o.fsdp)
        return;
    record(j, j->bucket_ready[0], j->compute);
    wait_for(j, j->comm, j->bucket_ready[0]);
    NCCL(ncclReduceScatter(j->layers[layer].grads, j->grad_shards + (size_t)layer * part, part,
                           ncclBfloat16, ncclSum, j->dp, j->comm));
    j->counts[COUNT_ReduceScatter]++;
}

/* ---- layers ---- */

static void layer_forward(struct job *j, int layer)
{
    struct layer *l = &j->layers[layer];
    uint16_t *output = layer_output(j, layer);
    int hidden = j->o.hidden, tokens = j->o.tokens;
    size_t inner = (size_t)tokens * (size_t)j->wide;

    kernel(j, "layer_norm_forward", 2 * activations(j) * sizeof(uint16_t));
    if (l->expert)
        all_to_all(j, l->input);
    product(j, l->input, false, l->w1, false, l->inner, tokens, j->wide, hidden, false);
    kernel(j, "gelu_forward", 2 * inner * sizeof(uint16_t));
    product(j, l->inner, false, l->w2, false, output, tokens, hidden, j->wide, false);
    if (l->expert)
        all_to_all(j, output);
    if (j->o.tp > 1)
        reduce(j, output, activations(j), ncclBfloat16, ncclSum, j->tp, j->compute);
}

static void layer_backward(struct job *j, struct layer *l)
{
    int hidden = j->o.hidden, tokens = j->o.tokens;
    uint16_t *dw1 = l->grads, *dw2 = l->grads + layer_grads(j) / 2;
    bool add = j->accumulate;

    if (l->expert)
        all_to_all(j, j->d_output);
    product(j, l->inner, true, j->d_output, false, dw2, j->wide, hidden, tokens, add);
    product(j, j->d_output, false, l->w2, true, j->d_inner, tokens, j->wide, hidden, false);
    kernel(j, "gelu_backward", 3 * (size_t)tokens * (size_t)j->wide * sizeof(uint16_t));
    product(j, l->input, true, j->d_inner, false, dw1, hidden, j->wide, tokens, add);
    product(j, j->d_inner, false, l->w1, true, j->d_output, tokens, hidden, j->wide, false);
    kernel(j, "layer_norm_backward", 3 * activations(j) * sizeof(uint16_t));
    if (l->expert)
        all_to_all(j, j->d_output);
    if (j->o.tp > 1)
        reduce(j, j->d_output, activations(j), ncclBfloat16, ncclSum, j->tp, j->compute);
}

void forward(struct job *j)
{
    gather_weights(j, 0);
    for (int i = 0; i < j->o.layers; i++) {
        host_work(j);
        use_weights(j, i, i + 1);
        layer_forward(j, i);
    }
    read_item(j, j->output);
}

/* ---- gradients ---- */

/* First layer of a bucket; buckets are as even as layers allow. */
static int bucket_start(const struct job *j, int bucket)
{
    return bucket * j->o.layers / j->o.buckets;
}

/* The gradients of a bucket over the ranks that hold the same weights. With --ep each layer is a
 * bucket, because those of experts are reduced over fewer ranks. */
static void reduce_bucket(struct job *j, int bucket)
{
    int first = bucket_start(j, bucket), end = bucket_start(j, bucket + 1);

    record(j, j->bucket_ready[bucket], j->compute);
    wait_for(j, j->comm, j->bucket_ready[bucket]);
    reduce(j, j->layers[first].grads, (size_t)(end - first) * layer_grads(j), ncclBfloat16, ncclSum,
           j->layers[first].expert ? j->edp : j->dp, j->comm);
}

static void await_gradients(struct job *j)
{
    record(j, j->reduced, j->comm);
    wait_for(j, j->compute, j->reduced);
}

void reduce_gradients(struct job *j)
{
    for (int bucket = j->o.buckets - 1; bucket >= 0; bucket--)
        reduce_bucket(j, bucket);
    await_gradients(j);
}

/* A pipeline reduces when all micro-batches have passed, others while the pass goes on. */
void backward(struct job *j)
{
    bool at_once = j->o.pp == 1 && !j->o.fsdp;

    gather_weights(j, j->o.layers - 1);
    for (int bucket = j->o.buckets - 1; bucket >= 0; bucket--) {
        for (int i = bucket_start(j, bucket + 1) - 1; i >= bucket_start(j, bucket); i--) {
            host_work(j);
            use_weights(j, i, i - 1);
            layer_backward(j, &j->layers[i]);
            scatter_gradients(j, i);
            read_item(j, j->d_output);
        }
        if (at_once)
            reduce_bucket(j, bucket);
    }
    if (j->o.pp == 1)
        await_gradients(j);
}

/* ---- one step ---- */

/* The loss of all ranks: here rank + 1 + iteration of each. */
static void reduce_loss(struct job *j, int iter)
{
    float loss = (float)(j->rank + 1 + iter);

    CUDA(cudaMemcpyAsync(j->loss, &loss, sizeof(loss), cudaMemcpyHostToDevice, j->compute));
    reduce(j, j->loss, 1, ncclFloat32, ncclSum, j->all, j->compute);
    j->counts[COUNT_MemcpyAsync]++;
    if (j->o.item == 0) {
        CUDA(cudaStreamSynchronize(j->compute));
        j->counts[COUNT_StreamSynchronize]++;
    }
    read_back(j, &loss, j->loss, sizeof(loss));
    j->checksum += (double)loss;
}

static void zero_grads(struct job *j)
{
    CUDA(cudaMemsetAsync(j->grads, 0, grads_bytes(j), j->compute));
    j->counts[COUNT_MemsetAsync]++;
}

void step(struct job *j, int iter)
{
    specter_iteration("step");
    j->items = 0;
    zero_grads(j);
    if (j->o.pp > 1) {
        pipeline(j);
    } else {
        forward(j);
        backward(j);
    }
    kernel(j, "fused_adam",
           OPTIMIZER_PASSES * grads_bytes(j) / (size_t)(j->o.fsdp ? j->dp_size : 1));
    reduce_loss(j, iter);
}

/* SPDX-License-Identifier: MIT
 *
 * A training step as large models do it, in plain C over cuBLAS and NCCL: layers of two matrix
 * products, tensor-parallel within a group (--tp), data-parallel across groups, over stages of a
 * pipeline (--pp), with sharded parameters (--fsdp), with experts (--ep).
 *
 *   compute stream   forward and backward products of each layer; after each direction of a layer
 *                    an AllReduce of activations over the tensor-parallel communicator; messages
 *                    between stages; messages of tokens to the ranks of their experts and back
 *   comm stream      the gradients of a bucket of layers, reduced over the data-parallel
 *                    communicator while the backward pass goes on; with --fsdp AllGathers of the
 *                    weights, one layer ahead, and ReduceScatters of the gradients
 *
 * A step begins with gradients set to zero. The kernels between the products (normalisation,
 * activation, optimizer) have no source here: on the stand-ins (tests/emu) they are a name and a
 * time, elsewhere they are left out. Neither changes a value.
 *
 * Started once for each rank, with RANK and WORLD_SIZE set (LOCAL_RANK chooses the device):
 *
 *     examples/launch.sh -n 8 build/examples/train --tp 2 --iters 5
 *     examples/launch.sh -n 8 build/examples/train --pp 4 --micro 8
 *
 * The numbers are chosen so that every value is a power of two and known: inputs and activations
 * are 1, so --verify can tell whether every product and every reduction took place.
 */
#include "train.h"

#include "specter/specter.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <string.h>

static const char *const count_names[COUNT_KINDS] = {
#define X(_name) #_name,
    COUNTED(X)
#undef X
};

/* ---- start ---- */

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
    fputs("usage: train [--iters N] [--layers N] [--hidden N] [--tokens N] [--tp N] [--pp N]\n"
          "             [--micro N] [--fsdp] [--ep N] [--buckets N] [--item N] [--no-kernels]\n"
          "             [--verify] [--count FILE] [--id FILE]\n"
          "  --iters, --layers, --hidden, --tokens   sizes (3, 4, 2048, 4096)\n"
          "  --tp N       ranks that share a layer (1)\n"
          "  --pp N       stages that share the layers (1)\n"
          "  --micro N    micro-batches of --tokens each, with --pp (twice the stages)\n"
          "  --fsdp       parameters in shards over the data-parallel ranks\n"
          "  --ep N       ranks that share the experts of every other layer (1)\n"
          "  --buckets N  gradient buckets (2)\n"
          "  --item N     values that a step reads back as frameworks' item() does: 1 the loss, 2\n"
          "               one behind the forward pass, too, more one behind each layer of the\n"
          "               backward pass, up to N (0: the loss, with a synchronisation before it)\n"
          "  --no-kernels leave out what stand-ins have between the products\n"
          "  --verify     check values; needs sizes that are powers of two\n"
          "  --count FILE write the calls made, one `name count` a line, to FILE.<rank>\n"
          "  --id FILE    where rank 0 leaves the unique id (SPECTER_EXAMPLE_ID)\n",
          to);
}

/* Sets options that follow from others, and refuses those that do not go together. */
static void complete_options(struct options *o)
{
    if (o->micro == 0)
        o->micro = 2 * o->pp;
    if (o->layers > LAYERS_MAX || o->layers % o->pp || (o->hidden * EXPANSION) % o->tp)
        fail("options", "layers that --pp, or a width that --tp does not divide");
    o->layers /= o->pp;
    if (o->buckets > o->layers && o->pp > 1)
        o->buckets = o->layers;
    if (o->ep > 1)
        o->buckets = o->layers;
    if (o->buckets > o->layers)
        fail("options", "more buckets than layers");
    if ((o->pp > 1) + o->fsdp + (o->ep > 1) > 1)
        fail("options", "--pp, --fsdp and --ep do not go together");
    if ((o->tokens * o->hidden) % o->ep)
        fail("options", "activations that --ep does not divide");
}

static struct options read_options(int argc, char **argv)
{
    static const struct option table[] = {
        {"iters", required_argument, NULL, 'i'},
        {"layers", required_argument, NULL, 'l'},
        {"hidden", required_argument, NULL, 'h'},
        {"tokens", required_argument, NULL, 't'},
        {"tp", required_argument, NULL, 'p'},
        {"buckets", required_argument, NULL, 'b'},
        {"pp", required_argument, NULL, 's'},
        {"micro", required_argument, NULL, 'm'},
        {"ep", required_argument, NULL, 'e'},
        {"item", required_argument, NULL, 'r'},
        {"fsdp", no_argument, NULL, 'z'},
        {"no-kernels", no_argument, NULL, 'n'},
        {"verify", no_argument, NULL, 'v'},
        {"count", required_argument, NULL, 'c'},
        {"id", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'H'},
        {NULL, 0, NULL, 0},
    };
    struct options o = {.iters = 3,
                        .layers = 4,
                        .hidden = 2048,
                        .tokens = 4096,
                        .tp = 1,
                        .pp = 1,
                        .ep = 1,
                        .buckets = 2,
                        .id_file = getenv("SPECTER_EXAMPLE_ID")};
    int *const numbers[128] = {
        ['i'] = &o.iters, ['l'] = &o.layers,  ['h'] = &o.hidden, ['t'] = &o.tokens,
        ['p'] = &o.tp,    ['b'] = &o.buckets, ['s'] = &o.pp,     ['m'] = &o.micro,
        ['e'] = &o.ep,    ['r'] = &o.item};
    bool *const flags[128] = {['z'] = &o.fsdp, ['n'] = &o.no_kernels, ['v'] = &o.verify};
    int c, which = 0;

    while ((c = getopt_long(argc, argv, "", table, &which)) != -1) {
        if (c < 128 && numbers[c])
            *numbers[c] = positive(table[which].name, optarg);
        else if (c < 128 && flags[c])
            *flags[c] = true;
        else if (c == 'c')
            o.count_file = optarg;
        else if (c == 'f')
            o.id_file = optarg;
        else {
            usage(c == 'H' ? stdout : stderr);
            exit(c == 'H' ? 0 : 2);
        }
    }
    complete_options(&o);
    return o;
}

/* The ranks of one color, in order. */
static void split(struct job *j, int color, ncclComm_t *part)
{
    NCCL(ncclCommSplit(j->all, color, j->rank, part, NULL));
    j->counts[COUNT_CommSplit]++;
}

static void make_groups(struct job *j)
{
    int tp = j->rank % j->o.tp, block = j->o.tp * j->dp_size, experts = j->o.tp * j->o.ep;

    split(j, j->rank / j->o.tp, &j->tp);
    split(j, j->stage * j->o.tp + tp, &j->dp);
    if (j->o.pp > 1)
        split(j, j->rank % block, &j->pp);
    if (j->o.ep > 1) {
        split(j, j->rank / experts * j->o.tp + tp, &j->ep);
        split(j, j->rank % experts, &j->edp);
    }
}

static void make_communicators(struct job *j)
{
    j->all = join_all(j->rank, j->world, j->o.id_file);
    j->counts[COUNT_CommInitRank]++;
    make_groups(j);
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
static void fill(struct job *j, uint16_t *device, size_t count, float value)
{
    uint16_t *host;

    if (!j->o.verify)
        return;
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
}

/* With --fsdp the first half of the ranks hold the first products' weights, the others the
 * second's.
 */
static void make_weights(struct job *j, struct layer *l)
{
    size_t half = layer_grads(j) / 2, part = layer_grads(j) / (size_t)j->dp_size;
    int at = j->rank / j->o.tp % j->dp_size;
    float first = 1 / (float)j->o.hidden, second = 1 / (float)(j->o.hidden * EXPANSION);

    if (!j->o.fsdp) {
        l->w1 = empty(half);
        fill(j, l->w1, half, first);
        l->w2 = empty(half);
        fill(j, l->w2, half, second);
        return;
    }
    l->w1 = empty(2 * half);
    l->w2 = l->w1 + half;
    l->shard = empty(part);
    if (j->dp_size == 1) {
        fill(j, l->shard, half, first);
        fill(j, l->shard + half, half, second);
    } else {
        fill(j, l->shard, part, 2 * at < j->dp_size ? first : second);
    }
    CUDA(cudaEventCreateWithFlags(&l->gathered, cudaEventDisableTiming));
}

static void make_buffers(struct job *j)
{
    size_t hidden = (size_t)j->o.hidden, wide = (size_t)j->wide, tokens = (size_t)j->o.tokens;

    j->grads = empty(layer_grads(j) * (size_t)j->o.layers);
    if (j->o.fsdp)
        j->grad_shards = empty(layer_grads(j) / (size_t)j->dp_size * (size_t)j->o.layers);
    if (j->o.ep > 1)
        j->exchanged = empty(tokens * hidden);
    for (int i = 0; i < j->o.layers; i++) {
        struct layer *l = &j->layers[i];

        make_weights(j, l);
        l->expert = j->o.ep > 1 && i % 2 == 1;
        l->input = empty(tokens * hidden);
        l->inner = empty(tokens * wide);
        l->grads = j->grads + (size_t)i * layer_grads(j);
    }
    fill(j, j->layers[0].input, tokens * hidden, 1);
    j->output = empty(tokens * hidden);
    j->d_output = empty(tokens * hidden);
    fill(j, j->d_output, tokens * hidden, 1);
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
    if (j->o.fsdp)
        CUDA(cudaEventCreateWithFlags(&j->used, cudaEventDisableTiming));
    CUBLAS(cublasCreate(&j->cublas));
    CUBLAS(cublasSetStream(j->cublas, j->compute));
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

/* Activations are 1; every gradient is the sum over tokens, micro-batches and data-parallel ranks,
 * of 1 for the second product and of 1/EXPANSION for the first. */
static bool verify(struct job *j)
{
    double iters = j->o.iters, world = j->world, passes = j->o.pp > 1 ? j->o.micro : 1;
    double want = world * (world + 1) / 2 * iters + world * iters * (iters - 1) / 2;
    double second = j->o.tokens * passes * j->dp_size, first = second / EXPANSION;
    const uint16_t *grads = j->o.fsdp ? j->grad_shards : j->layers[0].grads;
    bool late = j->o.fsdp && j->dp_size > 1 && 2 * (j->rank / j->o.tp % j->dp_size) >= j->dp_size;
    bool good = equal("checksum of losses", j->checksum, want);

    good &= equal("output", (double)first_of(j, j->output), 1);
    good &= equal("gradient of the input", (double)first_of(j, j->d_output), 1);
    good &= equal("first gradient", (double)first_of(j, grads), late ? second : first);
    if (!j->o.fsdp)
        good &= equal("gradient of the second product",
                      (double)first_of(j, grads + layer_grads(j) / 2), second);
    if (j->o.ep > 1 && j->o.layers > 1)
        good &= equal("gradient of an expert", (double)first_of(j, grads + layer_grads(j)),
                      first / j->o.ep);
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
    ncclComm_t *const comms[] = {&j->edp, &j->ep, &j->pp, &j->dp, &j->tp, &j->all};

    CUDA(cudaDeviceSynchronize());
    j->counts[COUNT_DeviceSynchronize]++;
    for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
        if (!*comms[i])
            continue;
        NCCL(ncclCommDestroy(*comms[i]));
        j->counts[COUNT_CommDestroy]++;
    }
    CUBLAS(cublasDestroy(j->cublas));
    for (int i = 0; i < j->o.buckets; i++)
        CUDA(cudaEventDestroy(j->bucket_ready[i]));
    CUDA(cudaEventDestroy(j->reduced));
    if (j->o.fsdp)
        CUDA(cudaEventDestroy(j->used));
    for (int i = 0; j->o.fsdp && i < j->o.layers; i++)
        CUDA(cudaEventDestroy(j->layers[i].gathered));
    free(j->bucket_ready);
    CUDA(cudaStreamDestroy(j->compute));
    CUDA(cudaStreamDestroy(j->comm));
}

/* Ranks are numbered tp first, pp last. */
static void find_place(struct job *j)
{
    int shared = j->o.tp * j->o.pp * j->o.ep;

    j->rank = env_number("RANK", 0);
    j->world = env_number("WORLD_SIZE", 1);
    if (j->world < 1 || j->rank < 0 || j->rank >= j->world || j->world % shared)
        fail("RANK, WORLD_SIZE", "not a rank of a world that --tp, --pp and --ep divide");
    j->dp_size = j->world / j->o.tp / j->o.pp;
    j->stage = j->rank / (j->o.tp * j->dp_size);
}

int main(int argc, char **argv)
{
    static struct job j;
    bool good = true;
    int devices;

    j.o = read_options(argc, argv);
    find_place(&j);
    *(void **)&j.stand_in.work = dlsym(RTLD_DEFAULT, "emu_work");
    *(void **)&j.stand_in.memory_ns = dlsym(RTLD_DEFAULT, "emuMemoryNs");
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

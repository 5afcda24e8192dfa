/* SPDX-License-Identifier: MIT
 *
 * Measures what a machine's collectives, messages and matrix products take, as nccl-tests and a
 * GEMM benchmark do, and writes it as tables that `specter calibrate` and `specter validate` read
 * (docs/validate.md):
 *
 *   collectives-<ranks>.csv   every collective, 1 KiB to --max, over 1, 2, 4, ... GPUs of each node
 *   messages-<ranks>.csv      each rank sends to the next one while it receives from the one before
 *   products.csv              matrix products in bf16, of one GPU; from the run of a single rank
 *
 * A row is the mean over ranks of what one of --iters operations took that ran one behind the
 * other, between two events of their stream. Products run before them, so that the host is ahead
 * and its calls cost nothing. The root changes, so that no operation begins before the last one is
 * over. Bytes are those of nccl-tests. Only the ranks of the group that is measured work, so
 * nothing else uses the links.
 *
 *     for n in 1 2 8 16 32; do
 *         examples/launch.sh -n $n build/examples/measure --gpu h100_sxm \
 *             --network dgx_h100_400g -o DIR
 *     done
 *     specter calibrate DIR -o mine.json
 */
#include "start.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 1024
#define SIZE_STEP 4

struct bench {
    int rank, world, per_node, iters;
    size_t most; /* bytes of a buffer */
    const char *folder, *gpu, *network, *id_file;
    ncclComm_t all;
    cudaStream_t stream;
    cudaEvent_t from, to;
    cublasHandle_t cublas;
    char *send, *receive;
    float *mean;
    FILE *table; /* rank 0's; NULL on others */
};

/* A group of ranks as one member sees it. */
struct group {
    ncclComm_t comm;
    int ranks, rank, nodes;
};

/* ---- what is measured ---- */

/* `i` counts the operations of a row. */
typedef void operation(struct bench *b, const struct group *g, size_t bytes, int i);

/* Elements of the whole buffer, of each rank's part of it. */
static size_t whole(size_t bytes)
{
    return bytes / sizeof(uint16_t);
}

static size_t part(const struct group *g, size_t bytes)
{
    return whole(bytes) / (size_t)g->ranks;
}

static void all_reduce(struct bench *b, const struct group *g, size_t bytes, int i)
{
    (void)i;
    NCCL(ncclAllReduce(b->send, b->receive, whole(bytes), ncclBfloat16, ncclSum, g->comm,
                       b->stream));
}

/* From member to member data goes upwards: the next root is the last one to be reached. */
static void broadcast(struct bench *b, const struct group *g, size_t bytes, int i)
{
    int root = (g->ranks - i % g->ranks) % g->ranks;

    NCCL(ncclBroadcast(b->send, b->receive, whole(bytes), ncclBfloat16, root, g->comm, b->stream));
}

/* The next root's sum begins with the last one. */
static void reduce(struct bench *b, const struct group *g, size_t bytes, int i)
{
    NCCL(ncclReduce(b->send, b->receive, whole(bytes), ncclBfloat16, ncclSum, i % g->ranks, g->comm,
                    b->stream));
}

static void all_gather(struct bench *b, const struct group *g, size_t bytes, int i)
{
    (void)i;
    NCCL(ncclAllGather(b->send, b->receive, part(g, bytes), ncclBfloat16, g->comm, b->stream));
}

static void reduce_scatter(struct bench *b, const struct group *g, size_t bytes, int i)
{
    (void)i;
    NCCL(ncclReduceScatter(b->send, b->receive, part(g, bytes), ncclBfloat16, ncclSum, g->comm,
                           b->stream));
}

static void all_to_all(struct bench *b, const struct group *g, size_t bytes, int i)
{
    size_t count = part(g, bytes), size = count * sizeof(uint16_t);

    (void)i;
    NCCL(ncclGroupStart());
    for (int peer = 0; peer < g->ranks; peer++) {
        NCCL(
            ncclSend(b->send + (size_t)peer * size, count, ncclBfloat16, peer, g->comm, b->stream));
        NCCL(ncclRecv(b->receive + (size_t)peer * size, count, ncclBfloat16, peer, g->comm,
                      b->stream));
    }
    NCCL(ncclGroupEnd());
}

static void send_recv(struct bench *b, const struct group *g, size_t bytes, int i)
{
    int next = (g->rank + 1) % g->ranks, before = (g->rank + g->ranks - 1) % g->ranks;

    (void)i;
    NCCL(ncclGroupStart());
    NCCL(ncclSend(b->send, whole(bytes), ncclBfloat16, next, g->comm, b->stream));
    NCCL(ncclRecv(b->receive, whole(bytes), ncclBfloat16, before, g->comm, b->stream));
    NCCL(ncclGroupEnd());
}

static const struct {
    const char *name;
    operation *run;
} collectives[] = {
    {"all_reduce", all_reduce}, {"all_gather", all_gather}, {"reduce_scatter", reduce_scatter},
    {"broadcast", broadcast},   {"reduce", reduce},         {"alltoall", all_to_all},
};

/* Rows, columns, depth: of layers' products and around them, where tiles do and do not fill the
 * multiprocessors. */
static const int shapes[][3] = {
    {256, 256, 256},    {512, 512, 512},    {1024, 1024, 1024}, {2048, 2048, 2048},
    {4096, 4096, 4096}, {8192, 8192, 8192}, {1024, 4096, 1024}, {4096, 1024, 1024},
    {1024, 1024, 4096}, {1024, 1024, 8192}, {2048, 8192, 2048}, {8192, 2048, 2048},
    {2048, 2048, 8192}, {4096, 8192, 2048}, {4096, 2048, 8192}, {8192, 4096, 2048},
    {8192, 4096, 4096}, {4096, 4096, 1024}, {4096, 4096, 2048}, {2048, 4096, 4096},
    {512, 4096, 4096},  {128, 4096, 4096},  {128, 8192, 8192},  {4096, 512, 4096},
    {1536, 1536, 1536}, {3072, 3072, 3072}, {5120, 5120, 5120}, {4096, 4096, 512},
    {16, 4096, 4096},   {16, 8192, 8192},   {64, 8192, 4096},   {8192, 8192, 1024},
};

static void product(struct bench *b, const int shape[3])
{
    const float one = 1, zero = 0;
    int m = shape[0], n = shape[1], k = shape[2];

    CUBLAS(cublasGemmEx(b->cublas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, b->send, CUDA_R_16BF, m,
                        b->send, CUDA_R_16BF, k, &zero, b->receive, CUDA_R_16BF, m,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

/* ---- how ---- */

#define AHEAD 8 /* products of the largest shape: milliseconds */

/* Keeps the stream busy while the host launches what is measured. */
static void get_ahead(struct bench *b)
{
    const int shape[3] = {8192, 8192, 8192};

    for (int i = 0; i < AHEAD; i++)
        product(b, shape);
}

static double elapsed_us(struct bench *b)
{
    float ms;

    CUDA(cudaEventRecord(b->to, b->stream));
    CUDA(cudaStreamSynchronize(b->stream));
    CUDA(cudaEventElapsedTime(&ms, b->from, b->to));
    return (double)ms * 1e3 / b->iters;
}

static double mean_over(struct bench *b, const struct group *g, double us)
{
    float sum = (float)us;

    CUDA(cudaMemcpyAsync(b->mean, &sum, sizeof(sum), cudaMemcpyHostToDevice, b->stream));
    NCCL(ncclAllReduce(b->mean, b->mean, 1, ncclFloat32, ncclSum, g->comm, b->stream));
    CUDA(cudaMemcpyAsync(&sum, b->mean, sizeof(sum), cudaMemcpyDeviceToHost, b->stream));
    CUDA(cudaStreamSynchronize(b->stream));
    return (double)sum / g->ranks;
}

/* The first operation is not timed: the others begin when all have come. */
static double time_operation(struct bench *b, const struct group *g, operation *run, size_t bytes)
{
    get_ahead(b);
    run(b, g, bytes, 0);
    CUDA(cudaEventRecord(b->from, b->stream));
    for (int i = 1; i <= b->iters; i++)
        run(b, g, bytes, i);
    return mean_over(b, g, elapsed_us(b));
}

static void write_row(const struct bench *b, const struct group *g, const char *name, size_t bytes,
                      double us)
{
    if (b->table)
        fprintf(b->table, "%s,%zu,%d,%d,%d,%.3f,%s,%s,bf16\n", name, bytes, g->ranks, g->nodes,
                g->ranks / g->nodes, us, b->gpu, b->network);
}

static void measure_collectives(struct bench *b, const struct group *g)
{
    for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++)
        for (size_t bytes = SMALLEST; bytes <= b->most; bytes *= SIZE_STEP)
            write_row(b, g, collectives[i].name, bytes,
                      time_operation(b, g, collectives[i].run, bytes));
}

static void measure_messages(struct bench *b, const struct group *g)
{
    for (size_t bytes = SMALLEST; bytes <= b->most; bytes *= SIZE_STEP)
        write_row(b, g, "sendrecv", bytes, time_operation(b, g, send_recv, bytes));
}

static void measure_products(struct bench *b)
{
    fputs("m,n,k,dtype,time_us,gpu_profile,lib\n", b->table);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        get_ahead(b);
        CUDA(cudaEventRecord(b->from, b->stream));
        for (int n = 0; n < b->iters; n++)
            product(b, shapes[i]);
        fprintf(b->table, "%d,%d,%d,bf16,%.3f,%s,cublas\n", shapes[i][0], shapes[i][1],
                shapes[i][2], elapsed_us(b), b->gpu);
    }
}

/* ---- groups ---- */

/* The first `count` ranks of each node; the others have no part in it. */
static bool make_group(struct bench *b, int count, struct group *g)
{
    int nodes = (b->world + b->per_node - 1) / b->per_node;
    bool in = b->rank % b->per_node < count;

    NCCL(ncclCommSplit(b->all, in ? 0 : NCCL_SPLIT_NOCOLOR, b->rank, &g->comm, NULL));
    if (!in)
        return false;
    NCCL(ncclCommCount(g->comm, &g->ranks));
    NCCL(ncclCommUserRank(g->comm, &g->rank));
    g->nodes = nodes;
    return true;
}

static void for_groups(struct bench *b, void (*measure)(struct bench *, const struct group *))
{
    int most = b->world < b->per_node ? b->world : b->per_node;

    for (int count = 1; count <= most; count *= 2) {
        struct group g;

        if (!make_group(b, count, &g))
            continue;
        if (g.ranks > 1)
            measure(b, &g);
        NCCL(ncclCommDestroy(g.comm));
    }
}

/* ---- start and end ---- */

static void open_table(struct bench *b, const char *kind, const char *header)
{
    char path[4096];

    if (b->rank != 0)
        return;
    if (b->world > 1)
        snprintf(path, sizeof(path), "%s/%s-%d.csv", b->folder, kind, b->world);
    else
        snprintf(path, sizeof(path), "%s/%s.csv", b->folder, kind);
    b->table = fopen(path, "w");
    if (!b->table)
        fail(path, strerror(errno));
    fputs(header, b->table);
}

static void close_table(struct bench *b)
{
    if (b->table && fclose(b->table) != 0)
        fail(b->folder, strerror(errno));
    b->table = NULL;
}

static size_t number(const char *option, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*end || end == text || value < 1 || value > 1ul << 40)
        fail(option, "not a positive number");
    return value;
}

static _Noreturn void usage(FILE *to, int status)
{
    fputs("usage: measure --gpu NAME --network NAME [-o DIR] [--max BYTES] [--iters N]\n"
          "               [--gpus-per-node N] [--id FILE]\n"
          "  --gpu, --network  what the rows name as profiles\n"
          "  -o DIR            where the tables go (.)\n"
          "  --max BYTES       the largest buffer (268435456)\n"
          "  --iters N         operations a row (5)\n"
          "  --gpus-per-node N ranks of a node (8)\n"
          "  --id FILE         where rank 0 leaves the unique id (SPECTER_EXAMPLE_ID)\n",
          to);
    exit(status);
}

static void read_options(struct bench *b, int argc, char **argv)
{
    static const struct option table[] = {
        {"gpu", required_argument, NULL, 'g'},   {"network", required_argument, NULL, 'w'},
        {"max", required_argument, NULL, 'm'},   {"gpus-per-node", required_argument, NULL, 'p'},
        {"iters", required_argument, NULL, 'i'}, {"id", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "o:", table, NULL)) != -1) {
        if (c == 'g')
            b->gpu = optarg;
        else if (c == 'w')
            b->network = optarg;
        else if (c == 'm')
            b->most = number("--max", optarg);
        else if (c == 'p')
            b->per_node = (int)number("--gpus-per-node", optarg);
        else if (c == 'i')
            b->iters = (int)number("--iters", optarg);
        else if (c == 'f')
            b->id_file = optarg;
        else if (c == 'o')
            b->folder = optarg;
        else
            usage(c == 'h' ? stdout : stderr, c == 'h' ? 0 : 2);
    }
    if (!b->gpu || !b->network)
        usage(stderr, 2);
}

/* Products of the largest shape need 3 x 128 MiB, whatever --max says. */
static void start(struct bench *b)
{
    size_t products = (size_t)8192 * 8192 * sizeof(uint16_t);
    size_t bytes = b->most > products ? b->most : products;
    int devices;

    b->rank = env_number("RANK", 0);
    b->world = env_number("WORLD_SIZE", 1);
    CUDA(cudaGetDeviceCount(&devices));
    CUDA(cudaSetDevice(env_number("LOCAL_RANK", b->rank) % devices));
    CUDA(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&b->from));
    CUDA(cudaEventCreate(&b->to));
    CUDA(cudaMalloc((void **)&b->send, bytes));
    CUDA(cudaMalloc((void **)&b->receive, bytes));
    CUDA(cudaMalloc((void **)&b->mean, sizeof(*b->mean)));
    CUBLAS(cublasCreate(&b->cublas));
    CUBLAS(cublasSetStream(b->cublas, b->stream));
}

static void stop(struct bench *b)
{
    CUBLAS(cublasDestroy(b->cublas));
    CUDA(cudaFree(b->mean));
    CUDA(cudaFree(b->receive));
    CUDA(cudaFree(b->send));
    CUDA(cudaEventDestroy(b->to));
    CUDA(cudaEventDestroy(b->from));
    CUDA(cudaStreamDestroy(b->stream));
}

#define COMM_COLUMNS ",bytes,ranks,nodes,gpus_per_node,time_us,gpu_profile,network_profile,dtype\n"

int main(int argc, char **argv)
{
    struct bench b = {.per_node = 8,
                      .iters = 5,
                      .most = (size_t)256 << 20,
                      .folder = ".",
                      .id_file = getenv("SPECTER_EXAMPLE_ID")};

    read_options(&b, argc, argv);
    start(&b);
    if (b.world == 1) {
        open_table(&b, "products", "");
        measure_products(&b);
        close_table(&b);
    } else {
        b.all = join_all(b.rank, b.world, b.id_file);
        open_table(&b, "collectives", "collective" COMM_COLUMNS);
        for_groups(&b, measure_collectives);
        close_table(&b);
        open_table(&b, "messages", "test" COMM_COLUMNS);
        for_groups(&b, measure_messages);
        close_table(&b);
        NCCL(ncclCommDestroy(b.all));
    }
    stop(&b);
    return 0;
}

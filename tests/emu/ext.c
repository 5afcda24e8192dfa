/* SPDX-License-Identifier: MIT
 *
 * A plain library over NCCL and cuBLAS, as a Python extension is one: for programs that come to the
 * libraries by ctypes or dlopen. Every function returns 0, or the line that failed.
 */
#include <cublas_v2.h>
#include <nccl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int ext_init(int rank, int world, const char *id_file);
int ext_allreduce(size_t count);
int ext_gemm(int m, int n, int k);
int ext_sum(float *sum);
int ext_done(void);

#define CHECK(_call)         \
    do {                     \
        if ((_call) != 0)    \
            return __LINE__; \
    } while (0)

#define BUFFER_BYTES ((size_t)1 << 30)

static struct {
    ncclComm_t comm;
    cublasHandle_t cublas;
    cudaStream_t stream;
    float *buffer;
    int rank;
} ext;

/* Rank 0 writes the unique id beside the file and renames it; the others wait for the file. */
static int share_id(ncclUniqueId *id, const char *path)
{
    char made[4096];
    FILE *file;
    if (ext.rank == 0) {
        snprintf(made, sizeof made, "%s.%d", path, (int)getpid());
        CHECK(ncclGetUniqueId(id));
        file = fopen(made, "wb");
        if (file == NULL || fwrite(id, sizeof *id, 1, file) != 1 || fclose(file) != 0)
            return __LINE__;
        return rename(made, path) ? __LINE__ : 0;
    }
    for (int i = 0; i < 30000; i++) {
        file = fopen(path, "rb");
        if (file != NULL) {
            size_t got = fread(id, sizeof *id, 1, file);
            fclose(file);
            return got == 1 ? 0 : __LINE__;
        }
        usleep(2000);
    }
    return __LINE__;
}

int ext_init(int rank, int world, const char *id_file)
{
    ncclUniqueId id;
    int line, devices;
    ext.rank = rank;
    memset(&id, 0, sizeof id);
    if (world > 1 || id_file != NULL) {
        line = share_id(&id, id_file);
        if (line)
            return line;
    } else {
        CHECK(ncclGetUniqueId(&id));
    }
    CHECK(cudaGetDeviceCount(&devices));
    CHECK(cudaSetDevice(rank % devices));
    CHECK(cudaStreamCreateWithFlags(&ext.stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&ext.buffer, BUFFER_BYTES));
    CHECK(cublasCreate(&ext.cublas));
    CHECK(cublasSetStream(ext.cublas, ext.stream));
    CHECK(ncclCommInitRank(&ext.comm, world, id, rank));
    return 0;
}

/* Sums rank+1 over all ranks into the first element. */
int ext_allreduce(size_t count)
{
    float mine = (float)ext.rank + 1;
    if (count > BUFFER_BYTES / sizeof(float))
        return __LINE__;
    CHECK(cudaMemcpyAsync(ext.buffer, &mine, sizeof mine, cudaMemcpyHostToDevice, ext.stream));
    CHECK(ncclAllReduce(ext.buffer, ext.buffer, count, ncclFloat32, ncclSum, ext.comm, ext.stream));
    return 0;
}

int ext_gemm(int m, int n, int k)
{
    const float one = 1, zero = 0;
    char *base = (char *)ext.buffer + BUFFER_BYTES / 2;
    size_t third = BUFFER_BYTES / 8;
    CHECK(cublasGemmEx(ext.cublas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, base, CUDA_R_16F, m,
                       base + third, CUDA_R_16F, k, &zero, base + 2 * third, CUDA_R_16F, m,
                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return 0;
}

/* Waits for the stream; the first element of the buffer. */
int ext_sum(float *sum)
{
    CHECK(cudaStreamSynchronize(ext.stream));
    CHECK(cudaMemcpy(sum, ext.buffer, sizeof *sum, cudaMemcpyDeviceToHost));
    return 0;
}

int ext_done(void)
{
    CHECK(cudaStreamSynchronize(ext.stream));
    CHECK(ncclCommDestroy(ext.comm));
    CHECK(cublasDestroy(ext.cublas));
    CHECK(cudaFree(ext.buffer));
    CHECK(cudaStreamDestroy(ext.stream));
    return 0;
}

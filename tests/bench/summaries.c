/* SPDX-License-Identifier: MIT
 *
 * Measures the time and memory of `specter analyze --summary` on the closing records of a large
 * job.
 *
 *   summaries SPECTER FOLDER RANKS
 *
 * Writes a file a rank into a new folder, of its first and its last line, for a job of groups of 8
 * (tensor), of 8 (pipeline) and of RANKS / 64 (data), and has them read three times. Prints a table
 * and one line of JSON; removes the files.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 3
#define GOAL_S 5.0
#define GOAL_MIB 512.0
#define TEXT_BYTES 65536

static void fail(const char *what)
{
    fprintf(stderr, "summaries: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int put_init(char *text, size_t size, int rank, int ranks)
{
    int len = snprintf(text, size,
                       "{\"event\":\"init\",\"version\":1,\"run\":\"slurm-4711.0\",\"rank\":%d,"
                       "\"world_size\":%d,\"local_rank\":%d,\"sync_mode\":0,\"pid\":%d,"
                       "\"host\":\"node%05d\",\"mono_ns\":81234567890123,\"real_ns\":"
                       "1764000000%09d,\"coverage\":[\"nccl\",\"cublas\",\"cublaslt\",\"deps\","
                       "\"copies\",\"launches\",\"graphs\",\"lookups\",\"marks\"],\"sample\":1,"
                       "\"nccl\":22809,\"cuda\":13000,\"nccl_file\":\"/opt/nccl/lib/libnccl.so.2\","
                       "\"nccl_build\":\"5f0c8f1e7d2c4b6a90e1\",\"gpus\":[",
                       rank, ranks, rank % 8, 1000 + rank, rank / 8, rank);
    for (int i = 0; i < 8; i++)
        len += snprintf(text + len, size - (size_t)len,
                        "%s{\"device\":%d,\"name\":\"NVIDIA H100 80GB HBM3\",\"sm\":\"9.0\","
                        "\"pci\":\"0000:%02x:00.0\"}",
                        i > 0 ? "," : "", i, 16 * i);
    len += snprintf(text + len, size - (size_t)len,
                    "],\"env\":{\"NCCL_IB_HCA\":\"mlx5\",\"NCCL_IB_GID_INDEX\":\"3\","
                    "\"NCCL_SOCKET_IFNAME\":\"eth0\",\"CUDA_DEVICE_MAX_CONNECTIONS\":\"1\","
                    "\"SLURM_JOB_ID\":\"4711\",\"SLURM_STEP_ID\":\"0\",\"SLURM_NTASKS\":\"%d\"}}\n",
                    ranks);
    return len;
}

static int put_row(char *text, size_t size, uint64_t comm, int ranks, const char *op, int rank,
                   uint64_t count)
{
    uint64_t us = 200 + (uint64_t)(rank * 7 % 101);
    int len = snprintf(text, size,
                       "{\"comm\":\"%016" PRIx64 "\",\"size\":%d,\"op\":\"%s\",\"count\":%" PRIu64
                       ",\"bytes\":%" PRIu64 ",\"timed\":%" PRIu64 ",\"timed_bytes\":%" PRIu64
                       ",\"spans\":%" PRIu64 ",\"us\":%" PRIu64 ".250,\"min_us\":81.204,\"max_us\":"
                       "9120.511,\"from_us\":1203.100,\"to_us\":86400123456.789,\"hist\":[",
                       comm, ranks, op, count, count << 26, count, count << 26, count, us * count);
    for (int bin = 16; bin < 24; bin++)
        len += snprintf(text + len, size - (size_t)len, "%s[%d,%" PRIu64 "]", bin > 16 ? "," : "",
                        bin, count / 8);
    return len + snprintf(text + len, size - (size_t)len, "]}");
}

static int put_shutdown(char *text, size_t size, int rank, int ranks)
{
    static const struct {
        char group;
        const char *op;
        uint64_t count;
    } rows[] = {
        {'w', "AllReduce", 1000},       {'t', "AllReduce", 400000}, {'t', "AllGather", 400000},
        {'t', "ReduceScatter", 400000}, {'d', "AllReduce", 3000},   {'d', "ReduceScatter", 90000},
        {'d', "AllGather", 90000},      {'p', "Send", 120000},      {'p', "Recv", 120000}};
    int len =
        snprintf(text, size,
                 "{\"event\":\"shutdown\",\"time_us\":86400999999.000,\"total_ops\":2224000,"
                 "\"dropped\":0,\"summary\":{\"nccl\":{\"AllReduce\":{\"count\":404000,"
                 "\"bytes\":27112296448000}},\"cublas\":{\"GemmEx\":{\"count\":600000}},"
                 "\"timing\":{\"device\":2224000},\"deps\":10,\"syncs\":5,\"copies\":{},"
                 "\"launches\":9000000,\"graphs\":0,\"marks\":1000,\"time\":{\"from_us\":"
                 "1203.100,\"to_us\":86400123456.789,\"devices\":1,\"collectives\":{\"count\":"
                 "1384000,\"bytes\":92879716352000,\"timed\":1384000,\"us\":%d.500},"
                 "\"messages\":{\"count\":240000,\"bytes\":16106127360000,\"timed\":240000,"
                 "\"us\":9000000000.000},\"gemms\":{\"count\":600000,\"timed\":600000,\"us\":"
                 "40000000000.000},\"copies\":{\"count\":0,\"bytes\":0,\"timed\":0,\"us\":"
                 "0.000},\"graphs\":{\"count\":0,\"timed\":0,\"us\":0.000}},\"comms\":[",
                 rank % 1000 * 1000000 + 1000000000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char g = rows[i].group;
        int size_of = g == 'w' ? ranks : g == 'd' ? ranks / 64 : 8;
        int member = g == 'w'   ? 0
                     : g == 't' ? rank / 8
                     : g == 'p' ? rank % 8 + rank / 64 * 8
                                : rank % 64;
        uint64_t comm = ((uint64_t)g << 32 | (uint64_t)member) * UINT64_C(0x9e3779b97f4a7c15);
        len += snprintf(text + len, size - (size_t)len, "%s", i > 0 ? "," : "");
        len +=
            put_row(text + len, size - (size_t)len, comm, size_of, rows[i].op, rank, rows[i].count);
    }
    return len + snprintf(text + len, size - (size_t)len, "],\"unseen\":[]}}\n");
}

static void write_rank(int folder, int rank, int ranks)
{
    static char text[TEXT_BYTES];
    char name[64];
    int fd, len = put_init(text, sizeof text, rank, ranks);
    len += put_shutdown(text + len, sizeof text - (size_t)len, rank, ranks);
    snprintf(name, sizeof name, "specter_trace_rank%d.jsonl", rank);
    fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, text, (size_t)len) != len || close(fd) != 0)
        fail(name);
}

struct taken {
    double s, cpu_s, mib; /* peak memory */
};

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static struct taken read_all(const char *specter, const char *folder, const char *out)
{
    double begun = now_s();
    struct rusage use;
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || dup2(fd, 1) < 0)
            fail(out);
        execl(specter, specter, "analyze", "--summary", folder, (char *)NULL);
        fail(specter);
    }
    if (child < 0 || wait4(child, &status, 0, &use) != child)
        fail("fork");
    if (status != 0) {
        fprintf(stderr, "summaries: specter ended with %d\n", status);
        exit(1);
    }
    return (struct taken){now_s() - begun, seconds(use.ru_utime) + seconds(use.ru_stime),
                          (double)use.ru_maxrss / 1024};
}

int main(int argc, char **argv)
{
    int ranks = argc == 4 ? atoi(argv[3]) : 0, folder;
    struct taken best = {0, 0, 0};
    double begun;
    char out[4096];
    if (ranks < 64) {
        fprintf(stderr, "usage: summaries SPECTER FOLDER RANKS (64 or more)\n");
        return 2;
    }
    if (mkdir(argv[2], 0700) != 0 || (folder = open(argv[2], O_RDONLY | O_DIRECTORY)) < 0)
        fail(argv[2]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    begun = now_s();
    for (int rank = 0; rank < ranks; rank++)
        write_rank(folder, rank, ranks);
    printf("%d files written in %.1f s\n", ranks, now_s() - begun);
    snprintf(out, sizeof out, "%s.out", argv[2]);
    for (int i = 0; i < ROUNDS; i++) {
        struct taken t = read_all(argv[1], argv[2], out);
        printf("round %d  %6.2f s  %6.2f s of processors  %5.0f MiB\n", i + 1, t.s, t.cpu_s, t.mib);
        best.s = i == 0 || t.s < best.s ? t.s : best.s;
        best.cpu_s = i == 0 || t.cpu_s < best.cpu_s ? t.cpu_s : best.cpu_s;
        best.mib = t.mib > best.mib ? t.mib : best.mib;
    }
    printf("goal     %6.2f s  %26s %5.0f MiB: %s\n", GOAL_S, "", GOAL_MIB,
           best.s <= GOAL_S && best.mib <= GOAL_MIB ? "reached" : "missed");
    for (int rank = 0; rank < ranks; rank++) {
        char name[64];
        snprintf(name, sizeof name, "specter_trace_rank%d.jsonl", rank);
        unlinkat(folder, name, 0);
    }
    if (rmdir(argv[2]) != 0)
        fail(argv[2]);
    unlink(out);
    printf("{\"files\":%d,\"seconds\":%.2f,\"cpu_s\":%.2f,\"rss_mib\":%.1f}\n", ranks, best.s,
           best.cpu_s, best.mib);
    return 0;
}

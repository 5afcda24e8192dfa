/* SPDX-License-Identifier: MIT
 *
 * Reads one trace in one way and says what that took; tests/bench/read.sh calls it in turns.
 *
 *     bench_read specter|cjson|kineto|folder PATH [THREADS]
 *
 * specter: our JSON Lines, the operations taken as they are read. cjson: the same file by a reader
 * that has cJSON parse each line and takes the same fields. kineto, folder: loaded whole. Prints
 * seconds of processor time of the thread, seconds of the clock, peak memory in KiB, and of the
 * operations their number, the sum of their durations in ns, and of their bytes by class: the same
 * for the first two, or one of them did not read the file.
 */
#include "base/arena.h"
#include "trace/run.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct sums {
    uint64_t ops, dur_ns, bytes[OP_GRAPH + 1];
};

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- ours ---- */

static void take(void *arg, const struct rank *rank, const struct op *ops, size_t n)
{
    struct sums *sums = arg;
    (void)rank;
    for (size_t i = 0; i < n; i++) {
        sums->ops++;
        sums->dur_ns += ops[i].dur_ns != UNKNOWN_NS ? (uint64_t)ops[i].dur_ns : 0;
        sums->bytes[ops[i].class] += ops[i].bytes;
    }
}

static void load(const char *path, bool in_portions, int threads, struct sums *sums)
{
    struct load_opts opts = {.threads = threads};
    struct run run;
    struct err e;
    if (in_portions) {
        opts.take = take;
        opts.take_arg = sums;
    }
    if (run_load(&run, path, &opts, &e) < 0)
        die("%s", e.msg);
    for (size_t r = 0; r < run.nranks; r++)
        take(sums, NULL, run.ranks[r].ops, run.ranks[r].nops);
    run_release(&run);
}

/* ---- cJSON ---- */

static double number(const cJSON *line, const char *key, double none)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, key);
    return cJSON_IsNumber(item) ? item->valuedouble : none;
}

static const char *text(const cJSON *line, const char *key)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line, key));
    return value != NULL ? value : "";
}

/* Looks up the fields of an operation that the reader takes and this program does not sum. */
static double use_fields(const cJSON *line)
{
    static const char *const numbers[] = {"id",  "start_us",  "host_us", "host_end_us", "device",
                                          "tid", "stream",    "graph",   "count",       "seq",
                                          "m",   "comm_size", "n",       "comm_rank",   "k"};
    static const char *const texts[] = {"op", "dtype", "timing", "comm"};
    double used = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        used += number(line, numbers[i], 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        used += text(line, texts[i])[0];
    return used;
}

static enum op_class class_of(const cJSON *line, const char *type)
{
    if (strcmp(type, "cublas") == 0)
        return OP_GEMM;
    if (strcmp(type, "copy") == 0)
        return OP_MEMORY;
    if (strcmp(type, "graph") == 0)
        return OP_GRAPH;
    return strcmp(text(line, "op"), "Send") == 0 || strcmp(text(line, "op"), "Recv") == 0 ? OP_P2P
                                                                                          : OP_COLL;
}

static void cjson_line(const char *line, size_t len, struct sums *sums, double *used)
{
    cJSON *json = cJSON_ParseWithLength(line, len);
    const char *type = text(json, "type");
    if (strcmp(type, "nccl") == 0 || strcmp(type, "cublas") == 0 || strcmp(type, "copy") == 0 ||
        strcmp(type, "graph") == 0) {
        sums->ops++;
        sums->dur_ns += (uint64_t)llround(number(json, "duration_us", 0) * 1000);
        sums->bytes[class_of(json, type)] += (uint64_t)number(json, "bytes", 0);
        *used += use_fields(json);
    }
    cJSON_Delete(json);
}

static void cjson_read(const char *path, struct sums *sums)
{
    FILE *in = fopen(path, "rb");
    char *line = NULL;
    size_t cap = 0;
    double used = 0;
    ssize_t n;
    if (in == NULL)
        die("cannot read '%s'", path);
    while ((n = getline(&line, &cap, in)) > 0)
        cjson_line(line, (size_t)n, sums, &used);
    if (used < 0)
        fputs("odd\n", stderr);
    free(line);
    fclose(in);
}

int main(int argc, char **argv)
{
    struct sums sums = {0};
    struct rusage usage;
    double cpu, wall;
    int threads;
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: bench_read specter|cjson|kineto|folder PATH [THREADS]\n");
        return 2;
    }
    threads = argc > 3 ? atoi(argv[3]) : 1;
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    wall = seconds(CLOCK_MONOTONIC);
    if (strcmp(argv[1], "cjson") == 0)
        cjson_read(argv[2], &sums);
    else
        load(argv[2], strcmp(argv[1], "specter") == 0, threads, &sums);
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    wall = seconds(CLOCK_MONOTONIC) - wall;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.6f %.6f %ld %" PRIu64 " %" PRIu64, cpu, wall, usage.ru_maxrss, sums.ops, sums.dur_ns);
    for (size_t c = 0; c <= OP_GRAPH; c++)
        printf(" %" PRIu64, sums.bytes[c]);
    putchar('\n');
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * The list of ranks above the table of nccl-tests, a line each:
 *
 *     Rank  0 Group  0 Pid 6899 on HOST device  0 [0000:04:00] NVIDIA H100 80GB HBM3
 *
 * without the group in older versions. It may have holes: nccl-tests cuts that of a process at
 * 2 KiB, documents leave lines out. Ranks of several groups (a job that NCCL_TESTS_SPLIT splits)
 * are numbered together, and each group measures at the same time.
 */
#include "base/buf.h"
#include "bench/nccl_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nccl_tests_ranks_release(struct nccl_tests_ranks *ranks)
{
    free(ranks->on_host);
    free(ranks->listed);
}

void nccl_tests_ranks_reset(struct nccl_tests_ranks *ranks)
{
    for (size_t i = 0; i < ranks->cap_on_host; i++)
        ranks->on_host[i] = 0;
    for (size_t i = 0; i < ranks->cap_listed; i++)
        ranks->listed[i] = false;
    *ranks = (struct nccl_tests_ranks){.group = -1,
                                       .host = "",
                                       .on_host = ranks->on_host,
                                       .cap_on_host = ranks->cap_on_host,
                                       .listed = ranks->listed,
                                       .cap_listed = ranks->cap_listed};
}

bool nccl_tests_rank_read(struct nccl_tests_rank *out, const char *text)
{
    const char *at = strstr(text, "Rank "), *name;
    int end = 0;
    out->device = out->group = 0;
    if (at == NULL || (sscanf(at, "Rank %d Group %d Pid %d on %199s device %d %n", &out->rank,
                              &out->group, &out->pid, out->host, &out->device, &end) < 5 &&
                       sscanf(at, "Rank %d Pid %d on %199s device %d %n", &out->rank, &out->pid,
                              out->host, &out->device, &end) < 4))
        return false;
    if (end == 0 || at[end] != '[' || (name = strchr(at + end, ']')) == NULL)
        return false;
    for (name++; *name == ' ';)
        name++;
    out->gpu = name;
    return out->rank >= 0 && out->rank < NCCL_TESTS_RANK_MAX && out->device >= 0 &&
           out->device < NCCL_TESTS_RANK_MAX;
}

void nccl_tests_ranks_add(struct nccl_tests_ranks *ranks, struct bench_result *r,
                          struct bench_run *run, const struct nccl_tests_rank *one)
{
    size_t host;
    if (ranks->group >= 0 && one->group != ranks->group) {
        ranks->other_groups = true; /* another communicator of the same size, at the same time */
        return;
    }
    ranks->group = one->group;
    ARRAY_GROW(ranks->listed, ranks->cap_listed, (size_t)one->rank + 1);
    ranks->alone =
        ranks->alone || (one->rank == 0 && ranks->listed[0] &&
                         (one->pid != ranks->pid || strcmp(one->host, ranks->host) != 0));
    if (ranks->listed[one->rank] ||
        ranks->alone) /* or the list is another process' from there on */
        return;
    if (one->rank == 0) {
        ranks->pid = one->pid;
        ranks->host = bench_keep(r, one->host, strlen(one->host));
    }
    ranks->listed[one->rank] = true;
    ranks->n++;
    if (one->rank > ranks->highest)
        ranks->highest = one->rank;
    if (one->device >= ranks->devices)
        ranks->devices = one->device + 1;
    host = bench_host_add(r, run, one->host, strlen(one->host));
    ARRAY_GROW(ranks->on_host, ranks->cap_on_host, host + 1);
    ranks->on_host[host]++;
    if (ranks->on_host[host] > run->where.per_node)
        run->where.per_node = ranks->on_host[host];
    if (run->gpu[0] == '\0')
        run->gpu = bench_keep(r, one->gpu, strlen(one->gpu));
    else if (strcmp(run->gpu, one->gpu) != 0)
        run->other_gpu = bench_keep(r, one->gpu, strlen(one->gpu));
}

/* The layout of a run whose list is complete. Where the list has holes, device numbers tell how
 * many ranks a node has. */
static void find_layout(const struct nccl_tests_ranks *ranks, struct bench_result *r,
                        struct bench_run *run)
{
    struct layout *w = &run->where;
    const int process = ranks->per_process > 0 ? ranks->per_process : 1;
    if (ranks->n == 0)
        return;
    w->ranks = ranks->other_groups ? ranks->n : (ranks->highest / process + 1) * process;
    w->nodes = (int)run->nhosts;
    if (w->ranks == ranks->n)
        return;
    if (ranks->devices > w->per_node)
        w->per_node = ranks->devices < w->ranks ? ranks->devices : w->ranks;
    if ((int64_t)w->nodes * w->per_node < w->ranks)
        w->nodes = (w->ranks + w->per_node - 1) / w->per_node;
    bench_note(r, run->file, run->line, "the header lists %d of %d ranks", ranks->n, w->ranks);
}

void nccl_tests_ranks_end(struct nccl_tests_ranks *ranks, struct bench_result *r,
                          struct bench_run *run)
{
    if (ranks->ended)
        return;
    ranks->ended = true;
    find_layout(ranks, r, run);
    if (ranks->alone)
        bench_note(
            r, run->file, run->line,
            "several processes have a rank 0: nccl-tests was built without MPI (make MPI=1), "
            "so that each measured alone, at the same time");
}

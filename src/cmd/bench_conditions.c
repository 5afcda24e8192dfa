/* SPDX-License-Identifier: MIT
 *
 * The conditions that a benchmark runs in: CPUs, clocks, temperatures (bench.h).
 */

#include "base/arena.h"
#include "base/buf.h"
#include "bench/state.h"
#include "cmd/bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERIOD_S 1
#define TABLES_MAX 10000 /* of one folder */
#define HOST_NAME 64

/* The data that ranks exchange. */
struct rank_place {
    char host[HOST_NAME], bus_id[BENCH_BUS_ID];
    int node_index, pid;
};

static void note(const char *what, const struct err *e)
{
    fprintf(stderr, "specter: note: %s: %s\n", what, e->msg);
}

int bench_conditions_prepare(struct bench_conditions *c, const struct bench_conditions_opts *opts,
                             struct err *e)
{
    *c = (struct bench_conditions){.opts = opts};
    if (opts->warmup_temp != BENCH_NO_NUMBER && (opts->warmup_temp < 1 || opts->warmup_temp > 90))
        return err_set(e, ERR_USAGE, "--warmup-temp: %lld is out of range: 1 to 90",
                       (long long)opts->warmup_temp);
    if (opts->lock_clocks == BENCH_NO_NUMBER)
        return 0;
    if (opts->lock_clocks < 100 || opts->lock_clocks > 10000)
        return err_set(e, ERR_USAGE, "--lock-clocks: %lld is out of range: 100 to 10000",
                       (long long)opts->lock_clocks);
    return bench_clocks_start(&c->clocks, e);
}

/* ---- nodes ---- */

/* The node of rank i, counted from 0: a node begins with its process number 0, which is the last
 * such one of the same host up to i. */
static int node_of(const struct rank_place *all, int i)
{
    int leader = i, node = 0;
    while (leader > 0 &&
           (all[leader].node_index != 0 || strcmp(all[leader].host, all[i].host) != 0))
        leader--;
    for (int k = 0; k < leader; k++)
        node += all[k].node_index == 0;
    return node;
}

static int find_node(struct bench_conditions *c, const struct bench_conditions_where *w,
                     const char *bus_id, struct err *e)
{
    struct bench_neighbours *node = &c->neighbours;
    struct rank_place mine = {.node_index = w->node_index, .pid = (int)getpid()}, *all;
    int status;
    all = array_new((size_t)w->world, sizeof *all);
    node->bus_ids = array_new((size_t)w->world, sizeof *node->bus_ids);
    node->pids = array_new((size_t)w->world, sizeof *node->pids);
    gethostname(mine.host, sizeof mine.host - 1);
    snprintf(mine.bus_id, sizeof mine.bus_id, "%s", bus_id);
    status = bench_ranks_gather(w->ranks, &mine, sizeof mine, all, e);
    c->node = status == 0 ? node_of(all, w->rank) : 0;
    for (int i = 0; i < w->world && status == 0; i++) {
        bool known = false;
        if (node_of(all, i) != c->node)
            continue;
        node->pids[node->count] = all[i].pid;
        for (int k = 0; k < node->count; k++)
            known |= strcmp(node->bus_ids[k], all[i].bus_id) == 0;
        if (!known) /* ranks that share a GPU leave a gap, which names none */
            memcpy(node->bus_ids[node->count], all[i].bus_id, BENCH_BUS_ID);
        node->count++;
    }
    free(all);
    return status;
}

/* ---- clocks ---- */

static void lock_clocks(struct bench_conditions *c)
{
    const struct bench_neighbours *node = &c->neighbours;
    const int MHz = (int)c->opts->lock_clocks;
    struct err e = {0};
    for (int i = 0; i < node->count; i++) {
        if (node->bus_ids[i][0] != '\0' &&
            bench_clocks_lock(&c->clocks, node->bus_ids[i], MHz, &e) < 0) {
            note("clocks are not locked", &e);
            bench_clocks_release(&c->clocks);
            return;
        }
    }
    c->locked_MHz = MHz;
}

/* ---- warm-up ---- */

/* Temperature that GPUs are to reach. */
struct warming {
    const char *option; /* that asks for it */
    int celsius, limit_s;
};

static int warm_up(struct bench_conditions *c, const struct warming *to,
                   const struct bench_conditions_where *where, struct bench_gpu *gpu, struct err *e)
{
    const bool wanted[BENCH_GEMM_TYPES] = {true};
    struct bench_blas blas = {0};
    struct bench_warm warm = {.blas = &blas, .celsius = to->celsius, .limit_s = to->limit_s};
    int status = bench_blas_open(&blas, gpu, wanted, e);
    if (bench_ranks_agree(where->ranks, status, e) < 0) {
        bench_blas_close(&blas);
        return err_prefix(e, "%s", to->option);
    }
    status = bench_warm(&warm, where->ranks, e);
    bench_blas_close(&blas);
    if (warm.unknown.code != ERR_NONE && where->rank == 0)
        note("GPUs are not warmed up", &warm.unknown);
    if (status == 0 && warm.lacks_K > 0 && where->rank == 0 && !c->cold_noted)
        fprintf(stderr, "specter: note: after %d s of GEMMs the coldest GPU has %.0f C, not %d\n",
                to->limit_s, to->celsius - warm.lacks_K, to->celsius);
    c->cold_noted |= status == 0 && warm.lacks_K > 0;
    return status;
}

/* The benchmark goes on where GPUs cannot be warmed, for instance as it holds their memory. */
int bench_conditions_rewarm(struct bench_conditions *c, const struct bench_conditions_where *w,
                            struct err *e)
{
    const struct warming to = {"--rewarm", BENCH_REWARM_TO, BENCH_REWARM_S};
    struct bench_gpu gpu = {0};
    struct err own = {0};
    double found[2]; /* of any GPU: its temperature is not known; it is too cold */
    double celsius = (double)NAN;
    int status = 0;
    if (c->rewarm_failed)
        return 0;
    if (bench_gpu_open(&gpu, w->device, &own) == 0)
        celsius = bench_nvml_celsius(gpu.bus_id);
    found[0] = isnan(celsius);
    found[1] = celsius < BENCH_REWARM_BELOW;
    if (bench_ranks_max(w->ranks, found, 2, e) < 0)
        status = -1;
    else if (found[0] > 0)
        err_set(&own, ERR_INPUT, "the GPUs' temperatures are not known");
    else if (found[1] > 0 && warm_up(c, &to, w, &gpu, &own) < 0 && bench_ranks_failed(w->ranks))
        status = err_set(e, own.code, "%s", own.msg);
    bench_gpu_close(&gpu);
    c->rewarm_failed = own.code != ERR_NONE;
    if (status == 0 && c->rewarm_failed && w->rank == 0)
        note("GPUs are not warmed again", &own);
    return status;
}

/* ---- watching ---- */

/* temperatures.csv, with -2 and so on where that is taken. */
static int open_table(struct bench_conditions *c, const char *folder, struct err *e)
{
    char node[24] = "", again[24] = "";
    if (c->node > 0)
        snprintf(node, sizeof node, "_node%d", c->node);
    for (int i = 1; i <= TABLES_MAX && c->table == NULL; i++) {
        if (i > 1)
            snprintf(again, sizeof again, "-%d", i);
        snprintf(c->table_path, sizeof c->table_path, "%s/temperatures%s%s.csv", folder, node,
                 again);
        c->table = fopen(c->table_path, "wxe");
        if (c->table == NULL && errno != EEXIST)
            break;
    }
    if (c->table == NULL)
        return err_set(e, ERR_INPUT, "%s: %s", c->table_path, strerror(errno));
    bench_watch_head(c->table);
    return 0;
}

/* On one process of each node. */
static int watch(struct bench_conditions *c, const struct bench_conditions_where *w, struct err *e)
{
    const struct bench_neighbours *node = &c->neighbours;
    struct bench_watch_config config = {.bus_ids = (const char(*)[BENCH_BUS_ID])node->bus_ids,
                                        .count = node->count,
                                        .pids = node->pids,
                                        .npids = node->count,
                                        .period_s = PERIOD_S};
    struct err own = {0};
    if (bench_nvml_count(&own) == 0) {
        if (c->node == 0)
            note("temperature, power and clocks are not known", &own);
        return 0;
    }
    if (w->output != NULL && open_table(c, w->output, e) < 0)
        return -1;
    config.table = c->table;
    c->watch = bench_watch_start(&config, &own);
    if (c->watch == NULL)
        note("temperature, power and clocks are not known", &own);
    return 0;
}

int bench_conditions_watch(struct bench_conditions *c, const struct bench_conditions_where *w,
                           struct err *e)
{
    return bench_ranks_agree(w->ranks, w->node_index == 0 ? watch(c, w, e) : 0, e);
}

/* ---- begin ---- */

int bench_conditions_begin(struct bench_conditions *c, const struct bench_conditions_where *w,
                           struct err *e)
{
    struct bench_gpu gpu = {0};
    int status = bench_gpu_open(&gpu, w->device, e);
    if (bench_ranks_agree(w->ranks, status, e) < 0 || find_node(c, w, gpu.bus_id, e) < 0) {
        bench_gpu_close(&gpu);
        return -1;
    }
    if (!c->opts->no_numa)
        bench_numa_bind(gpu.bus_id, c->neighbours.count, c->cpus, sizeof c->cpus);
    if (w->node_index == 0 && c->opts->lock_clocks != BENCH_NO_NUMBER)
        lock_clocks(c);
    bench_gpu_close(&gpu);
    return 0;
}

int bench_conditions_warm(struct bench_conditions *c, const struct bench_conditions_where *w,
                          struct err *e)
{
    const struct warming to = {"--warmup-temp", (int)c->opts->warmup_temp, BENCH_WARM_S};
    struct bench_gpu gpu = {0};
    int status;
    if (c->opts->warmup_temp == BENCH_NO_NUMBER)
        return 0;
    status = bench_ranks_agree(w->ranks, bench_gpu_open(&gpu, w->device, e), e);
    if (status == 0)
        status = warm_up(c, &to, w, &gpu, e);
    bench_gpu_close(&gpu);
    return status;
}

/* Of each GPU of this node what connects it to the others: "X NV18 NV18 NV18". */
static void describe_topology(const struct bench_neighbours *node, struct bench_result *r,
                              struct bench_run *run)
{
    for (int i = 0; i < node->count; i++) {
        void *gpu = node->bus_ids[i][0] != '\0' ? bench_nvml_device(node->bus_ids[i], NULL) : NULL;
        struct buf row = BUF_INIT;
        char name[32];
        for (int k = 0; k < node->count; k++) {
            char path[BENCH_CONNECTION_MAX];
            bench_nvml_connection(
                gpu, node->bus_ids[k][0] != '\0' ? bench_nvml_device(node->bus_ids[k], NULL) : NULL,
                path);
            buf_printf(&row, "%s%s", k > 0 ? " " : "", path);
        }
        snprintf(name, sizeof name, "topology of GPU %d", i);
        if (gpu != NULL)
            bench_setting_add(r, run, name, row.data);
        buf_release(&row);
    }
}

void bench_conditions_describe(const struct bench_conditions *c, int rank, struct bench_result *r,
                               struct bench_run *run)
{
    char text[32];
    if (bench_nvml_driver()[0] != '\0')
        bench_setting_add(r, run, "driver", bench_nvml_driver());
    describe_topology(&c->neighbours, r, run);
    snprintf(text, sizeof text, "CPUs of rank %d", rank);
    if (c->cpus[0] != '\0')
        bench_setting_add(r, run, text, c->cpus);
    snprintf(text, sizeof text, "%d", c->locked_MHz);
    if (c->locked_MHz > 0)
        bench_setting_add(r, run, "locked SM clock, MHz", text);
}

/* ---- end ---- */

/* A node's, in a form of fixed length. */
struct parcel {
    int count;
    struct bench_gpu_summary gpus[BENCH_WATCH_GPUS];
};

/* On rank 0 those of all nodes, where `ranks` can be asked; else this node's. */
static int collect(struct bench_conditions *c, const struct bench_conditions_where *w,
                   struct bench_ranks *ranks, const struct parcel *mine, struct err *e)
{
    struct parcel *all = ranks != NULL ? array_new((size_t)w->world, sizeof *all) : NULL;
    int status = ranks != NULL ? bench_ranks_gather(ranks, mine, sizeof *mine, all, e) : 0;
    const bool has_all = ranks != NULL && status == 0 && w->rank == 0;
    const struct parcel *parcels = has_all ? all : mine;
    const int n = has_all ? w->world : 1;
    c->gpus = array_new((size_t)n * BENCH_WATCH_GPUS, sizeof *c->gpus);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < parcels[i].count; k++)
            c->gpus[c->ngpus++] = parcels[i].gpus[k];
    }
    free(all);
    return status;
}

static void name_others(const struct bench_conditions *c)
{
    int more = 0;
    const struct bench_gpu_summary *first = NULL;
    for (int i = 0; i < c->ngpus; i++) {
        if (c->gpus[i].others[0] == '\0')
            continue;
        more += first != NULL;
        first = first != NULL ? first : &c->gpus[i];
    }
    if (first == NULL)
        return;
    fprintf(stderr, "specter: note: GPU %d is also used by process %s", first->gpu_id,
            first->others);
    if (more > 0)
        fprintf(stderr, "; so are %d other GPUs", more);
    fputc('\n', stderr);
}

int bench_conditions_end(struct bench_conditions *c, const struct bench_conditions_where *w,
                         struct bench_ranks *ranks, struct err *e)
{
    struct parcel *mine = array_new(1, sizeof *mine);
    bool failed = false;
    int status;
    mine->count = bench_watch_stop(c->watch, mine->gpus);
    c->watch = NULL;
    for (int i = 0; i < mine->count; i++)
        mine->gpus[i].node = c->node;
    bench_clocks_release(&c->clocks);
    if (c->table != NULL) {
        failed = ferror(c->table) != 0;
        failed |= fclose(c->table) != 0;
        c->table = NULL;
    }
    status = collect(c, w, ranks, mine, e);
    free(mine);
    if (w->rank == 0)
        name_others(c);
    if (status == 0 && failed)
        status = err_set(e, ERR_INPUT, "%s: not all could be written", c->table_path);
    return status;
}

void bench_conditions_release(struct bench_conditions *c)
{
    struct bench_gpu_summary unused[BENCH_WATCH_GPUS];
    bench_watch_stop(c->watch, unused);
    bench_clocks_release(&c->clocks);
    if (c->table != NULL)
        fclose(c->table);
    free(c->gpus);
    free(c->neighbours.bus_ids);
    free(c->neighbours.pids);
    *c = (struct bench_conditions){0};
}

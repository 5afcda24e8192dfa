/* SPDX-License-Identifier: MIT
 *
 * specter bench: measures this machine, or judges what others measured.
 */
#include "cmd/bench.h"

#include "cmd/hardware.h"
#include "report/bench_report.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- links ---- */

int bench_p2p_target(const char *gpu, const char *network, const char *device, struct arena *a,
                     struct bench_target *out, struct err *e)
{
    const struct gpu_profile *by_name =
        gpu != NULL ? gpu_profile_find(gpu, NULL) : gpu_profile_of_device(device);
    struct profile_pair on;
    *out = (struct bench_target){NULL, NULL};
    if (gpu == NULL && by_name == NULL)
        return 0;
    if (network == NULL && by_name != NULL)
        network = by_name->network;
    if (cmd_target(gpu != NULL ? gpu : by_name->name, network, true, a, &on, e) < 0)
        return -1;
    *out = (struct bench_target){on.gpu, on.network};
    return 0;
}

static void take_checks(const struct bench_p2p_report *r, struct bench_checks *checks)
{
    size_t done = 0, ranks = (size_t)r->log->ranks;
    for (size_t i = 0; i < r->log->n; i++)
        done += r->log->list[i].config.mode == BENCH_P2P_ONE_WAY;
    bench_checks_init(checks);
    bench_checks_done(checks, done, ranks * (ranks - 1) * r->plan->nsizes);
    bench_checks_links(checks, r->log, r->links);
    if (r->target != NULL && r->target->gpu != NULL)
        bench_checks_predicted(checks, r->log, r->links, r->node_of, r->target->gpu,
                               r->target->net);
    for (int i = 0; i < 2; i++)
        bench_checks_drift(checks, r->drift[i], r->node_of);
    bench_checks_gpus(checks, r->gpus, r->ngpus);
}

static int write_page(const struct bench_p2p_report *r, const struct bench_p2p_show *show,
                      struct err *e)
{
    struct bench_temperatures t = {0};
    struct bench_page page = {.title = "specter bench p2p",
                              .run = r->run,
                              .checks = r->checks,
                              .log = r->log,
                              .links = r->links,
                              .drift = r->drift[0]->n > 0 ? r->drift[0] : NULL};
    char path[4200];
    int status;
    snprintf(path, sizeof path, "%s/temperatures.csv", show->folder);
    if (show->folder[0] != '\0' && bench_temperatures_read(&t, path, NULL) == 0)
        page.temperatures = &t;
    status = bench_page_write(&page, show->html, e);
    bench_temperatures_release(&t);
    return status;
}

int bench_p2p_show(struct bench_p2p_report *r, struct bench_checks *checks,
                   const struct bench_p2p_show *show, struct err *e)
{
    take_checks(r, checks);
    r->checks = checks;
    for (size_t i = 0; i < r->result->nnotes; i++)
        fprintf(stderr, "specter: note: %s\n", r->result->notes[i]);
    if (show->json != NULL && cmd_write_json(bench_p2p_json(r), show->json, e) < 0)
        return -1;
    if (show->html != NULL && write_page(r, show, e) < 0)
        return -1;
    if (show->json == NULL || strcmp(show->json, "-") != 0)
        bench_p2p_text(r, show->full, stdout);
    return show->fail_on != NULL ? bench_checks_apply(show->fail_on, checks, e) : 0;
}

/* ---- the command ---- */

static const struct cmd_kind *const kinds[] = {
    &bench_collectives, &bench_gemms,    &bench_states, &bench_p2ps,
    &bench_drifts,      &bench_overlaps, &bench_tunes,  &bench_report,
};

static const struct opt bench_rows[] = {OPT_END};

const struct command cmd_bench = {
    .name = "bench",
    .synopsis = "bench collective [--op LIST] [--bytes MIN:MAX | --elements LIST] [OPTIONS]\n"
                "bench gemm [--budget SECONDS] [--shapes FILE] [OPTIONS]\n"
                "bench state [-o FILE] [-- COMMAND [ARG...]]\n"
                "bench p2p [--sizes MIN:MAX] [--seed N] [-o DIR] [OPTIONS]\n"
                "bench drift [--seconds S] [--windows N] [OPTIONS]\n"
                "bench overlap [--channels LIST] [--bytes SIZE] [-o DIR] [OPTIONS]\n"
                "bench tune [--op LIST] [--bytes MIN:MAX] [--budget SECONDS] [OPTIONS]\n"
                "bench report FILE|DIR|- [OPTIONS]",
    .summary = "measure communication and GEMMs, or judge a log",
    .details =
        "collective: times of a library's collectives on this machine's GPUs, or in a job that "
        "torchrun, srun or mpirun starts; results are checked.\n"
        "gemm: times of GEMMs on one GPU, its peak and what the models predict.\n"
        "state: temperature, power, clocks and what holds them down, now or while a command runs.\n"
        "p2p: latency and rate of every link between two GPUs, one way, both and all at once; "
        "slow and asymmetric links are named.\n"
        "drift: how fast the clocks of GPUs and hosts run against each other, in ppm.\n"
        "overlap: what GEMMs and collectives lose to each other, by the number of channels.\n"
        "tune: algorithm, protocol and channels that are faster than NCCL's own choice, size by "
        "size, with the table of NCCL's example tuner plugin.\n"
        "report: nccl-tests' text and what the models predict, size by size: is this normal, "
        "and what usually causes such a shape.\n"
        "'specter help bench collective' (gemm, state, p2p, drift, overlap, tune, report) shows "
        "the options of each kind; docs/bench.md defines each figure.",
    .rows = bench_rows,
    .kinds = kinds,
    .nkinds = sizeof kinds / sizeof *kinds,
    .run = cmd_run_kind,
};

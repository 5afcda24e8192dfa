/* SPDX-License-Identifier: MIT */
#include "cmd/bench_p2p_show.h"

#include "cmd/hardware.h"
#include "report/bench_page.h"

#include <cjson/cJSON.h>
#include <string.h>

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

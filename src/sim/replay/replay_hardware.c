/* SPDX-License-Identifier: MIT
 *
 * The hardware of a replay: what a job was recorded on, and what it is replayed on.
 */
#include "base/buf.h"
#include "sim/replay/job.h"
#include "sim/replay/notes.h"

#include <string.h>

/* The GPU that the ranks name; NULL when specter knows none of the names. */
static const struct gpu_profile *recorded_gpu(struct replay *rep, const struct run *run)
{
    const struct gpu_profile *gpu = NULL;
    for (size_t r = 0; r < run->nranks; r++) {
        const char *name = run->ranks[r].gpu;
        const struct gpu_profile *other = name[0] ? gpu_profile_of_device(name) : NULL;
        if (gpu != NULL && other != NULL && other != gpu) {
            replay_note(rep, false, "ranks ran on different GPUs: all are taken as %s", gpu->name);
            break;
        }
        if (gpu == NULL)
            gpu = other;
    }
    return gpu;
}

/* The hardware of the recording; NULL where it is not known. */
static void find_source(struct replay *rep, const struct run *run, const struct replay_opts *opts)
{
    rep->from = (struct hardware){.gpu = opts->from_gpu, .network = opts->from_network};
    if (rep->from.gpu == NULL)
        rep->from.gpu = recorded_gpu(rep, run);
    if (rep->from.gpu == NULL || rep->from.network != NULL || rep->from.gpu->network == NULL)
        return;
    rep->from.network = network_profile_find(rep->from.gpu->network, NULL);
    if (rep->from.network != NULL)
        replay_assume(rep, "recorded on network %s, where %s usually sits (--from-network)",
                      rep->from.network->name, rep->from.gpu->name);
}

/* The network of the target is that of the recording, unless another GPU is requested, which brings
 * its own. */
static int choose_network(struct replay *rep, bool gpu_named, struct err *e)
{
    const struct gpu_profile *gpu = rep->to.gpu;
    bool other = gpu_named && gpu != rep->from.gpu && gpu->network != NULL;
    if (other)
        rep->to.network = network_profile_find(gpu->network, e);
    else if (rep->from.network != NULL)
        rep->to.network = rep->from.network;
    else
        rep->to.network = network_profile_find(NETWORK_PROFILE_DEFAULT, e);
    if (rep->to.network == NULL)
        return -1;
    if (other)
        replay_assume(rep, "target network %s: where %s usually sits (--network)",
                      rep->to.network->name, gpu->name);
    else
        replay_assume(rep, "target network %s: %s (--network)", rep->to.network->name,
                      rep->from.network ? "that of the recording" : "the default");
    return 0;
}

static int find_target(struct replay *rep, const struct replay_opts *opts, struct err *e)
{
    rep->to = (struct hardware){.gpu = opts->gpu, .network = opts->network};
    if (rep->to.gpu == NULL) {
        rep->to.gpu = rep->from.gpu ? rep->from.gpu : gpu_profile_find(GPU_PROFILE_DEFAULT, e);
        if (rep->to.gpu == NULL)
            return -1;
        replay_assume(rep, "target GPU %s: %s (--gpu)", rep->to.gpu->name,
                      rep->from.gpu ? "that of the recording" : "the default");
    }
    return rep->to.network == NULL ? choose_network(rep, opts->gpu != NULL, e) : 0;
}

/* Why the GPU of the recording is not known. */
static const char *unknown_gpu(struct replay *rep, const struct run *run)
{
    struct buf name = BUF_INIT;
    const char *why = "the recording names no GPU";
    for (size_t r = 0; r < run->nranks && name.len == 0; r++)
        buf_put_printable(&name, run->ranks[r].gpu, strlen(run->ranks[r].gpu));
    if (name.len > 0)
        why = arena_printf(&rep->arena,
                           "the GPU of the recording, '%.64s', is none that specter knows",
                           name.data);
    buf_release(&name);
    return why;
}

/* Without a source there is no ratio. What was asked for by name and cannot be done is a loss. */
static void complete_source(struct replay *rep, const struct run *run,
                            const struct replay_opts *opts)
{
    rep->gpu_known = rep->from.gpu != NULL;
    rep->network_known = rep->from.network != NULL;
    if (!rep->gpu_known) {
        rep->from.gpu = rep->to.gpu;
        replay_note(rep, opts->gpu != NULL,
                    "%s: computation is not retargeted to %s, its measured times are kept "
                    "(--from-gpu)",
                    unknown_gpu(rep, run), rep->to.gpu->name);
    }
    if (!rep->network_known) {
        rep->from.network = rep->to.network;
        replay_note(rep, opts->network != NULL,
                    "the network of the recording is not known: communication is not "
                    "retargeted to %s (--from-network)",
                    rep->to.network->name);
    }
    rep->same_hardware = rep->gpu_known && rep->network_known && rep->from.gpu == rep->to.gpu &&
                         rep->from.network == rep->to.network;
}

int replay_find_hardware(struct replay *rep, const struct run *run, const struct replay_opts *opts,
                         struct err *e)
{
    find_source(rep, run, opts);
    if (find_target(rep, opts, e) < 0)
        return -1;
    complete_source(rep, run, opts);
    return 0;
}

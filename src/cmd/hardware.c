/* SPDX-License-Identifier: MIT */
#include "cmd/hardware.h"

#include "base/buf.h"
#include "base/stream.h"
#include "specter/nccl_names.h"

#include <stdio.h>
#include <string.h>

/* No profile or grid comes near it; what does is something else. */
#define FILE_MAX ((size_t)1 << 20)

bool cmd_is_profile_file(const char *arg)
{
    const char *end = strrchr(arg, '.');
    return strchr(arg, '/') != NULL || (end != NULL && strcmp(end, ".json") == 0);
}

int cmd_read_file(const char *path, const char *what, struct buf *text, struct err *e)
{
    struct stream *s;
    ssize_t n;
    if (stream_open(&s, path, e) < 0)
        return -1;
    n = stream_read(s, buf_reserve(text, FILE_MAX), FILE_MAX, e);
    stream_close(s);
    if (n < 0)
        return -1;
    if ((size_t)n == FILE_MAX)
        return err_set(e, ERR_INPUT, "%s: too long for %s", path, what);
    text->len += (size_t)n;
    return 0;
}

int cmd_profile_file(const char *path, struct arena *a, struct profile_pair *out, struct err *e)
{
    struct buf text = BUF_INIT;
    int rc = cmd_read_file(path, "a profile", &text, e);
    if (rc == 0)
        rc = profile_json_read(out, a, path, text.data, text.len, e);
    buf_release(&text);
    return rc;
}

const struct gpu_profile *cmd_gpu(const char *arg, struct arena *a,
                                  const struct network_profile **network, struct err *e)
{
    struct profile_pair pair = {0};
    if (!cmd_is_profile_file(arg))
        pair.gpu = gpu_profile_find(arg, e);
    else if (cmd_profile_file(arg, a, &pair, e) == 0 && pair.gpu == NULL)
        err_set(e, ERR_INPUT, "%s holds a network, but no GPU", arg);
    if (network != NULL)
        *network = pair.network;
    return pair.gpu;
}

const struct network_profile *cmd_network(const char *arg, struct arena *a, struct err *e)
{
    struct profile_pair pair = {0};
    if (!cmd_is_profile_file(arg))
        pair.network = network_profile_find(arg, e);
    else if (cmd_profile_file(arg, a, &pair, e) == 0 && pair.network == NULL)
        err_set(e, ERR_INPUT, "%s holds a GPU, but no network", arg);
    return pair.network;
}

int cmd_machine(const char *gpu, const char *network, struct arena *a, struct profile_pair *out,
                struct err *e)
{
    *out = (struct profile_pair){0};
    if (gpu != NULL && (out->gpu = cmd_gpu(gpu, a, &out->network, e)) == NULL)
        return -1;
    if (network != NULL && (out->network = cmd_network(network, a, e)) == NULL)
        return -1;
    return 0;
}

int cmd_target(const char *gpu, const char *network, bool needs_network, struct arena *a,
               struct profile_pair *out, struct err *e)
{
    const struct network_profile *own;
    *out = (struct profile_pair){.gpu = cmd_gpu(gpu ? gpu : GPU_PROFILE_DEFAULT, a, &own, e)};
    if (out->gpu == NULL)
        return -1;
    if (gpu == NULL)
        fprintf(stderr, "specter: no --gpu given, assuming %s\n", out->gpu->name);
    if (!needs_network)
        return 0;
    if (network != NULL)
        out->network = cmd_network(network, a, e);
    else if (own != NULL)
        out->network = own;
    else if (out->gpu->network != NULL)
        out->network = network_profile_find(out->gpu->network, e);
    else
        err_set(e, ERR_USAGE, "GPU profile '%s' names no network: --network is needed",
                out->gpu->name);
    if (out->network != NULL && network == NULL)
        fprintf(stderr, "specter: no --network given, %s %s\n",
                own ? "taking the file's" : "assuming", out->network->name);
    return out->network != NULL ? 0 : -1;
}

int cmd_nccl(const char *arg, int *version, struct err *e)
{
    *version = arg != NULL ? specter_nccl_version_parse(arg) : 0;
    return arg == NULL || *version != 0
               ? 0
               : err_set(e, ERR_USAGE, "--nccl: '%.64s' is no version of NCCL, as 2.28.9", arg);
}

int cmd_nccl_is_rccl(const struct gpu_profile *gpu, struct err *e)
{
    return err_set(e, ERR_USAGE, "--nccl: %s has RCCL, which is modelled in one version",
                   gpu->name);
}

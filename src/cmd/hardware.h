/* SPDX-License-Identifier: MIT
 *
 * GPUs and networks as command lines name them: a compiled-in profile ("h100_sxm"), or a JSON file
 * (model/profile_json.h), which is what has a '/' in its name or ends in ".json". Files are read
 * here and not in src/model, whose functions do no I/O.
 */
#ifndef SPECTER_CMD_HARDWARE_H
#define SPECTER_CMD_HARDWARE_H

#include "model/profile_json.h"

#include <stdbool.h>

struct arena;
struct buf;

/* Reads all of a file written by hand, up to 1 MiB; `what` ("a profile") is for the message. 0, or
 * -1 with e filled. */
int cmd_read_file(const char *path, const char *what, struct buf *text, struct err *e);

bool cmd_is_profile_file(const char *arg);

/* The profiles of a file, in the arena. 0, or -1 with e filled. */
int cmd_profile_file(const char *path, struct arena *a, struct profile_pair *out, struct err *e);

/* The profile that --gpu or --network names; NULL with e filled. A file's profile lives in the
 * arena. *network, where asked for: the network that stands in the GPU's file, NULL when none does.
 */
const struct gpu_profile *cmd_gpu(const char *arg, struct arena *a,
                                  const struct network_profile **network, struct err *e);
const struct network_profile *cmd_network(const char *arg, struct arena *a, struct err *e);

/* Both profiles; NULL for an option that is not given, but that a GPU's file may bring its network.
 * 0, or -1 with e filled. */
int cmd_machine(const char *gpu, const char *network, struct arena *a, struct profile_pair *out,
                struct err *e);

/* Both together, for one operation on one kind of hardware; what is not named (NULL) is the
 * default: GPU_PROFILE_DEFAULT, and the network of the GPU's file or the one it usually sits in.
 * Defaults are said on stderr. !needs_network: out->network is NULL. 0, or -1 with e filled. */
int cmd_target(const char *gpu, const char *network, bool needs_network, struct arena *a,
               struct profile_pair *out, struct err *e);

/* The version of NCCL that --nccl names, as 22809; 0 for NULL. 0, or -1 with e filled. */
int cmd_nccl(const char *arg, int *version, struct err *e);

/* Refuses --nccl for a GPU of AMD: RCCL's choice is modelled in one version. Returns -1. */
int cmd_nccl_is_rccl(const struct gpu_profile *gpu, struct err *e);

#endif

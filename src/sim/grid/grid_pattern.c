/* SPDX-License-Identifier: MIT
 *
 * Judges a communicator by itself: the roles that its name allows, and the pattern of its
 * operations.
 */
#include "sim/grid/grid_internal.h"

#include <ctype.h>
#include <string.h>

#define ROLE(_r) (1u << GRID_##_r)

/* ---- names ---- */

/* Words of Megatron, DeepSpeed, FSDP and torchtitan in the names of their groups. */
static const struct {
    const char *word;
    unsigned roles;
} words[] = {
    {"tp", ROLE(TP)},      {"tensor", ROLE(TP)},    {"mp", ROLE(TP)},        {"cp", ROLE(CP)},
    {"context", ROLE(CP)}, {"sp", ROLE(CP)},        {"sequence", ROLE(CP)},  {"ep", ROLE(EP)},
    {"expert", ROLE(EP)},  {"experts", ROLE(EP)},   {"moe", ROLE(EP)},       {"fsdp", ROLE(FSDP)},
    {"shard", ROLE(FSDP)}, {"sharded", ROLE(FSDP)}, {"zero", ROLE(FSDP)},    {"dp", ROLE(DP)},
    {"ddp", ROLE(DP)},     {"data", ROLE(DP)},      {"replicate", ROLE(DP)}, {"edp", ROLE(DP)},
    {"pp", ROLE(PP)},      {"pipe", ROLE(PP)},      {"pipeline", ROLE(PP)},
};

static unsigned roles_of_word(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) == len && strncasecmp(words[i].word, word, len) == 0)
            return words[i].roles;
    }
    return 0;
}

/* "dp_shard" is the sharded axis; "expert_data_parallel" the data axis of the experts;
 * "model_parallel" alone is tensor parallelism in DeepSpeed, but beside "tensor" or "pipeline" only
 * a word. */
unsigned grid_roles_of_name(const char *name)
{
    unsigned roles = 0;
    bool model = false;
    for (const char *at = name; *at != '\0';) {
        size_t len = 0;
        while (isalnum((unsigned char)at[len]))
            len++;
        roles |= roles_of_word(at, len);
        model = model || (len == 5 && strncasecmp(at, "model", 5) == 0);
        at += len > 0 ? len : 1;
    }
    if (roles & ROLE(FSDP))
        roles &= ~ROLE(DP);
    if (roles & ROLE(EP) && roles & (ROLE(TP) | ROLE(DP)))
        roles &= ~ROLE(EP);
    return roles == 0 && model ? ROLE(TP) : roles;
}

bool grid_one_role(unsigned roles)
{
    return roles != 0 && (roles & (roles - 1)) == 0;
}

/* ---- operations ---- */

/* Where AllGathers run ahead of ReduceScatters, parameters are gathered for each use; where both
 * alternate (a backward pass may gather twice), it is activations. */
static enum grid_pattern pattern_of_shards(const struct grid_traffic *did)
{
    double gathers = (double)did->calls[SPECTER_ALLGATHER];
    double scatters = (double)did->calls[SPECTER_REDUCESCATTER];
    if ((did->gather_run >= 3 && gathers >= 1.4 * scatters) ||
        (did->gather_run >= 2 && gathers >= 1.9 * scatters))
        return PATTERN_GATHER_AHEAD;
    return did->gather_run >= 2 && gathers < 1.4 * scatters ? PATTERN_SHARD_ONCE : PATTERN_BY_TURNS;
}

/* A Reduce to one rank, with a Broadcast from it, is an AllReduce in two steps: it counts where
 * there is nothing else. A Broadcast alone hands out what was read once. */
enum grid_pattern grid_pattern_of(const struct grid_comm *comm)
{
    const struct grid_traffic *did = &comm->did;
    const uint64_t *n = did->calls;
    uint64_t shards = n[SPECTER_ALLGATHER] + n[SPECTER_REDUCESCATTER];
    uint64_t exchanges = n[SPECTER_ALLTOALL] + n[SPECTER_ALLTOALLV];
    uint64_t messages = n[SPECTER_SEND] + n[SPECTER_RECV];
    uint64_t most = n[SPECTER_ALLREDUCE];
    bool to_all =
        did->to_itself || (comm->size > 3 && did->fewest_sent >= (uint32_t)comm->size - 1);
    most = shards > most ? shards : most;
    most = exchanges > most ? exchanges : most;
    most = messages > most ? messages : most;
    if (most == 0)
        return n[SPECTER_REDUCE] > 0 ? PATTERN_REDUCE : PATTERN_NONE;
    if (most == exchanges || (most == messages && to_all))
        return PATTERN_EXCHANGE;
    if (most == messages)
        return PATTERN_MESSAGES;
    return most == shards ? pattern_of_shards(did) : PATTERN_REDUCE;
}

static bool is_used(const struct grid_comm *comm)
{
    return grid_pattern_of(comm) != PATTERN_NONE || grid_one_role(grid_roles_of_name(comm->name));
}

bool grid_any_used(const struct grid_input *in)
{
    for (size_t c = 0; c < in->ncomms; c++) {
        if (in->comms[c].size < in->world && in->comms[c].size > 1 && is_used(&in->comms[c]))
            return true;
    }
    return false;
}

bool grid_is_evidence(const struct grid_comm *comm, bool any_used)
{
    return !any_used || is_used(comm);
}

/* SPDX-License-Identifier: MIT
 *
 * See tuning.h.
 */
#include "tuning.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "comm.h"
#include "fabric.h"

#define CHANNELS_MAX 64
#define THREADS_MAX 512
#define WARP 32

static const char *const functions[TUNING_FUNCTIONS] = {
    [COLLECTIVE_ALLREDUCE] = "AllReduce",         [COLLECTIVE_REDUCE] = "Reduce",
    [COLLECTIVE_BROADCAST] = "Broadcast",         [COLLECTIVE_ALLGATHER] = "AllGather",
    [COLLECTIVE_REDUCESCATTER] = "ReduceScatter",
};

/* NCCL's algorithms and protocols in its order; bit i + 1 of a set: 0 is the stand-in's own. */
static const char *const algorithms[] = {"Tree", "Ring",     "CollNetDirect", "CollNetChain",
                                         "NVLS", "NVLSTree", "PAT",           NULL};
static const char *const protocols[] = {"LL", "LL128", "Simple", NULL};

#define BIT(_number) ((uint8_t)(1u << (_number)))
#define ALL_PROTOCOLS (BIT(COLLECTIVE_LL) | BIT(COLLECTIVE_LL128) | BIT(COLLECTIVE_SIMPLE))
#define ALL_ALGORITHMS (BIT(COLLECTIVE_TREE) | BIT(COLLECTIVE_RING))

/* ---- lists ---- */

/* The words of a list into a set. */
static ncclResult_t parse_words(char *list, const char *const *words, uint8_t *set)
{
    bool excludes = *list == '^';
    char *rest, *word;
    *set = excludes ? 0xff : 0;
    for (word = strtok_r(list + excludes, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        int i = 0;
        while (words[i] != NULL && strcasecmp(words[i], word) != 0)
            i++;
        if (words[i] == NULL)
            return comm_fail(ncclInvalidUsage, "unrecognized element token \"%s\"", word);
        *set = excludes ? *set & (uint8_t)~BIT(i + 1) : *set | BIT(i + 1);
    }
    return ncclSuccess;
}

/* One entry between semicolons: FUNCTION:LIST, or for all functions LIST, which only the first may
 * be. */
static ncclResult_t parse_entry(char *entry, bool first, const char *const *words,
                                uint8_t sets[TUNING_FUNCTIONS])
{
    char *colon = strchr(entry, ':'), *list = colon != NULL ? colon + 1 : entry;
    bool found = false;
    ncclResult_t result;
    uint8_t set;
    if (colon != NULL)
        *colon = '\0';
    if (colon == NULL && !first)
        return comm_fail(ncclInvalidUsage, "no function before \"%s\"", entry);
    result = parse_words(list, words, &set);
    for (int i = 0; i < TUNING_FUNCTIONS && !result; i++) {
        if (colon != NULL && strcasecmp(functions[i], entry) != 0)
            continue;
        sets[i] = set;
        found = true;
    }
    if (!result && !found)
        result = comm_fail(ncclInvalidUsage, "unrecognized prefix token \"%s\"", entry);
    return result;
}

static ncclResult_t parse_setting(const char *name, const char *const *words,
                                  uint8_t sets[TUNING_FUNCTIONS])
{
    const char *value = secure_getenv(name);
    ncclResult_t result = ncclSuccess;
    char text[1024], *rest, *entry;
    bool first = true;
    memset(sets, 0xff, TUNING_FUNCTIONS);
    if (value == NULL)
        return ncclSuccess;
    snprintf(text, sizeof text, "%s", value);
    for (entry = strtok_r(text, ";", &rest); entry != NULL && !result;
         entry = strtok_r(NULL, ";", &rest), first = false)
        result = parse_entry(entry, first, words, sets);
    return result;
}

/* ---- limits ---- */

static struct {
    long channels_min, channels_max, ctas_min, ctas_max, threads; /* 0: not set */
} limits;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A positive number, or 0. */
static long number_of(const char *name, long most)
{
    const char *value = secure_getenv(name);
    char *end;
    long number;
    if (value == NULL || !*value)
        return 0;
    number = strtol(value, &end, 0);
    if (*end || number <= 0)
        return 0;
    return number < most ? number : most;
}

static void read_limits(void)
{
    limits.channels_min = number_of("NCCL_MIN_NCHANNELS", CHANNELS_MAX);
    limits.channels_max = number_of("NCCL_MAX_NCHANNELS", CHANNELS_MAX);
    limits.ctas_min = number_of("NCCL_MIN_CTAS", CHANNELS_MAX);
    limits.ctas_max = number_of("NCCL_MAX_CTAS", CHANNELS_MAX);
    limits.threads = number_of("NCCL_NTHREADS", THREADS_MAX);
    if (number_of("RCCL_WARP_SPEED_ENABLE", 1)) {
        limits.ctas_min = limits.ctas_max = number_of("RCCL_WARP_SPEED_CU_COUNT", CHANNELS_MAX);
        limits.threads = number_of("RCCL_THREADS_PER_BLOCK", THREADS_MAX);
    }
    if (limits.threads % WARP)
        limits.threads = 0;
    else if (limits.threads && limits.threads < 2 * WARP)
        limits.threads = 2 * WARP;
}

static unsigned larger(long a, long b)
{
    return (unsigned)(a > b ? a : b);
}

static unsigned tighter(long a, long b)
{
    return (unsigned)(a && b ? (a < b ? a : b) : a + b);
}

ncclResult_t tuning_read(struct tuning *t, int ctas_min, int ctas_max)
{
    ncclResult_t result;
    pthread_once(&once, read_limits);
    if (limits.ctas_min)
        ctas_min = (int)limits.ctas_min;
    if (limits.ctas_max)
        ctas_max = (int)limits.ctas_max;
    if (ctas_max && ctas_min > ctas_max)
        ctas_min = ctas_max = 0;
    t->channels_min = larger(limits.channels_min, ctas_min);
    t->channels_max = tighter(limits.channels_max, ctas_max);
    t->threads = (unsigned)limits.threads;
    result = parse_setting("NCCL_ALGO", algorithms, t->algorithms);
    return result ? result : parse_setting("NCCL_PROTO", protocols, t->protocols);
}

/* ---- what follows ---- */

static unsigned channels_of(const struct tuning *t)
{
    unsigned channels = (unsigned)emu_fabric()->comm_sms;
    if (channels < t->channels_min)
        channels = t->channels_min;
    if (t->channels_max && channels > t->channels_max)
        channels = t->channels_max;
    return channels;
}

bool tuning_is_free(const struct tuning *t)
{
    bool all = !t->channels_min && !t->channels_max && !t->threads;
    for (int i = 0; i < TUNING_FUNCTIONS; i++)
        all = all && t->algorithms[i] == 0xff && t->protocols[i] == 0xff;
    return all;
}

unsigned tuning_channels(const struct tuning *t, uint64_t bytes)
{
    uint64_t wanted = 1 + bytes / emu_fabric()->comm_sm_bytes, most = channels_of(t);
    return (unsigned)(wanted < most ? wanted : most);
}

double tuning_rate(const struct tuning *t, enum collective_protocol protocol)
{
    const struct emu_fabric *f = emu_fabric();
    unsigned channels = channels_of(t);
    bool slow = t->threads && t->threads < THREADS_MAX && protocol != COLLECTIVE_LL128;
    if (channels >= f->comm_sms && !slow)
        return 0;
    return channels * f->channel_GBps * (slow ? (double)t->threads / THREADS_MAX : 1);
}

/* The stand-in's own choice where nothing is forced. */
static enum collective_protocol own_protocol(uint64_t bytes)
{
    const struct emu_fabric *f = emu_fabric();
    if (!f->ll_bytes && !f->ll128_bytes)
        return COLLECTIVE_ANY_PROTOCOL;
    return bytes <= f->ll_bytes      ? COLLECTIVE_LL
           : bytes <= f->ll128_bytes ? COLLECTIVE_LL128
                                     : COLLECTIVE_SIMPLE;
}

/* By what each step waits and by what a rank sends, without anybody else: which of a few protocols
 * that are left is quickest. */
static enum collective_protocol quickest(uint8_t left, const struct run_method *c,
                                         enum collective_op op, unsigned ranks, unsigned nodes,
                                         uint64_t bytes)
{
    const struct emu_fabric *f = emu_fabric();
    bool tree = c->algorithm == COLLECTIVE_TREE, twice = op == COLLECTIVE_ALLREDUCE;
    double steps = tree ? 2 * ceil(log2(ranks)) : (ranks - 1) * (twice ? 2.0 : 1.0);
    double sent = (double)bytes * (twice ? 2 : 1), best = HUGE_VAL;
    double latency = (double)(nodes > 1 ? f->inter_latency_ns : f->intra_latency_ns);
    double rate = nodes > 1 ? f->inter_GBps * ranks / nodes : f->intra_GBps;
    enum collective_protocol found = COLLECTIVE_SIMPLE;
    for (int p = COLLECTIVE_LL; p <= COLLECTIVE_SIMPLE; p++) {
        const struct collective_costs costs = collective_costs(f, (enum collective_protocol)p);
        double ns = steps * latency * costs.latency + sent * costs.wire / rate;
        if (!(left & BIT(p)) || ns >= best)
            continue;
        best = ns;
        found = (enum collective_protocol)p;
    }
    return found;
}

ncclResult_t tuning_choose(const struct tuning *t, enum collective_op op, unsigned ranks,
                           unsigned nodes, uint64_t bytes, struct run_method *choice)
{
    const struct emu_fabric *f = emu_fabric();
    bool small = op == COLLECTIVE_ALLREDUCE && bytes <= f->tree_bytes;
    uint8_t algorithm_set, protocol_set;
    *choice = (struct run_method){.algorithm = small ? COLLECTIVE_TREE : COLLECTIVE_RING};
    if (op >= TUNING_FUNCTIONS || ranks == 1) {
        choice->rate_max = tuning_rate(t, COLLECTIVE_ANY_PROTOCOL);
        return ncclSuccess;
    }
    algorithm_set = t->algorithms[op];
    algorithm_set &= op == COLLECTIVE_ALLREDUCE ? ALL_ALGORITHMS : BIT(COLLECTIVE_RING);
    protocol_set = t->protocols[op] & ALL_PROTOCOLS;
    if (!algorithm_set || !protocol_set)
        return comm_fail(ncclInvalidUsage, "no algorithm/protocol available for function %s",
                         functions[op]);
    if (!(algorithm_set & BIT(choice->algorithm)))
        choice->algorithm = small ? COLLECTIVE_RING : COLLECTIVE_TREE;
    choice->protocol = protocol_set == ALL_PROTOCOLS
                           ? own_protocol(bytes)
                           : quickest(protocol_set, choice, op, ranks, nodes, bytes);
    choice->rate_max = tuning_rate(t, choice->protocol);
    return ncclSuccess;
}

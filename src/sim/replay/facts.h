/* SPDX-License-Identifier: MIT
 *
 * Facts that the reader of a replay must know: what it assumed, and what it could not know. A fact
 * is its name and its values; report/replay_facts.c has the sentence of each.
 *
 *     fact_add(rep, FACT_SYNCS_FOUND, VALUES(fact_count(f->syncs_found)));
 *     fact_add(rep, FACT_TRANSFERS, NULL);
 */
#ifndef SPECTER_SIM_REPLAY_FACTS_H
#define SPECTER_SIM_REPLAY_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay;

/* In the order of the table of sentences. The values of each are those that its sentence takes. */
enum replay_fact {
    /* the hardware of the recording and of the target */
    FACT_NETWORK_USUAL,
    FACT_TARGET_NETWORK_USUAL,
    FACT_TARGET_NETWORK_RECORDED,
    FACT_TARGET_NETWORK_DEFAULT,
    FACT_TARGET_GPU_RECORDED,
    FACT_NCCL,
    FACT_NCCL_OTHER,
    FACT_GPUS_DIFFER,
    FACT_GPU_UNNAMED,
    FACT_GPU_UNKNOWN,
    FACT_NETWORK_UNKNOWN,
    /* what grows with the scale, and by which rule */
    FACT_SCALES_REFUSED,
    FACT_SCALES_END,
    FACT_UNSCALED,
    FACT_PIPELINE,
    FACT_AXIS_ASSUMED,
    FACT_ABSENT_RANKS,
    FACT_ABSENT_STAGES,
    FACT_ABSENT_UNKNOWN,
    FACT_PARALLEL_DIFFERS,
    FACT_WEAK_SCALING,
    FACT_GROWS_TP,
    FACT_GROWS_EP,
    FACT_GROWS_FSDP,
    FACT_OPTIMIZER_KEPT,
    FACT_COMMUNICATORS,
    FACT_GROWS_FROM_ONE,
    FACT_GROWS_INSIDE,
    FACT_STRONG_SCALING,
    FACT_STRONG_RULES,
    FACT_UNDIVIDED,
    FACT_ALLTOALLS,
    FACT_PLACED_AS_HOSTS_TELL,
    FACT_PLACED_BY_BLOCK,
    FACT_PLACED_ON_TARGET,
    FACT_SHORTER_TRANSFER,
    FACT_SHORTER_PART,
    FACT_IMPOSSIBLE,
    /* what an operation takes on the target */
    FACT_SAME_HARDWARE,
    FACT_NOT_RETARGETED,
    FACT_RETARGETED,
    FACT_MODELLED,
    FACT_OTHER_RATIOS,
    FACT_LINK_RATIO,
    FACT_CPU_TIME_KEPT,
    FACT_MODEL_OF_GEMMS,
    FACT_MODEL_OF_COMM,
    FACT_UNMODELLED,
    FACT_ALL_MODELLED,
    FACT_OPTIMIZER_SHARDS,
    FACT_NO_OPTIMIZER,
    FACT_SLOWER_THAN_MODEL,
    FACT_TIME_KEPT,
    FACT_NOT_TIMED,
    FACT_SMALL_COPIES,
    FACT_TAKEN_AS_0,
    FACT_ABOVE_PEAK,
    FACT_NO_EFFECT_ABSENT,
    FACT_NO_EFFECT_OFF_PATH,
    FACT_NO_EFFECT_OTHERS,
    FACT_NO_EFFECT_SAME_TIME,
    /* jitter and faults */
    FACT_JITTER_GIVEN,
    FACT_JITTER_LEARNED,
    FACT_JITTER_UNKNOWN,
    FACT_RANKS_ALIKE,
    FACT_RANKS_UNLIKE,
    FACT_FAULT_ADDS,
    FACT_FAULT_ABSENT,
    FACT_LINKS_UNUSED,
    FACT_FAULT_OFF_PATH,
    /* how the recording was understood */
    FACT_REPLAY_OFF,
    FACT_BOUNDS_DIFFER,
    FACT_RECORDED_BOUNDS_DIFFER,
    FACT_LATENCY_OF_PROFILE,
    FACT_LATENCY_RECORDED,
    FACT_TRANSFERS,
    FACT_CLOCKS,
    FACT_WAITS_INFERRED,
    FACT_WAITS_NONE,
    FACT_NOT_TRACED,
    FACT_SYNCS_GUESSED,
    FACT_SYNCS_FOUND,
    FACT_SYNCS_UNTOLD,
    FACT_SHARED_THREADS,
    FACT_THREADS_APART,
    FACT_NO_HOST_TIME,
    FACT_CAPTURED,
    FACT_GRAPHS,
    FACT_WAITING_COPIES,
    FACT_ALLOCATIONS,
    FACT_QUEUE_FULL,
    FACT_UNTIMED_KERNELS,
    FACT_UNTIMED_KERNELS_AS_0,
    FACT_GAPS_OF_GRAPHS,
    FACT_NO_LAUNCH,
    FACT_UNCOUNTED,
    FACT_INCOMPLETE,
    FACT_INCONSISTENT,
    FACT_UNNUMBERED,
    FACT_ABSENT_WAITS,
    FACT_WHOLE_REPEATS,
    FACT_WHOLE_DOUBTED,
    FACT_WHOLE,
    FACT_STEPS,
    FACT_STEPS_CUT,
    FACT_FEW_STEPS,
    FACT_NO_MARKS,
    /* computation beside communication, NICs that communicators share, and the host */
    FACT_OVERLAP,
    FACT_OVERLAP_SHOWN,
    FACT_OVERLAP_CHANNELS,
    FACT_OVERLAP_OF_PROFILE,
    FACT_OVERLAP_ON_TARGET,
    FACT_OVERLAP_UNKNOWN,
    FACT_NICS_SHARED,
    FACT_QUEUED,
    FACT_HOST_SPEED,
    FACT_HOST_SPEED_NO_EFFECT,
    REPLAY_FACTS
};

enum fact_value_type { FACT_VALUE_END, FACT_VALUE_COUNT, FACT_VALUE_NUMBER, FACT_VALUE_TEXT };

struct fact_value {
    enum fact_value_type type;
    union {
        int64_t count; /* also 0 or 1: whether a part of the sentence is there */
        double number;
        const char *text;
    };
};

/* A fact that is true of one replay. */
struct stated_fact {
    enum replay_fact fact;
    bool loss;                       /* part of the input, or of what was asked for, is not used */
    const struct fact_value *values; /* to FACT_VALUE_END; in the arena of the replay */
};

struct replay_facts {
    struct stated_fact *list; /* owned; in the order in which they were added */
    size_t count, cap;
};

static inline struct fact_value fact_count(uint64_t count)
{
    return (struct fact_value){.type = FACT_VALUE_COUNT, .count = (int64_t)count};
}

static inline struct fact_value fact_number(double number)
{
    return (struct fact_value){.type = FACT_VALUE_NUMBER, .number = number};
}

static inline struct fact_value fact_text(const char *text)
{
    return (struct fact_value){.type = FACT_VALUE_TEXT, .text = text};
}

#define VALUES(...)             \
    (const struct fact_value[]) \
    {                           \
        __VA_ARGS__,            \
        {                       \
            .count = 0          \
        }                       \
    }

/* values: as VALUES() makes them, NULL for none; copied with their texts. */
void fact_add(struct replay *rep, enum replay_fact fact, const struct fact_value *values);

/* The same of what may be a loss. */
void fact_add_loss(struct replay *rep, bool loss, enum replay_fact fact,
                   const struct fact_value *values);

/* A count, nothing where it is 0; with the time of what was counted, which becomes us. */
void fact_add_count(struct replay *rep, enum replay_fact fact, uint64_t count);
void fact_add_count_ns(struct replay *rep, enum replay_fact fact, uint64_t count, int64_t ns);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The sentence of each fact that a replay states: assumptions by subject, then notes.
 */
#include "base/buf.h"
#include "report/replay_internal.h"
#include "report/replay_report.h"
#include "report/table.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a sentence stands: the first six are assumptions, in the order in which they are printed.
 */
enum section {
    ON_HARDWARE,  /* which hardware it was, and is */
    ON_SCALE,     /* what grows, and by which rule */
    ON_COST,      /* what an operation takes on the target */
    ON_VARIATION, /* jitter and faults */
    ON_RECORDING, /* how the recording was understood */
    ON_OVERLAP,   /* what communication takes of computation; the host */
    FIRST_NOTE,   /* in front of all other notes, the one that was added last first */
    NOTE
};

/* A template is text with values, which it takes in order:
 *
 *     %d                         a count
 *     %.1f %+.1f %.3g %g         a number
 *     %s %.64s                   a text, or at most so much of it
 *     %z                         a number of bytes, "26 MiB"
 *     %t                         a time that is given in us, "1.37 ms"
 *     %%                         a percent sign
 *     {text}                     takes a count: text is there where that is not 0. The values that
 *                                text takes are taken in either case
 *     {=one|more}                takes none: "one" where the count before it is 1, else "more"
 *
 * A sentence that lists what is there has a function of of_lists in place of a template. */
struct sentence {
    enum section section;
    const char *template; /* NULL: of_lists has a function */
};

/* ---- sentences with lists ---- */

struct listed {
    const char *before, *after; /* the count */
};

/* Writes the counts among the first n values. */
static size_t put_list(struct buf *b, const struct fact_value *counts, const struct listed *words,
                       size_t n)
{
    size_t listed = 0;
    for (size_t i = 0; i < n; i++) {
        if (counts[i].count == 0)
            continue;
        buf_puts(b, listed++ > 0 ? ", " : "");
        buf_puts(b, words[i].before);
        if (words[i].after != NULL)
            buf_printf(b, "%lld%s", (long long)counts[i].count, words[i].after);
    }
    return listed;
}

static void put_unmodelled(struct buf *b, const struct fact_value *v)
{
    static const struct listed words[] = {{"kernels without a model (", ")"},
                                          {"operations of unknown size (", ")"},
                                          {"graphs in part", NULL}};
    buf_printf(b, "%.1f %% of traced device time has no model: ", v[0].number);
    put_list(b, v + 1, words, 3);
}

static void put_replay_off(struct buf *b, const struct fact_value *v)
{
    static const struct listed lacks[] = {
        {"", " operations have no host time"},
        {"", " calls waited for something that the recording does not tell"},
        {"", " kernels were untimed"},
        {"", " communication operations name no communicator or number"},
    };
    buf_printf(b,
               "no speed-up and efficiency: on the recording's hardware a step of %.3g ms was "
               "recorded and one of %.3g ms is replayed; ",
               v[0].number, v[1].number);
    if (put_list(b, v + 2, lacks, 4) == 0)
        buf_puts(b, "the recording does not show why");
}

/* ---- what bounds the step ---- */

static const char *step_text(int64_t bound)
{
    return bound == BOUND_HOST ? "idle" : bound_name((enum bound)bound);
}

static const char *path_text(int64_t bound)
{
    return bound == BOUND_HOST ? "the host" : bound_name((enum bound)bound);
}

static void put_bounds(struct buf *b, const struct fact_value *v)
{
    buf_printf(b, "most of the step is %s, most of its critical path %s: %s", step_text(v[0].count),
               path_text(v[1].count), v[2].text);
}

const char *replay_bounds_cause(enum bounds_cause cause)
{
    static const char *const texts[BOUNDS_CAUSES] = {
        [BOUNDS_REPLAY_OFF] = "the replay is far off the recording on the same hardware",
        [BOUNDS_UNTIMED] = "what was not timed is work here, and idle time to analyze",
        [BOUNDS_TARGET] = "on the target the parts of a step take other times",
        [BOUNDS_WAITS_UNKNOWN] =
            "the recording does not hold what the host waited for, which the replay infers and "
            "analyze counts as the host's own time",
        [BOUNDS_CLOSE] =
            "the host is ahead of busy devices by so little that the path goes through its calls "
            "or through their work, as one or the other is replayed to come last",
    };
    return texts[cause];
}

static void put_recorded_bounds(struct buf *b, const struct fact_value *v)
{
    bool time = v[0].count != 0, path = v[3].count != 0;
    if (time)
        buf_printf(b, "most of the recorded step is %s, of the predicted one %s",
                   step_text(v[1].count), step_text(v[2].count));
    buf_puts(b, time && path ? ", and " : "");
    if (path)
        buf_printf(b, "most of the recorded critical path is %s, of the predicted one %s",
                   path_text(v[4].count), path_text(v[5].count));
    buf_printf(b, ": %s", replay_bounds_cause((enum bounds_cause)v[6].count));
}

static void put_pipeline(struct buf *b, const struct fact_value *v)
{
    double percent = 100 * v[1].number;
    buf_printf(
        b,
        "the pipeline is laid out anew for more stages (%s): each between the ends does what "
        "a recorded one does; the recorded stages so laid out take ",
        v[0].text);
    if (fabs(percent) < 0.05)
        buf_puts(b, "as long as recorded");
    else
        buf_printf(b, "%.1f %% %s than recorded", fabs(percent), percent < 0 ? "less" : "more");
}

static void (*const of_lists[REPLAY_FACTS])(struct buf *b, const struct fact_value *values) = {
    [FACT_UNMODELLED] = put_unmodelled, [FACT_REPLAY_OFF] = put_replay_off,
    [FACT_BOUNDS_DIFFER] = put_bounds,  [FACT_RECORDED_BOUNDS_DIFFER] = put_recorded_bounds,
    [FACT_PIPELINE] = put_pipeline,
};

/* ---- all sentences ---- */

#define KERNELS "{GEMMs}{memory-bound kernels}{kernels bound by both SMs and memory}"

static const struct sentence sentences[REPLAY_FACTS] = {
    [FACT_NETWORK_USUAL] = {ON_HARDWARE,
                            "recorded on network %s, where %s usually sits (--from-network)"},
    [FACT_TARGET_NETWORK_USUAL] = {ON_HARDWARE,
                                   "target network %s: where %s usually sits (--network)"},
    [FACT_TARGET_NETWORK_RECORDED] = {ON_HARDWARE,
                                      "target network %s: that of the recording (--network)"},
    [FACT_TARGET_NETWORK_DEFAULT] = {ON_HARDWARE, "target network %s: the default (--network)"},
    [FACT_TARGET_GPU_RECORDED] = {ON_HARDWARE, "target GPU %s: that of the recording (--gpu)"},
    [FACT_NCCL] = {ON_HARDWARE, "algorithms are those that NCCL %s chooses (--nccl)"},
    [FACT_NCCL_OTHER] = {ON_HARDWARE,
                         "algorithms are those that NCCL %s chooses on the target{, %s in the "
                         "recording}{, 2.30 in the recording, which does not tell its version}; "
                         "kernels of symmetric memory and copy engines, for registered buffers "
                         "only, are not modelled"},
    [FACT_GPUS_DIFFER] = {NOTE, "ranks ran on different GPUs: all are taken as %s"},
    [FACT_GPU_UNNAMED] = {NOTE, "the recording names no GPU: computation is not retargeted to %s, "
                                "its measured times are kept (--from-gpu)"},
    [FACT_GPU_UNKNOWN] = {NOTE, "the GPU of the recording, '%.64s', is none that specter knows: "
                                "computation is not retargeted to %s, its measured times are kept "
                                "(--from-gpu)"},
    [FACT_NETWORK_UNKNOWN] = {NOTE,
                              "the network of the recording is not known: communication is not "
                              "retargeted to %s (--from-network)"},

    [FACT_SCALES_REFUSED] = {ON_SCALE, "scales above 1 are left out: %s"},
    [FACT_SCALES_END] = {ON_SCALE, "scales above %d are left out: %s"},
    [FACT_UNSCALED] = {FIRST_NOTE, "every scale takes the time of scale 1, without speed-up and "
                                   "efficiency: %s"},
    [FACT_PIPELINE] = {ON_SCALE, NULL},
    [FACT_AXIS_ASSUMED] = {ON_SCALE, "%s=%d is assumed: %s{; it could be %s} (--parallel)"},
    [FACT_ABSENT_RANKS] = {ON_SCALE,
                           "%d of %d ranks have no operations (%s): each is taken to do what a "
                           "recorded rank of {its pipeline stage}{the job} does, at the same time"},
    [FACT_ABSENT_STAGES] = {ON_SCALE, "no rank of pipeline stage %s was recorded: what messages to "
                                      "it waited is kept"},
    [FACT_ABSENT_UNKNOWN] = {NOTE,
                             "%d of %d ranks have no operations (%s), and which they are like "
                             "is not known: %s"},
    [FACT_PARALLEL_DIFFERS] = {NOTE, "--parallel says %s=%d (stride %d), but its groups look like "
                                     "%s: %s"},
    [FACT_WEAK_SCALING] = {ON_SCALE,
                           "weak scaling by %s (--grow): every GPU keeps its work{; buffer sizes "
                           "stay, so shards of AllGather and ReduceScatter shrink}"},
    [FACT_GROWS_TP] = {ON_SCALE, "heads and inner width grow with tp, the hidden size stays: GEMMs "
                                 "and activations of each GPU keep their shapes"},
    [FACT_GROWS_EP] = {ON_SCALE, "experts grow with ep, as many on each GPU: tokens spread over "
                                 "more of them as unevenly as recorded"},
    [FACT_GROWS_FSDP] = {ON_SCALE, "parameters are cut into more shards"},
    [FACT_OPTIMIZER_KEPT] = {ON_SCALE, "the optimizer's work on a shard is kept: no gradients are "
                                       "scattered over its ranks"},
    [FACT_COMMUNICATORS] = {ON_SCALE, "communicators of %s (%d, of %d{ to %d} rank{s}) {grow with "
                                      "the scale}{keep their size}"},
    [FACT_GROWS_FROM_ONE] = {ON_SCALE, "a communicator of 1 rank that grows takes the model's "
                                       "time: what it was measured at is no transfer"},
    [FACT_GROWS_INSIDE] = {ON_SCALE, "the ranks that %s adds are numbered inside %s, as frameworks "
                                     "do (--parallel %s,%s=1:%d puts them outside)"},
    [FACT_STRONG_SCALING] = {ON_SCALE,
                             "strong scaling (--strong): the batch stays and each rank has 1 / "
                             "scale of its tokens; micro-batches keep their number and have %d "
                             "tokens at scale 1, which is the dimension of every GEMM that is "
                             "divided"},
    [FACT_STRONG_RULES] = {ON_SCALE,
                           "transfers of activations carry 1 / scale of the bytes, those of "
                           "gradients and parameters what they did; of kernels on activations what "
                           "the smallest kernel takes stays, the rest is divided by the scale; the "
                           "optimizer, memsets, copies to and from the host and CPU time stay"},
    [FACT_UNDIVIDED] = {ON_SCALE,
                        "%.1f %% of the device time keeps its length, because its part in the "
                        "batch is not known (kernels of no known class, graphs, operations of "
                        "unknown size); refused above %.0f %%"},
    [FACT_ALLTOALLS] = {ON_SCALE,
                        "all-to-alls made of messages: each rank sends as much as recorded, what "
                        "went to a member is spread over those in its place; measured time x "
                        "model(all-to-all, grown) / model(all-to-all, recorded). The host's time "
                        "for more messages is not added"},
    [FACT_PLACED_AS_HOSTS_TELL] = {ON_SCALE,
                                   "ranks were recorded on nodes by %s, as their hosts tell"},
    [FACT_PLACED_BY_BLOCK] = {ON_SCALE, "ranks were recorded on nodes by block: %s"},
    [FACT_PLACED_ON_TARGET] = {ON_SCALE, "ranks sit on the target's nodes by %s (--placement)"},
    [FACT_SHORTER_TRANSFER] = {NOTE,
                               "the step at %d GPUs is %.1f %% shorter than at %d: %s of %z takes "
                               "%t and not %t{, because NCCL's tuner chooses %s with %s "
                               "on %d channel{s} in place of %s with %s on %d channel{s}}"},
    [FACT_SHORTER_PART] = {NOTE, "the step at %d GPUs is %.1f %% shorter than at %d, most of it "
                                 "%s"},
    [FACT_IMPOSSIBLE] = {NOTE,
                         "no speed-up and efficiency at %d GPUs: the step would be %.1f %% shorter "
                         "than at %d, which is more than the prediction may be off (%.1f %%)"},

    [FACT_SAME_HARDWARE] = {ON_COST,
                            "same hardware as recorded: measured times are kept; a communicator "
                            "that grows takes measured time x model(grown) / model(recorded)"},
    [FACT_NOT_RETARGETED] = {ON_COST,
                             "nothing was retargeted, because the source is unknown: measured "
                             "times are kept; a communicator that grows takes measured time x "
                             "model(grown) / model(recorded)"},
    [FACT_RETARGETED] = {ON_COST, "communication and GEMMs: measured time x model(%s, %s) / "
                                  "model(%s, %s)"},
    [FACT_MODELLED] = {ON_COST, "communication and GEMMs: the model's time on %s, %s, whatever was "
                                "measured"},
    [FACT_OTHER_RATIOS] = {ON_COST,
                           "copies on the device and other kernels: measured time x %.3g, the "
                           "ratio of memory bandwidths; attention x %.3g, half of it the ratio of "
                           "16-bit peaks; GEMMs without a shape x %.3g, that ratio"},
    [FACT_LINK_RATIO] = {ON_COST, "copies between host and device: measured time x %.3g, the ratio "
                                  "of host links (pcie_GBps)"},
    [FACT_CPU_TIME_KEPT] = {ON_COST, "CPU time between calls is kept as recorded"},
    [FACT_MODEL_OF_GEMMS] = {ON_COST, "GEMMs of the recording: %t by the model where %t was "
                                      "measured, in all (%+.1f %%)"},
    [FACT_MODEL_OF_COMM] = {ON_COST, "communication of the recording: %t by the model where %t "
                                     "was measured, in all (%+.1f %%)"},
    [FACT_UNMODELLED] = {ON_COST, NULL},
    [FACT_ALL_MODELLED] = {ON_COST, "all traced device time has a model or a measurement of the "
                                    "operation"},
    [FACT_OPTIMIZER_SHARDS] = {ON_COST,
                               "optimizer on shards: kernels with an optimizer's name, %t of "
                               "all ranks, take their time / scale; of kernels counted together "
                               "with others an even part"},
    [FACT_NO_OPTIMIZER] = {ON_COST, "optimizer on shards: no kernel has an optimizer's name, so "
                                    "that none takes less time as shards shrink"},
    [FACT_SLOWER_THAN_MODEL] = {FIRST_NOTE,
                                "{GEMMs}{communication} took %.2f times the predicted time on %s "
                                "(80 %% interval: up to %.2f). %s is taken to be as slow, unless "
                                "--no-calibrate is given"},
    [FACT_TIME_KEPT] = {NOTE, "%d operations keep their measured time at every scale: their size "
                              "or communicator is not known"},
    [FACT_NOT_TIMED] = {NOTE, "%d operations were not timed: the model's time is taken"},
    [FACT_SMALL_COPIES] = {ON_COST, "%d small copies were not timed on the device: taken as 0 "
                                    "there"},
    [FACT_TAKEN_AS_0] = {NOTE, "%d operations have neither a time nor a model: taken as 0"},
    [FACT_ABOVE_PEAK] = {NOTE,
                         "at %d {=GPU|GPUs} the {given FLOPs}{%s} come to %.0f %% of the GPUs' "
                         "dense peak: more than can be"},
    [FACT_NO_EFFECT_ABSENT] = {NOTE, "{network}{GPU} %s changes nothing: the recording holds no "
                                     "{communication}{computation}"},
    [FACT_NO_EFFECT_OFF_PATH] = {NOTE, "{network}{GPU} %s changes nothing: {communication}"
                                       "{computation} is not on the critical path"},
    [FACT_NO_EFFECT_OTHERS] = {NOTE,
                               "{network}{GPU} %s changes nothing: %.0f %% of the critical path is "
                               "no {communication}{computation}, most of it %s"},
    [FACT_NO_EFFECT_SAME_TIME] = {NOTE, "{network}{GPU} %s changes nothing: the {communication}"
                                        "{computation} on the critical path takes as long there"},

    [FACT_JITTER_GIVEN] = {ON_VARIATION, "every operation of a rank alone varies by %.3g %% "
                                         "(--jitter), transfers and hosts do not"},
    [FACT_JITTER_LEARNED] = {ON_VARIATION,
                             "as its %d iterations differ, an operation varies by %.2g %%, all of "
                             "a rank in an iteration by %.2g %%, an iteration on all ranks by "
                             "%.2g %%, a transfer by %.2g %%, CPU time by %.2g %% (standard "
                             "deviations)"},
    [FACT_JITTER_UNKNOWN] = {NOTE, "variation cannot be learned from %d iteration{s} (%d are "
                                   "needed): none is assumed (--jitter PCT gives it)"},
    [FACT_RANKS_ALIKE] = {ON_VARIATION,
                          "ranks that do the same (%d) differ by %.2g %% in all iterations; those "
                          "that were not recorded differ likewise"},
    [FACT_RANKS_UNLIKE] = {ON_VARIATION,
                           "no two recorded ranks do the same: how much ranks differ in all "
                           "iterations is not known, and taken as 0"},
    [FACT_FAULT_ADDS] = {ON_VARIATION,
                         "%d {=GPU|GPUs}: the injected fault adds %.1f %% to the step"},
    [FACT_FAULT_ABSENT] = {NOTE, "'%s' is not in the job of %d {=GPU|GPUs}"},
    [FACT_LINKS_UNUSED] =
        {NOTE, "%d {=GPU|GPUs}: slow links change nothing: {the job sits on one node}{no "
               "communicator of the ranks beside them has members on other nodes}"},
    [FACT_FAULT_OFF_PATH] = {NOTE,
                             "%d {=GPU|GPUs}: the injected fault changes nothing: it is not on the "
                             "critical path, others are waited for longer"},

    [FACT_REPLAY_OFF] = {FIRST_NOTE, NULL},
    [FACT_BOUNDS_DIFFER] = {ON_RECORDING, NULL},
    [FACT_RECORDED_BOUNDS_DIFFER] = {ON_RECORDING, NULL},
    [FACT_LATENCY_OF_PROFILE] = {ON_RECORDING, "work starts %g us after its launch or later "
                                               "(launch_us of %s)"},
    [FACT_LATENCY_RECORDED] = {ON_RECORDING,
                               "work starts %t after its launch or later: recorded "
                               "synchronisations are so much longer than the work they await, as "
                               "far as it is traced (launch_us of %s is %g)"},
    [FACT_TRANSFERS] = {ON_RECORDING,
                        "a transfer takes what it took once its last member was there; waits for "
                        "late members come out of the simulation"},
    [FACT_CLOCKS] = {ON_RECORDING, "ranks on %d clocks begin together: the clocks share no zero"},
    [FACT_WAITS_INFERRED] =
        {ON_RECORDING, "the traces of %d of %d {=rank|ranks} lack what streams wait for; inferred "
                       "from recorded times: %d waits for another stream's operation, %d "
                       "collectives after the computation issued before them"},
    [FACT_WAITS_NONE] = {ON_RECORDING,
                         "the traces of %d of %d {=rank|ranks} lack what streams wait for; "
                         "recorded times show no wait"},
    [FACT_NOT_TRACED] =
        {ON_RECORDING,
         "%d of %d {=rank was|ranks were} not traced for {copies}{ and }{other kernels}: what "
         "waits for those on the device is replayed too early"},
    [FACT_SYNCS_GUESSED] = {ON_RECORDING,
                            "%d stream synchronisations name no stream: each waits for that of the "
                            "operation that ended when it returned, else for the one on which its "
                            "thread launched last"},
    [FACT_SYNCS_FOUND] = {ON_RECORDING, "%d event synchronisations name no event: each waits for "
                                        "the operation that ended when it returned"},
    [FACT_SYNCS_UNTOLD] = {NOTE, "%d calls waited for something that is not recorded, %t in all: "
                                 "counted as CPU time and as part of the error"},
    [FACT_SHARED_THREADS] = {ON_RECORDING,
                             "%d GPUs are driven by processes that have several: a thread that "
                             "works for several keeps its order"},
    [FACT_THREADS_APART] = {ON_RECORDING, "%d threads overlap others: each runs on its own from "
                                          "its recorded offset"},
    [FACT_NO_HOST_TIME] = {NOTE, "%d operations have no host time: issued right after the one "
                                 "before"},
    [FACT_CAPTURED] = {NOTE, "%d operations were captured into a graph: not replayed"},
    [FACT_GRAPHS] = {ON_RECORDING,
                     "%d launches of graphs are blocks of work that last as recorded, waits for "
                     "other ranks included; elsewhere what is in them (%d operations) by the "
                     "models, the rest as other kernels"},
    [FACT_WAITING_COPIES] = {ON_RECORDING,
                             "%d calls of copies waited for the device: they returned when the "
                             "copy, or what was before it on its stream, had ended"},
    [FACT_ALLOCATIONS] = {ON_RECORDING,
                          "%d calls that allocate or free memory waited for the device, which "
                          "became idle in them"},
    [FACT_QUEUE_FULL] = {ON_RECORDING,
                         "%d launch calls waited for room in the launch queue of their stream: not "
                         "CPU time, simulated anew (%d launches)"},
    [FACT_UNTIMED_KERNELS] = {ON_RECORDING, "%d untimed kernels take the gap between the "
                                            "operations around them, %t in all"},
    [FACT_UNTIMED_KERNELS_AS_0] = {ON_RECORDING,
                                   "%d untimed kernels ran while the device waited for the host: "
                                   "their time is not known and taken as 0"},
    [FACT_GAPS_OF_GRAPHS] = {ON_RECORDING,
                             "%d operations in or after launches of graphs started later than "
                             "their stream explains: %t in all count as unrecorded work of "
                             "graphs"},
    [FACT_NO_LAUNCH] = {ON_RECORDING,
                        "%d operations without a recorded call keep their distance from the one "
                        "before them on the stream, %t in all"},
    [FACT_UNCOUNTED] = {ON_RECORDING, "%d operations started later than the recording, which does "
                                      "not count other kernels, explains: %t in all count as "
                                      "those"},
    [FACT_INCOMPLETE] = {NOTE, "%d of %d collectives and messages lack members: replayed with "
                               "those that are there"},
    [FACT_INCONSISTENT] = {NOTE, "%d collectives whose members disagree on what they are"},
    [FACT_UNNUMBERED] = {NOTE,
                         "%d communication operations name no communicator or number: replayed on "
                         "each rank alone, with their recorded waits"},
    [FACT_ABSENT_WAITS] = {ON_RECORDING,
                           "of %t that transfers with ranks that were not recorded took, %t "
                           "were waits for these: what a transfer took longer than the shortest "
                           "of its kind. Transfers are scaled, waits take as much longer or less "
                           "as computation does"},
    [FACT_WHOLE_REPEATS] = {ON_RECORDING,
                            "the whole recording is one step: the operations repeat %d times, but "
                            "are not taken for steps: %s (marks tell, ProfilerStep or NVTX)"},
    [FACT_WHOLE_DOUBTED] = {ON_RECORDING, "the whole recording is one step: %s"},
    [FACT_WHOLE] = {ON_RECORDING, "the whole recording is one step: no step is marked, and no "
                                  "sequence of operations repeats"},
    [FACT_STEPS] = {ON_RECORDING,
                    "%d step{s} ({marked}{the sequence of operations repeats}){; the first after "
                    "each pause of the recorder has no known begin and is left out}{; the first "
                    "two warm up and are left out}{; the first has no known begin and is left "
                    "out}"},
    [FACT_STEPS_CUT] = {NOTE, "the last {marked step does}{%d marked steps do} not count: the "
                              "recording ends in {it}{them}"},
    [FACT_FEW_STEPS] = {NOTE,
                        "{1 step was recorded to the end}{the step time rests on %d step "
                        "length{s}}: how much steps differ, and whether they warm up, is not known "
                        "below %d; the interval is wider by %.0f %%"},
    [FACT_NO_MARKS] = {NOTE,
                       "the recording marks no steps: that all of it is one step is taken for "
                       "granted; the interval is wider by %.0f %%"},

    [FACT_OVERLAP] = {ON_OVERLAP,
                      "overlap slowed %d kernels by %t; on the target NCCL's channels take "
                      "SMs from GEMMs, and memory bandwidth from other kernels"},
    [FACT_OVERLAP_SHOWN] = {ON_OVERLAP,
                            KERNELS " overlapped by communication take %.1f %% longer, as the "
                                    "recording shows (%d that also ran without it): %.2f times "
                                    "what channels and traffic predict{, of which at most x %g "
                                    "counts as the effect of communication}"},
    [FACT_OVERLAP_CHANNELS] = {ON_OVERLAP,
                               "channels of communication: as NCCL's profiler interface counted "
                               "them (%d of %d kinds of it)"},
    [FACT_OVERLAP_OF_PROFILE] = {ON_OVERLAP,
                                 KERNELS " overlapped by communication: the recording does not "
                                         "show their slow-down; profile %s has %.2f times what "
                                         "channels and traffic predict"},
    [FACT_OVERLAP_ON_TARGET] = {ON_OVERLAP,
                                KERNELS " overlapped by communication on the target: %.2f times "
                                        "what channels and traffic predict, by profile %s"},
    [FACT_OVERLAP_UNKNOWN] = {ON_OVERLAP,
                              "communication overlapped %d kernels, of which too few also ran "
                              "without it to show a slow-down: none is assumed on the target"},
    [FACT_NICS_SHARED] = {ON_OVERLAP,
                          "%d transfers shared a NIC of several GPUs with others, which took %t "
                          "of their time: on the target they share its NICs"},
    [FACT_QUEUED] = {ON_OVERLAP,
                     "%d transfers took more than 4 times what others of their communicator do: "
                     "%t of that are waits in a queue, and are kept"},
    [FACT_HOST_SPEED] = {ON_OVERLAP, "CPU time takes 1 / %g of what was recorded (--host-speed)"},
    [FACT_HOST_SPEED_NO_EFFECT] = {NOTE,
                                   "other CPUs change next to nothing: the device waits for the "
                                   "host for %.1f %% of the iteration"},
};

/* ---- from templates ---- */

/* One conversion of a template, from behind its '%'; returns what follows it. */
static const char *put_value(struct buf *b, const char *at, const struct fact_value *v)
{
    bool sign = *at == '+';
    char size[16], time[32], *end;
    int precision = 6;
    at += sign;
    if (*at == '.') {
        precision = (int)strtol(at + 1, &end, 10);
        at = end;
    }
    assert(v->type == (*at == 'd'   ? FACT_VALUE_COUNT
                       : *at == 's' ? FACT_VALUE_TEXT
                                    : FACT_VALUE_NUMBER));
    if (*at == 'd')
        buf_printf(b, "%lld", (long long)v->count);
    else if (*at == 's' && at[-1] == '%')
        buf_puts(b, v->text);
    else if (*at == 's')
        buf_printf(b, "%.*s", precision, v->text);
    else if (*at == 't')
        buf_puts(b, text_ns(time, sizeof time, v->number * 1e3));
    else if (*at == 'z')
        buf_puts(b, text_bytes(size, sizeof size, v->number));
    else if (*at == 'g')
        buf_printf(b, "%.*g", precision, v->number);
    else
        buf_printf(b, sign ? "%+.*f" : "%.*f", precision, v->number);
    return at + 1;
}

/* "{=one|more}", from behind the '='; returns what follows it. count: the value before it. */
static const char *put_number(struct buf *b, const char *at, const struct fact_value *count)
{
    const char *more = strchr(at, '|'), *end = strchr(at, '}');
    assert(more != NULL && end != NULL && more < end && count->type == FACT_VALUE_COUNT);
    if (count->count == 1)
        buf_put(b, at, (size_t)(more - at));
    else
        buf_put(b, more + 1, (size_t)(end - more - 1));
    return end + 1;
}

/* Up to the '}' of the part that the template stands in, or its end: returns where that is. shown:
 * else the values are only taken. */
static const char *put_part(struct buf *b, const char *at, const struct fact_value **v, bool shown)
{
    struct buf nowhere = BUF_INIT;
    struct buf *to = shown ? b : &nowhere;
    while (*at != '\0' && *at != '}') {
        if (*at == '{' && at[1] == '=') {
            at = put_number(to, at + 2, *v - 1);
        } else if (*at == '{') {
            bool there = (*v)->count != 0;
            assert((*v)->type == FACT_VALUE_COUNT);
            (*v)++;
            at = put_part(to, at + 1, v, there) + 1;
        } else if (*at == '%' && at[1] == '%') {
            buf_putc(to, '%');
            at += 2;
        } else if (*at == '%') {
            at = put_value(to, at + 1, (*v)++);
        } else {
            buf_putc(to, *at++);
        }
    }
    buf_release(&nowhere);
    return at;
}

static const char *sentence_text(struct arena *arena, const struct stated_fact *fact)
{
    const struct sentence *s = &sentences[fact->fact];
    const struct fact_value *values = fact->values;
    struct buf text = BUF_INIT, safe = BUF_INIT;
    const char *kept;
    if (s->template == NULL) {
        of_lists[fact->fact](&text, values);
    } else {
        put_part(&text, s->template, &values, true);
        assert(values->type == FACT_VALUE_END);
    }
    buf_put_printable(&safe, text.data, text.len);
    kept = arena_strndup(arena, safe.data, safe.len);
    buf_release(&text);
    buf_release(&safe);
    return kept;
}

/* Those of the sections first to last, NULL after the last. */
static const char **texts_of(const struct replay *rep, struct arena *arena, enum section first,
                             enum section last, bool losses_only)
{
    const struct replay_facts *facts = &rep->facts;
    const char **texts = arena_alloc(arena, (facts->count + 1) * sizeof *texts);
    size_t n = 0;
    for (int section = (int)first; section <= (int)last; section++) {
        for (size_t i = 0; i < facts->count; i++) {
            size_t at = section == FIRST_NOTE ? facts->count - 1 - i : i;
            const struct stated_fact *fact = &facts->list[at];
            if (sentences[fact->fact].section == (enum section)section &&
                (fact->loss || !losses_only))
                texts[n++] = sentence_text(arena, fact);
        }
    }
    return texts;
}

const char **replay_assumptions(struct replay *rep)
{
    return texts_of(rep, &rep->arena, ON_HARDWARE, ON_OVERLAP, false);
}

const char **replay_notes(struct replay *rep)
{
    return texts_of(rep, &rep->arena, FIRST_NOTE, NOTE, false);
}

bool replay_first_note(const struct replay *rep)
{
    bool first = false;
    for (size_t i = 0; i < rep->facts.count; i++)
        first = first || sentences[rep->facts.list[i].fact].section == FIRST_NOTE;
    return first;
}

const char **replay_losses(const struct replay *rep, struct arena *arena)
{
    return texts_of(rep, arena, ON_HARDWARE, NOTE, true);
}

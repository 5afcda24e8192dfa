/* SPDX-License-Identifier: MIT
 *
 * specter bench: measures this machine, or judges what others measured.
 */
#include "cmd/bench.h"

static const struct cmd_kind *const kinds[] = {
    &bench_collectives, &bench_gemms,    &bench_states, &bench_p2ps,
    &bench_drifts,      &bench_overlaps, &bench_tunes,  &bench_report,
};

static int run_bench(const struct command *self, int argc, char **argv, struct err *e)
{
    return cmd_run_kind(self, kinds, sizeof kinds / sizeof *kinds, argc, argv, e);
}

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
    .has_kinds = true,
    .run = run_bench,
};

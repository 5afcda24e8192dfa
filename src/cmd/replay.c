/* SPDX-License-Identifier: MIT
 *
 * specter replay: what a recorded run would do on other hardware and at other scales.
 */
#include "cmd/cmd.h"

#include "base/arena.h"
#include "cmd/hardware.h"
#include "report/replay_report.h"
#include "sim/replay/replay.h"
#include "trace/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the files that a replay writes while it runs: --timeline and --html ---- */

struct replay_files {
    struct timeline_file *timeline;
    struct replay_html *html;
};

static void observe(void *context, const struct replay_job *job, const struct replay_scale *scale)
{
    struct replay_files *f = context;
    if (f->timeline != NULL) {
        struct replay_watch watch = timeline_file_watch(f->timeline);
        watch.observe(watch.context, job, scale);
    }
    if (f->html != NULL) {
        struct replay_watch watch = replay_html_watch(f->html);
        watch.observe(watch.context, job, scale);
    }
}

/* Writes what is left. rep NULL: the replay failed, whose error stays in e, and so do older files.
 */
static int close_files(struct replay_files *f, struct replay *rep, const struct run *run,
                       struct err *e)
{
    int rc = 0;
    if (f->timeline != NULL && rep != NULL)
        rc = timeline_file_close(f->timeline, e);
    else if (f->timeline != NULL)
        timeline_file_discard(f->timeline);
    if (f->html != NULL && rep != NULL && rc == 0)
        rc = replay_html_close(f->html, rep, run, e);
    else if (f->html != NULL)
        replay_html_discard(f->html);
    return rc;
}

/* Names; NULL: no such file. Whether they can be written is asked at once, so that a long
 * replay is not in vain. */
static int open_files(struct replay_files *f, const char *timeline, const char *html, struct err *e)
{
    *f = (struct replay_files){0};
    if (timeline != NULL && timeline_file_open(&f->timeline, timeline, e) < 0)
        return -1;
    if (html == NULL || replay_html_open(&f->html, html, e) == 0)
        return 0;
    close_files(f, NULL, NULL, e);
    return -1;
}

/* ---- the command line ---- */

/* Options for faults; each may be given several times. */
enum { STRAGGLER, SLOW_LINK, FAILED_NIC, FAULT_OPTIONS };

static const char *const fault_options[FAULT_OPTIONS] = {"straggler", "slow-link", "failed-nic"};

struct replay_args {
    bool strict;
    const char *gpu, *network, *nccl, *from_gpu, *from_network, *run_id, *json, *parallel, *grow;
    const char *timeline, *html, *placement, *jitter, *color;
    bool full;
    enum color_when colored; /* `color`, read: screen_init() */
    struct opt_list scales, gpus;
    struct opt_texts faults[FAULT_OPTIONS];
    int64_t draws, seed;
    double tokens, flops;
    double host_speed;
    bool no_calibrate, strong;
    struct replay_opts opts; /* what they say, read */
};

#define AT(field) offsetof(struct replay_args, field)

static const struct opt rows[] = {
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "target GPU (default: that of the recording)"},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE",
     "target network (default: the recording's; with another GPU, its usual one)"},
    {"nccl", 0, OPT_STR, AT(nccl), "VERSION", "the target's NCCL, 2.30 (default: the recording's)"},
    {"scale", 0, OPT_LIST, AT(scales), "N[,N...]",
     "how many times the job, along --grow (default: 1,2,4,8,16,32)"},
    {"gpus", 0, OPT_LIST, AT(gpus), "N[,N...]", "the same as numbers of GPUs of the whole job"},
    {"grow", 0, OPT_STR, AT(grow), "AXIS",
     "the axis that scales multiply: dp (default), fsdp, tp, pp or ep"},
    {"parallel", 0, OPT_STR, AT(parallel), "GRID",
     "the job's parallel grid, tp=8,pp=2,dp=4 (default: found from its communicators)"},
    {"strong", 0, OPT_FLAG, AT(strong), NULL,
     "divide the batch over the ranks that --grow adds (default: each keeps its work)"},
    {"placement", 0, OPT_STR, AT(placement), "HOW",
     "how ranks sit on nodes: block, cyclic, spread=K, file=PATH (default: as recorded, else "
     "block)"},
    {"from-gpu", 0, OPT_STR, AT(from_gpu), "NAME|FILE",
     "the recording's GPU, where it does not tell"},
    {"from-network", 0, OPT_STR, AT(from_network), "NAME|FILE",
     "the recording's network (default: the usual one of its GPU)"},
    {"host-speed", 0, OPT_DOUBLE, AT(host_speed), "X",
     "the target's CPUs are X times as fast: CPU time takes 1/X (default: 1)"},
    {"no-calibrate", 0, OPT_FLAG, AT(no_calibrate), NULL,
     "take the models' times, not measured times under the models' ratio"},
    {"jitter", 0, OPT_STR, AT(jitter), "off|trace|PCT",
     "P50 and P95 with operations that vary as in the trace, or by so many percent"},
    {"draws", 0, OPT_I64, AT(draws), "N", "simulations under --jitter (default: 32)"},
    {"seed", 0, OPT_I64, AT(seed), "N", "of its random numbers (default: 1)"},
    {"straggler", 0, OPT_TEXTS, AT(faults[STRAGGLER]), "rank=R,slow=F",
     "computation and host of rank R (or node=K) take F times as long; repeatable"},
    {"slow-link", 0, OPT_TEXTS, AT(faults[SLOW_LINK]), "node=K,slow=F",
     "the NICs of node K run at 1/F; repeatable"},
    {"failed-nic", 0, OPT_TEXTS, AT(faults[FAILED_NIC]), "node=K[,count=N]",
     "N NICs of node K do not work, the others carry its traffic; repeatable"},
    {"tokens", 0, OPT_DOUBLE, AT(tokens), "N",
     "tokens of an iteration of the recorded job: prints tokens/s"},
    {"flops", 0, OPT_DOUBLE, AT(flops), "N",
     "FLOPs that the model needs for it, 3.2e15: MFU (default: of the GEMMs)"},
    {"run", 0, OPT_STR, AT(run_id), "ID",
     "this run, where DIR holds several (default: the newest)"},
    {"strict", 0, OPT_FLAG, offsetof(struct replay_args, strict), NULL, STRICT_HELP},
    {"timeline", 0, OPT_STR, AT(timeline), "FILE",
     "write recording and prediction (of the first scale) for Perfetto; .gz: packed"},
    {"full", 0, OPT_FLAG, AT(full), NULL,
     "print where the step goes, the critical path, and all that it rests on"},
    {"color", 0, OPT_STR, AT(color), "WHEN", "auto, always or never (default: auto)"},
    {"html", 0, OPT_STR, AT(html), "FILE",
     "write everything as one page with a timeline and charts"},
    {"json", 0, OPT_STR, AT(json), "FILE|-",
     "write everything as JSON; -: to stdout, in place of the text"},
    OPT_END,
};

static const char details[] =
    "Simulates what the hosts, streams and communicators of the recording do, event by event, "
    "with\n"
    "every operation's time converted to the target. Waits and overlap come out by themselves:\n"
    "recorded start times are never played back. Where a trace does not hold what its streams "
    "wait\n"
    "for (PyTorch's profiler), recorded device times decide which waits are inferred; where it "
    "counts\n"
    "kernels without timing them, the gaps that they leave between operations are their time.\n"
    "\n"
    "The parallel grid of the job (tp, cp, ep, fsdp, dp, pp) comes from the ranks of its\n"
    "communicators, their names, and what they do. A scale multiplies one axis of it; which\n"
    "communicators grow follows. Where the grid is ambiguous, scales above 1 are refused and the\n"
    "candidates named. Ranks that were not recorded are taken to be like those of their pipeline\n"
    "stage. Each GPU keeps its work (a pipeline gets more stages like those recorded), or, with\n"
    "--strong, has a part of the batch.\n"
    "\n"
    "Communication slows the compute that it overlaps, and communicators share the ports of a\n"
    "GPU; the recorded part of both is taken out of the times first.\n"
    "\n"
    "Prints one line a scale and all assumptions. A line is about the rank that takes longest:\n"
    "iteration = compute + untimed kernels + exposed communication + exposed copies + idle.\n"
    "\n"
    "With --jitter each scale is simulated several times with operations that vary: P50 and P95\n"
    "are those of single iterations. Ranks that are not simulated enter as order statistics: a\n"
    "collective waits for the latest of all its members. Slow ranks and links count at every "
    "scale\n"
    "that has them.\n"
    "\n"
    "DIR is a folder, file or archive (default: $SPECTER_OUTPUT, else ./traces). NAME is one of\n"
    "'specter profiles', or a JSON file that holds a profile ('specter help profiles'). Speed-up "
    "is\n"
    "work done in the same time, as a multiple of scale 1.\n"
    "\n"
    "Exit status: 0 done, 2 bad option or a scale that the network cannot hold, 3 no usable "
    "input,\n"
    "4 part of the input was lost.";

static void print_text(const struct replay_args *args, struct replay *rep, const struct run *run)
{
    struct screen screen;
    if (args->full) {
        replay_text(rep, run, stdout);
        return;
    }
    screen_init(&screen, stdout, args->colored);
    replay_summary(rep, &screen);
    screen_release(&screen);
}

/* 0, or ERR_PARTIAL where the notes tell of a loss; -1 with e filled. */
static int replay(void *arg, const struct run *run, struct err *e)
{
    const struct replay_args *args = arg;
    struct replay_opts watched = args->opts;
    struct recorded_bounds bounds;
    struct replay_files files;
    struct replay rep;
    int status;
    if (cmd_recorded_bounds(&bounds, run, e) < 0)
        return -1;
    watched.bounds = &bounds;
    if (open_files(&files, args->timeline, args->html, e) < 0)
        return -1;
    watched.watch = (struct replay_watch){
        files.timeline != NULL || files.html != NULL ? observe : NULL, &files};
    status = replay_run(&rep, run, &watched, e);
    if (close_files(&files, status == 0 ? &rep : NULL, run, e) < 0)
        status = -1;
    if (status == 0 && args->html != NULL)
        cmd_wrote(args->html);
    if (status == 0 && (args->json == NULL || strcmp(args->json, "-") != 0))
        print_text(args, &rep, run);
    if (status == 0 && args->json != NULL)
        status = cmd_write_json(replay_json(&rep, run), args->json, e);
    if (status == 0 && *replay_losses(&rep, &rep.arena) != NULL)
        status = ERR_PARTIAL;
    replay_release(&rep);
    return status;
}

static bool same_text(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static int parse_whatif(const struct replay_args *args, struct arena *a, struct whatif_opts *out,
                        struct err *e)
{
    struct whatif_fault *faults;
    size_t n = 0;
    if (args->seed < 0 || args->seed > JITTER_SEED_MAX)
        return err_set(e, ERR_USAGE, "--seed %lld: 0 to %lld", (long long)args->seed,
                       JITTER_SEED_MAX);
    out->draws = args->draws;
    out->seed = (uint64_t)args->seed;
    if (args->jitter != NULL && whatif_parse_jitter(args->jitter, out, e) < 0)
        return -1;
    for (int i = 0; i < FAULT_OPTIONS; i++)
        n += args->faults[i].count;
    faults = arena_alloc(a, n * sizeof *faults);
    for (int i = 0; i < FAULT_OPTIONS; i++) {
        for (size_t k = 0; k < args->faults[i].count; k++) {
            if (whatif_parse_fault(fault_options[i], args->faults[i].list[k],
                                   &faults[out->nfaults++], e) < 0)
                return -1;
        }
    }
    out->faults = faults;
    return 0;
}

/* One file holds one thing, and only JSON is for stdout. */
static int check_files(const struct replay_args *args, struct err *e)
{
    const char *names[] = {args->timeline, args->html, args->json};
    static const char *const options[] = {"--timeline", "--html", "--json"};
    for (int i = 0; i < 2; i++) {
        if (same_text(names[i], "-"))
            return err_set(e, ERR_USAGE, "%s -: only --json writes to stdout", options[i]);
        for (int k = i + 1; k < 3; k++) {
            if (same_text(names[i], names[k]) && !same_text(names[i], "/dev/null"))
                return err_set(e, ERR_USAGE, "%s and %s name the same file '%s'", options[i],
                               options[k], names[i]);
        }
    }
    return 0;
}

static int check_scale(const struct replay_args *args, struct arena *a, struct replay_opts *opts,
                       struct err *e)
{
    struct placement *placement = arena_alloc(a, sizeof *placement);
    if (args->scales.count > 0 && args->gpus.count > 0)
        return err_set(e, ERR_USAGE, "--scale and --gpus do not go together");
    for (size_t i = 0; i < args->scales.count; i++) {
        if (args->scales.values[i] < 1)
            return err_set(e, ERR_USAGE, "--scale %lld: the smallest is 1",
                           (long long)args->scales.values[i]);
    }
    if (args->placement != NULL && placement_parse(placement, args->placement, a, e) < 0)
        return -1;
    opts->placement = args->placement != NULL ? placement : NULL;
    return 0;
}

/* Refuses options that are wrong for any recording. Profiles from files live in the arena. */
static int check_args(const struct replay_args *args, struct arena *a, struct replay_opts *opts,
                      struct err *e)
{
    const char *to = args->network != NULL ? args->network : args->gpu;
    const char *from = args->from_network != NULL ? args->from_network : args->from_gpu;
    struct profile_pair target, source;
    *opts = (struct replay_opts){
        .scales = args->scales.values,
        .nscales = args->scales.count,
        .calibrate = !args->no_calibrate,
        .gpus = args->gpus.values,
        .ngpus = args->gpus.count,
        .strong = args->strong,
        .parallel = args->parallel,
        .grow_given = args->grow != NULL,
        .tokens = args->tokens,
        .flops = args->flops,
        .host_speed = args->host_speed,
    };
    if (check_files(args, e) < 0)
        return -1;
    if (!(args->host_speed >= HOST_SPEED_MIN && args->host_speed <= HOST_SPEED_MAX))
        return err_set(e, ERR_USAGE, "--host-speed %g: from %g to %g", args->host_speed,
                       HOST_SPEED_MIN, HOST_SPEED_MAX);
    if (cmd_machine(args->gpu, args->network, a, &target, e) < 0 ||
        cmd_machine(args->from_gpu, args->from_network, a, &source, e) < 0 ||
        cmd_nccl(args->nccl, &opts->nccl, e) < 0)
        return -1;
    opts->gpu = target.gpu;
    opts->network = target.network;
    if (opts->nccl != 0 && target.gpu != NULL && target.gpu->cc == 0)
        return cmd_nccl_is_rccl(target.gpu, e);
    /* A file that is named for the recording and for the target is one machine, read twice. */
    opts->from_gpu = same_text(args->gpu, args->from_gpu) ? target.gpu : source.gpu;
    opts->from_network = same_text(to, from) ? target.network : source.network;
    if (parse_whatif(args, a, &opts->whatif, e) < 0)
        return -1;
    if (args->grow != NULL && !grid_role_parse(&opts->grow, args->grow, strlen(args->grow)))
        return err_set(e, ERR_USAGE, "--grow '%s': one of dp, fsdp, tp, pp, ep", args->grow);
    if (!(args->tokens >= 0) || !(args->flops >= 0) || args->tokens > 1e30 || args->flops > 1e30)
        return err_set(e, ERR_USAGE, "--tokens and --flops are numbers from 0 to 1e30");
    return check_scale(args, a, opts, e);
}

static int run_replay(const struct command *self, int argc, char **argv, struct err *e)
{
    struct replay_args args = {.host_speed = 1, .draws = JITTER_DRAWS, .seed = JITTER_SEED};
    struct arena a;
    int n, status = cmd_parse(self, &args, argc, argv, false, &n, e);
    arena_init(&a);
    if (status == 0 &&
        (cmd_one_dir(self, n, argv, e) < 0 || color_parse(args.color, &args.colored, e) < 0 ||
         check_args(&args, &a, &args.opts, e) < 0))
        status = (int)e->code;
    if (status == 0)
        status = cmd_with_run(cmd_input(n, argv), args.run_id, args.strict ? CMD_STRICT : 0, replay,
                              &args, e);
    arena_release(&a);
    free(args.scales.values);
    free(args.gpus.values);
    for (int i = 0; i < FAULT_OPTIONS; i++)
        free(args.faults[i].list);
    return status;
}

const struct command cmd_replay = {
    .name = "replay",
    .synopsis = "replay [DIR]" SYNOPSIS_ALL,
    .summary = "predict a recorded run on other hardware, at other scales",
    .details = details,
    .rows = rows,
    .paged = true,
    .run = run_replay,
};

/* SPDX-License-Identifier: MIT
 *
 * The reports of `specter bench`, a section a kind: a text of a screen that begins with the answer,
 * tables for other programs, JSON (schema "specter.bench/1"), and one page for all. docs/bench.md
 * says what each figure is.
 */
#ifndef SPECTER_REPORT_BENCH_REPORT_H
#define SPECTER_REPORT_BENCH_REPORT_H

#include "base/buf.h"
#include "bench/checks.h"
#include "bench/drift.h"
#include "bench/gemm.h"
#include "bench/judge.h"
#include "bench/links.h"
#include "bench/overlap.h"
#include "bench/result.h"
#include "bench/samples.h"
#include "bench/state.h"
#include "bench/tune.h"
#include "model/profile.h"
#include "report/sheet.h"

#include <stdbool.h>
#include <stdio.h>

struct cJSON;

/* ---- what several kinds have alike (bench_common.c) ----
 *
 * A run's data beside its rows, its checks, and the state of GPUs meanwhile. */

/* Adds backend, library, gpu, ranks, nodes, gpus_per_node, hosts and settings to an object. */
void bench_run_json(struct cJSON *o, const struct bench_run *run);

/* Adds notes. */
void bench_notes_json(struct cJSON *o, const struct bench_result *result);

/* One line, "Checks: all 6 passed", and one for each that failed, with its number, its limit and
 * where to look; full: one for each that is known. Nothing where none is known. */
void bench_checks_text(const struct bench_checks *checks, bool full, FILE *out);

/* One array: name, pass (null: not known), value, limit, where. Caller deletes. */
struct cJSON *bench_checks_json(const struct bench_checks *checks);

/* One sentence on GPUs that throttled, else on those that were still getting warmer at the end;
 * nothing where there are none. */
void bench_state_text(const struct bench_gpu_summary *gpus, int n, FILE *out);

/* One sentence where times clearly go with the temperature; what: "GEMMs take". */
void bench_heat_text(const struct bench_correlation *c, const char *what, FILE *out);
struct cJSON *bench_heat_json(const struct bench_correlation *c);

/* Each GPU with its least, median and largest figures. */
void bench_state_table(const struct bench_gpu_summary *gpus, int n, FILE *out);

/* One array, of an object a GPU. Caller deletes. */
struct cJSON *bench_state_json(const struct bench_gpu_summary *gpus, int n);

/* ---- communication: `bench report`, `bench collective` (bench_report.c) ----
 *
 * Measured communication as people and programs read it.
 */

/* All rows of some studies, for CSV, Markdown and JSON; released with sheet_release(). */
void bench_sheet(struct sheet *s, const struct bench_studies *studies);

/* The answer for one operation, at most 14 lines: verdict, the sizes that show it, the likely
 * cause, what to look at. full: every cause, every row, and what the prediction rests on. */
void bench_text(const struct bench_study *study, bool full, FILE *out);

/* A document with all of some studies; the caller deletes it. */
struct cJSON *bench_json(const struct bench_studies *studies);

/* ---- the rows of `bench collective` (bench_table.c) ----
 *
 * Writes the result of `specter bench collective` in the forms that other programs read: the table
 * of nccl-tests, the rows of docs/validate.md, the text of CCL-Bench's microbenchmark, JSON.
 */

/* The hardware that a run is laid beside; both NULL: nothing is expected of it. */
struct bench_target {
    const struct gpu_profile *gpu;
    const struct network_profile *net;
};

/* nccl-tests' table, written while the benchmark goes on. After its columns stands the time that
 * the models expect, where `target` is known. */
void bench_table_head(const struct bench_run *run, const struct bench_target *target, FILE *out);
/* A row out of place; then, with the same call, the same size in place, where there is one. */
void bench_table_row(const struct bench_run *run, const struct bench_row *row,
                     const struct bench_target *target, FILE *out);
void bench_table_end(const struct bench_run *run, FILE *out);

/* Out-of-place rows with the columns of docs/validate.md, and their spread. Profiles are named
 * where `target` is known. `messages`: rows of sendrecv, which are a kind of table of their own;
 * else all others. */
void bench_table_csv(const struct bench_run *run, const struct bench_target *target, bool messages,
                     FILE *out);

/* CCL-Bench's form: a part for each number of ranks, sizes as elements of a rank, median times,
 * rates by nccl-tests' definitions. Its readers take all elements for fp32, so that it holds rows
 * of fp32 alone. */
void bench_table_profile(const struct bench_run *run, FILE *out);
bool bench_table_has_profile(const struct bench_run *run); /* has such rows */

/* {"schema": "specter.bench/1", "kind": "collective"}, runs with settings, hosts and rows; every
 * iteration's time is in `us`. Caller deletes. */
struct cJSON *bench_table_json(const struct bench_result *result, bool complete);

/* ---- gemm (bench_gemm.c) ----
 *
 * Timed GEMMs as people and programs read them: the answer first, the table that `validate` reads,
 * JSON.
 */

/* Data of the machine, beside the rows. */
struct bench_gemm_about {
    const char *device;            /* the GPU's name by the driver */
    const char *source;            /* source_id of the rows */
    const char *driver;            /* version; "" */
    int cuda;                      /* of the driver, as 13000 */
    size_t blas;                   /* as 130100 */
    const struct gpu_profile *gpu; /* the profile that it is compared with; NULL */
    const char *cpus;              /* that the process is bound to; "" */
    int locked_MHz;                /* 0: clocks are not locked */
    struct bench_gpu_state begin;  /* before the first GEMM */
    const struct bench_gpu_summary *gpus;
    int ngpus;
};

/* The answer, at most 14 lines; full: every GEMM and the state of the GPU. */
void bench_gemm_text(const struct bench_gemm_about *about, const struct bench_gemm_result *result,
                     bool full, FILE *out);

/* The table's head, then a row as soon as it is measured. */
void bench_gemm_csv_head(const struct bench_gemm_about *about, FILE *out);
void bench_gemm_csv_row(const struct bench_gemm_about *about, const struct bench_gemm_row *row,
                        FILE *out);

/* {"schema": "specter.bench/1", "kind": "gemm"}; caller deletes. */
struct cJSON *bench_gemm_json(const struct bench_gemm_about *about,
                              const struct bench_gemm_result *result);

/* ---- overlap (bench_overlap.c) ----
 *
 * Writes the result of `specter bench overlap`: a text of a screen, the table that `calibrate`
 * reads, JSON.
 */

struct bench_overlap_report {
    const struct bench_result *result; /* notes */
    const struct bench_run *run;       /* library, GPU, ranks */
    const struct bench_overlap_log *log;
    const char *gpu, *network;            /* names of profiles; "": not known */
    const struct bench_gpu_summary *gpus; /* what they were like, of all nodes */
    int ngpus;
    int repeats;
    bool complete;
};

/* The answer first; then a row for each number of channels, or where full for each measurement. */
void bench_overlap_text(const struct bench_overlap_report *r, bool full, FILE *out);

void bench_overlap_csv(const struct bench_overlap_report *r, FILE *out);

/* {"schema": "specter.bench/1", "kind": "overlap"}. Caller deletes. */
struct cJSON *bench_overlap_json(const struct bench_overlap_report *r);

/* ---- drift (bench_drift.c) ----
 *
 * Writes the result of `specter bench drift`: a text of a screen, samples, JSON.
 */

struct bench_drift_report {
    const struct bench_result *result; /* notes */
    const struct bench_run *run;       /* library, GPU, hosts */
    const struct bench_drift_log *log;
    const int *node_of; /* by rank; ranks of rank 0's node share its host's clock */
    int windows;
    bool complete;
    const struct bench_gpu_summary *gpus; /* what they were like, of all nodes */
    int ngpus;
};

/* The answer first; then a row a rank, unless full at most eight: the largest drifts. */
void bench_drift_text(const struct bench_drift_report *r, bool full, FILE *out);

/* A row a moment and rank: docs/bench.md has the columns. */
void bench_drift_csv(const struct bench_drift_report *r, FILE *out);

/* One line where a clock's drift was another before something than after it, by more than
 * BENCH_DRIFT_CHANGE and than both 90 % intervals; else nothing. */
void bench_drift_change_text(const struct bench_drift_report *before,
                             const struct bench_drift_report *after, FILE *out);

/* An object with the seconds, moments and `ranks`; null: nothing was measured. Caller deletes. */
struct cJSON *bench_drift_part_json(const struct bench_drift_report *r);

/* {"schema": "specter.bench/1", "kind": "drift"}. Caller deletes. */
struct cJSON *bench_drift_json(const struct bench_drift_report *r);

/* ---- p2p (bench_p2p.c, bench_p2p_log.c, bench_p2p_trace.c) ----
 *
 * Writes the result of `specter bench p2p`: the files of its folder, a text of a screen, JSON.
 */

struct bench_p2p_report {
    const struct bench_result *result; /* notes */
    const struct bench_run *run;       /* library, GPU, hosts, settings */
    const struct bench_p2p_plan *plan;
    const struct bench_p2p_log *log;
    const struct bench_links *links;
    const struct bench_target *target;      /* the profiles; NULL, or gpu NULL: not known */
    const struct bench_checks *checks;      /* the checks */
    const struct bench_drift_log *drift[2]; /* before and after; n 0: not measured */
    const int *node_of;                     /* by rank */
    const struct bench_gpu_summary *gpus;   /* what they were like, of all nodes */
    int ngpus;
    bool complete;
};

/* execution_log.csv: a row for each repetition one way. Times in ns; duration_ns is two_sided_ns
 * rounded. exchange_log.csv: the other modes. `clock` makes the times of hosts those of rank 0's;
 * NULL: they are. */
void bench_p2p_csv_head(bool one_way, FILE *out);
void bench_p2p_csv_rows(const struct bench_p2p_done *done, const struct bench_common_clock *clock,
                        FILE *out);

/* messages.csv: medians of all messages with the columns of docs/validate.md. Those over links that
 * are slow, late or asymmetric are marked doubtful, so that no model is fitted to them. */
void bench_p2p_messages_csv(const struct bench_p2p_report *r, const struct bench_target *target,
                            FILE *out);

/* metadata_rank_<N>.yml, of one rank: what is known of its GPU, library and settings, the plan, and
 * whether all of it was measured. */
struct bench_p2p_rank {
    int rank, world, node, device, pid;
    const char *host, *launcher, *driver; /* "": not known */
};
void bench_p2p_metadata(const struct bench_p2p_report *r, const struct bench_p2p_rank *rank,
                        FILE *out);

/* rank_<N>.pt.trace.json and rank_<N>_CPU_trace.json, as PyTorch writes them: the sends and
 * receives of the messages one way, whose calls have the same ids in both. */
void bench_p2p_kineto(const struct bench_p2p_report *r, const struct bench_p2p_rank *rank,
                      FILE *out);
void bench_p2p_execution_trace(const struct bench_p2p_report *r, const struct bench_p2p_rank *rank,
                               FILE *out);

/* The answer first: whether all links are normal, else which are not. At most 14 lines of 80
 * columns and the checks, unless full: then all links with their fits. */
void bench_p2p_text(const struct bench_p2p_report *r, bool full, FILE *out);

/* {"schema": "specter.bench/1", "kind": "p2p"}; medians of every configuration. Caller deletes. */
struct cJSON *bench_p2p_json(const struct bench_p2p_report *r);

/* ---- tune (bench_tune.c, bench_tune_text.c) ----
 *
 * Writes the result of `specter bench tune`: a text that begins with the answer, the table of
 * NCCL's example tuner plugin, variables for a shell, JSON. */

#define BENCH_TUNE_TABLE "tuner.csv"
#define BENCH_TUNE_SETTINGS "settings.sh"
#define BENCH_TUNE_JSON "tune.json"

struct bench_tune_report {
    const struct bench_result *result; /* notes */
    const struct bench_run *run;       /* library, GPU, layout, settings */
    const struct bench_tune_log *log;
    enum specter_dtype dtype;
    double least_gain;
    const char *folder; /* of the files; NULL: none are written */
    bool complete;
};

/* The answer, how to use it, a row a size; full: also a row for every setting that was tried. */
void bench_tune_text(const struct bench_tune_report *r, bool full, FILE *out);

/* A line for each range of sizes: collective_type,min_bytes,max_bytes,algorithm,protocol,channels,
 * nNodes,nRanks,numPipeOps,regBuff. NCCL's own choices are in it where anything gains, since the
 * plugin leaves nothing to NCCL. */
void bench_tune_table(const struct bench_tune_report *r, FILE *out);

/* Exports: NCCL_ALGO and NCCL_PROTO where one setting an operation suffices, else the table. */
void bench_tune_settings(const struct bench_tune_report *r, FILE *out);

/* {"schema": "specter.bench/1", "kind": "tune"}. Caller deletes. */
struct cJSON *bench_tune_json(const struct bench_tune_report *r);

/* Shared by its two files. */

/* Neighbouring sizes of one operation with the same answer. */
struct bench_tune_range {
    const struct bench_tuned *first, *last;
    bool gains;
    double low, high; /* the least and largest ratio of a range that gains */
};

/* The range that begins at size i: of the same setting, or (explicit) of what NCCL takes for it. */
struct bench_tune_range bench_tune_range_of(const struct bench_tune_log *log, size_t i,
                                            bool explicit);

/* Returns whether every operation that gains anywhere has one setting that is as good
 * everywhere, and one does; the variables. */
bool bench_tune_exports(const struct bench_tune_report *r, struct buf *algo, struct buf *proto);

/* Returns whether NCCL said what it takes at every size: the table has to name it, with channels.
 */
bool bench_tune_has_table(const struct bench_tune_report *r);

const char *bench_trial_state_name(enum bench_trial_state state);

/* ---- the page (bench_page.c) ----
 *
 * Writes the result of a benchmark as one page that needs nothing else (page.h): the checks, curves
 * of what was measured beside the models, heat maps of links, temperatures, drift. Each picture has
 * its numbers as CSV after it.
 */

struct bench_page {
    const char *title;           /* of us or from outside: "bench p2p" */
    const struct bench_run *run; /* library, GPU, ranks; NULL: not known */
    const struct bench_checks *checks;
    const struct bench_studies *studies; /* each of these may be NULL: has no section */
    const struct bench_p2p_log *log;
    const struct bench_links *links; /* with log */
    const struct bench_temperatures *temperatures;
    const struct bench_drift_log *drift;
};

/* 0, or -1 with e filled: the file cannot be written. */
int bench_page_write(const struct bench_page *page, const char *path, struct err *e);

#endif

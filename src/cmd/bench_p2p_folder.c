/* SPDX-License-Identifier: MIT */
#include "cmd/bench_p2p_folder.h"

#include "bench/nvml.h"
#include "report/bench_drift.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS_MAX 1000 /* of one name */

static const char *const log_names[] = {"exchange_log.csv", "execution_log.csv"};

/* ---- the name ---- */

/* Lower-case letters and digits of the name, with one - for all between: nvidia-h100-80gb-hbm3. */
static void put_name(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; *name != '\0' && n + 2 < size; name++) {
        bool plain = isalnum((unsigned char)*name) || *name == '.';
        if (plain)
            out[n++] = (char)tolower((unsigned char)*name);
        else if (n > 0 && out[n - 1] != '-')
            out[n++] = '-';
    }
    out[n] = '\0';
}

static int make_folder(struct bench_p2p_folder *f, const char *output, struct err *e)
{
    const struct bench_run *run = f->job->run;
    const char *cuda = bench_setting(run, "CUDA of the runtime");
    const char *driver = bench_nvml_driver();
    char what[300], name[300];
    snprintf(what, sizeof what, "%.120s-%s-cuda%s", run->gpu,
             driver[0] != '\0' ? driver : "unknown", cuda != NULL ? cuda : "unknown");
    put_name(what, name, sizeof name);
    for (int i = 1; i <= FOLDERS_MAX; i++) {
        char suffix[16] = "";
        if (i > 1)
            snprintf(suffix, sizeof suffix, "-%d", i);
        if ((size_t)snprintf(f->path, sizeof f->path, "%s/%s%s", output, name, suffix) >=
            sizeof f->path)
            return err_set(e, ERR_INPUT, "%s: the name is too long", output);
        if (mkdir(f->path, 0777) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return err_set(e, ERR_INPUT, "%s: %s", f->path, strerror(errno));
}

/* ---- files ---- */

static FILE *open_file(const struct bench_p2p_folder *f, const char *name, struct err *e)
{
    char path[BENCH_FOLDER_MAX + 64];
    FILE *out;
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    out = fopen(path, "we");
    if (out == NULL)
        err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
    return out;
}

static int written(const struct bench_p2p_folder *f, FILE *out, struct err *e)
{
    if (fflush(out) == 0 && !ferror(out))
        return 0;
    return err_set(e, ERR_INPUT, "%s: not all could be written: %s", f->path, strerror(errno));
}

static int close_file(const struct bench_p2p_folder *f, FILE *out, struct err *e)
{
    int status = written(f, out, e);
    if (fclose(out) != 0 && status == 0)
        return err_set(e, ERR_INPUT, "%s: not all could be written: %s", f->path, strerror(errno));
    return status;
}

/* One of this rank's own: "<before><rank><behind>". */
static int write_own(const struct bench_p2p_folder *f, const struct bench_p2p_report *r,
                     const char *before, const char *behind,
                     void (*write)(const struct bench_p2p_report *r,
                                   const struct bench_p2p_rank *rank, FILE *out),
                     struct err *e)
{
    const struct bench_place *place = &f->job->place;
    char name[64], host[256] = "";
    const struct bench_p2p_rank rank = {.rank = place->rank,
                                        .world = place->world,
                                        .node = f->job->node_of[place->rank],
                                        .device = f->job->members.device,
                                        .pid = (int)getpid(),
                                        .host = host,
                                        .launcher = place->launcher,
                                        .driver = bench_nvml_driver()};
    FILE *out;
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s%d%s", before, rank.rank, behind);
    out = open_file(f, name, e);
    if (out == NULL)
        return -1;
    write(r, &rank, out);
    return close_file(f, out, e);
}

static int write_metadata(const struct bench_p2p_folder *f, const struct bench_p2p_report *r,
                          struct err *e)
{
    return write_own(f, r, "metadata_rank_", ".yml", bench_p2p_metadata, e);
}

static int open_logs(struct bench_p2p_folder *f, struct err *e)
{
    for (int one_way = 0; one_way < 2; one_way++) {
        f->logs[one_way] = open_file(f, log_names[one_way], e);
        if (f->logs[one_way] == NULL)
            return -1;
        bench_p2p_csv_head(one_way > 0, f->logs[one_way]);
    }
    return 0;
}

/* All write to the same folder, on a file system that they share; else each node has its own. */
int bench_p2p_folder_start(struct bench_p2p_folder *f, const char *output,
                           const struct bench_p2p_report *r, struct err *e)
{
    struct bench_ranks *ranks = f->job->ranks;
    int status = 0;
    if (output == NULL)
        return 0;
    if (f->job->place.rank == 0)
        status = make_folder(f, output, e) < 0 ? -1 : open_logs(f, e);
    if (bench_ranks_agree(ranks, status, e) < 0 ||
        bench_ranks_from_first(ranks, f->path, sizeof f->path, e) < 0)
        return -1;
    if (f->job->place.rank != 0)
        mkdir(f->path, 0777);
    return bench_ranks_agree(ranks, write_metadata(f, r, e), e);
}

int bench_p2p_folder_rows(const struct bench_p2p_folder *f, const struct bench_p2p_done *done,
                          const struct bench_common_clock *clock, struct err *e)
{
    FILE *out = f->logs[done->config.mode == BENCH_P2P_ONE_WAY];
    if (out == NULL)
        return 0;
    bench_p2p_csv_rows(done, clock, out);
    return written(f, out, e);
}

/* ---- the end ---- */

/* The logs with the times of r->log, each in the place of the one that was written meanwhile. */
static int write_logs(const struct bench_p2p_folder *f, const struct bench_p2p_report *r,
                      struct err *e)
{
    for (int one_way = 0; one_way < 2; one_way++) {
        char path[BENCH_FOLDER_MAX + 64], part[BENCH_FOLDER_MAX + 64], name[64];
        FILE *out;
        snprintf(name, sizeof name, "%s.part", log_names[one_way]);
        snprintf(path, sizeof path, "%s/%s", f->path, log_names[one_way]);
        snprintf(part, sizeof part, "%s/%s", f->path, name);
        out = open_file(f, name, e);
        if (out == NULL)
            return -1;
        bench_p2p_csv_head(one_way > 0, out);
        for (size_t i = 0; i < r->log->n; i++) {
            if ((r->log->list[i].config.mode == BENCH_P2P_ONE_WAY) == (one_way > 0))
                bench_p2p_csv_rows(&r->log->list[i], NULL, out);
        }
        if (close_file(f, out, e) < 0) {
            unlink(part);
            return -1;
        }
        if (rename(part, path) != 0) {
            err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
            unlink(part);
            return -1;
        }
    }
    return 0;
}

static int write_drift(const struct bench_p2p_folder *f, const struct bench_p2p_report *r,
                       struct err *e)
{
    static const char *const names[] = {"drift_before.csv", "drift_after.csv"};
    for (int i = 0; i < 2; i++) {
        const struct bench_drift_report samples = {.log = r->drift[i]};
        FILE *out;
        if (r->drift[i]->n == 0)
            continue;
        out = open_file(f, names[i], e);
        if (out == NULL)
            return -1;
        bench_drift_csv(&samples, out);
        if (close_file(f, out, e) < 0)
            return -1;
    }
    return 0;
}

static int write_messages(const struct bench_p2p_folder *f, const struct bench_p2p_report *r,
                          struct err *e)
{
    FILE *out = open_file(f, "messages.csv", e);
    if (out == NULL)
        return -1;
    bench_p2p_messages_csv(r, &f->target, out);
    return close_file(f, out, e);
}

int bench_p2p_folder_end(const struct bench_p2p_folder *f, const struct bench_p2p_report *r,
                         struct err *e)
{
    bool again = f->job->nodes > 1 && r->drift[1]->n > 0;
    if (f->path[0] == '\0')
        return 0;
    if (f->job->place.rank == 0 && (write_drift(f, r, e) < 0 || write_messages(f, r, e) < 0 ||
                                    (again && write_logs(f, r, e) < 0)))
        return -1;
    if (write_own(f, r, "rank_", ".pt.trace.json", bench_p2p_kineto, e) < 0 ||
        write_own(f, r, "rank_", "_CPU_trace.json", bench_p2p_execution_trace, e) < 0)
        return -1;
    return write_metadata(f, r, e);
}

void bench_p2p_folder_release(struct bench_p2p_folder *f)
{
    for (int i = 0; i < 2; i++) {
        if (f->logs[i] != NULL)
            fclose(f->logs[i]);
        f->logs[i] = NULL;
    }
}

/* SPDX-License-Identifier: MIT */
#include "cmd/bench_p2p_folder.h"

#include "base/whole_file.h"
#include "bench/state.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS_MAX 1000 /* of one name */

static const char *const log_names[] = {"exchange_log.csv", "execution_log.csv"};

/* Writes the name in lower case, with one - for each run of characters that are no letters, digits
 * or dots: "NVIDIA H100 80GB" becomes nvidia-h100-80gb. */
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

int p2p_folder_prepare(const char *output, struct err *e)
{
    if (output == NULL || mkdir(output, 0777) == 0 || errno == EEXIST)
        return 0;
    return err_set(e, ERR_INPUT, "%s: %s", output, strerror(errno));
}

/* Makes a folder in `output`, with a name that is not taken. Sets f->path. */
static int make_folder(struct p2p_folder *f, const char *output, const struct bench_run *run,
                       struct err *e)
{
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

static FILE *open_file(const struct p2p_folder *f, const char *name, struct err *e)
{
    char path[BENCH_PATH_MAX + 64];
    FILE *out;
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    out = fopen(path, "we");
    if (out == NULL)
        err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
    return out;
}

static int check_written(const struct p2p_folder *f, FILE *out, struct err *e)
{
    if (fflush(out) == 0 && !ferror(out))
        return 0;
    return err_set(e, ERR_INPUT, "%s: not all could be written: %s", f->path, strerror(errno));
}

static int close_file(const struct p2p_folder *f, FILE *out, struct err *e)
{
    int status = check_written(f, out, e);
    if (fclose(out) != 0 && status == 0)
        return err_set(e, ERR_INPUT, "%s: not all could be written: %s", f->path, strerror(errno));
    return status;
}

/* Writes one of this rank's own files by `write`; its name is "<before><rank><after>". */
static int write_own(const struct p2p_folder *f, const struct bench_job *job,
                     const struct bench_p2p_report *r, const char *before, const char *after,
                     void (*write)(const struct bench_p2p_report *r,
                                   const struct bench_p2p_rank *rank, FILE *out),
                     struct err *e)
{
    const struct bench_place *place = &job->place;
    char name[64], host[256] = "";
    const struct bench_p2p_rank rank = {.rank = place->rank,
                                        .world = place->world,
                                        .node = job->node_of[place->rank],
                                        .device = job->members.device,
                                        .pid = (int)getpid(),
                                        .host = host,
                                        .launcher = place->launcher,
                                        .driver = bench_nvml_driver()};
    FILE *out;
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s%d%s", before, rank.rank, after);
    out = open_file(f, name, e);
    if (out == NULL)
        return -1;
    write(r, &rank, out);
    return close_file(f, out, e);
}

static int write_metadata(const struct p2p_folder *f, const struct bench_job *job,
                          const struct bench_p2p_report *r, struct err *e)
{
    return write_own(f, job, r, "metadata_rank_", ".yml", bench_p2p_metadata, e);
}

int p2p_folder_start(struct p2p_folder *f, const char *output, const struct bench_job *job,
                     const struct bench_p2p_report *r, struct err *e)
{
    bool first = job->place.rank == 0;
    int status = 0;
    if (output == NULL)
        return 0;
    if (first)
        status = make_folder(f, output, job->run, e);
    for (int i = 0; i < 2 && status == 0 && first; i++) {
        f->log_files[i] = open_file(f, log_names[i], e);
        if (f->log_files[i] != NULL)
            bench_p2p_csv_head(i > 0, f->log_files[i]);
        status = f->log_files[i] != NULL ? 0 : -1;
    }
    if (bench_ranks_agree(job->ranks, status, e) < 0 ||
        bench_ranks_from_first(job->ranks, f->path, sizeof f->path, e) < 0)
        return -1;
    if (!first) /* it is there unless this node does not share rank 0's file system */
        mkdir(f->path, 0777);
    return bench_ranks_agree(job->ranks, write_metadata(f, job, r, e), e);
}

int p2p_folder_log(const struct p2p_folder *f, const struct bench_p2p_done *done,
                   const struct bench_common_clock *clock, struct err *e)
{
    FILE *out = f->log_files[done->config.mode == BENCH_P2P_ONE_WAY];
    if (out == NULL)
        return 0;
    bench_p2p_csv_rows(done, clock, out);
    return check_written(f, out, e);
}

/* ---- the end ---- */

/* Writes the logs anew with the times of r->log, each in place of the one that was written while
 * measuring. */
static int write_logs(const struct p2p_folder *f, const struct bench_p2p_report *r, struct err *e)
{
    for (int one_way = 0; one_way < 2; one_way++) {
        char path[BENCH_PATH_MAX + 64];
        struct whole_file log;
        snprintf(path, sizeof path, "%s/%s", f->path, log_names[one_way]);
        if (whole_file_open(&log, path, e) < 0)
            return -1;
        bench_p2p_csv_head(one_way > 0, log.out);
        for (size_t i = 0; i < r->log->n; i++) {
            if ((r->log->list[i].config.mode == BENCH_P2P_ONE_WAY) == (one_way > 0))
                bench_p2p_csv_rows(&r->log->list[i], NULL, log.out);
        }
        if (whole_file_close(&log, e) < 0)
            return -1;
    }
    return 0;
}

/* Writes the drift and messages.csv. */
static int write_tables(const struct p2p_folder *f, const struct bench_p2p_report *r, struct err *e)
{
    static const char *const names[] = {"drift_before.csv", "drift_after.csv", "messages.csv"};
    for (int i = 0; i < 3; i++) {
        const struct bench_drift_report samples = {.log = i < 2 ? r->drift[i] : NULL};
        FILE *out;
        if (i < 2 && r->drift[i]->n == 0)
            continue;
        out = open_file(f, names[i], e);
        if (out == NULL)
            return -1;
        if (i < 2)
            bench_drift_csv(&samples, out);
        else
            bench_p2p_messages_csv(r, r->target, out);
        if (close_file(f, out, e) < 0)
            return -1;
    }
    return 0;
}

int p2p_folder_end(const struct p2p_folder *f, const struct bench_job *job,
                   const struct bench_p2p_report *r, struct err *e)
{
    bool again = job->nodes > 1 && r->drift[1]->n > 0;
    if (f->path[0] == '\0')
        return 0;
    if (job->place.rank == 0 && (write_tables(f, r, e) < 0 || (again && write_logs(f, r, e) < 0)))
        return -1;
    if (write_own(f, job, r, "rank_", ".pt.trace.json", bench_p2p_kineto, e) < 0 ||
        write_own(f, job, r, "rank_", "_CPU_trace.json", bench_p2p_execution_trace, e) < 0)
        return -1;
    return write_metadata(f, job, r, e);
}

void p2p_folder_release(struct p2p_folder *f)
{
    for (int i = 0; i < 2; i++) {
        if (f->log_files[i] != NULL)
            fclose(f->log_files[i]);
    }
}

/* SPDX-License-Identifier: MIT
 *
 * specter-mpi: specter, whose ranks of MPI read the traces of one run together. Each reads its
 * share of the files and sends what it read to rank 0, which answers; the others print and write
 * nothing. Other commands are those of rank 0 alone.
 *
 *     mpirun -n 64 specter-mpi analyze ./traces
 */
#include "base/buf.h"
#include "cmd/cmd.h"
#include "trace/run.h"
#include "trace/share.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 30) /* bytes of one message: its length is an int */
#define TAG 1
#define PAUSE_NS 500000 /* between two looks at whether a message has come */

static const char *const together[] = {"analyze", "metrics", "export", "replay"};

static int rank, ranks;

/* ---- waiting ---- */

/* Sleeps until the request is done. MPI's own waits keep a processor busy, and ranks may share one.
 */
static void finish(MPI_Request request)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int done = 0;
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        nanosleep(&pause, NULL);
}

static void reduce(const void *in, void *out, MPI_Datatype type, MPI_Op op)
{
    MPI_Request request;
    MPI_Iallreduce(in, out, 1, type, op, MPI_COMM_WORLD, &request);
    finish(request);
}

/* ---- reading ---- */

struct own_share {
    struct buf bytes;
    uint64_t files;
};

static bool note_files(void *arg, uint64_t files)
{
    ((struct own_share *)arg)->files = files;
    return true;
}

static void keep(void *arg, const void *record, size_t len)
{
    buf_put(&((struct own_share *)arg)->bytes, record, len);
}

static int read_own(struct own_share *own, const char *path, const char *run_id, struct err *e)
{
    struct load_share share = {.part = (uint32_t)rank + 1,
                               .parts = (uint32_t)ranks,
                               .wanted = note_files,
                               .put = keep,
                               .arg = own};
    struct load_opts opts = {.run_id = run_id, .share = &share};
    struct run run;
    int rc = run_load(&run, path, &opts, e);
    run_release(&run);
    return rc;
}

static bool agreed;

/* All fail where one does, with the error of the first. Each rank calls it once. */
static int agree(int rc, uint64_t files, const char *path, struct err *e)
{
    struct {
        int succeeded, rank;
    } mine = {rc == 0, rank}, first;
    uint64_t least, most;
    agreed = true;
    reduce(&mine, &first, MPI_2INT, MPI_MINLOC);
    if (!first.succeeded) {
        MPI_Bcast(e, sizeof *e, MPI_BYTE, first.rank, MPI_COMM_WORLD);
        return -1;
    }
    reduce(&files, &least, MPI_UINT64_T, MPI_MIN);
    reduce(&files, &most, MPI_UINT64_T, MPI_MAX);
    return least == most ? 0
                         : err_set(e, ERR_INPUT,
                                   "%s: the MPI ranks see other files there: a shared file system "
                                   "is needed",
                                   path);
}

static void send_bytes(const struct buf *bytes)
{
    for (size_t at = 0; at < bytes->len; at += CHUNK) {
        const size_t len = bytes->len - at < CHUNK ? bytes->len - at : CHUNK;
        MPI_Request request;
        MPI_Isend(bytes->data + at, (int)len, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        finish(request);
    }
}

static void receive_bytes(struct buf *bytes, uint64_t total, int from)
{
    buf_reserve(bytes, total);
    while (bytes->len < total) {
        const size_t len = total - bytes->len < CHUNK ? total - bytes->len : CHUNK;
        MPI_Request request;
        MPI_Irecv(bytes->data + bytes->len, (int)len, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                  &request);
        finish(request);
        bytes->len += len;
    }
}

/* The ranks end together. */
static void end(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    finish(request);
    MPI_Finalize();
}

/* The records of all ranks, in rank 0, for as long as the process lives. */
static struct load_shared shared;

static int gather(struct own_share *own, struct err *e)
{
    uint64_t len = own->bytes.len, *lens = array_new((size_t)ranks, sizeof *lens);
    int rc = 0;
    MPI_Gather(&len, 1, MPI_UINT64_T, lens, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank != 0) {
        send_bytes(&own->bytes);
        end();
        exit(0);
    }
    for (int i = 0; i < ranks;
         i++) { /* also after an error: the others wait until they have sent */
        struct buf bytes = i == 0 ? own->bytes : (struct buf)BUF_INIT;
        if (i > 0)
            receive_bytes(&bytes, lens[i], i);
        if (rc == 0)
            rc = load_shared_add(&shared, bytes.data, bytes.len, "MPI", e);
    }
    free(lens);
    cmd_load_from(&shared);
    return rc;
}

static int read_by_all(const char *path, const char *run_id, struct err *e)
{
    struct own_share own = {.bytes = BUF_INIT};
    int rc = read_own(&own, path, run_id, e);
    return agree(rc, own.files, path, e) < 0 ? -1 : gather(&own, e);
}

/* ---- the program ---- */

/* Returns whether the command reads the records of one run. */
static bool reads_together(int argc, char **argv)
{
    const int at = argc > 1 && strcmp(argv[1], "--no-pager") == 0 ? 2 : 1;
    bool is = false;
    for (size_t i = 0; i < sizeof together / sizeof *together && argc > at; i++)
        is = is || strcmp(argv[at], together[i]) == 0;
    for (int i = at; i < argc; i++)
        is = is && strcmp(argv[i], "--summary") != 0 && strncmp(argv[i], "--shard", 7) != 0;
    return is;
}

/* A command that ended before it read: those that read must not wait for this rank. */
static void give_up(void)
{
    struct err e;
    err_set(&e, ERR_INPUT, "MPI rank %d ended before it read the traces", rank);
    agree(-1, 0, "", &e);
}

static void be_silent(void)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
}

int main(int argc, char **argv)
{
    int status = 0;
    setenv("TERM", "dumb", 1); /* what mpirun gives a rank for stdout is not the user's terminal */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank != 0)
        be_silent();
    if (reads_together(argc, argv)) {
        cmd_load_together(read_by_all);
        status = program_main(argc, argv);
        if (!agreed)
            give_up();
    } else if (rank == 0) {
        status = program_main(argc, argv);
    }
    end();
    return rank == 0 ? status : 0;
}

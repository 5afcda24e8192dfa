/* SPDX-License-Identifier: MIT
 *
 * A path on its way to a run; for load*.c alone. load_find.c says what is there (sources),
 * load_choose.c which of it is meant, load.c reads it, load_join.c chooses among what was read
 * where only that tells which job it is of (recordings.c), and run_absorb.c puts together what
 * threads read apart.
 *
 * A folder is looked into with the folders below it, FOLDER_DEPTH_MAX deep and entries_max
 * entries in all, hidden ones passed over, each once whatever links lead there. Where a folder
 * holds traces itself, and not just links to some, the folders below it are left alone: they hold
 * others' (`dump-TIME` of specter dump, say). An archive in a folder is read where nothing else is.
 */
#ifndef SPECTER_TRACE_LOAD_H
#define SPECTER_TRACE_LOAD_H

#include "base/buf.h"
#include "base/idmap.h"
#include "trace/reader.h"

#define NAMED_MAX 8                           /* files or runs named in one note */
#define FOLDER_ENTRIES_MAX ((size_t)1 << 16)  /* files and folders, in all */
#define CLOSING_ENTRIES_MAX ((size_t)1 << 20) /* where only closing records are read */

/* One file, or one member of an archive. Texts are borrowed from the run's arena. */
struct source {
    const char *path;   /* to open */
    const char *label;  /* printable */
    const char *folder; /* of the file, as walked; equal texts are one pointer; "" a file that was
                           named, or a member of an archive */
    const struct reader *reader;
    struct identity id;
    bool archive;     /* member of one, */
    size_t member;    /* its place among the regular members */
    bool link;        /* reached by a symbolic link */
    uint64_t size;    /* bytes of the file */
    int64_t mtime_ns; /* when it was written last */
    int launch;       /* which run of those here */
};

struct load {
    struct run *run;
    const char *path;
    const struct load_opts *opts; /* never NULL */
    struct source *list;          /* owned */
    size_t count, cap;
    struct source *beside; /* owned: files of readers with `beside`, out of the list */
    size_t nbeside;
    struct idmap files;  /* device and inode of each, so that two names of one count once; */
    size_t *file_source; /* owned: the source that it is, or SIZE_MAX */
    size_t cap_files;
    struct idmap folders;  /* likewise */
    size_t entries_max;    /* to look at; */
    size_t entries;        /* looked at so far, */
    bool too_many;         /* and some are not */
    const char **archives; /* owned: in folders, set aside */
    size_t narchives, cap_archives;
    bool by_folder;     /* each folder is a run: ranks repeat across them */
    bool newer_left;    /* a newer launch was left aside: see meant_launch() */
    struct buf foreign; /* names, quoted */
    size_t nforeign, ndamaged;
    struct err first;               /* the first thing that was wrong with a file */
    const char *other, *other_what; /* a file that holds no trace, and what it is; NULL none */
};

/* A file that could not be read. */
struct load_failure {
    struct err err;
    const struct source *source; /* borrowed */
    bool cut;                    /* the end of an archive is missing; else one trace is */
};

/* The part of a run that was read from one file. */
struct load_part {
    const struct source *source; /* borrowed */
    struct run *part;            /* borrowed; released by who owns it */
};

struct load_parts {
    const struct reader *reader;
    struct load_part *list; /* owned by load.c, as are failures; in the order of the files */
    size_t count, cap;
    struct load_failure *failures;
    size_t nfailures, cap_failures;
};

/* One file to read, or one archive with the members to read. */
struct read_job {
    const char *path;
    const struct source **sources; /* owned; members in their order */
    size_t nsources, cap;
    struct run *parts; /* [nparts] owned: what the sources hold, until it is part of the run. One a
                          source where files are grouped, else one; none where all goes into the run
                        */
    size_t nparts;
    struct load_failure *failures; /* owned */
    size_t nfailures, cap_failures;
    bool ready;
};

/* load_other.c: what a file is that holds no trace, as a sentence goes on behind its name and "is",
 * or as it stands where it begins with LOAD_LOOKS_LIKE; NULL: not known. */
#define LOAD_LOOKS_LIKE "looks like "
const char *load_what_else(const char *label, const char *head, size_t len);

/* load_find.c: fills the list. 0, or -1 with e filled. */
int load_find(struct load *l, struct err *e);
const char *load_printable(struct run *run, const char *text);
void load_damaged(struct load *l, const struct err *e); /* a trace that cannot be used */
void load_cut_archive(struct load *l, const struct err *e);
int load_nothing(const struct load *l, struct err *e); /* says why; returns -1 */

/* load_choose.c: leaves in the list what is to be read, in the order of reading; the format of it.
 * NULL with e filled. */
const struct reader *load_choose(struct load *l, struct err *e);

/* load_join.c: Puts the parts of one job into the run: of several the one asked for, else the
 * newest. Leaves in the list of sources what completes files of that job, and drops what completes
 * files of others. -1 with e filled: no such run, or nothing tells which is the newest. */
int load_join(struct load *l, struct load_parts *parts, struct err *e);
void load_note_failure(struct load *l, const struct load_failure *f);

/* A file below the place that was named, of an archive the member; its folder, "" that place
 * itself.
 */
const char *load_file_name(const struct load *l, const struct source *s);
const char *load_folder_name(const struct load *l, const struct source *s);

size_t load_count(const struct load *l, const struct reader *reader);
void load_release(struct load *l); /* what it owns */

/* The formats, in the order of READERS. */
extern const struct reader *const load_readers[];
extern const size_t load_nreaders;

/* ---- recordings.c ----
 *
 * Finds the files that are of one job. The profilers' formats name no run, so jobs are told apart
 * by what the files hold, before anything is computed from them. Files that are not of one job are
 * never mixed: each job is a run of its own (load.c lists them and reads one).
 *
 * A file is a recording: one or more ranks over one stretch of time. Two recordings contradict each
 * other, and are never of one job, when
 *
 *   world     they record different world sizes, or one has a rank that the other's world lacks
 *   rank      both have a rank of the same number, and these are not windows of one process (below)
 *   full      together they have more ranks than the world size that they record
 *
 * As long as nothing contradicts they are of one job, by these rules in turn, within a folder
 * first:
 *
 *   process   they are windows of one process: process id, rank number, host, GPU model and world
 *             size agree as far as both know them, and one begins after the end of the other
 *             (torch.profiler writes a file for each active window, nsys one for each capture
 *             range). Without process ids the rank numbers must be known and the folder be one;
 *             where neither rank nor host is known, at most RECORDINGS_UNNAMED_NS lie between them
 *   comm      they name one communicator by an id that is unique (NCCL's hash)
 *   time      they overlap in time, on the wall clock (where operations have no times, they were
 *             written within RECORDINGS_SKEW_NS), and more ties them: the world size that both
 *             record, a communicator of the same name and members; or, with GPUs of one model as
 *             far as known, numbers of all their ranks, or communication in both and one host as
 *             far as known
 *   default   when nothing tells: the time of one is not known, and their GPUs are of one model as
 *             far as known. Or wall clocks may differ: they are of different hosts as far as known,
 *             all their ranks have numbers, and at most RECORDINGS_SKEW_NS lie between them. Or
 *             they are rings of calls (rank->undated), of one folder, or at most
 *             RECORDINGS_UNNAMED_NS apart; the world size of these is not known
 *
 * Equal recordings of one process (same stretch of time, same number of operations) are copies of
 * one file. */

#define RECORDINGS_SKEW_NS ((int64_t)60 * 1000000000)
#define RECORDINGS_UNNAMED_NS ((int64_t)3600 * 1000000000)

struct recording {
    const struct run *part; /* what was read from the file; borrowed */
    const char *label;      /* of the file; borrowed */
    const char *folder;     /* borrowed; equal texts are one pointer */

    /* filled by recordings_group() */
    uint32_t job;             /* from 0, in the order of the list */
    int64_t begin_ns, end_ns; /* wall clock; UNKNOWN_NS: not known */
    uint32_t *processes;      /* [part->nranks] of each rank the number of its process in the list:
                                 windows of one process have one number; in the arena */
};

/* Sets the jobs of a list; returns how many there are. `unique_comms`: the format's ids of
 * communicators are unique. */
uint32_t recordings_group(struct recording *list, size_t n, bool unique_comms, struct arena *arena);

/* Returns why two jobs of the list are not one, for the user: "another time". */
const char *recordings_why(struct recording *list, size_t n, uint32_t job_a, uint32_t job_b,
                           struct arena *arena);

/* ---- run_absorb.c ----
 *
 * Two runs made one: what was read from one file (a part) goes after what a run holds already.
 *
 *     name_map_init(&names, &run->names, &part.names);      both under the run's lock,
 *     run_rename(&part, &names);                            this beside other threads
 *     run_absorb(run, &part);
 *
 * Texts are interned in the run and communicators found there by their id. A part is what a reader
 * left behind, before run_finish(). Who adds a field to struct run or struct rank that names a
 * communicator, or a text that is compared by its pointer, adds it in run_absorb.c too; other texts
 * stay valid by themselves, since the run takes over the part's arena. */

/* Texts of a part to the same texts of the run. */
struct name_map {
    struct name_pair {
        const char *from, *to;
    } * slots; /* owned; found by the pointer */
    size_t nslots;
};

void name_map_init(struct name_map *m, struct intern *into, const struct intern *from);
void name_map_release(struct name_map *m);

/* Puts the run's texts in place of the part's own, everywhere in the part. */
void run_rename(struct run *part, const struct name_map *names);

/* Moves everything of the part, which is empty and released then. */
void run_absorb(struct run *run, struct run *part);

#endif

/* SPDX-License-Identifier: MIT
 *
 * A path on its way to a run; for load*.c alone. load_find.c says what is there (sources),
 * load_choose.c which of it is meant, load.c reads it, load_jobs.c chooses among what was read
 * where only that tells which job it is of, and run_absorb.c puts together what threads read apart.
 *
 * A folder is looked into with the folders below it, FOLDER_DEPTH_MAX deep and FOLDER_ENTRIES_MAX
 * entries in all, hidden ones passed over, each once whatever links lead there. Where a folder
 * holds traces itself, and not just links to some, the folders below it are left alone: they hold
 * others' (`dump-TIME` of specter dump, say). An archive in a folder is read where nothing else is.
 */
#ifndef SPECTER_TRACE_LOAD_H
#define SPECTER_TRACE_LOAD_H

#include "base/buf.h"
#include "base/idmap.h"
#include "trace/reader.h"

#define NAMED_MAX 8 /* files or runs named in one note */

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
    struct idmap files;  /* device and inode of each, so that two names of one count once; */
    size_t *file_source; /* owned: the source that it is, or SIZE_MAX */
    size_t cap_files;
    struct idmap folders;  /* likewise */
    size_t entries;        /* looked at so far, */
    bool too_many;         /* and some are not */
    const char **archives; /* owned: in folders, set aside */
    size_t narchives, cap_archives;
    bool by_folder;     /* each folder is a run: ranks repeat across them */
    bool newer_left;    /* a newer launch was left aside: see meant_launch() */
    struct buf foreign; /* names, quoted */
    size_t nforeign, ndamaged;
    struct err first; /* the first thing that was wrong with a file */
};

/* A file that could not be read. */
struct load_failure {
    struct err err;
    const struct source *source; /* borrowed */
    bool cut;                    /* the end of an archive is missing; else one trace is */
};

/* What was read from one file. */
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

/* load_find.c: fills the list. 0, or -1 with e filled. */
int load_find(struct load *l, struct err *e);
const char *load_printable(struct run *run, const char *text);
void load_damaged(struct load *l, const struct err *e); /* a trace that cannot be used */
void load_cut_archive(struct load *l, const struct err *e);
int load_nothing(const struct load *l, struct err *e); /* says why; returns -1 */

/* load_choose.c: leaves in the list what is to be read, in the order of reading; the format of it.
 * NULL with e filled. */
const struct reader *load_choose(struct load *l, struct err *e);

/* load_jobs.c: puts the parts of one job into the run: of several the one asked for, else the
 * newest. Leaves in the list of sources what completes files of that job, and drops what completes
 * files of others. -1 with e filled: no such run, or nothing tells which is the newest. */
int load_join_parts(struct load *l, struct load_parts *parts, struct err *e);
void load_failed(struct load *l, const struct load_failure *f);

/* A file below the place that was named, of an archive the member; its folder, "" that place
 * itself.
 */
const char *load_file_name(const struct load *l, const struct source *s);
const char *load_folder_name(const struct load *l, const struct source *s);

size_t load_count(const struct load *l, const struct reader *reader);

/* The formats, in the order of READERS. */
extern const struct reader *const load_readers[];
extern const size_t load_nreaders;

#endif

/* SPDX-License-Identifier: MIT
 *
 * The program that a command names, and what libspecter.so preloaded into it would do to it. Files
 * tell it, and version managers, which are run as `TOOL which NAME`; the program itself is not run.
 * `capture` refuses and warns, `doctor` explains, by the same findings.
 *
 *     struct app p;
 *     app_init(&p, &arena, &loader, library, 2);
 *     if (app_find(&p, argv[0]) == APP_FOUND)
 *         app_check(&p);
 *     for (size_t i = 0; i < p.finding_count; i++) ...
 *     app_release(&p);
 *
 * To add a finding: a function in app_check.c, and its line in a table there; docs/preload.md tells
 * users.
 */
#ifndef SPECTER_CMD_APP_H
#define SPECTER_CMD_APP_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- loader.c ----
 *
 * Where libraries are looked for: by the dynamic loader of this system, and by NCCL for a profiler
 * plugin.
 *
 *     struct loader l;
 *     loader_init(&l, &arena, 10);
 *     path = loader_file(&l.dirs, &arena, "libx.so.1");
 *     loader_release(&l); */

/* The part of a path behind its last '/'. */
const char *path_base_name(const char *path);

/* Folders or files in order, each once. The array is owned, the texts are an arena's. */
struct dir_list {
    const char **dirs;
    size_t count, cap;
};

/* Appends, unless it is there. */
void dir_list_add(struct dir_list *list, const char *path);

struct loader {
    struct dir_list dirs;    /* of LD_LIBRARY_PATH, of its cache, its own */
    size_t from_environment; /* how many of them are of LD_LIBRARY_PATH, which come first */
};

/* Asks ldconfig for the cache, for as many seconds. Texts go to the arena. */
void loader_init(struct loader *l, struct arena *a, double limit_s);
void loader_release(struct loader *l);

/* The real path of the first library of this name in these folders that is of this machine's class
 * and processor; of one that holds a slash, its own. NULL: none. */
const char *loader_file(const struct dir_list *in, struct arena *a, const char *name);

/* NCCL's one place for a profiler plugin, which libspecter.so wants for --nccl-plugin. NCCL takes
 * the plugin that NCCL_PROFILER_PLUGIN names, in the environment or in its configuration file, else
 * libnccl-profiler.so, else its network plugin where that is a profiler too; images bring either
 * for telemetry. */
#define NCCL_SLOT_VARIABLE "NCCL_PROFILER_PLUGIN"

enum nccl_slot_by { SLOT_FREE, SLOT_ENVIRONMENT, SLOT_FILE, SLOT_LIBRARY };

struct nccl_slot {
    enum nccl_slot_by by;
    const char
        *what; /* the variable's value, or the library's path; the arena's, or the environment's */
    const char *file; /* of SLOT_FILE: the configuration file */
};

struct nccl_slot nccl_slot_find(struct arena *a, const struct loader *l);

struct elf_file;

/* ---- app_find.c, app_check.c ---- */

#define APP_STEPS 8 /* that are followed: a script's interpreter may be a script */

/* One step from the name to the program: 'path' <relation> 'next'. */
struct app_step {
    const char *path, *relation, *next;
};

enum app_state {
    APP_FOUND,
    APP_MISSING,        /* no such file, or one that cannot be executed */
    APP_NEXT_MISSING,   /* what the last step leads to is not there */
    APP_NOT_EXECUTABLE, /* neither a program nor a script */
    APP_TOO_MANY_STEPS, /* after APP_STEPS the file at `path` leads on */
};

enum app_effect {
    APP_REFUSED, /* it would fail, or never be traced: capture does not start it */
    APP_UNSEEN,  /* it runs as untraced, and nothing of it is seen */
    APP_DIFFERS, /* it is traced, and sees a difference */
};

struct app_finding {
    enum app_effect effect;
    const char *text;   /* what is the case, with the name of the file */
    const char *advice; /* the way out */
};

/* A file that the loader loads at the start. */
struct app_object {
    const char *path, *name; /* as found, and as the one that needs it calls it */
    const char *rpath;       /* NULL: none, or a RUNPATH takes its place */
    size_t parent;           /* which object needs it; the program: itself */
};

struct app {
    struct arena *arena;         /* borrowed: holds all texts */
    const char *library;         /* borrowed: the libspecter.so; NULL: there is none */
    const struct loader *loader; /* borrowed */
    double limit_s;              /* how long a version manager may take to answer */

    /* By app_find(): */
    const char *path;    /* the program that runs, as it was found; else the last file on the way */
    const char *file;    /* the same after all links */
    const char *unknown; /* this shell or script starts what cannot be known; NULL: none does */
    struct app_step steps[APP_STEPS];
    size_t step_count;

    /* By app_check(), in the order in which the loader meets them: the program, what LD_PRELOAD
     * names, what they need. Not libspecter.so. */
    struct app_object *objects;
    size_t object_count, object_cap;
    struct dir_list missing; /* names that are needed and not found */
    const char *own_loader; /* folder of a loader of its own, which is not this system's; or NULL */

    struct app_finding *findings; /* likewise */
    size_t finding_count, finding_cap;
};

void app_init(struct app *p, struct arena *a, const struct loader *loader, const char *library,
              double limit_s);
void app_release(struct app *p);

/* Follows `name` to the program that runs in the end: PATH, scripts, shims of version managers
 * (which are asked), wrappers that exec one program. */
enum app_state app_find(struct app *p, const char *name);

/* Fills findings, and the objects unless the program's file alone decides. True: libspecter.so is
 * loaded into it. */
bool app_check(struct app *p);

/* After app_check(): adds a library that the program will open, and all that it needs. */
void app_walk_library(struct app *p, const char *path);

/* Where an LD_PRELOAD begins with the runtime of AddressSanitizer, which has to be the first
 * library of all, the bytes up to its end; else 0. */
size_t app_asan_in_front(const char *list);

/* The findings of weak references and dladdr() alone, of all objects. */
void app_check_symbols(struct app *p);

/* ---- doctor.c, doctor_libs.c: findings; GPU libraries and programs ---- */

/* Result of a check: all is well; something to know; a capture would see or write nothing. */
enum doctor_level { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_PROBLEM };

struct doctor_finding {
    enum doctor_level level;
    const char *check;  /* a word */
    const char *text;   /* what is the case */
    const char *advice; /* what to do; NULL: nothing */
};

struct doctor {
    struct arena arena; /* holds all texts */
    struct doctor_finding *found;
    size_t count, cap;
    struct loader loader;
    struct dir_list python; /* lib folders of the nvidia packages of the python3 in PATH */
    double patience;        /* seconds for each question */
};

void doctor_print(struct doctor *d, enum doctor_level level, const char *check, const char *advice,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* doctor_libs.c */
void doctor_find_dirs(struct doctor *d); /* fills loader and python */
void doctor_check_libraries(struct doctor *d);
void doctor_check_expected(struct doctor *d, const char *path); /* of a library */
void doctor_check_program(struct doctor *d, const char *name);

#endif

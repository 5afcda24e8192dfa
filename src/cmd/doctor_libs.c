/* SPDX-License-Identifier: MIT
 *
 * Of `specter doctor`: where GPU libraries are looked for, and which are there. Names of files are
 * all that is looked at.
 */
#include "cmd/ask.h"
#include "cmd/doctor.h"

#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of paths ---- */

/* Adds what a pattern finds, as real paths. */
static void add_matches(struct doctor *d, const char *pattern, struct dir_list *into)
{
    glob_t found;
    char full[PATH_MAX];
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (realpath(found.gl_pathv[i], full) != NULL)
            dir_list_add(into, arena_strdup(&d->arena, full));
    }
    globfree(&found);
}

/* What a library may be called. The second is how wheels name what they bring:
 * libnccl-1a2b3c4d.so.2. */
#define HEX "[0-9a-f]"
static const char *const names[] = {".so*", "-" HEX HEX HEX HEX HEX HEX HEX HEX "*.so*"};
#define NAMES (sizeof names / sizeof *names)

bool doctor_is_library(const char *path, const char *stem)
{
    const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path;
    size_t len = strlen(stem);
    if (strncmp(file, stem, len) != 0)
        return false;
    for (size_t i = 0; i < NAMES; i++) {
        if (fnmatch(names[i], file + len, 0) == 0)
            return true;
    }
    return false;
}

void doctor_copies(struct doctor *d, const struct dir_list *in, const char *stem,
                   struct dir_list *into)
{
    for (size_t i = 0; i < in->count; i++) {
        for (size_t n = 0; n < NAMES; n++)
            add_matches(d, arena_printf(&d->arena, "%s/%s%s", in->dirs[i], stem, names[n]), into);
    }
}

/* ---- where they are looked for ---- */

/* Packages called nvidia-* keep each library in nvidia/<part>/lib beside all others. */
static void add_python(struct doctor *d)
{
    static const char *const ask[] = {"python3", "-c", "import sys\nprint('\\n'.join(sys.path))",
                                      NULL};
    struct buf out = BUF_INIT;
    char *line, *rest;
    ask_program(ask, d->patience, &out);
    rest = out.data;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (*line == '/')
            add_matches(d, arena_printf(&d->arena, "%s/nvidia/*/lib", line), &d->python);
    }
    buf_release(&out);
}

void doctor_find_dirs(struct doctor *d)
{
    loader_init(&d->loader, &d->arena, d->patience);
    add_python(d);
}

/* ---- what is there ---- */

enum {
    EXPECTED = 1, /* its absence is worth a word */
    SINGLE = 2,   /* so are several copies */
    UNSEEN = 4,   /* so is its presence: the tracer has no hooks for it */
};

static const struct {
    const char *stem;
    unsigned what;
} libraries[] = {
    {"libcuda", EXPECTED},          {"libcudart", 0},
    {"libcublas", EXPECTED},        {"libcublasLt", EXPECTED},
    {"libnccl", EXPECTED | SINGLE}, {"librccl", SINGLE},
    {"librocblas", UNSEEN},         {"libhipblaslt", UNSEEN},
};

/* Returns whether a package's list of files names this one, in lines such as
 * "nvidia/nccl/lib/libnccl.so.2,sha256=...,1". */
static bool lists(const char *record, const char *file)
{
    size_t len = strlen(file), size = 0;
    char *line = NULL;
    bool found = false;
    FILE *in = fopen(record, "r");
    while (in != NULL && !found && getline(&line, &size, in) > 0)
        found = strncmp(line, file, len) == 0 && line[len] == ',';
    if (in != NULL)
        fclose(in);
    free(line);
    return found;
}

/* Of .../nvidia_nccl_cu13-2.28.9.dist-info/RECORD: 2.28.9. */
static const char *version_in(struct doctor *d, const char *record)
{
    const char *end = strrchr(record, '/'), *dash;
    const char *name = memrchr(record, '/', (size_t)(end - record));
    if (name == NULL || (dash = strchr(name, '-')) == NULL || dash > end)
        return NULL;
    end -= strlen(".dist-info");
    return dash < end ? arena_strndup(&d->arena, dash + 1, (size_t)(end - dash) - 1) : NULL;
}

/* The version of the Python package whose file it is: of nvidia/nccl/lib/libnccl.so.2 or, since
 * CUDA 13, one folder for the libraries of several packages, nvidia/cu13/lib/libcublas.so.13. */
static const char *package_version(struct doctor *d, const char *path)
{
    struct dir_list records = {NULL, 0, 0};
    const char *file = NULL, *version = NULL;
    for (const char *p = path; (p = strstr(p, "/nvidia/")) != NULL; p++)
        file = p + 1;
    if (file == NULL)
        return NULL;
    add_matches(d,
                arena_printf(&d->arena, "%.*snvidia_*.dist-info/RECORD", (int)(file - path), path),
                &records);
    for (size_t i = 0; i < records.count && version == NULL; i++) {
        if (lists(records.dirs[i], file))
            version = version_in(d, records.dirs[i]);
    }
    free(records.dirs);
    return version;
}

const char *doctor_version(struct doctor *d, const char *path)
{
    const char *so = strstr(strrchr(path, '/'), ".so."), *packaged;
    if (so != NULL && strchr(so + 4, '.') != NULL)
        return so + 4;
    packaged = package_version(d, path);
    return packaged != NULL ? packaged : so != NULL ? so + 4 : "unknown";
}

static const char *list_copies(struct doctor *d, const struct dir_list *copies)
{
    struct buf text = BUF_INIT;
    const char *kept;
    for (size_t i = 0; i < copies->count; i++)
        buf_printf(&text, "%s%s (version %s)", i > 0 ? ", " : "", copies->dirs[i],
                   doctor_version(d, copies->dirs[i]));
    kept = arena_strdup(&d->arena, text.data);
    buf_release(&text);
    return kept;
}

static void check_one(struct doctor *d, const char *stem, unsigned what)
{
    struct dir_list copies = {NULL, 0, 0};
    doctor_copies(d, &d->loader.dirs, stem, &copies);
    doctor_copies(d, &d->python, stem, &copies);
    if (copies.count == 0 && what & EXPECTED)
        doctor_print(d, DOCTOR_WARNING, stem, "nothing, if programs bring their own",
                     "not found where the loader or python3 looks");
    else if (copies.count > 0 && what & UNSEEN)
        doctor_print(d, DOCTOR_WARNING, stem, NULL, "%s: calls of it are not recorded",
                     list_copies(d, &copies));
    else if (copies.count > 1 && what & SINGLE)
        doctor_print(d, DOCTOR_WARNING, stem, "see which one a program loads: init has its version",
                     "%zu copies: %s", copies.count, list_copies(d, &copies));
    else if (copies.count > 0)
        doctor_print(d, DOCTOR_OK, stem, NULL, "%s", list_copies(d, &copies));
    free(copies.dirs);
}

void doctor_check_libraries(struct doctor *d)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        check_one(d, libraries[i].stem, libraries[i].what);
}

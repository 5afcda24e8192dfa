/* SPDX-License-Identifier: MIT
 *
 * What stands against preloading libspecter.so into a program.
 */
#include "cmd/app.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/elf_file.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The way out of whatever bears no preload, alone or as a child of a traced program. */
#define UNTRACED "start it by 'env -u LD_PRELOAD'"

void app_init(struct app *p, struct arena *a, const struct loader *loader, const char *library,
              double limit_s)
{
    *p = (struct app){.arena = a, .loader = loader, .library = library, .limit_s = limit_s};
}

void app_release(struct app *p)
{
    free(p->objects);
    free(p->missing.dirs);
    free(p->findings);
}

void app_add_finding(struct app *p, enum app_effect effect, const char *advice, const char *fmt,
                     ...)
{
    struct buf text = BUF_INIT, clean = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    buf_put_printable(&clean, text.data, text.len);
    ARRAY_GROW(p->findings, p->finding_cap, p->finding_count + 1);
    p->findings[p->finding_count++] =
        (struct app_finding){effect, arena_strdup(p->arena, clean.data), advice};
    buf_release(&text);
    buf_release(&clean);
}

const char *app_privileged(const char *path)
{
    struct stat st;
    struct statvfs fs;
    if (stat(path, &st) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0))
        return NULL;
    if (st.st_mode & S_ISUID && st.st_uid != getuid())
        return "setuid";
    if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid())
        return "setgid";
    if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        return "privileged by file capabilities";
    return NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_asan(const char *path)
{
    const char *file = base_name(path);
    return starts_with(file, "libasan.so") || starts_with(file, "libclang_rt.asan");
}

size_t app_asan_in_front(const char *list)
{
    char first[PATH_MAX];
    size_t skipped = strspn(list, " :"), len = strcspn(list + skipped, " :");
    snprintf(first, sizeof first, "%.*s", (int)len, list + skipped);
    return is_asan(first) ? skipped + len : 0;
}

/* ---- by the program's file alone ---- */

static void check_processor(struct app *p, const struct elf_file *f)
{
    struct elf_file library;
    unsigned machine = elf_file_own_machine();
    if (p->library != NULL && elf_file_open(&library, p->library, NULL) == 0) {
        machine = library.machine;
        elf_file_close(&library);
    }
    if (f->foreign || f->machine != machine)
        app_add_finding(p, APP_REFUSED, "use a libspecter.so built for that, or " UNTRACED,
                        "'%s' is for %u-bit %s, and libspecter.so for %s", p->path, f->bits,
                        elf_file_machine_name(f->machine), elf_file_machine_name(machine));
}

/* The loader itself has no interpreter either, but it loads what it is told to. */
static void check_static(struct app *p, const struct elf_file *f)
{
    if (f->interpreter == NULL && (f->soname == NULL || !starts_with(f->soname, "ld")))
        app_add_finding(p, APP_UNSEEN, "link it dynamically to trace it",
                        "'%s' is static: no loader runs that could preload anything", p->path);
}

static void check_c_library(struct app *p, const struct elf_file *f)
{
    static const struct {
        const char *loader, *name;
    } others[] = {
        {"ld-musl", "musl"},
        {"ld-uClibc", "uClibc"},
        {"ld64-uClibc", "uClibc"},
        {"linker", "Android's C library"},
    };
    const char *loader = f->interpreter != NULL ? base_name(f->interpreter) : "";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (starts_with(loader, others[i].loader)) {
            app_add_finding(p, APP_REFUSED, "build it for glibc, or " UNTRACED,
                            "'%s' is linked to %s, and libspecter.so to glibc", p->path,
                            others[i].name);
            return;
        }
    }
}

static void check_privileged(struct app *p, const struct elf_file *f)
{
    const char *why = app_privileged(p->file);
    (void)f;
    if (why != NULL)
        app_add_finding(p, APP_REFUSED,
                        "run a copy without those rights, or specter with them (sudo specter ...)",
                        "'%s' is %s: the loader preloads nothing into it", p->path, why);
}

/* ---- by what it loads at its start ---- */

/* Returns whether the runtime checks the order at all. */
static bool order_is_checked(void)
{
    static const char *const off[] = {"=0", "=false", "=no"};
    const char *options = getenv("ASAN_OPTIONS"), *name = "verify_asan_link_order", *said;
    said = options != NULL ? strstr(options, name) : NULL;
    for (size_t i = 0; said != NULL && i < sizeof off / sizeof *off; i++) {
        if (starts_with(said + strlen(name), off[i]))
            return false;
    }
    return true;
}

/* The runtime of AddressSanitizer ends the program when another library is in front of it. Those of
 * the other sanitizers do not care, and clang links all of them statically unless told otherwise.
 */
static void check_sanitizer(struct app *p)
{
    const char *preload = getenv("LD_PRELOAD"), *had = preload != NULL ? preload : "";
    if (!order_is_checked() || app_asan_in_front(had) > 0)
        return;
    for (size_t i = 0; i < p->object_count; i++) {
        const char *runtime = p->objects[i].path;
        if (!is_asan(runtime))
            continue;
        app_add_finding(p, APP_REFUSED,
                        arena_printf(p->arena, "export LD_PRELOAD=%s%s%s", runtime,
                                     had[0] != '\0' ? ":" : "", had),
                        "'%s' needs AddressSanitizer's runtime in front of all libraries", p->path);
        return;
    }
}

static const char *libc_of(const struct app *p)
{
    for (size_t i = 0; i < p->object_count; i++) {
        if (strcmp(p->objects[i].name, "libc.so.6") == 0)
            return p->objects[i].path;
    }
    return NULL;
}

/* A program may bring a loader and a C library of its own. */
static void check_glibc(struct app *p)
{
    const char *libc = libc_of(p);
    struct elf_file f;
    unsigned need = 0, have = 0;
    if (p->library != NULL && elf_file_open(&f, p->library, NULL) == 0) {
        need = elf_file_glibc(&f, "libc.so.6");
        elf_file_close(&f);
    }
    if (libc != NULL && elf_file_open(&f, libc, NULL) == 0) {
        have = elf_file_glibc_provided(&f);
        elf_file_close(&f);
    }
    if (have != 0 && need > have)
        app_add_finding(p, APP_REFUSED, "build specter by 'make release', or " UNTRACED,
                        "'%s' has '%s' up to GLIBC_%u.%u, and libspecter.so needs GLIBC_%u.%u",
                        p->path, libc, have / 1000, have % 1000, need / 1000, need % 1000);
}

static void (*const by_file[])(struct app *p, const struct elf_file *f) = {
    check_processor,
    check_static,
    check_c_library,
    check_privileged,
};

static void (*const by_objects[])(struct app *p) = {
    check_sanitizer,
    check_glibc,
    app_check_symbols,
};

bool app_check(struct app *p)
{
    struct elf_file f;
    if (elf_file_open(&f, p->file, NULL) < 0)
        return false;
    for (size_t i = 0; i < sizeof by_file / sizeof *by_file && p->finding_count == 0; i++)
        by_file[i](p, &f);
    elf_file_close(&f);
    if (p->finding_count > 0)
        return false;
    app_walk(p);
    for (size_t i = 0; i < sizeof by_objects / sizeof *by_objects && p->finding_count == 0; i++)
        by_objects[i](p);
    return p->finding_count == 0 || p->findings[0].effect == APP_DIFFERS;
}

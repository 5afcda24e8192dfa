/* SPDX-License-Identifier: MIT
 *
 * specter doctor: would a capture work here, and of this program?
 *
 * Nothing is changed and the program is not run. One finding a line; whatever may hang or crash is
 * asked in a child process.
 */
#include "base/child.h"
#include "base/elf_file.h"
#include "base/err.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "report/screen.h"
#include "trace/trace_summary.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOW_SPACE ((double)(1 << 30))
#define COLUMN_TEXT 22 /* of a finding, behind its level and its check */

struct doctor_opts {
    const char *output, *json, *library;
    double timeout;
};

static const struct opt rows[] = {
    {"output", 'o', OPT_STR, offsetof(struct doctor_opts, output), "DIR",
     "where traces would go (default: $SPECTER_OUTPUT, else ./traces)"},
    {"timeout", 0, OPT_DOUBLE, offsetof(struct doctor_opts, timeout), "SECONDS",
     "how long a driver may take to answer (default 10)"},
    {"expect-lib", 0, OPT_STR, offsetof(struct doctor_opts, library), "PATH",
     "the file of a library, such as NCCL's, that the loader should find"},
    {"json", 0, OPT_STR, offsetof(struct doctor_opts, json), "FILE|-",
     "write everything as JSON; -: to stdout, in place of the text"},
    OPT_END,
};

static const char *const level_names[] = {"ok", "warning", "problem"};

void doctor_print(struct doctor *d, enum doctor_level level, const char *check, const char *advice,
                  const char *fmt, ...)
{
    struct buf text = BUF_INIT, clean = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    buf_put_printable(&clean, text.data, text.len);
    ARRAY_GROW(d->found, d->cap, d->count + 1);
    d->found[d->count++] =
        (struct doctor_finding){level, check, arena_strdup(&d->arena, clean.data), advice};
    buf_release(&text);
    buf_release(&clean);
}

/* ---- our own parts ---- */

static void check_glibc(struct doctor *d, const char *library)
{
    struct elf_file f;
    char running[64] = "";
    unsigned need, have = 0, major, minor;
    if (elf_file_open(&f, library, NULL) < 0) {
        doctor_print(d, DOCTOR_PROBLEM, "glibc", "install specter again",
                     "'%s' cannot be read as a library", library);
        return;
    }
    need = elf_file_glibc(&f, NULL);
    elf_file_close(&f);
    confstr(_CS_GNU_LIBC_VERSION, running, sizeof running);
    if (sscanf(running, "glibc %u.%u", &major, &minor) == 2)
        have = major * 1000 + minor;
    if (have == 0)
        doctor_print(d, DOCTOR_WARNING, "glibc", "use a system with glibc",
                     "this system's C library is another");
    else if (need > have)
        doctor_print(d, DOCTOR_PROBLEM, "glibc", "build specter here, or use a release build",
                     "the library needs %u.%u, this system has %u.%u", need / 1000, need % 1000,
                     have / 1000, have % 1000);
    else
        doctor_print(d, DOCTOR_OK, "glibc", NULL, "the library needs %u.%u, this system has %u.%u",
                     need / 1000, need % 1000, have / 1000, have % 1000);
}

static void check_library(struct doctor *d)
{
    const char *library;
    struct err why;
    if (cmd_library(&d->arena, &library, &why) < 0) {
        doctor_print(d, DOCTOR_PROBLEM, "library", "install it, or set SPECTER_LIB", "%s", why.msg);
        return;
    }
    doctor_print(d, DOCTOR_OK, "library", NULL, "%s", library);
    check_glibc(d, library);
}

/* The directory, or the nearest one above it that is there. */
static const char *existing(struct doctor *d, const char *dir)
{
    char *path = arena_strdup(&d->arena, dir), *slash;
    while (access(path, F_OK) < 0) {
        slash = strrchr(path, '/');
        if (slash == NULL)
            return ".";
        slash[slash == path] = '\0';
    }
    return path;
}

static void check_directory(struct doctor *d, const char *dir)
{
    const char *there = existing(d, dir);
    const char *what = strcmp(there, dir) == 0 ? "writable" : "can be made";
    struct statvfs fs;
    double left;
    if (access(arena_printf(&d->arena, "%s/.", there), W_OK | X_OK) < 0) {
        doctor_print(d, DOCTOR_PROBLEM, "directory", "choose another with -o or SPECTER_OUTPUT",
                     "cannot write to '%s': %s", there, strerror(errno));
        return;
    }
    if (statvfs(there, &fs) < 0) {
        doctor_print(d, DOCTOR_OK, "directory", NULL, "'%s' %s", dir, what);
        return;
    }
    left = (double)fs.f_bavail * (double)fs.f_frsize;
    doctor_print(d, left < LOW_SPACE ? DOCTOR_WARNING : DOCTOR_OK, "directory",
                 left < LOW_SPACE ? "make room: an operation takes about 300 bytes" : NULL,
                 "'%s' %s, %.1f GB free", dir, what, left / 1e9);
}

/* ---- the system ---- */

static void check_clock(struct doctor *d)
{
    char name[64] = "";
    FILE *in = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (in == NULL || fscanf(in, "%63s", name) != 1)
        doctor_print(d, DOCTOR_OK, "clock", NULL, "the kernel does not name its clock source");
    else if (strcmp(name, "hpet") == 0 || strcmp(name, "acpi_pm") == 0 ||
             strcmp(name, "jiffies") == 0)
        doctor_print(d, DOCTOR_WARNING, "clock", "boot with tsc, if the processor's is steady",
                     "%s: reading the time takes about a microsecond, twice a traced call", name);
    else
        doctor_print(d, DOCTOR_OK, "clock", NULL, "%s", name);
    if (in != NULL)
        fclose(in);
}

static void check_preload(struct doctor *d)
{
    const char *list = getenv("LD_PRELOAD");
    if (list == NULL || list[strspn(list, " :")] == '\0')
        doctor_print(d, DOCTOR_OK, "preload", NULL, "LD_PRELOAD is empty");
    else if (strstr(list, "libspecter") != NULL)
        doctor_print(d, DOCTOR_WARNING, "preload", "leave it to specter capture",
                     "LD_PRELOAD names the library already: '%s'", list);
    else if (app_asan_in_front(list) > 0)
        doctor_print(d, DOCTOR_OK, "preload", NULL,
                     "LD_PRELOAD is '%s'; capture leaves AddressSanitizer in front", list);
    else
        doctor_print(d, DOCTOR_WARNING, "preload",
                     "nothing, unless it interposes NCCL, cuBLAS or dlsym too",
                     "LD_PRELOAD is '%s'; capture puts the library in front", list);
}

/* ---- who has NCCL's places for plugins, and what a profiler plugin costs ---- */

static void check_profiler(struct doctor *d)
{
    static const char advice[] = "unset it if NCCL's own view of an operation is wanted";
    struct nccl_slot slot = nccl_slot_find(&d->arena, &d->loader);
    const char *library = NULL;
    struct err e;
    switch (slot.by) {
    case SLOT_ENVIRONMENT:
        if (cmd_library(&d->arena, &library, &e) == 0 && strcmp(slot.what, library) == 0)
            doctor_print(d, DOCTOR_OK, "plugin", NULL,
                         NCCL_SLOT_VARIABLE " is libspecter.so, as --nccl-plugin sets it");
        else
            doctor_print(d, DOCTOR_WARNING, "plugin", advice,
                         NCCL_SLOT_VARIABLE
                         " is '%s': NCCL has one place for a profiler, and this takes it",
                         slot.what);
        break;
    case SLOT_FILE:
        doctor_print(d, DOCTOR_WARNING, "plugin",
                     "nothing, unless both are wanted: --nccl-plugin takes its place",
                     "'%s' has " NCCL_SLOT_VARIABLE "=%s: NCCL has one place for a profiler",
                     slot.file, slot.what);
        break;
    case SLOT_LIBRARY:
        doctor_print(d, DOCTOR_WARNING, "plugin",
                     "nothing, unless both are wanted: --nccl-plugin takes its place",
                     "NCCL has one place for a profiler, and loads '%s' into it", slot.what);
        break;
    case SLOT_FREE:
        break;
    }
}

static void check_plugins(struct doctor *d)
{
    const char *tuner = getenv("NCCL_TUNER_PLUGIN");
    size_t before = d->count;
    check_profiler(d);
    if (tuner != NULL && tuner[0] != '\0')
        doctor_print(d, DOCTOR_OK, "plugin", NULL, "NCCL_TUNER_PLUGIN is '%s'", tuner);
    if (d->count == before)
        doctor_print(d, DOCTOR_OK, "plugin", NULL,
                     "NCCL's places for a profiler and a tuner are free");
    doctor_print(
        d, DOCTOR_OK, "plugin", NULL,
        "kernel events, as --nccl-plugin asks for them, cost 0.1-1.1 %% with NCCL 2.29.7 and "
        "4.3-13.3 %% with 2.31.2 (NVIDIA/nccl issue 2355)");
}

/* ---- whether a GPU answers ----
 *
 * A broken driver may hang or crash the process that asks, so a child process does. */

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        printf("lacks %s\n", name);
        fflush(stdout);
        _exit(0);
    }
    return found;
}

static const char *name_of_first(void *library, char *name, int size)
{
    int (*get_name)(char *, int, int);
    void *found = dlsym(library, "cuDeviceGetName");
    if (found == NULL)
        return "";
    memcpy(&get_name, &found, sizeof found);
    return get_name(name, size, 0) == 0 ? name : "";
}

/* Says one line: "none", "lacks NAME", "error CALL CODE" or "devices N driver V NAME OF THE FIRST".
 */
static void ask_driver(void *unused)
{
    int (*init)(unsigned), (*count)(int *), (*version)(int *);
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found;
    int error, devices = 0, driver = 0;
    char name[256] = "";
    (void)unused;
    if (library == NULL) {
        puts("none");
    } else {
        found = function(library, "cuInit");
        memcpy(&init, &found, sizeof found);
        found = function(library, "cuDeviceGetCount");
        memcpy(&count, &found, sizeof found);
        found = function(library, "cuDriverGetVersion");
        memcpy(&version, &found, sizeof found);
        if ((error = init(0)) != 0)
            printf("error cuInit %d\n", error);
        else if ((error = count(&devices)) != 0)
            printf("error cuDeviceGetCount %d\n", error);
        else
            printf("devices %d driver %d %s\n", devices, version(&driver) == 0 ? driver : 0,
                   devices > 0 ? name_of_first(library, name, sizeof name) : "");
    }
    fflush(stdout);
}

static void check_gpu(struct doctor *d)
{
    struct buf out = BUF_INIT;
    int status = ask_child(ask_driver, NULL, d->patience, &out), devices, driver, at = 0;
    char call[32];
    const char *repair = "look at nvidia-smi and the kernel's log";
    out.data[strcspn(out.data, "\n")] = '\0'; /* of what a driver says itself nothing but this */
    if (status == ASK_LATE)
        doctor_print(d, DOCTOR_WARNING, "gpu", repair, "the driver did not answer within %g s",
                     d->patience);
    else if (!WIFEXITED(status))
        doctor_print(d, DOCTOR_WARNING, "gpu", repair, "the driver crashed (signal %d)",
                     WTERMSIG(status));
    else if (sscanf(out.data, "devices %d driver %d %n", &devices, &driver, &at) == 2)
        doctor_print(d, devices > 0 ? DOCTOR_OK : DOCTOR_WARNING, "gpu",
                     devices > 0 ? NULL : "look at CUDA_VISIBLE_DEVICES",
                     "%d device%s%s%s, driver for CUDA %d.%d", devices, devices == 1 ? "" : "s",
                     out.data[at] != '\0' ? ", the first is " : "", out.data + at, driver / 1000,
                     driver % 1000 / 10);
    else if (sscanf(out.data, "error %31s %d", call, &driver) == 2)
        doctor_print(d, DOCTOR_WARNING, "gpu", repair, "%s() gave error %d", call, driver);
    else if (strncmp(out.data, "lacks ", 6) == 0)
        doctor_print(d, DOCTOR_WARNING, "gpu", repair, "the driver has no %s()", out.data + 6);
    else
        doctor_print(d, DOCTOR_WARNING, "gpu", "nothing, where no GPU is wanted",
                     "no driver: libcuda.so.1 cannot be loaded");
    buf_release(&out);
}

/* ---- traces that are there ---- */

static void check_traces(struct doctor *d, const char *dir)
{
    struct trace_summary g;
    char *line, *rest;
    if (trace_summary_read(&g, dir, NULL, NULL) < 0 || g.files == 0)
        goto out;
    if (g.unseen.len == 0)
        doctor_print(d, DOCTOR_OK, "traces", NULL, "%zu in '%s': no gap was recorded", g.files,
                     dir);
    rest = g.unseen.data;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        const char *kind = strsep(&line, " "), *before, *behind;
        cmd_coverage_gap_text(kind, &before, &behind);
        doctor_print(d, DOCTOR_WARNING, "traces", NULL, "in '%s': %s'%s'%s", dir, before,
                     line != NULL ? line : "", behind);
    }
out:
    trace_summary_release(&g);
}

/* ---- the result ---- */

static size_t count(const struct doctor *d, enum doctor_level level)
{
    size_t n = 0;
    for (size_t i = 0; i < d->count; i++)
        n += d->found[i].level == level;
    return n;
}

static void print_level(struct screen *s, const struct doctor *d, enum doctor_level level)
{
    struct buf line = BUF_INIT;
    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_finding *f = &d->found[i];
        if (f->level != level)
            continue;
        buf_reset(&line);
        buf_printf(&line, "%-8s %-12s %s", level_names[level], f->check, f->text);
        screen_line(s, level == DOCTOR_PROBLEM ? SCREEN_BAD : SCREEN_PLAIN, line.data, COLUMN_TEXT);
        if (f->advice == NULL)
            continue;
        buf_reset(&line);
        buf_printf(&line, "%*sto do: %s", COLUMN_TEXT, "", f->advice);
        screen_line(s, SCREEN_PLAIN, line.data, COLUMN_TEXT);
    }
    buf_release(&line);
}

/* The answer, then problems, warnings and what is well. A pipe gets one line a check, however long,
 * for grep. */
static void print(const struct doctor *d, bool program)
{
    size_t problems = count(d, DOCTOR_PROBLEM), warnings = count(d, DOCTOR_WARNING);
    struct buf answer = BUF_INIT;
    struct screen s;
    screen_init(&s, stdout, COLOR_AUTO);
    s.width = terminal_line_width(stdout);
    buf_printf(&answer, "A capture%s would %swork here", program ? " of this program" : "",
               problems > 0 ? "not " : "");
    if (problems > 0)
        buf_printf(&answer, ": %zu problem%s", problems, problems == 1 ? "" : "s");
    if (warnings > 0)
        buf_printf(&answer, ", %zu warning%s", warnings, warnings == 1 ? "" : "s");
    buf_putc(&answer, '.');
    screen_line(&s, SCREEN_STRONG, answer.data, 0);
    for (int level = DOCTOR_PROBLEM; level >= DOCTOR_OK; level--)
        print_level(&s, d, (enum doctor_level)level);
    screen_release(&s);
    buf_release(&answer);
}

static cJSON *as_json(const struct doctor *d)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    cJSON_AddStringToObject(doc, "schema", "specter.doctor/1");
    cJSON_AddNumberToObject(doc, "problems", (double)count(d, DOCTOR_PROBLEM));
    list = cJSON_AddArrayToObject(doc, "checks");
    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_finding *f = &d->found[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "check", f->check);
        cJSON_AddStringToObject(item, "level", level_names[f->level]);
        cJSON_AddStringToObject(item, "text", f->text);
        if (f->advice != NULL)
            cJSON_AddStringToObject(item, "advice", f->advice);
        else
            cJSON_AddNullToObject(item, "advice");
        cJSON_AddItemToArray(list, item);
    }
    return doc;
}

static int run(const struct command *self, int argc, char **argv, struct err *e)
{
    struct doctor_opts o = {.timeout = 10};
    struct doctor d = {.found = NULL};
    const char *dir;
    int n, status = cmd_parse(self, &o, argc, argv, true, &n, e);
    if (status != 0)
        return status;
    if (!(o.timeout > 0 && o.timeout <= 3600)) {
        err_set(e, ERR_USAGE, "--timeout: give seconds, up to an hour");
        return ERR_USAGE;
    }
    arena_init(&d.arena);
    d.patience = o.timeout;
    dir = o.output != NULL ? o.output : cmd_input(0, NULL);
    check_library(&d);
    check_directory(&d, dir);
    check_clock(&d);
    check_preload(&d);
    doctor_find_dirs(&d);
    check_plugins(&d);
    doctor_check_libraries(&d);
    if (o.library != NULL)
        doctor_check_expected(&d, o.library);
    check_gpu(&d);
    check_traces(&d, dir);
    if (n > 0)
        doctor_check_program(&d, argv[0]);
    status = count(&d, DOCTOR_PROBLEM) > 0 ? ERR_NO : 0;
    if (o.json == NULL || strcmp(o.json, "-") != 0)
        print(&d, n > 0);
    if (o.json != NULL && cmd_write_json(as_json(&d), o.json, e) < 0)
        status = (int)e->code;
    free(d.found);
    loader_release(&d.loader);
    free(d.python.dirs);
    arena_release(&d.arena);
    return status;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .synopsis = "doctor [-o DIR] [--timeout SECONDS] [--expect-lib PATH] [--json FILE|-] [--] "
                "[COMMAND...]",
    .summary = "say whether a capture would work here, and of a program",
    .details =
        "One line a check: ok, warning (something to know) or problem (a capture would see or "
        "write nothing), and what to do. Looked at are libspecter.so and the glibc it needs, the "
        "folder for traces, the clock, other preloads and NCCL plugins, the GPU libraries that the "
        "loader or python3 would find, whether a GPU answers (asked in a child process, which may "
        "not take longer than --timeout), and what traces in DIR say that they could not see.\n"
        "\n"
        "With COMMAND also that program, without running it. It is followed through scripts, "
        "wrappers and shims of pyenv, rbenv, asdf and mise, which are asked, to the program that "
        "runs. Told is what stands against a preload: musl, AddressSanitizer, a glibc that is too "
        "old for libspecter.so, setuid, another processor, a static program; what a preload "
        "changes (weak references, dladdr); and everything that the program needs, down to NCCL "
        "that is linked in or there twice. A Python is asked where its PyTorch is, and told are "
        "the GPU libraries that the import would load. What else a program opens while it runs "
        "(RTLD_DEEPBIND, dlmopen) is not in its file: a trace says so afterwards.\n"
        "\n"
        "Exit status: 0 no problem, 1 a problem.",
    .rows = rows,
    .run = run,
};

/* SPDX-License-Identifier: MIT
 *
 * The loading tests: the tracer never changes which library is called.
 *
 * A loading pattern is a short script of steps (patterns/<family>.txt; run.bash expands the
 * dimensions of a family into patterns). This program, linked in several ways (objects.txt), runs
 * one script: it opens stand-in libraries and plugins, calls functions from them and looks
 * functions up. Everything that can differ is told on stdout: which library answered each call,
 * when libraries come and go, what dlerror() says, which file descriptor is free, how the program
 * ends.
 *
 * run.bash runs each pattern four times and compares:
 *
 *   plain      without a preload, under LD_DEBUG=bindings; what the program told must be what the
 *              loader says of itself
 *   traced     with libspecter.so; the trace must hold the calls that a preload can see
 *   no_dlsym   the same with SPECTER_NO_DLSYM=1
 *   disabled   the same with SPECTER_DISABLE=1; there must be no trace
 *
 * All four must be equal, but for what differences.txt lists, with a reason for each. What is
 * listed and no longer differs fails, too.
 *
 *   make check T=loading                     all families
 *   tests/loading/run.bash -v scope.plugin   what patterns with that word in their name say
 *   tests/loading/run.bash -b .              the names of those that fail
 *
 * BUILD=DIR and LIBSPECTER=FILE in front choose another build and another tracer.
 *
 * The steps. OBJECT is `program`, a handle, or HANDLE:NAME for the object NAME that the handle's
 * dependencies brought in; HANDLE is the name that `open` gave, or DEFAULT, NEXT, MAIN
 * (dlopen(NULL)).
 *
 *   open HANDLE PATH [LOCAL|GLOBAL] [NOW|LAZY] [DEEPBIND] [NOLOAD] [NODELETE]
 *   space HANDLE PATH            dlmopen() in a new namespace
 *   close HANDLE                 dlclose()
 *   call OBJECT FUNCTION         by the linked reference of the object
 *   take POINTER OBJECT FUNCTION the address of the object's linked reference
 *   look POINTER OBJECT HANDLE FUNCTION [VERSION]   dlsym() or dlvsym() called in the object
 *   use POINTER OBJECT           the object calls the pointer
 *   null POINTER                 whether it is one
 *   where POINTER                what dladdr() says of it
 *   same POINTER POINTER         whether they are equal
 *   threads N OBJECT FUNCTION [OBJECT FUNCTION ...]   N threads each make all the calls at once
 *   pend, error                  leaves an error for dlerror(); what dlerror() says
 *   free                         the lowest free file descriptor
 *   again N ... end              the steps between, N times
 *
 * `unseen` at the end of a step that calls: no preload can see it, and the trace must hold no
 * record of it; `maybe`: it may hold one.
 */
#include "loading.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORDS 16
#define MAX_STEPS 256
#define MAX_NAMES 16

struct library {
    char name[32];
    void *handle;
    char path[512];
    const struct entry *entry;
};

struct pointer {
    char name[32];
    void *address;
    char function[64];
};

static struct library libraries[MAX_NAMES];
static struct pointer pointers[MAX_NAMES];

static void stop(const char *why, const char *what)
{
    dprintf(1, "loader: %s '%s'\n", why, what);
    exit(99);
}

static struct library *library_of(const char *name, bool is_new)
{
    for (int i = 0; i < MAX_NAMES; i++) {
        if (strcmp(libraries[i].name, name) == 0)
            return &libraries[i];
        if (is_new && libraries[i].name[0] == '\0') {
            snprintf(libraries[i].name, sizeof libraries[i].name, "%s", name);
            return &libraries[i];
        }
    }
    stop("no handle", name);
    return NULL;
}

static struct pointer *pointer_of(const char *name, bool is_new)
{
    for (int i = 0; i < MAX_NAMES; i++) {
        if (strcmp(pointers[i].name, name) == 0)
            return &pointers[i];
        if (is_new && pointers[i].name[0] == '\0') {
            snprintf(pointers[i].name, sizeof pointers[i].name, "%s", name);
            return &pointers[i];
        }
    }
    stop("no pointer", name);
    return NULL;
}

/* ./plug_a.so exports entry_plug_a. */
static const struct entry *entry_in(void *handle, const char *path)
{
    const char *slash = strrchr(path, '/');
    char symbol[128];
    snprintf(symbol, sizeof symbol, "entry_%s", slash != NULL ? slash + 1 : path);
    symbol[strcspn(symbol, ".")] = '\0';
    return dlsym(handle, symbol);
}

static const struct entry *object(const char *name)
{
    const char *colon = strchr(name, ':');
    const struct entry *found;
    char handle[32];
    if (strcmp(name, "program") == 0)
        return &entry;
    snprintf(handle, sizeof handle, "%.*s", colon != NULL ? (int)(colon - name) : (int)strlen(name),
             name);
    if (colon == NULL)
        found = library_of(handle, false)->entry;
    else
        found = entry_in(strcmp(handle, "DEFAULT") == 0 ? RTLD_DEFAULT
                                                        : library_of(handle, false)->handle,
                         colon + 1);
    if (found == NULL) { /* the program cannot go on; a pattern may want to see that */
        dprintf(1, "  is not loaded\n");
        exit(98);
    }
    return found;
}

/* ---- steps; word[0] is the step's name ---- */

static int modes(char **word)
{
    static const struct {
        const char *name;
        int mode;
    } names[] = {{"GLOBAL", RTLD_GLOBAL},    {"LOCAL", RTLD_LOCAL},       {"NOW", RTLD_NOW},
                 {"LAZY", RTLD_LAZY},        {"DEEPBIND", RTLD_DEEPBIND}, {"NOLOAD", RTLD_NOLOAD},
                 {"NODELETE", RTLD_NODELETE}};
    int all = 0;
    for (; *word != NULL; word++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (strcmp(*word, names[i].name) == 0)
                all |= names[i].mode;
        }
    }
    return (all & (RTLD_LAZY | RTLD_NOW)) != 0 ? all : all | RTLD_NOW;
}

static void opened(struct library *library, void *handle, const char *path)
{
    struct link_map *map = NULL;
    library->handle = handle;
    if (handle == NULL) {
        dprintf(1, "  %s\n", dlerror());
        return;
    }
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    snprintf(library->path, sizeof library->path, "%s", map != NULL ? map->l_name : "");
    library->entry = entry_in(handle, path);
    dlerror(); /* a library without a caller.c has none */
}

static void step_open(char **word)
{
    opened(library_of(word[1], true), dlopen(word[2], modes(word + 3)), word[2]);
}

static void step_space(char **word)
{
    opened(library_of(word[1], true), dlmopen(LM_ID_NEWLM, word[2], RTLD_NOW), word[2]);
}

static void step_close(char **word)
{
    int status = dlclose(library_of(word[1], false)->handle);
    dprintf(1, "  %d\n", status);
}

static void told_call(int status)
{
    int saved = errno;
    if (status != 0 || saved != 77)
        dprintf(1, "  returned %d, errno %d\n", status, saved);
}

static void step_call(char **word)
{
    const struct entry *from = object(word[1]);
    dprintf(1, "  by %s\n", from->path());
    told_call(from->call(word[2]));
}

static void step_take(char **word)
{
    const struct entry *from = object(word[2]);
    struct pointer *pointer = pointer_of(word[1], true);
    dprintf(1, "  by %s\n", from->path());
    pointer->address = from->address(word[3]);
    snprintf(pointer->function, sizeof pointer->function, "%s", word[3]);
}

/* Whose scope is searched is what LD_DEBUG names: the handle's object, or the caller. */
static void step_look(char **word)
{
    const struct entry *from = object(word[2]);
    struct pointer *pointer = pointer_of(word[1], true);
    const char *searched = from->path();
    void *handle = RTLD_DEFAULT, *own = NULL;
    if (strcmp(word[3], "NEXT") == 0) {
        handle = RTLD_NEXT;
    } else if (strcmp(word[3], "MAIN") == 0) {
        handle = own = dlopen(NULL, RTLD_NOW);
        searched = entry.path();
    } else if (strcmp(word[3], "DEFAULT") != 0) {
        handle = library_of(word[3], false)->handle;
        searched = library_of(word[3], false)->path;
    }
    dprintf(1, "  by %s\n", searched);
    pointer->address = from->look(handle, word[4], word[5]);
    snprintf(pointer->function, sizeof pointer->function, "%s", word[4]);
    if (pointer->address == NULL)
        dprintf(1, "  %s\n", dlerror());
    if (own != NULL)
        dlclose(own);
}

static void step_use(char **word)
{
    const struct pointer *pointer = pointer_of(word[1], false);
    const struct entry *from = object(word[2]);
    if (pointer->address == NULL)
        dprintf(1, "  is null\n");
    else
        told_call(from->call_pointer(pointer->function, pointer->address));
}

static void step_null(char **word)
{
    dprintf(1, "  %s\n", pointer_of(word[1], false)->address == NULL ? "null" : "not null");
}

static void step_where(char **word)
{
    Dl_info info = {0};
    dladdr(pointer_of(word[1], false)->address, &info);
    dprintf(1, "  %s %s\n", info.dli_fname != NULL ? info.dli_fname : "nowhere",
            info.dli_sname != NULL ? info.dli_sname : "");
}

static void step_same(char **word)
{
    dprintf(1, "  %s\n",
            pointer_of(word[1], false)->address == pointer_of(word[2], false)->address ? "yes"
                                                                                       : "no");
}

static void step_pend(char **word)
{
    (void)word;
    dlopen("libthat_is_nowhere.so", RTLD_NOW);
}

static void step_error(char **word)
{
    const char *error = dlerror();
    (void)word;
    dprintf(1, "  %s\n", error != NULL ? error : "none");
}

static void step_free(char **word)
{
    int fd = open("/dev/null", O_RDONLY);
    (void)word;
    dprintf(1, "  %d\n", fd);
    close(fd);
}

/* ---- threads: what they tell is sorted, because their order is not known ---- */

static pthread_barrier_t all_ready;

static void *call_all(void *data)
{
    char **word = data;
    pthread_barrier_wait(&all_ready);
    for (; word[0] != NULL && word[1] != NULL; word += 2)
        object(word[0])->call(word[1]);
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void write_sorted(char *text)
{
    char *lines[1024], *rest = NULL;
    int count = 0;
    for (char *p = strtok_r(text, "\n", &rest); p != NULL && count < 1024;
         p = strtok_r(NULL, "\n", &rest))
        lines[count++] = p;
    qsort(lines, (size_t)count, sizeof *lines, by_text);
    for (int i = 0; i < count; i++)
        dprintf(1, "%s\n", lines[i]);
}

static void step_threads(char **word)
{
    static char text[65536]; /* a pipe holds no more */
    pthread_t threads[64];
    int count = atoi(word[1]), saved = dup(1), ends[2];
    ssize_t length;
    if (count > 64 || pipe(ends) != 0)
        stop("too many threads", word[1]);
    dup2(ends[1], 1);
    close(ends[1]);
    pthread_barrier_init(&all_ready, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, call_all, word + 2);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    dup2(saved, 1);
    close(saved);
    length = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    text[length > 0 ? length : 0] = '\0';
    write_sorted(text);
}

/* ---- the script ---- */

static const struct {
    const char *name;
    void (*run)(char **word);
    int words; /* at least */
} steps[] = {
    {"open", step_open, 3}, {"space", step_space, 3},     {"close", step_close, 2},
    {"call", step_call, 3}, {"take", step_take, 4},       {"look", step_look, 5},
    {"use", step_use, 3},   {"null", step_null, 2},       {"where", step_where, 2},
    {"same", step_same, 3}, {"pend", step_pend, 1},       {"error", step_error, 1},
    {"free", step_free, 1}, {"threads", step_threads, 4},
};

static int split(char *line, char **word)
{
    char *rest = NULL;
    int count = 0;
    for (char *p = strtok_r(line, " ", &rest); p != NULL && count < MAX_WORDS - 1;
         p = strtok_r(NULL, " ", &rest))
        word[count++] = p;
    if (count > 0 &&
        (strcmp(word[count - 1], "unseen") == 0 || strcmp(word[count - 1], "maybe") == 0))
        count--;
    for (int i = count; i < MAX_WORDS; i++)
        word[i] = NULL;
    return count;
}

static void run(const char *step)
{
    char line[512], *word[MAX_WORDS];
    int count;
    snprintf(line, sizeof line, "%s", step);
    count = split(line, word);
    if (count == 0)
        return;
    dprintf(1, "%s\n", step);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (strcmp(steps[i].name, word[0]) == 0 && count >= steps[i].words) {
            steps[i].run(word);
            return;
        }
    }
    stop("no step", step);
}

int main(int argc, char **argv)
{
    static char text[16384];
    char *line[MAX_STEPS], *rest = NULL;
    int count = 0, begin = 0, left = 0, fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (length < 0)
        stop("no script", argc > 1 ? argv[1] : "");
    close(fd);
    for (char *p = strtok_r(text, "\n", &rest); p != NULL && count < MAX_STEPS;
         p = strtok_r(NULL, "\n", &rest))
        line[count++] = p;
    for (int i = 0; i < count; i++) {
        if (sscanf(line[i], " again %d", &left) == 1)
            begin = i;
        else if (strcmp(line[i], "end") == 0)
            i = --left > 0 ? begin : i;
        else
            run(line[i]);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Programs that mark, by specter/specter.h and by NVTX: `marks SCENARIO`. What NVTX does between a
 * program and a tool is done here by a table of our own, so that no header of it is needed;
 * nvtx_calls.c does the same with the real ones.
 */
#include "calls.h"

#include <abi/nvtx.h>
#include <errno.h>
#include <pthread.h>
#include <specter/specter.h>
#include <string.h>

static void work(struct world *w)
{
    OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, w->stream));
    OK(cudaStreamSynchronize(w->stream));
}

/* A range that was open when the trace began is not in it, and those within are. */
static void marks(void)
{
    struct world w;
    char name[80];
    errno = 4711;
    specter_mark("too early");
    specter_range_push("too early");
    CHECK(errno == 4711);
    world_open(&w, 0, NULL);
    for (int i = 0; i < 2; i++) {
        specter_iteration("step");
        specter_range_push("forward");
        specter_range_push("layer \"0\"");
        work(&w);
        errno = 4712;
        specter_range_pop();
        specter_range_pop();
        specter_mark("loss is known");
        CHECK(errno == 4712);
    }
    specter_iteration(NULL);
    specter_range_pop();
    specter_range_pop();
    memset(name, 'x', sizeof name);
    strcpy(name + 61, "\xc3\xa4");
    specter_mark(name); /* 63 bytes are kept of a name, ... */
    memset(name, 'x', sizeof name);
    strcpy(name + 62, "\xc3\xa4");
    specter_mark(name); /* ... and no part of a character */
}

/* 32 are kept, the others counted, and all ends are found. */
static void deep(void)
{
    struct world w;
    char name[32];
    world_open(&w, 0, NULL);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "level %d", i);
        specter_range_push(name);
    }
    for (int i = 0; i < 40; i++)
        specter_range_pop();
    specter_range_push("again");
    specter_range_pop();
}

static void *use_thread(void *name)
{
    specter_range_push(name);
    specter_range_push("inner");
    specter_range_pop();
    return NULL; /* with a range open */
}

/* The ranges of threads do not mix, and who takes over an ended thread's place begins anew. */
static void threads(void)
{
    struct world w;
    pthread_t id;
    char first[] = "first", second[] = "second";
    world_open(&w, 0, NULL);
    specter_range_push("main");
    CHECK(pthread_create(&id, NULL, use_thread, first) == 0);
    pthread_join(id, NULL);
    usleep(100000); /* the writer has seen its end */
    CHECK(pthread_create(&id, NULL, use_thread, second) == 0);
    pthread_join(id, NULL);
    specter_range_pop();
    specter_range_push("open at exit");
    specter_range_push("open, too");
}

static void *mark_for_ever(void *unused)
{
    for (;;) {
        specter_range_push("outer");
        specter_range_push("inner");
        specter_range_pop();
        specter_range_pop();
    }
    return unused;
}

/* The end comes in the middle of everything. */
static void exits(void)
{
    struct world w;
    pthread_t id;
    world_open(&w, 0, NULL);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&id, NULL, mark_for_ever, NULL) == 0);
    usleep(20000);
}

/* ---- NVTX, as its headers do it ---- */

#define PLACES 17

static nvtx_function core[PLACES], core2[PLACES];
static nvtx_function *core_table[PLACES], *core2_table[PLACES];

static int places(int module, nvtx_function ***table, unsigned *size)
{
    if (module != NVTX_MODULE_CORE && module != NVTX_MODULE_CORE2)
        return 0;
    for (int i = 1; i < PLACES - 1; i++) {
        core_table[i] = &core[i];
        core2_table[i] = &core2[i];
    }
    *table = module == NVTX_MODULE_CORE ? core_table : core2_table;
    *size = PLACES - 1;
    return 1;
}

static const void *get_table(uint32_t table)
{
    static const struct nvtx_callbacks callbacks = {sizeof callbacks, places};
    return table == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static bool attach(void)
{
    int (*attach_tool)(nvtx_get_table);
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
    void *address = library != NULL ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    CHECK(address != NULL);
    if (address == NULL)
        return false;
    memcpy(&attach_tool, &address, sizeof address);
    CHECK(attach_tool(get_table) != 0);
    return true;
}

#define CORE(_type, _place) ((_type)core[_place])
#define CORE2(_type, _place) ((_type)core2[_place])

typedef void (*text_function)(const char *);
typedef void (*wide_function)(const wchar_t *);
typedef int (*push_function)(const char *);
typedef int (*push_wide_function)(const wchar_t *);
typedef int (*push_ex_function)(const struct nvtx_attributes *);
typedef int (*pop_function)(void);
typedef void (*mark_ex_function)(const struct nvtx_attributes *);
typedef uint64_t (*start_function)(const char *);
typedef uint64_t (*start_ex_function)(const struct nvtx_attributes *);
typedef void (*end_function)(uint64_t);
typedef const void *(*create_function)(const char *);
typedef const void *(*register_function)(const void *, const char *);
typedef const void *(*register_wide_function)(const void *, const wchar_t *);
typedef void (*domain_mark_function)(const void *, const struct nvtx_attributes *);
typedef int (*domain_push_function)(const void *, const struct nvtx_attributes *);
typedef int (*domain_pop_function)(const void *);
typedef uint64_t (*domain_start_function)(const void *, const struct nvtx_attributes *);
typedef void (*domain_end_function)(const void *, uint64_t);

static struct nvtx_attributes saying(enum nvtx_message type, const void *message)
{
    return (struct nvtx_attributes){.version = 3,
                                    .size = sizeof(struct nvtx_attributes),
                                    .message_type = type,
                                    .message = message};
}

/* Messages of every kind, and of none. */
static void nvtx_marks(void)
{
    struct nvtx_attributes ascii = saying(NVTX_MESSAGE_ASCII, "ex");
    struct nvtx_attributes wide = saying(NVTX_MESSAGE_WIDE, L"ex \u00fc \u20ac \U0001f600");
    struct nvtx_attributes none = saying(NVTX_MESSAGE_NONE, NULL);
    struct nvtx_attributes wrong = saying(NVTX_MESSAGE_STRING, &none);
    CORE(text_function, NVTX_MARK_A)("ascii");
    CORE(wide_function, NVTX_MARK_W)(L"wide \u00e4");
    CORE(mark_ex_function, NVTX_MARK_EX)(&ascii);
    CORE(mark_ex_function, NVTX_MARK_EX)(&wide);
    CORE(mark_ex_function, NVTX_MARK_EX)(&none);
    CORE(mark_ex_function, NVTX_MARK_EX)(&wrong);
    CORE(mark_ex_function, NVTX_MARK_EX)(NULL);
    CORE(text_function, NVTX_MARK_A)(NULL);
}

static void nvtx_ranges(void)
{
    struct nvtx_attributes ascii = saying(NVTX_MESSAGE_ASCII, "push ex");
    uint64_t a, b, c;
    CHECK(CORE(pop_function, NVTX_RANGE_POP)() == 0);
    CHECK(CORE(push_function, NVTX_RANGE_PUSH_A)("push a") == 0);
    CHECK(CORE(push_wide_function, NVTX_RANGE_PUSH_W)(L"push w") == 1);
    CHECK(CORE(push_ex_function, NVTX_RANGE_PUSH_EX)(&ascii) == 2);
    for (int level = 2; level >= 0; level--)
        CHECK(CORE(pop_function, NVTX_RANGE_POP)() == level);
    a = CORE(start_function, NVTX_RANGE_START_A)("start a");
    b = CORE(start_ex_function, NVTX_RANGE_START_EX)(&ascii);
    c = CORE(start_function, NVTX_RANGE_START_A)("never ended");
    CHECK(a != 0 && b != 0 && c != 0 && a != b && b != c && a != c);
    CORE(end_function, NVTX_RANGE_END)(a);
    CORE(end_function, NVTX_RANGE_END)(b);
    CORE(end_function, NVTX_RANGE_END)(a);
    CORE(end_function, NVTX_RANGE_END)(0);
    CORE(end_function, NVTX_RANGE_END)(~UINT64_C(0));
}

/* Domains have stacks of their own; handles of strings are good everywhere. */
static void nvtx_domains(void)
{
    const void *one = CORE2(create_function, NVTX_DOMAIN_CREATE_A)("one");
    const void *two = CORE2(create_function, NVTX_DOMAIN_CREATE_A)("two");
    const void *text = CORE2(register_function, NVTX_DOMAIN_REGISTER_STRING_A)(one, "registered");
    const void *wide =
        CORE2(register_wide_function, NVTX_DOMAIN_REGISTER_STRING_W)(one, L"registered w");
    struct nvtx_attributes a = saying(NVTX_MESSAGE_STRING, text);
    struct nvtx_attributes b = saying(NVTX_MESSAGE_STRING, wide);
    uint64_t id;
    CHECK(one != NULL && two != NULL && one != two && text != NULL && wide != NULL && text != wide);
    CHECK(CORE2(register_function, NVTX_DOMAIN_REGISTER_STRING_A)(two, "registered") == text);
    CORE2(domain_mark_function, NVTX_DOMAIN_MARK_EX)(one, &a);
    CHECK(CORE2(domain_push_function, NVTX_DOMAIN_RANGE_PUSH_EX)(one, &a) == 0);
    CHECK(CORE2(domain_push_function, NVTX_DOMAIN_RANGE_PUSH_EX)(two, &b) == 0);
    CHECK(CORE2(domain_push_function, NVTX_DOMAIN_RANGE_PUSH_EX)(one, &b) == 1);
    CHECK(CORE2(domain_pop_function, NVTX_DOMAIN_RANGE_POP)(two) == 0);
    CHECK(CORE2(domain_pop_function, NVTX_DOMAIN_RANGE_POP)(one) == 1);
    CHECK(CORE2(domain_pop_function, NVTX_DOMAIN_RANGE_POP)(one) == 0);
    CHECK(CORE2(domain_pop_function, NVTX_DOMAIN_RANGE_POP)(one) == 0);
    id = CORE2(domain_start_function, NVTX_DOMAIN_RANGE_START_EX)(one, &a);
    CORE2(domain_end_function, NVTX_DOMAIN_RANGE_END)(one, id);
    for (int i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof name, "string %d", i);
        CHECK(CORE2(register_function, NVTX_DOMAIN_REGISTER_STRING_A)(one, name) != NULL);
        CHECK(CORE2(create_function, NVTX_DOMAIN_CREATE_A)(name) != NULL);
    }
    a.message = CORE2(register_function, NVTX_DOMAIN_REGISTER_STRING_A)(one, "too many");
    CORE2(domain_mark_function, NVTX_DOMAIN_MARK_EX)(one, &a);
}

static void nvtx(void)
{
    struct world w;
    if (!attach())
        return;
    CHECK(CORE(push_function, NVTX_RANGE_PUSH_A)("too early") == 0);
    CHECK(CORE(start_function, NVTX_RANGE_START_A)("too early") == 0);
    CORE(text_function, NVTX_MARK_A)("too early");
    world_open(&w, 0, NULL);
    nvtx_marks();
    nvtx_ranges();
    nvtx_domains();
}

/* A mark with the name in SPECTER_MARKER begins an iteration, by whatever function it is set. */
static void marker(void)
{
    struct world w;
    if (!attach())
        return;
    world_open(&w, 0, NULL);
    CORE(text_function, NVTX_MARK_A)("train_step");
    CORE(text_function, NVTX_MARK_A)("train_step 2");
    CORE(push_function, NVTX_RANGE_PUSH_A)("train_step");
    work(&w);
    CORE(pop_function, NVTX_RANGE_POP)();
    specter_mark("train_step");
    specter_range_push("train_step");
    specter_range_pop();
}

/* Two operations a step, which are the same to anybody who is not told. */
static void steps(void)
{
    struct world w;
    world_open(&w, 0, NULL);
    for (int i = 0; i < 5; i++) {
        specter_range_push("my step");
        work(&w);
        work(&w);
        specter_range_pop();
    }
}

/* The same by calls, and something after the last one. */
static void iterations(void)
{
    struct world w;
    world_open(&w, 0, NULL);
    work(&w);
    for (int i = 0; i < 5; i++) {
        specter_iteration("step");
        specter_range_push("forward");
        work(&w);
        specter_range_pop();
        work(&w);
    }
}

static void only_marks(void)
{
    specter_iteration("step");
    specter_range_push("range");
    specter_range_pop();
}

/* ---- which ---- */

static const struct scenario {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"marks", marks},           {"deep", deep},   {"threads", threads},
    {"exits", exits},           {"nvtx", nvtx},   {"marker", marker},
    {"only_marks", only_marks}, {"steps", steps}, {"iterations", iterations},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (argc != 2 || strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        scenarios[i].run();
        return failures != 0;
    }
    fprintf(stderr, "marks: no scenario '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}

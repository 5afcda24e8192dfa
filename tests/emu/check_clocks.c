/* SPDX-License-Identifier: MIT
 *
 * Clocks that do not agree, as a benchmark sees them that links none of the libraries: each rank's
 * GPU against its host by events, and each rank's host against rank 0's by exchanges over files,
 * which the stand-ins do not see, so that times are handed over.
 *
 *     check_clocks       rank 0 prints what each rank found
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPAN_NS 2000000000u /* between the two events; a float of ms resolves 0.24 us of it */
#define WAY_NS 25000u       /* one way of an exchange */

/* X(return type, name, parameters) */
#define FUNCTIONS(X)                                             \
    X(CUresult, cuInit, (unsigned))                              \
    X(CUresult, cuDevicePrimaryCtxRetain, (CUcontext *, int))    \
    X(CUresult, cuCtxSetCurrent, (CUcontext))                    \
    X(CUresult, cuEventCreate, (CUevent *, unsigned))            \
    X(CUresult, cuEventRecord, (CUevent, CUstream))              \
    X(CUresult, cuEventSynchronize, (CUevent))                   \
    X(CUresult, cuEventElapsedTime, (float *, CUevent, CUevent)) \
    X(uint64_t, emuHostClockNs, (void))                          \
    X(uint64_t, emu_time, (void))                                \
    X(void, emu_join, (uint64_t))                                \
    X(void, emu_work, (uint64_t))

#define X(_type, _name, _params) static _type(*call_##_name) _params;
FUNCTIONS(X)
#undef X

static int rank, world;

static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    exit(1);
}

static void find(void *library, const char *name, void *slot)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        fail(name);
    memcpy(slot, &found, sizeof found);
}

static void ok(CUresult result)
{
    if (result)
        fail("a call failed");
}

static int number(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value != NULL ? (int)strtol(value, NULL, 10) : otherwise;
}

/* ---- exchanges ---- */

struct letter {
    uint64_t time, host; /* emu_time() and emuHostClockNs() of who sends it */
    double ppm;
};

static void path_of(char *path, size_t size, int from, int to, int count)
{
    snprintf(path, size, "%s.%d-%d-%d", getenv("SPECTER_EXAMPLE_ID"), from, to, count);
}

static void send_to(int to, int count, double ppm)
{
    struct letter letter = {call_emu_time(), call_emuHostClockNs(), ppm};
    char path[512], made[544];
    FILE *file;
    path_of(path, sizeof path, rank, to, count);
    snprintf(made, sizeof made, "%s.new", path);
    file = fopen(made, "wb");
    if (file == NULL || fwrite(&letter, sizeof letter, 1, file) != 1 || fclose(file) ||
        rename(made, path))
        fail("cannot send");
}

static struct letter receive_from(int from, int count)
{
    struct letter letter;
    char path[512];
    FILE *file = NULL;
    path_of(path, sizeof path, from, rank, count);
    for (int i = 0; i < 10000 && (file = fopen(path, "rb")) == NULL; i++)
        usleep(2000);
    if (file == NULL || fread(&letter, sizeof letter, 1, file) != 1)
        fail("nothing came");
    fclose(file);
    unlink(path);
    call_emu_join(letter.time + WAY_NS);
    return letter;
}

/* ---- clocks ---- */

/* Measures how much faster the GPU's clock runs than the host's, in ppm. */
static double gpu_ppm(void)
{
    CUevent first, last;
    uint64_t begun, took;
    float ms;
    ok(call_cuEventCreate(&first, CU_EVENT_DEFAULT));
    ok(call_cuEventCreate(&last, CU_EVENT_DEFAULT));
    begun = call_emuHostClockNs();
    ok(call_cuEventRecord(first, NULL));
    call_emu_work(SPAN_NS);
    took = call_emuHostClockNs() - begun;
    ok(call_cuEventRecord(last, NULL));
    ok(call_cuEventSynchronize(last));
    ok(call_cuEventElapsedTime(&ms, first, last));
    return ((double)ms * 1e6 / (double)took - 1) * 1e6;
}

/* The peer's clock less ours, in ns: half way between question and answer. */
static double offset(int peer, int count, double *ppm)
{
    uint64_t asked = call_emuHostClockNs();
    struct letter answer;
    send_to(peer, count, 0);
    answer = receive_from(peer, count);
    *ppm = answer.ppm;
    return (double)(int64_t)(answer.host - asked) -
           (double)(int64_t)(call_emuHostClockNs() - asked) / 2;
}

/* To a tenth, so that no minus stands before 0. */
static double tenths(double value)
{
    double rounded = (double)(long)(value * 10 + (value < 0 ? -0.5 : 0.5)) / 10;
    return rounded < 0 || rounded > 0 ? rounded : 0;
}

static void compare(int peer)
{
    uint64_t begun = call_emuHostClockNs();
    double ppm, first = offset(peer, 0, &ppm), last;
    call_emu_work(10 * (uint64_t)SPAN_NS);
    last = offset(peer, 1, &ppm);
    printf("rank %d: GPU %+.1f ppm of its host, host %+.1f us and %+.1f ppm of rank 0's\n", peer,
           tenths(ppm), tenths(first / 1e3),
           tenths((last - first) / (double)(call_emuHostClockNs() - begun) * 1e6));
}

static void answer(double ppm)
{
    for (int i = 0; i < 2; i++) {
        receive_from(0, i);
        send_to(0, i, ppm);
    }
}

int main(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    CUcontext context;
    double ppm;
    rank = number("RANK", 0);
    world = number("WORLD_SIZE", 1);
    if (library == NULL)
        fail(dlerror());
#define X(_type, _name, _params) find(library, #_name, &call_##_name);
    FUNCTIONS(X)
#undef X
    ok(call_cuInit(0));
    ok(call_cuDevicePrimaryCtxRetain(&context, number("LOCAL_RANK", 0)));
    ok(call_cuCtxSetCurrent(context));
    ppm = gpu_ppm();
    if (rank) {
        answer(ppm);
        return 0;
    }
    printf("rank 0: GPU %+.1f ppm of its host\n", tenths(ppm));
    for (int peer = 1; peer < world; peer++)
        compare(peer);
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Questions about a GPU stack whose answers do not vary from run to run: what an error is called,
 * which call an unsuitable argument fails, what an event sees, what ends a capture. The same
 * program asks the real libraries and the stand-ins (tests/emu); known.tsv says what is documented.
 *
 *     static void unrecorded(void)
 *     {
 *         cudaEvent_t event;
 *
 *         TRY(api.cudaEventCreate(&event));
 *         answer_cuda(api.cudaEventQuery(event));
 *     }
 *     static const struct fact table[] = {
 *         FACT("query.unrecorded", DEVICE, unrecorded, "cudaEventQuery of an event never
 * recorded"),
 *     };
 *     const struct subject events = SUBJECT("event", table);
 *
 * A function answers once. Those of one subject run in one process, in the order of the table, so
 * each leaves no capture, group or error behind; ALONE gives a fact a process of its own. One that
 * crashes or is silent for long has that as its answer.
 *
 * To add a fact: write its function and its row, and its line of known.tsv.
 */
#ifndef FACTS_H
#define FACTS_H

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum need {
    NOTHING, /* of the machine: libraries alone */
    DEVICE,
    RANKS, /* two processes that share one GPU, each a node of its own to NCCL */
    NEED_MASK = 3,
    ALONE = 4, /* to be added */
};

struct fact {
    const char *name;     /* after the subject's; with a range, the number follows */
    const char *question; /* in the field's words */
    void (*ask)(void);
    int needs;
    int first, last; /* not both 0: asked once for each asked_number, and may then be silent */
};

#define FACT(_name, _needs, _ask, _question) \
    {                                        \
        _name, _question, _ask, _needs, 0, 0 \
    }
#define FACT_OF(_name, _needs, _ask, _first, _last, _question) \
    {                                                          \
        _name, _question, _ask, _needs, _first, _last          \
    }

struct subject {
    const char *name;
    const struct fact *facts;
    unsigned count;
};
#define SUBJECT(_name, _table)                            \
    {                                                     \
        _name, _table, sizeof(_table) / sizeof(_table[0]) \
    }

extern const struct subject errors, arguments, events, streams, captures, graphs, groups, pairs,
    contexts, products, costs;

/* ---- answering ---- */

extern int asked_number;

void answer(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void answer_cuda(cudaError_t error);
void answer_driver(CUresult error);
void answer_nccl(ncclResult_t result);
void answer_cublas(cublasStatus_t status);
void answer_yes(bool yes);

/* Names of errors, for answers of several: "cudaErrorNotReady", "CUDA_ERROR_...", "nccl...". */
const char *name_cuda(cudaError_t error);
const char *name_driver(CUresult error);
const char *name_nccl(ncclResult_t result);

/* A call that must succeed before the question; where it fails, its status is the answer. */
#define TRY(_call)                                 \
    do {                                           \
        int status_ = (int)(_call);                \
        if (status_) {                             \
            answer("%s says %d", #_call, status_); \
            return;                                \
        }                                          \
    } while (0)

/* ---- libraries (libraries.c) ---- */

/* Every function of calls.def by its name. One that its library lacks, or whose library is not
 * there, ends the question: its answer is `absent`. */
#define CALL(_library, _ret, _name, _params) _ret(*_name) _params;
struct api {
#include "calls.def"
};
#undef CALL
extern struct api api;

void libraries_open(void);

/* CLOCK_MONOTONIC, or the stand-ins' clock where that is virtual. */
uint64_t clock_ns(void);
void clock_join(uint64_t now); /* the calling thread is no earlier; nothing to do for real ones */

/* ---- what several subjects do (common.c) ---- */

#define BIG ((size_t)1 << 30)

/* BIG bytes of device memory, the same at each call. */
char *big_memory(void);

/* Keeps a stream busy for many milliseconds; returns at once. */
cudaError_t keep_busy(cudaStream_t stream);

cudaStream_t new_stream(void); /* non-blocking; NULL where that fails */
cudaEvent_t new_event(void);

/* "before", "after" or "together" (within a microsecond): a to b. */
const char *order(cudaEvent_t a, cudaEvent_t b);

/* Runs in another thread, to its end. */
void elsewhere(void (*function)(void *), void *argument);

/* A communicator of one rank on device 0, the same at each call; NULL where that fails. */
ncclComm_t lone_comm(void);

/* ---- two ranks (main.c) ---- */

struct pair {
    int rank;
    void *area; /* shared by both, for one question, zeroed */
};
extern struct pair pair;
void pair_meet(void); /* both come before either goes on */

#endif

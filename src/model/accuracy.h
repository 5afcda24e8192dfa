/* SPDX-License-Identifier: MIT
 *
 * Errors of the models against measurements, by class of hardware: profiles/accuracy.def, which
 * `make accuracy` writes from the measured tables with `specter validate`. Collectives and messages
 * go by network profile, GEMMs by GPU profile.
 *
 * A class is known when it has ACCURACY_ROWS_MIN rows: its figures are those of the parameters in
 * use, which were fitted on these rows, too. Of any other class the error is not known; what stands
 * for it is the 90th percentile of the class "any", whose rows are each predicted by parameters
 * fitted without that machine (messages: of all rows, as too few were measured to leave some out).
 */
#ifndef SPECTER_MODEL_ACCURACY_H
#define SPECTER_MODEL_ACCURACY_H

#include "model/cost.h"

#include <stdbool.h>
#include <stddef.h>

#define ACCURACY_ROWS_MIN 10

enum accuracy_kind { ACCURACY_COLLECTIVE, ACCURACY_GEMM, ACCURACY_P2P, ACCURACY_KINDS };

struct accuracy {
    enum accuracy_kind kind;
    const char *key; /* name of a profile; "any" */
    int rows;
    double median_ape, p90_ape; /* |predicted - measured| / measured */
};

extern const struct accuracy accuracies[];
extern const size_t accuracy_count;

/* The error to expect of a class, as a share. *known: it is the class's own median; else it stands
 * in for it. */
double accuracy_of(enum accuracy_kind kind, const char *profile, bool *known);

/* As a share, what 90 % of the class's measured rows are within; of a class that is not known, what
 * 90 % of the rows of "any" are within. */
double accuracy_p90_of(enum accuracy_kind kind, const char *profile, bool *known);

/* ---- intervals ----
 *
 * The interval of measured times around a predicted one, on machines that had no part in the fit:
 * half of them are within predicted x f and predicted / f, 80 % within a larger factor. A factor is
 * exp of the 50 or 80 % quantile of |log(measured / predicted)| over rows that were each predicted
 * with parameters fitted without their source (`specter validate --leave-one-out`). There are few
 * classes, so that each rests on several machines: a GPU on a network in the tables of one source.
 * Predictions are for another machine, so each counts alike, but for those of few rows. Latencies,
 * rates, and what lies between, are not known equally well: a collective's width is that of its
 * size. Between nodes it is at least as wide as within one, which the data cross, too. */

/* X(id, key, name): where the data of a collective go; GEMMs; messages between two ranks. */
#define ACCURACY_CLASSES(X)                    \
    X(NVLINK, "nvlink", "within NVLink")       \
    X(PCIE, "pcie", "within a node over PCIe") \
    X(NODES, "nodes", "between nodes")         \
    X(GEMM, "gemm", "of GEMMs")                \
    X(MESSAGES, "messages", "of messages")

enum accuracy_class {
#define X(id, key, name) INTERVAL_##id,
    ACCURACY_CLASSES(X)
#undef X
        INTERVAL_CLASSES
};

const char *accuracy_class_key(enum accuracy_class class);
const char *accuracy_class_name(enum accuracy_class class);

/* Of a collective; an NVLink domain of many nodes counts as one. */
enum accuracy_class accuracy_class_of(const struct network_profile *net, struct layout where);

/* X(id, name, from): bytes of a collective. */
#define ACCURACY_SIZES(X)                  \
    X(SMALL, "<64 KiB", 0)                 \
    X(MIDDLE, "64 KiB-64 MiB", 64 * 1024.) \
    X(LARGE, ">=64 MiB", 64 * 1024 * 1024.)

enum accuracy_size {
#define X(id, name, from) SIZE_##id,
    ACCURACY_SIZES(X)
#undef X
        SIZE_ALL, /* any size; what has no such sizes */
    SIZE_CLASSES
};

enum accuracy_size accuracy_size_of(double bytes);
const char *accuracy_size_name(enum accuracy_size size); /* "" of SIZE_ALL */

/* The widths of a class and size, in profiles/accuracy.def. */
struct accuracy_width {
    enum accuracy_class class;
    enum accuracy_size size;
    int rows, machines;
    double factor50, factor80; /* from 1 on */
    unsigned ops;              /* measured ones: 1 << enum specter_comm_op */
};

extern const struct accuracy_width accuracy_widths[];
extern const size_t accuracy_width_count;

struct accuracy_interval {
    enum accuracy_class class;
    enum accuracy_size size;
    bool known;
    enum accuracy_lack { /* why it is not known */
                         ACCURACY_LACKS_NOTHING,
                         ACCURACY_LACKS_OPERATION, /* the operation, where the data go */
                         ACCURACY_LACKS_FABRIC,    /* the links of the node */
                         ACCURACY_LACKS_NETWORK,   /* the transport between nodes */
                         ACCURACY_LACKS_GPU,       /* the GPU's architecture */
                         ACCURACY_LACKS_RATE,      /* its operations a clock and multiprocessor */
                         ACCURACY_LACKS_PROFILE,   /* the profile has parameters of its own, and no
                                                      factors */
    } lacks;
    int rows;    /* left-out ones that the factors are of; 0: of the profile (calibrate) */
    bool beyond; /* of the sizes, ranks and nodes that were measured: factors are squared, which
                  * is an assumption */
    double factor50, factor80;
};

/* Of a collective of so many bytes, and of a GEMM of so many FLOPs. Fewer than ACCURACY_ROWS_MIN
 * rows of a fabric, transport or architecture are none. A GPU of a measured architecture is as
 * those only when its multiprocessors do as many operations a clock, within 10 %: GeForce cards do
 * half, and clock higher than they promise. A ReduceScatter goes an AllGather's way backwards, and
 * counts as one; AlltoAllv as AlltoAll. A profile with parameters of its own has its own factors
 * (specter calibrate), or none; they hold for all operations. Of messages too few were measured:
 * only a profile's own factors are known. */
void accuracy_interval_of_comm(const struct gpu_profile *gpu, const struct network_profile *net,
                               enum specter_comm_op op, double bytes, struct layout where,
                               struct accuracy_interval *out);
void accuracy_interval_of_p2p(const struct network_profile *net, struct accuracy_interval *out);
void accuracy_interval_of_gemm(const struct gpu_profile *gpu, double flops,
                               struct accuracy_interval *out);

/* Returns what stands for the factor of 80 % where an interval is not known: the factor that 90 %
 * of the rows of "any" are within, but never less than on hardware that is known, beyond what was
 * measured. */
double accuracy_stand_in80(enum accuracy_kind kind, const struct accuracy_interval *in);

#endif

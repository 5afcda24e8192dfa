/* SPDX-License-Identifier: MIT
 *
 * NCCL's algorithms and protocols, in the order of its own numbers (device.h): the profiler's word
 * in capitals is the id, then the name in all that specter writes, then NCCL_ALGO's and
 * NCCL_PROTO's spelling. src/model/nccl_tuner.h has the enums and the look-up. And its versions.
 */
#ifndef SPECTER_NCCL_NAMES_H
#define SPECTER_NCCL_NAMES_H

/* clang-format off */
#define SPECTER_NCCL_ALGOS(X) \
    X(TREE,           "tree",           "Tree")          \
    X(RING,           "ring",           "Ring")          \
    X(COLLNET_DIRECT, "collnet_direct", "CollnetDirect") \
    X(COLLNET_CHAIN,  "collnet_chain",  "CollnetChain")  \
    X(NVLS,           "nvls",           "NVLS")          \
    X(NVLS_TREE,      "nvls_tree",      "NVLSTree")      \
    X(PAT,            "pat",            "PAT")

#define SPECTER_NCCL_PROTOS(X) \
    X(LL,     "LL",     "LL")     \
    X(LL128,  "LL128",  "LL128")  \
    X(SIMPLE, "Simple", "Simple")
/* clang-format on */

/* NCCL's version as its header has it, 22809, of a text: "2.28.9", "22809"; 22899, as new as 2.28
 * gets, of "2.28". 0: it is none. Defined in src/base/names.c. */
int specter_nccl_version_parse(const char *text);

/* The version of a library by its name, "NCCL 2.28.9"; 0 for RCCL and others. */
int specter_nccl_version_of_library(const char *name);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Where RCCL's tuner differs from NCCL's: constants measured on MI300X (gfx942), shares of the
 * graph's bandwidth by protocol, and sizes at which a protocol is set whatever the estimate says.
 * For nccl_tuner.c alone. Source: RCCL (ROCm 6.4), src/graph/tuning.cc, tuning model 5, and
 * src/misc's protocol override. Other AMD GPUs are taken as MI300X.
 */
#ifndef SPECTER_MODEL_RCCL_TUNER_H
#define SPECTER_MODEL_RCCL_TUNER_H

#include "model/nccl_tuner.h"

/* The link that a step crosses: the rows of both tuners' latencies. */
enum nccl_link { NCCL_LINK_NVL, NCCL_LINK_PCI, NCCL_LINK_NET, NCCL_LINKS };

double rccl_base_lat(enum nccl_algo a, enum nccl_proto p);
double rccl_hw_lat(enum nccl_link link, enum nccl_algo a, enum nccl_proto p);
enum nccl_why rccl_gate(const struct nccl_comm *c, enum nccl_algo a, enum nccl_proto p);

/* From the graph's bandwidth. */
double rccl_busbw(const struct nccl_comm *c, enum nccl_class class, enum nccl_algo a,
                  enum nccl_proto p, double bw);

/* Share of the bandwidth that is reached at 64 << size bytes; size -1: less than 64. */
double rccl_share(const struct nccl_comm *c, enum nccl_algo a, enum nccl_proto p, int size);

/* Returns whether RCCL sets another protocol for the chosen algorithm, by bytes per rank; *p is
 * that one then. Not when a user forbids any. */
bool rccl_sets_proto(const struct nccl_comm *c, const struct nccl_tuning *tuning, double bytes,
                     enum nccl_algo a, enum nccl_proto *p);

#endif

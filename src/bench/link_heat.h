/* SPDX-License-Identifier: MIT
 *
 * How times of messages go with the temperature of GPUs.
 *
 * A message's time, the median of its repetitions one way, is laid beside that of the same size
 * over links of the same kind (within a node, between nodes), and then beside what is usual of its
 * own link. What is left is neither the size's nor the link's. Slow and late links are left out:
 * what they lack differs from size to size. Of few links these medians have part of what heat does,
 * so that the slope is too small, by a fifth of 12 links; a fit of the link would have more of it.
 */
#ifndef SPECTER_BENCH_LINK_HEAT_H
#define SPECTER_BENCH_LINK_HEAT_H

#include "bench/heat.h"
#include "bench/link_fit.h"

/* With the temperature of the warmer of a message's two GPUs. */
struct bench_correlation bench_links_heat(const struct bench_p2p_log *log,
                                          const struct bench_links *links);

#endif

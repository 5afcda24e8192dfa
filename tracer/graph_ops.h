/* SPDX-License-Identifier: MIT
 *
 * Which recorded operations a graph holds: their ids by capture, kept until the graph's first
 * launch is written. The writer thread's own.
 *
 * Operations of a capture mostly have ids in a row, so ranges are kept, in fixed memory: when there
 * is none left, operations are counted but no longer listed.
 */
#ifndef SPECTER_TRACER_GRAPH_OPS_H
#define SPECTER_TRACER_GRAPH_OPS_H

#include <stddef.h>
#include <stdint.h>

void graph_ops_add(uint32_t graph, uint64_t id);
uint64_t graph_ops_count(uint32_t graph);

/* The ids as a JSON array, as many as fit; text has room for `size` bytes, at least 32. */
void graph_ops_list(uint32_t graph, char *text, size_t size);

void graph_ops_release(uint32_t graph); /* the list; the count stays */

void graph_ops_reset(void);

#endif

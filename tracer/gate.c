/* SPDX-License-Identifier: MIT */
#include "gate.h"

#include "tracer.h"

bool gate_wants(enum record_kind kind)
{
    return tracer.config.record_ops && tracer.config.wanted[kind];
}

/* SPDX-License-Identifier: MIT */
#include "model/comm_price.h"

#include <math.h>

/* Bytes that the threads of a block take at once with LL: 512 x 8. Beyond it a block's work
 * overlaps the link's. */
#define LL_BLOCK_BYTES 4096.0

/* Within a node half of a slice waits for the other half. */
#define NODE_STAGES 0.5

double comm_us(double bytes, double share, double GBps)
{
    return share > 0 ? bytes * share / (GBps * 1e3) : 0;
}

static double blocks_us(const struct topo_view *s, const struct comm_demand *l)
{
    double bytes;
    if (l->proto != NCCL_LL)
        return 0;
    bytes = (l->steps + l->hops) * fmin(l->block_step, LL_BLOCK_BYTES) +
            2 * fmin(l->block_ends, LL_BLOCK_BYTES);
    return comm_us(bytes, 1, s->node.ll_GBps);
}

static const char *bound_of(const struct comm_demand *l, double lat_us, double wire_us)
{
    if (lat_us >= wire_us)
        return "latency";
    return l->nic_us > fmax(l->link_us, l->host_us) ? "inter" : "intra";
}

void comm_price(const struct topo_view *s, const struct comm_demand *l, double bus_bytes,
                struct comm_cost *out)
{
    const struct comm_proto *p = &comm_protos[l->proto];
    double start = s->node.start_us + l->start_us;
    double steps = l->steps * comm_step_us(s, l->proto);
    double hops = l->hops > 0 ? l->hops * comm_hop_us(s, l->proto) : 0;
    double wire = fmax(fmax(l->link_us / p->link, l->host_us), l->nic_us) / p->payload;
    double copy = comm_us(l->copied, 1, comm_link_GBps(s, s->most) * s->node.copy_ratio);
    double flow = p->sync && l->hidden ? hypot(steps, wire) : steps + wire;
    if (p->sync)
        flow += comm_ramp_us(s->node.ramp_us + l->fill_us, NODE_STAGES, wire);
    if (p->sync && l->nic_us > 0)
        flow += comm_ramp_us(s->wire.net_ramp_us, fmax(1, l->stages), wire);
    out->lat_us = start + steps + hops;
    out->us = start + hops + flow + copy + blocks_us(s, l);
    out->fill_us = l->one_way ? steps + hops + l->late * wire : 0;
    out->bw_GBps = wire + copy > 0 ? bus_bytes / ((wire + copy) * 1e3) : 0;
    out->bound = bound_of(l, out->lat_us, wire + copy);
    out->channels = l->channels;
    out->link_us = l->link_us / p->link / p->payload;
    out->nic_us = l->nic_us / p->payload;
}

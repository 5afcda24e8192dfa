/* SPDX-License-Identifier: MIT
 *
 * See compute.h.
 */
#include "compute.h"

#include <math.h>

#include "fabric.h"
#include "lane.h"

bool emu_compute_shares(const struct emu_turn *turn, uint64_t alone)
{
    uint64_t change;
    if (turn->place->lane == NULL || !emu_fabric()->overlap)
        return false;
    emu_lane_await(turn->place, turn->start, turn->start + alone, NULL, NULL);
    return emu_lane_sms(turn->place, turn->start, &change) || change != EMU_FOREVER;
}

double emu_compute_tiles(const struct emu_turn *turn, double tiles, double each)
{
    unsigned all = (unsigned)emu_fabric()->sms;
    double ns = 0;
    while (tiles > 0) {
        uint64_t now = turn->start + (uint64_t)ns, change;
        unsigned taken = emu_lane_sms(turn->place, now, &change);
        unsigned left = taken < all ? all - taken : 1;
        double rounds = ceil(tiles / left);
        if (change != EMU_FOREVER)
            rounds = fmin(rounds, ceil((double)(change - now) / each));
        tiles -= rounds * left;
        ns += rounds * each;
    }
    return ns;
}

double emu_compute_memory(const struct emu_turn *turn, double alone)
{
    struct calendar view;
    const struct calendar_path path = {.port = {PORT_MEMORY}, .busy = {&view}};
    emu_lane_view(turn->place, turn->start, &view);
    return calendar_pass(&path, (double)turn->start, alone) - (double)turn->start;
}

/* SPDX-License-Identifier: MIT
 *
 * The files of a folder of `specter bench p2p`.
 */
#include "base/buf.h"
#include "report/bench_report.h"
#include "report/table.h"

#include <math.h>

void bench_p2p_csv_head(bool one_way, FILE *out)
{
    fputs(one_way ? "config_id,src,dst,size,repetition,timestamp_start_ns,timestamp_end_ns,"
                    "duration_ns,send_ns,receive_ns,exchange_ns,two_sided_ns,temperature\n"
                  : "mode,config_id,src,dst,size,repetition,timestamp_start_ns,timestamp_end_ns,"
                    "duration_ns,exchange_ns,temperature\n",
          out);
}

void bench_p2p_csv_rows(const struct bench_p2p_done *done, const struct bench_common_clock *clock,
                        FILE *out)
{
    const struct bench_p2p_config *c = &done->config;
    for (size_t i = 0; i < done->nrepeats; i++) {
        const struct bench_p2p_repeat *r = &done->repeats[i];
        long long duration = llround(r->time * 1e3), start = r->start_ns;
        if (clock != NULL)
            start = bench_common_clock_ns(clock, c->src, start);
        if (c->mode != BENCH_P2P_ONE_WAY)
            fprintf(out, "%s,", bench_p2p_mode_name(c->mode));
        fprintf(out, "%d,", c->id);
        if (c->mode == BENCH_P2P_ALL)
            fputs(",,", out);
        else
            fprintf(out, "%d,%d,", c->src, c->dst);
        fprintf(out, "%llu,%zu,%lld,%lld,%lld,", (unsigned long long)c->bytes, i, start,
                start + duration, duration);
        if (c->mode == BENCH_P2P_ONE_WAY)
            fprintf(out, "%.1f,%.1f,%.1f,%.1f,", r->send * 1e3, r->receive * 1e3, r->exchange * 1e3,
                    r->time * 1e3);
        else
            fprintf(out, "%.1f,", r->exchange * 1e3);
        fprintf(out, isnan(done->celsius) ? "\n" : "%.0f\n", done->celsius);
    }
}

/* ---- tables for the models ---- */

static const char *const directions[BENCH_P2P_MODES] = {NULL, "one_way", "both", "all"};

static void put_message(const struct bench_p2p_report *r, const struct bench_p2p_done *d,
                        const struct buf *about, FILE *out)
{
    const struct bench_p2p_config *c = &d->config;
    bool all = c->mode == BENCH_P2P_ALL;
    int nodes = all || r->node_of[c->src] == r->node_of[c->dst] ? 1 : 2;
    struct layout where = {2, nodes, 2 / nodes};
    const struct bench_stats s = bench_p2p_stats(d);
    if (all)
        where = r->run->where;
    fprintf(out, "send,%s,%llu,%d,%d,%d,%.4f,%.4f,%.4f,%.4f,%.4f,", directions[c->mode],
            (unsigned long long)c->bytes, where.ranks, where.nodes, where.per_node, s.median,
            (double)c->bytes / s.median / 1e3, s.min, s.p99, s.cv);
    if (!all)
        fprintf(out, "%d,%d", c->src, c->dst);
    else
        fputc(',', out);
    /* doubtful: a link that the message uses is slow, late or asymmetric */
    const struct bench_links *links = r->links;
    bool doubtful = false;
    for (int i = 0; i < links->ranks * links->ranks; i++) {
        const struct bench_link *l = &links->list[i];
        bool used = c->mode == BENCH_P2P_ALL || (l->src == c->src && l->dst == c->dst) ||
                    (c->mode == BENCH_P2P_BOTH && l->src == c->dst && l->dst == c->src);
        if (used && l->npieces > 0)
            doubtful |= l->slow || l->late || l->asymmetric;
    }
    fprintf(out, ",%.*s%s\n", (int)about->len, about->data,
            doubtful ? "doubtful: over a faulty link" : "");
}

void bench_p2p_messages_csv(const struct bench_p2p_report *r, const struct bench_target *target,
                            FILE *out)
{
    struct buf about = BUF_INIT;
    csv_put_text(&about, r->run->gpu);
    buf_printf(&about, ",%s,%s,specter_bench,", target->gpu != NULL ? target->gpu->name : "",
               target->net != NULL ? target->net->name : "");
    csv_put_text(&about, r->run->library);
    buf_putc(&about, ',');
    fputs("test,direction,bytes,ranks,nodes,gpus_per_node,time_us,bw_GBps,min_us,p99_us,cv,src,"
          "dst,gpu,gpu_profile,network_profile,source_id,library,notes\n",
          out);
    for (size_t i = 0; i < r->log->n; i++) {
        if (directions[r->log->list[i].config.mode] != NULL)
            put_message(r, &r->log->list[i], &about, out);
    }
    buf_release(&about);
}

/* ---- metadata ---- */

/* Writes `before` and a YAML string in single quotes, in which only these are doubled. */
static void put_text(const char *before, const char *text, FILE *out)
{
    fprintf(out, "%s '", before);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc((unsigned char)*text < ' ' ? '?' : *text, out);
    }
    fputs("'\n", out);
}

void bench_p2p_metadata(const struct bench_p2p_report *r, const struct bench_p2p_rank *rank,
                        FILE *out)
{
    const struct bench_run *run = r->run;
    fprintf(out, "rank: %d\nworld_size: %d\nnode: %d\nnodes: %d\ngpus_per_node: %d\n", rank->rank,
            rank->world, rank->node, run->where.nodes, run->where.per_node);
    put_text("hostname:", rank->host, out);
    put_text("launcher:", rank->launcher, out);
    fprintf(out, "gpu_index: %d\n", rank->device);
    put_text("gpu_name:", run->gpu, out);
    put_text("driver_version:", rank->driver, out);
    put_text("backend:", run->backend, out);
    put_text("library:", run->library, out);
    fputs("settings:", out);
    fputs(run->nsettings == 0 ? " {}\n" : "\n", out);
    for (size_t i = 0; i < run->nsettings; i++) {
        fputs("  '", out); /* names of the environment and ours: no quotes */
        fputs(run->settings[i].name, out);
        put_text("':", run->settings[i].value, out);
    }
    const struct bench_p2p_plan *p = r->plan;
    fprintf(out, "seed: %llu\nwarmup: %d\nrepetitions: %d\nsizes: [", (unsigned long long)p->seed,
            p->warmup, p->repeat);
    for (size_t i = 0; i < p->nsizes; i++)
        fprintf(out, "%s%llu", i > 0 ? ", " : "", (unsigned long long)p->sizes[i]);
    fputs("]\n", out);
    put_text("timestamps:",
             run->where.nodes < 2 || r->drift[0]->n > 0 ? "CLOCK_REALTIME of rank 0's host"
                                                        : "CLOCK_REALTIME of the source's host",
             out);
    fputs(r->result->nnotes == 0 ? "notes: []\n" : "notes:\n", out);
    for (size_t i = 0; i < r->result->nnotes; i++)
        put_text("  -", r->result->notes[i], out);
    fprintf(out, "configurations: %zu\ncomplete: %s\n", r->log->n, r->complete ? "true" : "false");
}

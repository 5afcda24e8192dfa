/* SPDX-License-Identifier: MIT
 *
 * The recording as Chrome's trace events: a rank is a process, its tracks are threads. Times are
 * since the first event of the run.
 */
#include "report/export.h"

#include "base/whole_file.h"
#include "report/chrome.h"
#include "report/tracks.h"

#include <inttypes.h>
#include <stdio.h>

struct chrome {
    const struct run *run;
    struct chrome_file file;
    int64_t origin_ns;
};

static void put_rank(void *context, const struct rank *rank, size_t index)
{
    struct chrome *c = context;
    char name[192];
    (void)index;
    snprintf(name, sizeof name, "rank %d%s%.128s", rank->rank, rank->host[0] != '\0' ? " on " : "",
             rank->host);
    chrome_name(&c->file, "process", rank->rank + 1, 0, name, rank->rank + 1);
}

static void put_track(void *context, const struct track *track)
{
    struct chrome *c = context;
    if (track->kind < TRACK_QUEUE) /* counts are a process's, by name */
        chrome_name(&c->file, "thread", track->rank->rank + 1, track->number, track->name,
                    track->number);
}

static void put_arrow(struct chrome *c, const struct track *track, const char *what, uint64_t flow,
                      enum flow_part part, int64_t at_ns)
{
    static const char phases[] = {[FLOW_FIRST] = 's', [FLOW_NEXT] = 't', [FLOW_LAST] = 'f'};
    char id[24];
    if (part == FLOW_NONE)
        return;
    snprintf(id, sizeof id, "%" PRIu64, flow);
    chrome_arrow(&c->file, &(struct chrome_arrow){phases[part], what, id, track->rank->rank + 1,
                                                  track->number, at_ns - c->origin_ns});
}

static void put_slice(void *context, const struct track *track, const struct track_slice *s)
{
    struct chrome *c = context;
    struct buf *b = chrome_event(&c->file);
    buf_printf(b, "{\"ph\":\"X\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u,", s->category,
               track->rank->rank + 1, track->number);
    chrome_text(b, "name", s->title);
    chrome_us(b, "ts", s->start_ns - c->origin_ns);
    chrome_us(b, "dur", s->end_ns - s->start_ns);
    if (s->op != NULL) {
        buf_puts(b, ",\"args\":{");
        chrome_fields(b, c->run, s->op);
        buf_putc(b, '}');
    }
    buf_putc(b, '}');
    put_arrow(c, track, "launch", s->launch, s->launch_part, s->start_ns);
    put_arrow(c, track, "members", s->members, s->members_part,
              s->end_ns > s->start_ns ? s->end_ns - 1 : s->end_ns);
}

static void put_count(void *context, const struct track *track, int64_t at_ns, int64_t value)
{
    struct chrome *c = context;
    struct buf *b = chrome_event(&c->file);
    buf_printf(b, "{\"ph\":\"C\",\"pid\":%d,", track->rank->rank + 1);
    chrome_text(b, "name", track->name);
    chrome_us(b, "ts", at_ns - c->origin_ns);
    buf_printf(b, ",\"args\":{\"count\":%" PRId64 "}}", value);
}

int export_chrome(const struct run *run, const char *where, size_t only, struct err *e)
{
    struct chrome c = {.run = run, .origin_ns = tracks_origin(run)};
    struct track_writer writer = {&c, put_rank, put_track, put_slice, put_count};
    struct sink *sink;
    if (sink_open(&sink, where, e) < 0)
        return -1;
    chrome_init(&c.file, sink);
    tracks_write(run, only, &writer);
    chrome_finish(&c.file, run->clock_aligned
                               ? "\"by\":\"specter export\",\"clock_aligned\":true"
                               : "\"by\":\"specter export\",\"clock_aligned\":false");
    return sink_close(sink, e);
}

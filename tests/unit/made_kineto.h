/* SPDX-License-Identifier: MIT
 *
 * For tests of the Kineto reader: traces from text.
 */
#ifndef SPECTER_MADE_KINETO_H
#define SPECTER_MADE_KINETO_H

#include "trace_load.h"

#define KERNEL(name, ts, dur, corr)                                                         \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts \
    ",\"dur\":" dur ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":" corr "}}"
#define DIST(rank, world) \
    "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":" rank ",\"world_size\":" world "}"

/* For text that reads better: ' stands for a quotation mark. Valid until the next call but one. */
static inline const char *quoted(const char *text)
{
    static char out[2][1 << 16];
    static int turn;
    char *to = out[turn = !turn];
    snprintf(to, sizeof out[0], "%s", text);
    for (char *p = to; *p != '\0'; p++)
        *p = *p == '\'' ? '"' : *p;
    return to;
}

/* Elements of traceEvents; args without braces. */
#define WORK(cat, name, ts, dur, args)                                                   \
    "{'ph':'X','cat':'" cat "','name':'" name "','pid':0,'tid':7,'ts':" ts ",'dur':" dur \
    ",'args':{" args "}},"
#define HOST(cat, name, tid, ts, dur, args)                                                    \
    "{'ph':'X','cat':'" cat "','name':'" name "','pid':9,'tid':" tid ",'ts':" ts ",'dur':" dur \
    ",'args':{" args "}},"
#define EVENTS(list) "'traceEvents':[" list "{'ph':'M','name':'end','pid':0,'tid':0,'ts':0}]"

#endif

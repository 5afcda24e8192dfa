/* SPDX-License-Identifier: MIT */
#include "bench/modules/gloo_library.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/context.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/scatter.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/types.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/* X(id, type): the types that gloo reduces. */
#define GLOO_TYPES(X)                                                                \
    X(INT8, int8_t)                                                                  \
    X(UINT8, uint8_t)                                                                \
    X(INT32, int32_t)                                                                \
    X(UINT32, uint32_t) X(INT64, int64_t) X(UINT64, uint64_t) X(FP16, gloo::float16) \
        X(FP32, float) X(FP64, double)

namespace
{

/* gloo's own way to connect needs a store that ranks ask at any time; here addresses go from rank
 * to rank in one exchange. */
class Context : public gloo::Context
{
  public:
    Context(int rank, int size, std::shared_ptr<gloo::transport::Device> device)
        : gloo::Context(rank, size)
    {
        device_ = device;
        transportContext_ = device->createContext(rank, size);
    }

    /* Leaves the addresses for the others in `own`. */
    void listen(std::chrono::milliseconds timeout, struct gloo_address *own)
    {
        setTimeout(timeout);
        transportContext_->setTimeout(timeout);
        for (int i = 0; i < size; i++) {
            if (i == rank)
                continue;
            std::vector<char> bytes = transportContext_->createPair(i)->address().bytes();
            if (bytes.size() > sizeof own[i].bytes)
                throw std::runtime_error("an address is too long");
            own[i].size = bytes.size();
            std::copy(bytes.begin(), bytes.end(), own[i].bytes);
        }
    }
};

/* gloo's ReduceScatter is made for one count, and works in a buffer that it overwrites. */
struct Scattered {
    enum specter_dtype dtype;
    enum specter_redop redop;
    uint64_t count;
    std::vector<char> buffer;
    std::unique_ptr<gloo::Algorithm> algorithm;
};

} // namespace

struct gloo_comm {
    std::shared_ptr<Context> context;
    std::unique_ptr<Scattered> scattered;
    uint32_t tag;
};

namespace
{

using Function = void (*)(void *, const void *, const void *, size_t);

template <typename T> Function function(enum specter_redop redop)
{
    switch (redop) {
    case SPECTER_REDOP_PROD:
        return static_cast<Function>(&gloo::product<T>);
    case SPECTER_REDOP_MAX:
        return static_cast<Function>(&gloo::max<T>);
    case SPECTER_REDOP_MIN:
        return static_cast<Function>(&gloo::min<T>);
    default:
        return static_cast<Function>(&gloo::sum<T>);
    }
}

template <typename T> const gloo::ReductionFunction<T> *reduction(enum specter_redop redop)
{
    switch (redop) {
    case SPECTER_REDOP_PROD:
        return gloo::ReductionFunction<T>::product;
    case SPECTER_REDOP_MAX:
        return gloo::ReductionFunction<T>::max;
    case SPECTER_REDOP_MIN:
        return gloo::ReductionFunction<T>::min;
    default:
        return gloo::ReductionFunction<T>::sum;
    }
}

/* The buffers of a call. */
template <typename T> struct Buffers {
    T *send, *receive;
    size_t count;
};

template <typename T> void reduce_scatter(struct gloo_comm *g, const struct bench_call *k)
{
    size_t size = static_cast<size_t>(g->context->size), count = k->count;
    Scattered *s = g->scattered.get();
    if (size * count > INT_MAX)
        throw std::runtime_error("its ReduceScatter counts to 2147483647 elements");
    if (s == nullptr || s->count != count || s->dtype != k->dtype || s->redop != k->redop) {
        g->scattered.reset(new Scattered{k->dtype, k->redop, k->count, {}, nullptr});
        s = g->scattered.get();
        s->buffer.resize(size * count * sizeof(T));
        std::vector<T *> pointers{reinterpret_cast<T *>(s->buffer.data())};
        s->algorithm.reset(new gloo::ReduceScatterHalvingDoubling<T>(
            g->context, pointers, static_cast<int>(size * count),
            std::vector<int>(size, static_cast<int>(count)), reduction<T>(k->redop)));
    }
    std::memcpy(s->buffer.data(), k->send, s->buffer.size());
    s->algorithm->run();
    std::memcpy(k->receive, s->buffer.data(), count * sizeof(T));
}

template <typename T> void around(struct gloo_comm *g, const Buffers<T> &b)
{
    int size = g->context->size, rank = g->context->rank;
    auto slot = gloo::Slot::build(0x0F, g->tag);
    if (size == 1) {
        std::copy(b.send, b.send + b.count, b.receive);
        return;
    }
    auto out = g->context->createUnboundBuffer(b.send, b.count * sizeof(T));
    auto in = g->context->createUnboundBuffer(b.receive, b.count * sizeof(T));
    in->recv((rank + size - 1) % size, slot);
    out->send((rank + 1) % size, slot);
    in->waitRecv(g->context->getTimeout());
    out->waitSend(g->context->getTimeout());
}

/* Options of one input and one output; where the input is in place, gloo is told of the output
 * alone. */
template <typename O, typename T>
O options(struct gloo_comm *g, T *in, size_t in_count, T *out, size_t out_count)
{
    O o(g->context);
    o.setTag(g->tag);
    if (in != nullptr)
        o.setInput(in, in_count);
    if (out != nullptr)
        o.setOutput(out, out_count);
    return o;
}

template <typename T>
void scatter(struct gloo_comm *g, const struct bench_call *k, const Buffers<T> &b)
{
    gloo::ScatterOptions o(g->context);
    std::vector<T *> parts;
    for (int i = 0; g->context->rank == k->root && i < g->context->size; i++)
        parts.push_back(b.send + static_cast<size_t>(i) * b.count);
    o.setTag(g->tag);
    o.setRoot(k->root);
    if (!parts.empty())
        o.setInputs(parts, b.count);
    o.setOutput(b.receive, b.count);
    gloo::scatter(o);
}

template <typename T> void dispatch(struct gloo_comm *g, const struct bench_call *k)
{
    size_t size = static_cast<size_t>(g->context->size), n = k->count;
    size_t own = static_cast<size_t>(g->context->rank) * n;
    bool root = g->context->rank == k->root;
    Buffers<T> b = {static_cast<T *>(const_cast<void *>(k->send)), static_cast<T *>(k->receive), n};
    T *same = b.send == b.receive ? nullptr : b.send;
    if (k->op == SPECTER_ALLREDUCE) {
        auto o = options<gloo::AllreduceOptions>(g, same, n, b.receive, n);
        o.setReduceFunction(function<T>(k->redop));
        gloo::allreduce(o);
    } else if (k->op == SPECTER_REDUCE) {
        auto o = options<gloo::ReduceOptions>(g, same, n, b.receive, n);
        o.setRoot(k->root);
        o.setReduceFunction(function<T>(k->redop));
        gloo::reduce(o);
    } else if (k->op == SPECTER_REDUCESCATTER) {
        reduce_scatter<T>(g, k);
    } else if (k->op == SPECTER_BROADCAST) {
        auto o = options<gloo::BroadcastOptions>(g, root ? same : nullptr, n, b.receive, n);
        o.setRoot(k->root);
        gloo::broadcast(o);
    } else if (k->op == SPECTER_ALLGATHER) {
        T *in = b.send == b.receive + own ? nullptr : b.send;
        auto o = options<gloo::AllgatherOptions>(g, in, n, b.receive, size * n);
        gloo::allgather(o);
    } else if (k->op == SPECTER_ALLTOALL) {
        auto o = options<gloo::AlltoallOptions>(g, b.send, size * n, b.receive, size * n);
        gloo::alltoall(o);
    } else if (k->op == SPECTER_GATHER) {
        auto o = options<gloo::GatherOptions>(g, b.send, n, root ? b.receive : nullptr, size * n);
        o.setRoot(k->root);
        gloo::gather(o);
    } else if (k->op == SPECTER_SCATTER) {
        scatter<T>(g, k, b);
    } else {
        around<T>(g, b);
    }
}

/* Runs what may throw. */
template <typename F> int guarded(F &&work, char *why, size_t size)
{
    try {
        work();
        return 0;
    } catch (const std::exception &exception) {
        std::snprintf(why, size, "%s", exception.what());
    }
    return -1;
}

} // namespace

int gloo_open(int rank, int size, const char *address, double timeout_s, struct gloo_comm **out,
              struct gloo_address *own, char *why, size_t why_size)
{
    *out = nullptr;
    return guarded(
        [&] {
            std::chrono::milliseconds timeout(static_cast<int64_t>(timeout_s * 1e3));
            gloo::transport::tcp::attr attr(address);
            std::unique_ptr<gloo_comm> g(new gloo_comm{});
            g->context =
                std::make_shared<Context>(rank, size, gloo::transport::tcp::CreateDevice(attr));
            g->context->listen(timeout, own);
            *out = g.release();
        },
        why, why_size);
}

int gloo_connect(struct gloo_comm *g, int rank, const struct gloo_address *peer, char *why,
                 size_t why_size)
{
    return guarded(
        [&] {
            std::vector<char> bytes(peer->bytes, peer->bytes + peer->size);
            g->context->getPair(rank)->connect(bytes);
        },
        why, why_size);
}

void gloo_close(struct gloo_comm *g)
{
    delete g;
}

bool gloo_has_type(enum specter_dtype type)
{
#define X(id, c_type) type == SPECTER_##id ||
    return GLOO_TYPES(X) false;
#undef X
}

const char *gloo_version(void)
{
#define TEXT(a) #a
#define VERSION(a, b, c) "gloo " TEXT(a) "." TEXT(b) "." TEXT(c)
    return VERSION(GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
}

int gloo_call(struct gloo_comm *g, const struct bench_call *k, char *why, size_t why_size)
{
    g->tag++;
    return guarded(
        [&] {
            switch (k->dtype) {
#define X(id, c_type)           \
    case SPECTER_##id:          \
        dispatch<c_type>(g, k); \
        break;
                GLOO_TYPES(X)
#undef X
            default:
                throw std::runtime_error("no such type");
            }
        },
        why, why_size);
}

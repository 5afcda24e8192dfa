/* SPDX-License-Identifier: MIT
 *
 * libcudart.so.13: capture and graphs.
 */
#include "cudart.h"

#include <stdio.h>

static CUresult end_capture(struct emu_thread *self, cudaStream_t stream, cudaGraph_t *graph)
{
    struct emu_graph *captured = NULL;
    CUresult result = emu_capture_end(self, stream, &captured);
    *graph = (cudaGraph_t)(void *)captured;
    return result;
}

static CUresult instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
    struct emu_exec *made = NULL;
    if (exec == NULL || graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    emu_graph_instantiate(&made, (struct emu_graph *)(void *)graph);
    *exec = (cudaGraphExec_t)(void *)made;
    return CUDA_SUCCESS;
}

STREAM_CALL(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
            emu_capture_begin(self, stream, (CUstreamCaptureMode)mode))
STREAM_CALL(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph),
            end_capture(self, stream, graph))
STREAM_CALL(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream),
            emu_graph_launch(self, (struct emu_exec *)(void *)exec, stream))

static CUresult update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    CUresult result =
        emu_exec_update((struct emu_exec *)(void *)exec, (struct emu_graph *)(void *)graph);
    info->result = result ? cudaGraphExecUpdateErrorTopologyChanged : cudaGraphExecUpdateSuccess;
    return result;
}

#define GRAPH_CALL(_name, _params, _do) \
    EMU_API cudaError_t _name _params;  \
    cudaError_t _name _params           \
    {                                   \
        RUNTIME_CALL(self);             \
        (void)self;                     \
        return cudart_keep(_do);        \
    }

GRAPH_CALL(cudaGraphInstantiate,
           (cudaGraphExec_t * exec, cudaGraph_t graph, uintptr_t flags, char *log, size_t size),
           ((void)flags, (void)log, (void)size, instantiate(exec, graph)))
GRAPH_CALL(cudaGraphInstantiateWithFlags,
           (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
           ((void)flags, instantiate(exec, graph)))
GRAPH_CALL(cudaGraphInstantiateWithParams,
           (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
           (params->result_out = cudaGraphInstantiateSuccess, instantiate(exec, graph)))
GRAPH_CALL(cudaGraphInstantiateWithParams_ptsz,
           (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
           (params->result_out = cudaGraphInstantiateSuccess, instantiate(exec, graph)))
GRAPH_CALL(cudaGraphExecUpdate, (cudaGraphExec_t exec, cudaGraph_t graph, void *info, void *result),
           ((void)result, update(exec, graph, info)))
GRAPH_CALL(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph),
           (*clone = (cudaGraph_t)(void *)emu_graph_clone((struct emu_graph *)(void *)graph),
            CUDA_SUCCESS))
GRAPH_CALL(cudaGraphDestroy, (cudaGraph_t graph),
           (emu_graph_free((struct emu_graph *)(void *)graph), CUDA_SUCCESS))
GRAPH_CALL(cudaGraphExecDestroy, (cudaGraphExec_t exec),
           (emu_exec_free((struct emu_exec *)(void *)exec), CUDA_SUCCESS))

EMU_API cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
    RUNTIME_CALL(self);
    (void)self;
    (void)flags;
    *graph = (cudaGraph_t)(void *)emu_graph_empty();
    return cudaSuccess;
}

static CUresult capture_info(struct emu_thread *self, cudaStream_t stream,
                             enum cudaStreamCaptureStatus *status, unsigned long long *id,
                             cudaGraph_t *graph, const cudaGraphNode_t **after, size_t *count)
{
    struct emu_capture_state state = {0};
    CUresult result =
        status != NULL ? emu_capture_info(self, stream, &state) : CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    *status = (enum cudaStreamCaptureStatus)state.status;
    if (state.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    if (id != NULL)
        *id = state.id;
    if (graph != NULL)
        *graph = (cudaGraph_t)(void *)state.graph;
    if (after != NULL)
        *after = (const cudaGraphNode_t *)(const void *)state.after;
    if (count != NULL)
        *count = state.after_count;
    return CUDA_SUCCESS;
}

/* No edge has data: `edges` gets none. */
STREAM_CALL(cudaStreamGetCaptureInfo,
            (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
             cudaGraph_t *graph, const cudaGraphNode_t **after, const void **edges, size_t *count),
            ((void)(edges && (*edges = NULL)),
             capture_info(self, stream, status, id, graph, after, count)))

/* As all that list: without room it says how many there are; with it, room left over is NULL. */
static CUresult list_nodes(cudaGraphNode_t *out, size_t *room, struct emu_node *const *nodes,
                           size_t count)
{
    if (room == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; out != NULL && i < *room; i++)
        out[i] = i < count ? (cudaGraphNode_t)(void *)nodes[i] : NULL;
    if (out == NULL || *room > count)
        *room = count;
    return CUDA_SUCCESS;
}

EMU_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *room)
{
    RUNTIME_CALL(self);
    struct emu_node *const *all = NULL;
    size_t count;

    (void)self;
    if (graph == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    count = emu_graph_nodes((const struct emu_graph *)(const void *)graph, &all);
    return cudart_keep(list_nodes(nodes, room, all, count));
}

EMU_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *after,
                                                 void *edges, size_t *room);
EMU_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *after,
                                                 void *edges, size_t *room)
{
    RUNTIME_CALL(self);
    struct emu_node *const *all = NULL;
    size_t count;

    (void)self;
    (void)edges; /* none has data */
    if (node == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    count = emu_node_after((const struct emu_node *)(const void *)node, &all);
    return cudart_keep(list_nodes(after, room, all, count));
}

static void print_node(FILE *out, const struct emu_node *node)
{
    struct emu_node *const *after = NULL;
    size_t count = emu_node_after(node, &after);

    fprintf(out, "  \"%p\" [label=\"%s\"];\n", (const void *)node, emu_node_name(node));
    for (size_t i = 0; i < count; i++)
        fprintf(out, "  \"%p\" -> \"%p\";\n", (const void *)after[i], (const void *)node);
}

EMU_API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
    RUNTIME_CALL(self);
    struct emu_node *const *all = NULL;
    size_t count;
    FILE *out;

    (void)self;
    (void)flags;
    if (graph == NULL || path == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    out = fopen(path, "we");
    if (out == NULL)
        return cudart_fail(cudaErrorOperatingSystem);
    count = emu_graph_nodes((const struct emu_graph *)(const void *)graph, &all);
    fputs("digraph graph {\n", out);
    for (size_t i = 0; i < count; i++)
        print_node(out, all[i]);
    fputs("}\n", out);
    return fclose(out) == 0 ? cudaSuccess : cudart_fail(cudaErrorOperatingSystem);
}

#define EMU_LIBRARY_CUDART
#include "hooks_check.h"

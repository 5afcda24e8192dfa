/* SPDX-License-Identifier: MIT
 *
 * libcuda.so.1: capture and graphs.
 */
#include "driver.h"

EMU_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
                                           cuuint64_t *id, CUgraph *graph,
                                           const CUgraphNode **dependencies, size_t *count);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count)
{
    EMU_CALL(self);
    struct emu_capture_state state = {0};
    CUresult result;
    READY();
    result = emu_capture_info(self, stream, &state);
    if (result)
        return result;
    *status = state.status;
    if (id != NULL)
        *id = state.id;
    if (graph != NULL)
        *graph = (CUgraph)(void *)state.graph;
    if (dependencies != NULL)
        *dependencies = (const CUgraphNode *)(const void *)state.after;
    if (count != NULL)
        *count = state.after_count;
    return CUDA_SUCCESS;
}

static CUresult end_capture(struct emu_thread *self, CUstream stream, CUgraph *graph)
{
    struct emu_graph *captured = NULL;
    CUresult result = emu_capture_end(self, stream, &captured);
    *graph = (CUgraph)(void *)captured;
    return result;
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph)
{
    struct emu_exec *made = NULL;
    if (exec == NULL || graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    emu_graph_instantiate(&made, (struct emu_graph *)(void *)graph);
    *exec = (CUgraphExec)(void *)made;
    return CUDA_SUCCESS;
}

STREAM_CALL(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
            emu_capture_begin(self, stream, mode))
STREAM_CALL(cuStreamEndCapture, (CUstream stream, CUgraph *graph), end_capture(self, stream, graph))
STREAM_CALL(cuGraphLaunch, (CUgraphExec exec, CUstream stream),
            emu_graph_launch(self, (struct emu_exec *)(void *)exec, stream))

static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    CUresult result =
        emu_exec_update((struct emu_exec *)(void *)exec, (struct emu_graph *)(void *)graph);
    info->result =
        result ? CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED : CU_GRAPH_EXEC_UPDATE_SUCCESS;
    return result;
}

DRIVER_CALL(cuGraphInstantiateWithFlags,
            (CUgraphExec * exec, CUgraph graph, unsigned long long flags),
            ((void)flags, instantiate(exec, graph)))
DRIVER_CALL(cuGraphInstantiateWithParams,
            (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
            (params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS, instantiate(exec, graph)))
DRIVER_CALL(cuGraphInstantiateWithParams_ptsz,
            (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
            (params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS, instantiate(exec, graph)))
DRIVER_CALL(cuGraphExecUpdate_v2,
            (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info),
            update(exec, graph, info))
DRIVER_CALL(cuGraphClone, (CUgraph * clone, CUgraph graph),
            (*clone = (CUgraph)(void *)emu_graph_clone((struct emu_graph *)(void *)graph),
             CUDA_SUCCESS))
DRIVER_CALL(cuGraphDestroy, (CUgraph graph),
            (emu_graph_free((struct emu_graph *)(void *)graph), CUDA_SUCCESS))
DRIVER_CALL(cuGraphExecDestroy, (CUgraphExec exec),
            (emu_exec_free((struct emu_exec *)(void *)exec), CUDA_SUCCESS))

#define EMU_LIBRARY_CUDA
#include "hooks_check.h"

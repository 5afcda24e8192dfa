/* SPDX-License-Identifier: MIT
 *
 * Graphs: what a launch does, what events in them see, what an update takes.
 */
#include "facts.h"

static cudaStream_t stream;

/* A graph of `fills` fills of the first bytes of the big memory with `value`. */
static cudaGraph_t fills(int count, int value)
{
    cudaGraph_t graph = NULL;

    stream = stream ? stream : new_stream();
    if (!big_memory() || api.cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed))
        return NULL;
    for (int i = 0; i < count; i++)
        api.cudaMemsetAsync(big_memory() + i, value, 1, stream);
    return api.cudaStreamEndCapture(stream, &graph) ? NULL : graph;
}

static cudaGraphExec_t executable(cudaGraph_t graph)
{
    cudaGraphExec_t exec = NULL;

    return api.cudaGraphInstantiateWithFlags(&exec, graph, 0) ? NULL : exec;
}

static int first_byte(void)
{
    char found = 0;

    api.cudaStreamSynchronize(stream);
    api.cudaMemcpy(&found, big_memory(), 1, cudaMemcpyDeviceToHost);
    return found;
}

static void launch(void)
{
    cudaGraphExec_t exec = executable(fills(1, 3));

    TRY(api.cudaMemset(big_memory(), 1, 16));
    TRY(api.cudaDeviceSynchronize());
    TRY(api.cudaGraphLaunch(exec, stream));
    answer("%d", first_byte());
}

static void launch_empty(void)
{
    cudaGraph_t graph;

    stream = stream ? stream : new_stream();
    TRY(api.cudaGraphCreate(&graph, 0));
    answer_cuda(api.cudaGraphLaunch(executable(graph), stream));
}

static void capture_of_nothing(void)
{
    answer(fills(0, 0) ? "a graph" : "no graph");
}

static void launch_after_destroy(void)
{
    cudaGraph_t graph = fills(1, 4);
    cudaGraphExec_t exec = executable(graph);

    TRY(api.cudaGraphDestroy(graph));
    TRY(api.cudaGraphLaunch(exec, stream));
    answer("%d", first_byte());
}

static void exec_destroyed_in_flight(void)
{
    cudaGraphExec_t exec = executable(fills(1, 5));

    TRY(keep_busy(stream));
    TRY(api.cudaGraphLaunch(exec, stream));
    TRY(api.cudaGraphExecDestroy(exec));
    answer("%d", first_byte());
}

static void launch_null(void)
{
    answer_cuda(api.cudaGraphLaunch(NULL, new_stream()));
}

static void instantiate_null(void)
{
    cudaGraphExec_t exec;

    answer_cuda(api.cudaGraphInstantiateWithFlags(&exec, NULL, 0));
}

static void launch_legacy(void)
{
    cudaGraphExec_t exec = executable(fills(1, 6));

    TRY(api.cudaGraphLaunch(exec, NULL));
    TRY(api.cudaDeviceSynchronize());
    answer("%d", first_byte());
}

static void launch_waits_in_stream(void)
{
    cudaGraphExec_t exec = executable(fills(1, 7));
    cudaEvent_t end = new_event(), launched = new_event();

    TRY(keep_busy(stream));
    TRY(api.cudaEventRecord(end, stream));
    TRY(api.cudaGraphLaunch(exec, stream));
    TRY(api.cudaEventRecord(launched, stream));
    answer("%s", order(end, launched));
}

/* Two launches of one executable graph, on two streams. */
static void launched_twice(void)
{
    cudaStream_t second = new_stream();
    cudaEvent_t first_end = new_event(), second_end = new_event();
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec;

    stream = stream ? stream : new_stream();
    TRY(!big_memory());
    TRY(api.cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    TRY(keep_busy(stream));
    TRY(api.cudaStreamEndCapture(stream, &graph));
    exec = executable(graph);
    TRY(api.cudaGraphLaunch(exec, stream));
    TRY(api.cudaEventRecord(first_end, stream));
    TRY(api.cudaGraphLaunch(exec, second));
    TRY(api.cudaEventRecord(second_end, second));
    answer("%s", order(first_end, second_end));
}

static void launch_in_capture(void)
{
    cudaGraphExec_t exec = executable(fills(1, 8));
    cudaGraph_t outer = NULL;
    cudaError_t launched;

    TRY(api.cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    launched = api.cudaGraphLaunch(exec, stream);
    answer("%s, %s", name_cuda(launched), name_cuda(api.cudaStreamEndCapture(stream, &outer)));
}

/* ---- events ---- */

static cudaGraphExec_t with_record(cudaEvent_t event, unsigned flags)
{
    cudaGraph_t graph = NULL;

    stream = stream ? stream : new_stream();
    if (!big_memory() || api.cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed))
        return NULL;
    keep_busy(stream);
    api.cudaEventRecordWithFlags(event, stream, flags);
    return api.cudaStreamEndCapture(stream, &graph) ? NULL : executable(graph);
}

static void internal_record(void)
{
    cudaEvent_t event = new_event();
    cudaGraphExec_t exec = with_record(event, 0);

    TRY(api.cudaGraphLaunch(exec, stream));
    TRY(api.cudaStreamSynchronize(stream));
    answer_cuda(api.cudaEventQuery(event));
    api.cudaGetLastError();
}

static void external_record(void)
{
    cudaEvent_t before = new_event(), event = new_event();
    cudaGraphExec_t exec = with_record(event, cudaEventRecordExternal);

    TRY(api.cudaEventRecord(before, stream));
    TRY(api.cudaGraphLaunch(exec, stream));
    TRY(api.cudaStreamSynchronize(stream));
    answer("%s", order(before, event));
}

static void external_record_pending(void)
{
    cudaEvent_t event = new_event();
    cudaGraphExec_t exec = with_record(event, cudaEventRecordExternal);
    cudaError_t asked;

    TRY(api.cudaGraphLaunch(exec, stream));
    asked = api.cudaEventQuery(event);
    TRY(api.cudaStreamSynchronize(stream));
    answer("%s, then %s", name_cuda(asked), name_cuda(api.cudaEventQuery(event)));
}

/* ---- updates and copies ---- */

static void update_value(void)
{
    cudaGraphExec_t exec = executable(fills(1, 9));
    cudaGraphExecUpdateResultInfo info = {0};
    cudaError_t updated = api.cudaGraphExecUpdate(exec, fills(1, 10), &info);

    TRY(api.cudaGraphLaunch(exec, stream));
    answer("%s, result %d, memory holds %d", name_cuda(updated), (int)info.result, first_byte());
}

static void update_topology(void)
{
    cudaGraphExec_t exec = executable(fills(1, 11));
    cudaGraphExecUpdateResultInfo info = {0};
    cudaError_t updated = api.cudaGraphExecUpdate(exec, fills(2, 12), &info);

    api.cudaGetLastError();
    TRY(api.cudaGraphLaunch(exec, stream));
    answer("%s, result %d, memory holds %d", name_cuda(updated), (int)info.result, first_byte());
}

static void clone_is_apart(void)
{
    cudaGraph_t graph = fills(1, 13), clone;

    TRY(api.cudaGraphClone(&clone, graph));
    TRY(api.cudaGraphDestroy(graph));
    TRY(api.cudaGraphLaunch(executable(clone), stream));
    answer("%d", first_byte());
}

static const struct fact table[] = {
    FACT("launch.runs", DEVICE, launch, "what memory holds after a launch"),
    FACT("launch.empty", DEVICE, launch_empty, "launch of an empty graph"),
    FACT("capture.nothing", DEVICE, capture_of_nothing, "what a capture of no work gives"),
    FACT("launch.graph_destroyed", DEVICE, launch_after_destroy, "launch after the graph's end"),
    FACT("launch.exec_destroyed", DEVICE, exec_destroyed_in_flight,
         "what memory holds when the executable graph was destroyed in flight"),
    FACT("launch.null", DEVICE, launch_null, "launch of NULL"),
    FACT("instantiate.null", DEVICE, instantiate_null, "instantiation of NULL"),
    FACT("launch.legacy", DEVICE, launch_legacy, "launch on the legacy stream"),
    FACT("launch.in_order", DEVICE, launch_waits_in_stream, "work before it, beside its end"),
    FACT("launch.twice", DEVICE, launched_twice,
         "end of its first launch beside that of the second, on another stream"),
    FACT("launch.in_capture", DEVICE, launch_in_capture, "launch into a capture, its end"),
    FACT("event.internal", DEVICE, internal_record, "an event of the capture after a launch"),
    FACT("event.external", DEVICE, external_record, "start of the launch beside an external event"),
    FACT("event.external_pending", DEVICE, external_record_pending,
         "an external event right after the launch; after the stream's end"),
    FACT("update.value", DEVICE, update_value, "update to a graph of the same shape"),
    FACT("update.topology", DEVICE, update_topology, "update to a graph of another shape"),
    FACT("clone", DEVICE, clone_is_apart, "launch of a clone after the original's end"),
};
const struct subject graphs = SUBJECT("graph", table);

# Makes traces as XLA's profiler writes them (JAX, TensorFlow): sourced, not run.
#
#     trace 4 2 [ZERO_US] >node7.trace.json      # of 4 steps on 2 GPUs; each host's times have their own zero

# event PID TID TS DUR NAME ARGS
event() {
    printf '{"ph":"X","pid":%s,"tid":%s,"ts":%s,"dur":%s,"name":"%s","args":{%s}},\n' "$@"
}

# work GPU STREAM TS DUR NAME ARGS, launched 40 us before by thread 5 + GPU of the host
work() {
    n=$((n + 1))
    event 701 $((5 + $1)) "$(($3 - 40)).25" 4 cuLaunchKernelEx '"correlation_id":"'$n'"'
    event $(($1 + 1)) "$2" "$3.25" "$4" "$5" '"correlation_id":"'$n'","hlo_module":"jit_step",'"$6"
}

trace() {
    local zero=${3-1000} name='{"ph":"M","pid":%d,"tid":%d,"name":"%s","args":{"name":"%s"}},\n' n=0
    printf '{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[\n'
    for ((gpu = 0; gpu < $2; gpu++)); do
        printf "$name" $((gpu + 1)) 0 process_name "/device:GPU:$gpu"
        printf "$name" $((gpu + 1)) 14 thread_name 'Stream #14(Compute)'
        printf "$name" $((gpu + 1)) 20 thread_name 'Stream #20(Compute,MemcpyH2D)'
        printf "$name" $((gpu + 1)) 1001 thread_name 'XLA Ops'
        printf "$name" $((gpu + 1)) 1002 thread_name 'Steps'
    done
    printf "$name" 701 0 process_name /host:CPU
    for ((step = 0; step < $1; step++)); do
        for ((gpu = 0; gpu < $2; gpu++)); do
            at=$((zero + 2000 * step))
            event $((gpu + 1)) 1002 $((at - 50)) 2000 "$step" '"group_id":'$step
            event $((gpu + 1)) 1001 $at 900 gemm_fusion_dot.4 ''
            work $gpu 14 $at 900 gemm_fusion_dot_4 '"hlo_op":"gemm_fusion_dot.4","kernel_details":"regs:32 grid:1,1,1"'
            work $gpu 20 $((at + 10)) 20 MemcpyH2D '"memcpy_details":"kind_src:pinned kind_dst:device size:4096 dest:0 async:1"'
            work $gpu 20 $((at + 900 + 2 * gpu)) $((400 - 2 * gpu)) 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL' \
                '"hlo_op":"all-reduce-start.1","kernel_details":"regs:96"'
        done
        event 701 5 $((at - 60)) 50 'PjitFunction(step)' ''
    done
    printf '{}]}\n'
}

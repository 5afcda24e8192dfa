# Into the same folder again: nothing is overwritten. Directory and files are their owner's only.
. "$ROOT/tests/cli/tracer/common.bash"
umask 0
for i in 1 2; do
    SPECTER_RUN=run$i traced a/b "$CALLS" events || exit 1
done
stat -c '%a %n' a a/b a/b/*
sed -n 's/.*"event":"init".*"run":"\([a-z0-9]*\)".*/\1/p' a/b/*
# Without a rank: host and process.
unset RANK
traced c "$CALLS" events
ls c | sed "s/$(hostname)_[0-9]*/HOST_PID/"
# A link is not followed.
mkdir d && ln -s ../elsewhere d/specter_trace_rank0.jsonl
RANK=0 traced d "$CALLS" events
ls d; ls elsewhere 2>&1 | sed 's/.*: //'

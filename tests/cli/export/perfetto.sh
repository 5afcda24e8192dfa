# SPDX-License-Identifier: MIT
# The same bytes whether they are compressed, go to a file or to stdout.
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format perfetto -o out.pftrace
echo "status $?"
[[ -s out.pftrace ]] || echo "nothing written"
"$SPECTER" export traces --format perfetto -o out.pftrace.gz
gzip -dc out.pftrace.gz | cmp - out.pftrace && echo "the same, compressed"
"$SPECTER" export traces --format perfetto -o - | cmp - out.pftrace && echo "the same, to stdout"

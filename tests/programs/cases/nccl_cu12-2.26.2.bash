# NCCL 2.26.2 from PyPI.
VERSION=cu12-2.26.2
. "$ROOT/tests/programs/nccl.bash"

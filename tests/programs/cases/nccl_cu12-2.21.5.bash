# NCCL 2.21.5 from PyPI.
VERSION=cu12-2.21.5
. "$ROOT/tests/programs/nccl.bash"

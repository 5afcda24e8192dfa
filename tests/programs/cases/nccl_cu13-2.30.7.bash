# NCCL 2.30.7 from PyPI.
VERSION=cu13-2.30.7
. "$ROOT/tests/programs/nccl.bash"

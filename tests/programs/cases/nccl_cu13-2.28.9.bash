# NCCL 2.28.9 from PyPI.
VERSION=cu13-2.28.9
. "$ROOT/tests/programs/nccl.bash"

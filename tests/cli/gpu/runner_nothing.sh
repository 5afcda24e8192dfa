# Where the GPU suite cannot run it says why, with status 77; what it does not understand, with status 2.
. "$(dirname "$0")/runner.bash"
echo "CHECKS='good 1 is all well'; check_good() { claim lost 0 0; }" >checks/made.bash
gpu_suite bad_name
gpu_suite -t soon
mv bin/nvidia-smi bin/none
gpu_suite
mv bin/none bin/nvidia-smi
printf '#!/bin/sh\necho "Traceback
ModuleNotFoundError: no torch" >&2\nexit 1\n' >bin/python
gpu_suite
BUILD=$PWD/bin gpu_suite

# SPDX-License-Identifier: MIT
# A file a rank, and the groups that their collectives name.
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format chakra
echo "status $?"
ls specter_chakra
cat specter_chakra/comm_groups.json

# SPDX-License-Identifier: MIT
# The element of an array is what one starts an own profile from.
"$SPECTER" profiles single_node_nvlink --json

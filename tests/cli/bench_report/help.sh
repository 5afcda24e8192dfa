# SPDX-License-Identifier: MIT
"$SPECTER" bench report --help

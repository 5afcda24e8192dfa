-- SPDX-License-Identifier: MIT
-- Lmod: modulefiles/specter/0.1.0.lua; Environment Modules 5 reads specter.tcl beside it. `root` is where the tarball
-- was unpacked, or prefix of `make install`.
help([[specter records, analyzes and predicts GPU training jobs: specter help]])
whatis("Name: specter")
whatis("Description: records, analyzes and predicts GPU training jobs")
local root = os.getenv("SPECTER_PREFIX") or "/opt/specter"
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
append_path("MANPATH", "") -- the system's manuals, too
prepend_path("CPATH", pathJoin(root, "include"))

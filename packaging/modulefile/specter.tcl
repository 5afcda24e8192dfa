#%Module
# SPDX-License-Identifier: MIT
# Environment Modules: modulefiles/specter/0.1.0. `root` is where the tarball was unpacked, or prefix of `make install`.
proc ModulesHelp { } { puts stderr "specter records, analyzes and predicts GPU training jobs: specter help" }
module-whatis "records, analyzes and predicts GPU training jobs"
set root [expr {[info exists ::env(SPECTER_PREFIX)] ? $::env(SPECTER_PREFIX) : "/opt/specter"}]
prepend-path PATH $root/bin
prepend-path MANPATH $root/share/man
append-path MANPATH "" ;# the system's manuals, too
prepend-path CPATH $root/include

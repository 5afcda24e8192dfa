# SPDX-License-Identifier: MIT
# For a Spack repository of a site: packages/specter/package.py. The source is a clone that the site names:
#   spack develop --path CLONE specter@main && spack install
from spack.package import *

try:
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass  # before Spack 1.0 spack.package has it


class Specter(MakefilePackage):
    """Records, analyzes and predicts GPU training jobs: a tracer of NCCL and cuBLAS, readers of PyTorch's and Nsight
    Systems' profiles, and a simulator."""

    license("MIT")
    version("main")

    variant("sqlite", default=True, description="Reads exports of Nsight Systems")
    variant("zstd", default=True, description="Reads traces that zstd packed")
    variant("yaml", default=True, description="Reads workload cards in YAML")
    variant("mpi", default=False, description="Benchmarks of the site's MPI (specter bench --backend mpi)")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("cjson")
    depends_on("zlib-api")
    depends_on("sqlite", when="+sqlite")
    depends_on("zstd", when="+zstd")
    depends_on("libyaml", when="+yaml")
    depends_on("mpi", when="+mpi")

    def make_arguments(self):
        # Spack has no libxlsxwriter: without workbooks. What a system has beside Spack is not taken.
        left_out = ["XLSX"] + [name.upper() for name in ("sqlite", "zstd", "yaml") if f"+{name}" not in self.spec]
        arguments = [f"prefix={self.prefix}", "GLOO_FOUND=", "WITHOUT_LIBS=" + " ".join(left_out)]
        return arguments + ([] if "+mpi" in self.spec else ["MPI_FOUND="])

    def build(self, spec, prefix):
        make(*self.make_arguments())

    def install(self, spec, prefix):
        make("install", *self.make_arguments())

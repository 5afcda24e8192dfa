# SPDX-License-Identifier: MIT
# For a Spack repository of a site: packages/specter/package.py. The source is a clone that the site names:
#   spack develop --path CLONE specter@main && spack install
from spack.package import *


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
        return [f"prefix={self.prefix}", "GLOO_FOUND="] + ([] if "+mpi" in self.spec else ["MPI_FOUND="])

    def build(self, spec, prefix):
        make(*self.make_arguments())

    def install(self, spec, prefix):
        make("install", *self.make_arguments())

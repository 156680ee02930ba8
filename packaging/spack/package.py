# spack repo add FOLDER-OF-repo.yaml && spack install mercutio
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Mercutio(CMakePackage):
    """MPI-IO under any MPI program, without recompiling it: one preloaded library for MPICH, Open MPI, Intel MPI and the
    standard ABI of MPI 5. It is built without an MPI."""

    homepage = "@HOME@"
    url = "@URL@"

    license("BSD-3-Clause", checked_by="mercutio")

    version("@VERSION@", sha256="@SHA256@")

    variant("remote", default=True, description="Files on other clusters")
    variant("uring", default=True, description="Nonblocking transfers by io_uring")
    variant("fortran", default=True, description="The Fortran module of the I/O for OpenMP teams")
    variant("s3", default=True, description="Files in S3")
    variant("report", default=True, description="Pages of reports")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("cli11", type="build")
    depends_on("tomlplusplus", type="build")
    depends_on("liburing", type="build", when="+uring")
    depends_on("lz4", when="+remote")
    depends_on("openssl@3:", when="+remote")
    depends_on("xxhash", type="build", when="+remote")
    depends_on("curl@7.85:", when="+s3")
    depends_on("openssl@3:", when="+s3")
    depends_on("python@3.9:", type="run")
    depends_on("py-jinja2", type="run", when="+report")
    depends_on("py-matplotlib", type="run", when="+report")

    requires("%gcc@12:", "%clang@16:", policy="one_of", msg="C++20 is needed")
    conflicts("platform=darwin", msg="for Linux")
    conflicts("platform=windows", msg="for Linux")

    def cmake_args(self):
        return [
            self.define("BUILD_TESTING", False),
            self.define("MERCUTIO_COMMAND", True),
            self.define_from_variant("MERCUTIO_FORTRAN", "fortran"),
            self.define_from_variant("MERCUTIO_REMOTE", "remote"),
            self.define("MERCUTIO_MOUNT", False),
            self.define_from_variant("MERCUTIO_S3", "s3"),
            self.define_from_variant("MERCUTIO_URING", "uring"),
        ]

    def setup_run_environment(self, env):
        if self.spec.satisfies("+remote"):
            env.prepend_path("PYTHONPATH", self.prefix.share.mercutio.python)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_command(self):
        Executable(self.prefix.bin.mercutio)("--version")

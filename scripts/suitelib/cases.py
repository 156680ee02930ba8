"""The suites: how each is built for an MPI (once, below build/suites/<mpi>), and its tests.

ROMIO's and MPICH's tests are compiled one by one against the plain MPI; mpi4py's run on its wheel or on a build from source;
PnetCDF is built with its library and tested by its own makefiles; HDF5's parallel tests are linked to Debian's libhdf5, and
netCDF's to a netCDF that is built on both.
"""
import os
import re
import shutil
import sys

from .base import (SRC, WHEELS, WORK, Case, judge_automake, judge_hdf5, judge_mpich, judge_netcdf, judge_ptest, judge_romio, judge_unittest, sh)
from .store import PLACE

# ---- MPICH's own I/O tests ---------------------------------------------------------------------------------------------


def configure_mpich_tests(mpi):
    build = WORK / mpi.name / "mpich-tests"
    if not (build / "Makefile").exists():
        build.mkdir(parents=True, exist_ok=True)
        env = dict(os.environ, **mpi.env, CC=mpi.compiler, MPICC=mpi.compiler, F77=mpi.f77, FC=mpi.f90, MPIF77=mpi.f77, MPIFC=mpi.f90,
                   FFLAGS="-fallow-argument-mismatch", FCFLAGS="-fallow-argument-mismatch -w")
        fortran = [] if mpi.f77 else ["--disable-fortran"]
        sh([SRC / "mpich/test/mpi/configure", "--disable-cxx", "--disable-spawn", "--with-mpi=/usr", *fortran], cwd=build, env=env,
           log=build / "configure.log")
    return build


def read_testlist(path):
    for line in path.read_text().splitlines():
        words = line.split()
        if words and not words[0].startswith("#") and "@" not in words[0]:
            keys = [w.split("=", 1) for w in words[2:] if "=" in w]
            yield words[0], int(words[1]) if len(words) > 1 else 4, [v for k, v in keys if k == "arg"], dict(keys)


def mpich_c_cases(mpi, build):
    src = SRC / "mpich/test/mpi"
    include = ["-I", build / "include", "-I", src / "include", "-I", src / "util"]
    helpers = [src / "util" / f for f in ("mtest.c", "mtest_common.c", "mtest_single.c")]
    for folder, testlist in (("io", "testlist.in"), ("errors/io", "testlist")):
        for name, ranks, args, keys in read_testlist(src / folder / testlist):
            if "mem" in keys:
                continue   # needs more memory than a small machine has
            program = build / folder / f"{name}.exe"
            if not program.exists():
                sh([mpi.compiler, "-w", *include, src / folder / f"{name}.c", *helpers, "-lm", "-o", program],
                   log=build / "build.log", check=False)
            yield Case(f"mpich {folder}", name, ranks, [str(program), *args], build / folder, judge=judge_mpich)


def mpich_cases(mpi):
    build = configure_mpich_tests(mpi)
    yield from mpich_c_cases(mpi, build)
    for folder in ("f77/io", "f90/io") if mpi.f77 else ():
        if not (build / folder / "built").exists():
            log = build / "build.log"
            sh(["make", "-C", build / folder.split("/")[0] / "util"], log=log, check=False)
            sh(["make", "-k", "-C", build / folder, "check", "TESTS="], log=log, check=False)
            (build / folder / "built").touch()
        for name, ranks, args, _ in read_testlist(build / folder / "testlist"):
            yield Case(f"mpich {folder}", name, ranks, [str(build / folder / name), *args], build / folder, judge=judge_mpich)


# ---- ROMIO's own tests ---------------------------------------------------------------------------------------------------

ROMIO_RANKS = {"error": 1, "status": 1, "types_with_zeros": 2, "noncontig": 2, "noncontig_coll": 2, "i_noncontig": 2,
               "big_extents": 1, "syshints": 1}
# How a test is told its file; the others take -fname.
ROMIO_FILE_ARGUMENT = {"hindexed": [], "big_extents": [], "syshints": [], "aggregation1": ["-f"], "aggregation2": ["-f"]}
ROMIO_SKIP = {"large_file", "large_array", "coll_perf"}   # gigabytes


def without_removed_names(text):
    """Open MPI's mpi.h refuses the names MPI-3 removed; MPI_Type_create_resized does the same as an MPI_LB and an MPI_UB. Others
    lack what ROMIO called its requests before MPI-2.2."""
    return re.sub(r"\bMPIO_(Request|Wait|Test)\b", r"MPI_\1", without_bounds(text))


def without_bounds(text):
    return re.sub(
        r"b\[0\] = b\[1\] = b\[2\] = 1;\s*d\[0\] = 0;\s*d\[1\] = (.*?);\s*d\[2\] = (.*?);\s*"
        r"t\[0\] = MPI_LB;\s*t\[1\] = (.*?);\s*t\[2\] = MPI_UB;\s*(?:/\*.*?\*/\s*)?MPI_Type_create_struct\(3, b, d, t, &(\w+)\);",
        r"b[0] = 1; d[0] = \1; t[0] = \3; { MPI_Datatype mid; MPI_Type_create_struct(1, b, d, t, &mid); "
        r"MPI_Type_create_resized(mid, 0, \2, &\4); MPI_Type_free(&mid); }", text, flags=re.S)


def romio_cases(mpi):
    src = SRC / "mpich/src/mpi/romio/test"
    build = WORK / mpi.name / "romio"
    build.mkdir(parents=True, exist_ok=True)
    for path in sorted([*src.glob("*.c"), src / "misc.c.in"]):
        name = path.name.split(".")[0]
        if name in ROMIO_SKIP:
            continue
        program = build / name
        if not program.exists():
            (build / f"{name}.c").write_text(without_removed_names(path.read_text().replace("@F77MPIOINC@", "")))
            sh([mpi.compiler, "-w", build / f"{name}.c", "-lm", "-o", program], log=build / "build.log", check=False)
        file_name = src / "test_hintfile" if name == "syshints" else build / f"{name}.dat"
        argv = [str(program), *ROMIO_FILE_ARGUMENT.get(name, ["-fname"]), str(file_name)]
        yield Case("romio", name, ROMIO_RANKS.get(name, 4), argv, build, judge=judge_romio)


# ---- mpi4py ------------------------------------------------------------------------------------------------------------------

# The modules that open files or use what an MPI-IO takes over (requests, Info, error handlers and classes). Of test_io there
# is a second form: its authors skip what the MPIs' own I/O fails, and it is the I/O that is under test here.
MPI4PY_TESTS = ("test_io", "test_io_unskipped", "test_file", "test_errhandler", "test_grequest", "test_request", "test_status",
                "test_info", "test_errorcode", "test_exceptions")


def unskip_io(text):
    return re.sub(r"^ *@unittest\.skipMPI\((?:[^()]|\([^()]*\))*\)\n", "", text, flags=re.M)


def mpi4py_cases(mpi):
    target = WORK / "mpi4py-tests"
    if not (target / "test_io_unskipped.py").exists():
        shutil.copytree(SRC / "mpi4py/test", target, dirs_exist_ok=True)
        (target / "test_io_unskipped.py").write_text(unskip_io((target / "test_io.py").read_text()))
    in_wheel = mpi.name.endswith("-wheel") and not mpi.name.endswith("-abi-wheel")
    env = {"PYTHONPATH": str(WHEELS / "mpi4py"), **mpi.env} if in_wheel else mpi4py_from_source(mpi)
    for test in MPI4PY_TESTS:
        for ranks in (2,) if mpi.name.endswith("-wheel") else (1, 3):
            yield Case("mpi4py", test, ranks, [sys.executable, "-m", "unittest", "-v", test], target, env, judge_unittest, 900)


def mpi4py_from_source(mpi):
    """Built for a Debian MPI, as Debian's own package is for Open MPI only, and older; and for the MPI-5 ABI, which its wheel doesn't
    know. From a copy of the source of its own: what setuptools leaves in a tree is taken for the next build, whatever compiler that
    has."""
    target, source = WORK / mpi.name / "mpi4py", WORK / mpi.name / "mpi4py-source"
    if not (target / "complete").exists():
        for folder in (target, source):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(SRC / "mpi4py", source, ignore=shutil.ignore_patterns("build"))
        compiler = shutil.which(mpi.compiler)
        env = dict(os.environ, **mpi.env, MPICC=compiler, MPI4PY_BUILD_MPICC=compiler)
        sh([sys.executable, "-m", "pip", "install", "--no-deps", "--no-cache-dir", "--target", target, source], env=env,
           log=WORK / mpi.name / "mpi4py.log")
        (target / "complete").touch()
    return {**mpi.env, "PYTHONPATH": str(target), "MPI4PY_MPIABI": "", "MPI4PY_LIBMPI": ""}


# ---- PnetCDF -----------------------------------------------------------------------------------------------------------------

def build_pnetcdf(mpi):
    build = WORK / mpi.name / "pnetcdf"
    if not (build / "built").exists():
        build.mkdir(parents=True, exist_ok=True)
        log = WORK / mpi.name / "pnetcdf.log"
        env = dict(os.environ, **mpi.env)
        sh([SRC / "pnetcdf/configure", "--disable-cxx", "--disable-fortran", "--with-mpi=/usr", f"MPICC={mpi.compiler}"], cwd=build,
           env=env, log=log)
        for target in ("all", "tests"):
            sh(["make", "-j2", target], cwd=build, env=env, log=log)
        (build / "built").touch()
    return build


def pnetcdf_cases(mpi):
    build = build_pnetcdf(mpi)
    run = " ".join(mpi.launcher)
    for target, judge in (("check", judge_automake), ("ptest", judge_ptest)):
        line = ["make", "-k", target, f"TESTMPIRUN={run} -np NP", f"TESTSEQRUN={run} -np 1", f"TESTOUTDIR={PLACE or build}"]
        yield Case("pnetcdf", f"make {target}", 0, line, build, judge=judge, timeout=1800)


# ---- HDF5's parallel tests -----------------------------------------------------------------------------------------------------

HDF5_MAIN = ("testphdf5", "t_dset", "t_file", "t_file_image", "t_mdset", "t_ph5basic", "t_coll_chunk", "t_span_tree", "t_chunk_alloc",
             "t_filter_read", "t_prop", "t_coll_md_read")
HDF5_PROGRAMS = {"t_mpi": ("t_mpi",), "testphdf5": HDF5_MAIN, "t_shapesame": ("t_shapesame",),
                 "t_pread": ("t_pread",), "t_init_term": ("t_init_term",)}


def hdf5_cases(mpi):
    src, build = SRC / "hdf5", WORK / mpi.name / "hdf5"
    build.mkdir(parents=True, exist_ok=True)
    (build / "H5srcdir_str.h").write_text(f'#define config_srcdir "{src / "test"}"\n')
    include = [f"-I{d}" for d in (build, src / "testpar", src / "test", f"/usr/include/hdf5/{mpi.name}", src / "src")]
    library = f"/usr/lib/{os.uname().machine}-linux-gnu/hdf5/{mpi.name}"
    for name, parts in HDF5_PROGRAMS.items():
        program = build / name
        if not program.exists():
            files = [src / "testpar" / f"{part}.c" for part in parts] + [src / "test/h5test.c", src / "test/testframe.c"]
            sh([mpi.compiler, "-w", "-O1", *include, *files, f"-L{library}", "-lhdf5", "-lm", "-o", program],
               log=build / "build.log", check=False)
        yield Case("hdf5", name, 4, [str(program)], build, {"HDF5_ALARM_SECONDS": "1200"}, judge_hdf5, 600)


# ---- netCDF's parallel tests ---------------------------------------------------------------------------------------------------

# Folder, program, and the numbers of ranks its own scripts run it with (run_par_test.sh, run_par_tests.sh,
# run_pnetcdf_tests.sh).
NETCDF_TESTS = (
    ("h5_test", "tst_h_par", (1, 2, 4)), ("h5_test", "tst_h_par_compress", (1, 2, 4)), ("nc_test4", "tst_mode", (1,)),
    ("nc_test4", "tst_mpi_parallel", (4,)), ("nc_test4", "tst_parallel", (4,)), ("nc_test4", "tst_parallel3", (16,)),
    ("nc_test4", "tst_parallel4", (1, 2, 4, 8)), ("nc_test4", "tst_parallel5", (4,)), ("nc_test4", "tst_nc4perf", (4,)),
    ("nc_test4", "tst_simplerw_coll_r", (1, 2, 4)), ("nc_test4", "tst_parallel_zlib", (4,)), ("nc_test4", "tst_parallel_compress", (1, 4)),
    ("nc_test4", "tst_quantize_par", (4,)), ("nc_test4", "tst_parallel6", (4,)), ("nc_test", "tst_parallel2", (2,)),
    ("nc_test", "t_nc", (1,)), ("nc_test", "tst_atts3", (1,)), ("nc_test", "tst_nofill", (1,)), ("nc_test", "nc_test", (1,)),
    ("nc_test", "tst_default_format_pnetcdf", (1,)), ("nc_test", "tst_small", (1,)), ("nc_test", "tst_formatx_pnetcdf", (1,)),
    ("nc_test", "tst_cdf5format", (1,)))


def build_netcdf(mpi):
    """On Debian's libhdf5 for this MPI, and on the PnetCDF that was built for it: Debian's own netCDF is for Open MPI only."""
    build, pnetcdf = WORK / mpi.name / "netcdf", build_pnetcdf(mpi)
    if not (build / "built").exists():
        build.mkdir(parents=True, exist_ok=True)
        log = WORK / mpi.name / "netcdf.log"
        library = f"/usr/lib/{os.uname().machine}-linux-gnu/hdf5/{mpi.name}"
        sh([SRC / "netcdf/configure", f"CC={mpi.compiler}", "CFLAGS=-O1 -w", f"CPPFLAGS=-I/usr/include/hdf5/{mpi.name} -I{pnetcdf}/src/include",
            f"LDFLAGS=-L{library} -L{pnetcdf}/src/libs/.libs", "--disable-dap", "--disable-byterange", "--disable-nczarr", "--disable-shared",
            "--enable-parallel-tests", "--enable-pnetcdf"], cwd=build, log=log)
        sh(["make", "-j2"], cwd=build, log=log)
        for folder in sorted({folder for folder, _, _ in NETCDF_TESTS}):
            sh(["make", "-j2", "-k", "-C", folder, "check", "TESTS="], cwd=build, log=log, check=False)
        (build / "built").touch()
    return build


def netcdf_cases(mpi):
    build = build_netcdf(mpi)
    for folder, program, ranks in NETCDF_TESTS:
        for count in ranks:
            yield Case("netcdf", program, count, [str(build / folder / program)], build / folder, judge=judge_netcdf, timeout=600)
    one = " ".join([*mpi.launcher, "-np", "1"])   # the second adds to what the first wrote
    yield Case("netcdf", "tst_pnetcdf, tst_addvar", 0, ["sh", "-c", f"{one} ./tst_pnetcdf && {one} ./tst_addvar tst_pnetcdf.nc"],
               build / "nc_test", judge=judge_netcdf)


SUITES = {"romio": romio_cases, "mpich": mpich_cases, "mpi4py": mpi4py_cases, "pnetcdf": pnetcdf_cases, "hdf5": hdf5_cases,
          "netcdf": netcdf_cases}


def suites_of(mpi):
    """The wheels have no Fortran, and Debian's HDF5 isn't built for them."""
    if not mpi.name.endswith("-wheel"):
        return SUITES
    return ["romio", "mpich", "mpi4py", "pnetcdf"] if mpi.compiler else ["mpi4py"]


def cases(mpi, suites):
    for suite in suites:
        if suite in suites_of(mpi):
            yield from SUITES[suite](mpi)

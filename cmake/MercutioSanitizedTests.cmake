# core_tests: what needs no MPI, for other processors (make cross). static_tests: what of it loads no library either (make musl).
# sanitized_tests: what `make sanitize` needs of a build, and no more, as instrumented code compiles slowly.
get_property(core DIRECTORY ${CMAKE_SOURCE_DIR}/src PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER core INCLUDE REGEX "^unit_")
list(APPEND core unit_omp unit_remote unit_drivers litmus stripes_library client_locks omp_threads model_oracle fault_engine storage_contract driver_libraries gluster_driver cephfs_driver pvfs2_driver fault_memory collective_simulation request_storm plan_golden mercutio)
if(NOT CMAKE_CROSSCOMPILING)   # its own files and those of a unity build have the same functions; scripts/cross.sh does not run it
  list(APPEND core program_faults)
endif()
set(static ${core})
list(FILTER static EXCLUDE REGEX "_(omp|remote|drivers|driver|library|libraries|locks|threads)$|^(litmus|mercutio|program_faults|storage_contract)$")
set(sanitized ${core} remote_files remote_schedules place_test fuzz_targets without mpich_yield programs_mpich programs_openmpi conformance_mpich conformance_openmpi)
foreach(kind static core sanitized)
  add_custom_target(${kind}_tests)
  foreach(target IN LISTS ${kind})
    if(TARGET ${target})
      add_dependencies(${kind}_tests ${target})
    endif()
  endforeach()
endforeach()

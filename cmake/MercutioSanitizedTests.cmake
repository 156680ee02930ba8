# sanitized_tests: what `make sanitize` needs of a build, and no more: instrumented code compiles slowly.
set(wanted unit_omp unit_remote omp_threads model_oracle fault_engine storage_contract remote_files remote_schedules place_test collective_simulation request_storm plan_golden fuzz_targets without mercutio mpich_yield programs_mpich programs_openmpi program_faults conformance_mpich
           conformance_openmpi)
get_property(unit_tests DIRECTORY ${CMAKE_SOURCE_DIR}/src PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER unit_tests INCLUDE REGEX "^unit_")
add_custom_target(sanitized_tests)
foreach(target IN LISTS wanted unit_tests)
  if(TARGET ${target})
    add_dependencies(sanitized_tests ${target})
  endif()
endforeach()

# mercutio_fortran_programs(mpi): the same cases through mpif.h, `use mpi` and mpi_f08, as far as this MPI has the binding.
# Each is linked to support.c, which brings the named checks and the C half of the mixed cases.
function(mercutio_fortran_programs mpi)
  find_program(MPICC_${mpi} NAMES mpicc.${mpi})
  find_program(MPIFORT_${mpi} NAMES mpifort.${mpi} mpif90.${mpi})
  find_program(MPIRUN_${mpi} NAMES mpirun.${mpi})
  if(NOT MPICC_${mpi} OR NOT MPIFORT_${mpi} OR NOT MPIRUN_${mpi})
    return()
  endif()
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/fortran)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/fortran/${mpi})
  file(MAKE_DIRECTORY ${folder})
  file(GLOB parts CONFIGURE_DEPENDS ${source}/*.inc)
  add_custom_command(OUTPUT ${folder}/support.o
    COMMAND ${MPICC_${mpi}} -std=gnu11 -g -O1 -Wall -Wextra ${MERCUTIO_WERROR_FLAG} -I${CMAKE_CURRENT_SOURCE_DIR} -c ${source}/support.c
            -o ${folder}/support.o
    DEPENDS ${source}/support.c ${CMAKE_CURRENT_SOURCE_DIR}/check.h VERBATIM)
  set(programs)
  foreach(name mpif_h.F use_mpi.F90 use_mpi_f08.F90)
    get_filename_component(program ${name} NAME_WE)
    # Debian's MPICH leaves MPI_CONVERSION_FN_NULL out of its module mpi.
    set(define)
    if(mpi STREQUAL mpich AND program STREQUAL use_mpi)
      set(define -DNULL_CONVERSION_NOT_IN_MODULE)
    endif()
    # -w: one procedure is called with buffers of many types, which gfortran notes at each.
    add_custom_command(OUTPUT ${folder}/${program}
      COMMAND ${MPIFORT_${mpi}} -w -g -O1 -fallow-argument-mismatch -ffree-line-length-none -ffixed-line-length-none
              ${define} -J${folder} ${source}/${name} ${folder}/support.o -o ${folder}/${program} -ldl
      DEPENDS ${source}/${name} ${parts} ${folder}/support.o VERBATIM)
    list(APPEND programs ${folder}/${program})
  endforeach()
  add_custom_target(conformance_fortran_${mpi} ALL DEPENDS ${programs})
  set(fortran_${mpi}_programs ${programs} PARENT_SCOPE)
endfunction()

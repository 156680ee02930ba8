# mercutio_c_programs(folder programs COMPILE words... LINK words...): every C program of this folder, built into `folder` by these
# words; `programs` becomes their paths.
function(mercutio_c_programs folder result)
  cmake_parse_arguments(PARSE_ARGV 2 words "" "" "COMPILE;LINK")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/conformance/*.h ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  file(MAKE_DIRECTORY ${folder})
  set(programs)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_custom_command(OUTPUT ${folder}/${name}
      COMMAND ${words_COMPILE} -std=gnu11 -g -O1 -Wall -Wextra ${MERCUTIO_WERROR_FLAG} -Wno-deprecated-declarations -I${CMAKE_SOURCE_DIR}/tests/conformance
              ${source} -o ${folder}/${name} ${words_LINK} -ldl -lpthread
      DEPENDS ${source} ${headers} VERBATIM)
    list(APPEND programs ${folder}/${name})
  endforeach()
  set(${result} ${programs} PARENT_SCOPE)
endfunction()

# mercutio_mpi_programs(suite mpi): every C, C++ and Fortran program of this folder, built with that MPI's compiler wrappers into
# <build>/tests/<suite>/<mpi>/. They are plain MPI programs and link nothing of ours.
function(mercutio_mpi_programs suite mpi)
  find_program(MPICC_${mpi} NAMES mpicc.${mpi})
  find_program(MPIFORT_${mpi} NAMES mpif90.${mpi} mpifort.${mpi})
  find_program(MPICXX_${mpi} NAMES mpicxx.${mpi})
  find_program(MPIRUN_${mpi} NAMES mpirun.${mpi})
  if(NOT MPICC_${mpi} OR NOT MPIRUN_${mpi})
    return()
  endif()
  file(GLOB cplusplus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cxx)
  file(GLOB fortran CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.f ${CMAKE_CURRENT_SOURCE_DIR}/*.f90)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${mpi})
  mercutio_c_programs(${folder} programs COMPILE ${MPICC_${mpi}})
  if(MPICXX_${mpi} AND NOT CMAKE_CROSSCOMPILING)   # whose wrapper links no bindings for C++
    foreach(source IN LISTS cplusplus)
      get_filename_component(name ${source} NAME_WE)
      add_custom_command(OUTPUT ${folder}/${name} COMMAND ${MPICXX_${mpi}} -std=c++17 -w -g -O1 ${source} -o ${folder}/${name} DEPENDS ${source} VERBATIM)
      list(APPEND programs ${folder}/${name})
    endforeach()
  endif()
  if(MPIFORT_${mpi})
    foreach(source IN LISTS fortran)
      get_filename_component(name ${source} NAME_WE)
      add_custom_command(OUTPUT ${folder}/${name}
        COMMAND ${MPIFORT_${mpi}} -g -O1 -fallow-argument-mismatch ${source} -o ${folder}/${name}
        DEPENDS ${source} VERBATIM)
      list(APPEND programs ${folder}/${name})
    endforeach()
  endif()
  add_custom_target(${suite}_${mpi} ALL DEPENDS ${programs})
  set(${suite}_${mpi}_programs ${programs} PARENT_SCOPE)
endfunction()

# mercutio_run_programs(test mpi ranks programs...): a ctest through Mercutio. With BEFORE words... ARGUMENTS programs... these words are in
# front of the command.
function(mercutio_run_programs test mpi ranks)
  cmake_parse_arguments(PARSE_ARGV 3 words "" "" "BEFORE;ARGUMENTS")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(runtime)
  if(MERCUTIO_SANITIZER_RUNTIME)
    set(runtime --runtime ${MERCUTIO_SANITIZER_RUNTIME})
  endif()
  set(alarm)
  if(CMAKE_CROSSCOMPILING)   # six times as long, as for whole tests
    set(alarm --alarm 300)
  endif()
  add_test(NAME ${test} COMMAND ${words_BEFORE} ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/conformance/run.py --mpi ${mpi}
           --mpirun ${MPIRUN_${mpi}} --io ${CMAKE_BINARY_DIR}/lib/libmercutio.so --tools ${CMAKE_BINARY_DIR}/tests/tools
           --ranks ${ranks} ${runtime} ${MERCUTIO_EMULATOR} ${alarm} ${words_ARGUMENTS} ${words_UNPARSED_ARGUMENTS})
  set_tests_properties(${test} PROPERTIES LABELS "conformance;mpi" PROCESSORS 2)
  mercutio_time_limit(${test} 900)
endfunction()

# mercutio_unit_tests(folder): every *_test.cpp of src/<folder> in one program, registered as unit.<folder>.
find_package(GTest REQUIRED)

function(mercutio_unit_tests folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(unit_${folder} ${sources})
  target_link_libraries(unit_${folder} PRIVATE mercutio_checked mercutio_core mercutio_options GTest::gtest_main)
  add_test(NAME unit.${folder} COMMAND unit_${folder})
  set_tests_properties(unit.${folder} PROPERTIES LABELS unit)
  mercutio_time_limit(unit.${folder} 120)
endfunction()

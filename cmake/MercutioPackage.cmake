# What is installed beside the libraries and commands: find_package, pkg-config, man pages, completion, a modulefile.
include(CMakePackageConfigHelpers)

install(TARGETS mercutio LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/mercutio DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/mercutioConfig.cmake.in ${CMAKE_BINARY_DIR}/mercutioConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mercutio
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/mercutioConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/mercutioConfig.cmake ${CMAKE_BINARY_DIR}/mercutioConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mercutio COMPONENT dev)

# These hold the prefix, which `cmake --install --prefix` may change: they are written at install time.
set(mercutio_late_files cmake/mercutio.pc.in cmake/mercutio-omp.pc.in tools/modulefile/mercutio.lua.in tools/modulefile/mercutio.tcl.in)
set(mercutio_late_folders ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_DATADIR}/modulefiles/mercutio
    ${CMAKE_INSTALL_DATADIR}/modulefiles/mercutio)
set(mercutio_late_names mercutio.pc mercutio-omp.pc ${PROJECT_VERSION}.lua ${PROJECT_VERSION})
set(mercutio_late_components dev dev modulefile modulefile)   # a wheel and a distribution have no use for modulefiles
foreach(file folder name component IN ZIP_LISTS mercutio_late_files mercutio_late_folders mercutio_late_names mercutio_late_components)
  install(CODE "
    set(PROJECT_VERSION ${PROJECT_VERSION})
    get_filename_component(CMAKE_INSTALL_PREFIX \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
    set(CMAKE_INSTALL_BINDIR ${CMAKE_INSTALL_BINDIR})
    set(CMAKE_INSTALL_LIBDIR ${CMAKE_INSTALL_LIBDIR})
    set(CMAKE_INSTALL_MANDIR ${CMAKE_INSTALL_MANDIR})
    set(CMAKE_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
    set(CMAKE_INSTALL_DATADIR ${CMAKE_INSTALL_DATADIR})
    configure_file(\"${CMAKE_SOURCE_DIR}/${file}\" \"${CMAKE_BINARY_DIR}/install/${name}\" @ONLY)
    file(INSTALL \"${CMAKE_BINARY_DIR}/install/${name}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${folder}\")"
    COMPONENT ${component})
endforeach()

install(FILES ${CMAKE_SOURCE_DIR}/docs/man/mercutio.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
if(TARGET mercutiod)
  install(FILES ${CMAKE_SOURCE_DIR}/docs/man/mercutiod.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT server)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/mercutio.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7 COMPONENT tools)
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/omp_file.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT dev)
# Each routine's name leads to the page of all.
file(STRINGS ${CMAKE_SOURCE_DIR}/src/omp/symbols.txt mercutio_omp_names)
foreach(name IN LISTS mercutio_omp_names)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/man/${name}.3 CONTENT ".so man3/omp_file.3\n")
  install(FILES ${CMAKE_BINARY_DIR}/man/${name}.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT dev)
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/tools/completion/mercutio.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools RENAME mercutio)
# The documentation as it lies here, so that the links between its pages lead somewhere.
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CONTRIBUTING.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT lib)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT doc
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN "man" EXCLUDE)

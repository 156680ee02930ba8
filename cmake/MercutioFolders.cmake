# The folders of an installation, relative to its prefix: the library, the command, the modulefile and the files of pkg-config and find_package
# find each other by these, wherever the whole is moved. Some packagers give absolute ones.
foreach(mercutio_folder BINDIR LIBDIR LIBEXECDIR INCLUDEDIR DATADIR MANDIR DOCDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${mercutio_folder}}")
    file(RELATIVE_PATH mercutio_relative "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_${mercutio_folder}}")
    if(mercutio_relative MATCHES "^\\.\\." OR mercutio_relative STREQUAL "")
      message(FATAL_ERROR "CMAKE_INSTALL_${mercutio_folder}=${CMAKE_INSTALL_${mercutio_folder}}: must be in CMAKE_INSTALL_PREFIX=${CMAKE_INSTALL_PREFIX}, "
              "as an installation is found relative to itself")
    endif()
    set(CMAKE_INSTALL_${mercutio_folder} ${mercutio_relative})   # hides the cache's
  endif()
endforeach()

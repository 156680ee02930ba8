# mercutio_revision.h: the version, and the commit that is built where this is a git checkout or an archive of one (`make dist`). Included, it adds the target that keeps the
# header; run by that target (cmake -P), it writes the header if something changed.
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${SOURCE}/cmake/commit.txt commit LIMIT_COUNT 1)   # git archive writes the commit into it
  if(commit MATCHES "^[0-9a-f]+$")
    string(SUBSTRING ${commit} 0 12 commit)
  else()
    set(commit)
    execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix OUTPUT_VARIABLE inside RESULT_VARIABLE failed
      ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(failed STREQUAL "0" AND inside STREQUAL "")   # else the repository is somebody else's, around this tree
      execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=* OUTPUT_VARIABLE commit
        ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
  endif()
  set(revision ${VERSION})
  if(commit)
    set(revision "${VERSION} (${commit})")
  endif()
  file(CONFIGURE OUTPUT ${HEADER} CONTENT "#pragma once\n#define MERCUTIO_REVISION \"${revision}\"\n")
  return()
endif()

set(MERCUTIO_REVISION_DIR ${CMAKE_BINARY_DIR}/revision)
add_custom_target(mercutio_revision
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} -DHEADER=${MERCUTIO_REVISION_DIR}/mercutio_revision.h
          -P ${CMAKE_CURRENT_LIST_FILE}
  BYPRODUCTS ${MERCUTIO_REVISION_DIR}/mercutio_revision.h VERBATIM)

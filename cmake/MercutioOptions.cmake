# Warnings and sanitizers for every target of ours: target_link_libraries(x PRIVATE mercutio_options).
set(MERCUTIO_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
option(MERCUTIO_WERROR "Warnings are errors" ON)

add_library(mercutio_options INTERFACE)
target_compile_options(mercutio_options INTERFACE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)   # g++ 12 sees overlap in "text" + std::string (PR 105651)
if(MERCUTIO_WERROR)
  target_compile_options(mercutio_options INTERFACE -Werror)
endif()
if(MERCUTIO_SANITIZE)
  target_compile_options(mercutio_options INTERFACE -fsanitize=${MERCUTIO_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(mercutio_options INTERFACE -fsanitize=${MERCUTIO_SANITIZE})
endif()

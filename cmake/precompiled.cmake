# Standard headers, parsed once for the whole build instead of once a file: a quarter of the compile time.
#
# Done by hand, with names relative to the build folder and a checksum beside the header that tells the compiler cache what
# it stands for: so the cache is good for every build folder. CMake's own way writes absolute paths.
set(CARDEA_STANDARD_HEADERS algorithm array atomic chrono cstdint expected functional map memory mutex optional set span
  string string_view unordered_map utility variant vector)

# cardea_precompiled(<name> <headers...> [FLAGS <flags...>]): the flags are those that its users have beside the common ones.
function(cardea_precompiled name)
  cmake_parse_arguments(PRE "" "" "FLAGS" ${ARGN})
  list(TRANSFORM PRE_UNPARSED_ARGUMENTS REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE includes)
  string(JOIN "" text ${includes})
  get_directory_property(options COMPILE_OPTIONS)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  list(APPEND flags ${options} ${PRE_FLAGS} ${CMAKE_CXX${CMAKE_CXX_STANDARD}_STANDARD_COMPILE_OPTION})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.h CONTENT "${text}")
  string(SHA256 sum "${text} ${flags} ${CMAKE_CXX_COMPILER_VERSION}")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.pch.sum CONTENT "${sum}")
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/${name}.pch
    COMMAND ${CMAKE_CXX_COMPILER} ${flags} -Xclang -fno-pch-timestamp -x c++-header ${name}.h -o ${name}.pch
    DEPENDS ${CMAKE_BINARY_DIR}/${name}.h WORKING_DIRECTORY ${CMAKE_BINARY_DIR} COMMENT "Precompiling ${name}" VERBATIM)
  add_custom_target(${name} DEPENDS ${CMAKE_BINARY_DIR}/${name}.pch)
endfunction()

# Lets the files of a target begin with these headers. They still include what they use: nothing depends on it.
function(cardea_use_precompiled target name)
  add_dependencies(${target} ${name})
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${name}.pch")
endfunction()

cardea_precompiled(precompiled ${CARDEA_STANDARD_HEADERS})
# Rooms of libcardea: code that can be loaded anywhere, and nothing of it seen from outside but what says so.
set(CARDEA_LIBRARY_FLAGS -fPIC -fvisibility=hidden -fvisibility-inlines-hidden)
cardea_precompiled(precompiled_library ${CARDEA_STANDARD_HEADERS} FLAGS ${CARDEA_LIBRARY_FLAGS})
if(CARDEA_TESTS)
  cardea_precompiled(precompiled_tests ${CARDEA_STANDARD_HEADERS} gtest/gtest.h gmock/gmock.h)
endif()

# Standard headers, parsed once for the whole build instead of once a file: a quarter of the compile time.
#
# The compiler cache is told what a precompiled header stands for by a checksum beside it, so that its entries are good for
# every build folder.
set(CARDEA_STANDARD_HEADERS <algorithm> <array> <atomic> <chrono> <cstdint> <expected> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

function(cardea_precompiled target)
  set(source ${CMAKE_BINARY_DIR}/${target}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${target} OBJECT ${source})
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  string(SHA256 sum "${ARGN} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS_RELEASE} ${CARDEA_SANITIZE}")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.pch.sum CONTENT "${sum}")
endfunction()

cardea_precompiled(precompiled ${CARDEA_STANDARD_HEADERS})
if(CARDEA_TESTS)
  cardea_precompiled(precompiled_tests ${CARDEA_STANDARD_HEADERS} <gtest/gtest.h> <gmock/gmock.h>)
endif()

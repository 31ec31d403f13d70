# cardea_room(<name> [CONCURRENT] [UNITY] [IN_LIBRARY] USES <rooms...> SEES <rooms...> LINK <libraries...>)
#
# IN_LIBRARY marks rooms that libcardea is made of (cmake/library.cmake); they use only each other.
# UNITY marks rooms whose sources can be compiled in batches (-DCARDEA_UNITY=ON): no two of them use one name for two things.
# CONCURRENT marks rooms whose tests are worth running under the thread sanitizer.
# One folder under src/ becomes one library. Its `*_test.cc` files become the test program
# `<name>_test`. Sources below its folder `testing/` become the library `cardea_<name>_testing`, which tests of this
# room and of the rooms that use it link, and the product never.
#
# Each room has an include root of its own, a folder with one link to it, and whoever links a room does not see what
# that room uses: so a room includes the rooms it USES and no others. Headers of those may include yet other rooms. They
# are named in SEES: the compiler finds them, and `./dev lint` refuses to have them included by the room itself.
function(cardea_room name)
  cmake_parse_arguments(ROOM "CONCURRENT;UNITY;IN_LIBRARY" "" "USES;SEES;LINK" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(support ${sources})
  list(FILTER sources EXCLUDE REGEX "^${dir}/testing/")
  list(FILTER support INCLUDE REGEX "^${dir}/testing/")

  set(root ${CMAKE_BINARY_DIR}/rooms/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${dir} ${root}/${name} SYMBOLIC)

  add_library(cardea_${name} STATIC ${sources})
  if(CARDEA_UNITY AND ROOM_UNITY)
    set_target_properties(cardea_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  if(ROOM_IN_LIBRARY)
    target_compile_options(cardea_${name} PRIVATE ${CARDEA_LIBRARY_FLAGS})
    cardea_use_precompiled(cardea_${name} precompiled_library)
    set_property(GLOBAL APPEND PROPERTY CARDEA_LIBRARY_ROOMS ${name})
  else()
    cardea_use_precompiled(cardea_${name} precompiled)
  endif()
  target_include_directories(cardea_${name} PUBLIC ${root})
  set_property(TARGET cardea_${name} PROPERTY CARDEA_USES ${ROOM_USES} ${ROOM_SEES})
  foreach(room ${ROOM_USES} ${ROOM_SEES})
    target_link_libraries(cardea_${name} PRIVATE cardea_${room})
  endforeach()
  target_link_libraries(cardea_${name} PUBLIC ${ROOM_LINK} Threads::Threads)
  target_link_libraries(cardea_rooms INTERFACE cardea_${name})
  if(support)
    add_library(cardea_${name}_testing STATIC EXCLUDE_FROM_ALL ${support})
    cardea_use_precompiled(cardea_${name}_testing precompiled)
    cardea_use_rooms(cardea_${name}_testing ${name})
  endif()
  if(EXISTS ${dir}/room.cmake)
    include(${dir}/room.cmake)
  endif()

  if(CARDEA_TESTS AND tests)
    add_executable(${name}_test ${tests})
    cardea_use_precompiled(${name}_test precompiled_tests)
    foreach(room ${name} ${ROOM_USES})
      if(TARGET cardea_${room}_testing)
        target_link_libraries(${name}_test PRIVATE cardea_${room}_testing)
      endif()
    endforeach()
    cardea_use_rooms(${name}_test ${name})
    target_link_libraries(${name}_test PRIVATE gtest gmock gtest_main)
    add_test(NAME ${name} COMMAND ${name}_test)
    if(ROOM_CONCURRENT)
      set_tests_properties(${name} PROPERTIES LABELS concurrent)
      add_dependencies(concurrent_tests ${name}_test)
    endif()
  endif()
endfunction()

# Lets a program see and link these rooms and what they use.
function(cardea_use_rooms target)
  foreach(room ${ARGN})
    get_target_property(uses cardea_${room} CARDEA_USES)
    target_link_libraries(${target} PRIVATE cardea_${room})
    foreach(friend ${uses})
      if(TARGET cardea_${friend})
        target_link_libraries(${target} PRIVATE cardea_${friend})
      endif()
    endforeach()
  endforeach()
endfunction()

add_library(cardea_rooms INTERFACE)  # all of them

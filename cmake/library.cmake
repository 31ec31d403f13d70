# libcardea: the rooms that decide as one library for other programs, shared and static; and its installation.
#
#   cmake --install BUILD --component library --prefix WHERE
#
# installs headers, both libraries, a CMake package (find_package(cardea)) and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CARDEA_INTERFACE 1)  # as in include/cardea/version.h
file(STRINGS ${CMAKE_SOURCE_DIR}/include/cardea/version.h version REGEX "define CARDEA_VERSION \"")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" CARDEA_LIBRARY_VERSION "${version}")
get_property(rooms GLOBAL PROPERTY CARDEA_LIBRARY_ROOMS)
list(REMOVE_ITEM rooms engine)
list(TRANSFORM rooms PREPEND cardea_)

# Shared: all of `engine`, and of the other rooms what it needs. Only the public interface is seen from outside.
add_library(cardea_shared SHARED $<TARGET_OBJECTS:cardea_engine>)
set_target_properties(cardea_shared PROPERTIES
  OUTPUT_NAME cardea VERSION ${CARDEA_INTERFACE}.0.0 SOVERSION ${CARDEA_INTERFACE} EXPORT_NAME cardea
  LINKER_LANGUAGE CXX LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/libcardea.map)
target_link_libraries(cardea_shared PRIVATE ${rooms})
target_link_options(cardea_shared PRIVATE
  -Wl,--as-needed -Wl,--gc-sections -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/libcardea.map)
if(NOT CARDEA_SANITIZE)  # the program brings the functions of a sanitizer
  target_link_options(cardea_shared PRIVATE -Wl,--no-undefined)
endif()
target_include_directories(cardea_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# Static: the archives of all its rooms as one, without debugging information.
set(archive ${CMAKE_BINARY_DIR}/libcardea.a)
set(script "create ${archive}\n")
foreach(room ${rooms} cardea_engine)
  string(APPEND script "addlib $<TARGET_FILE:${room}>\n")
endforeach()
string(APPEND script "save\nend\n")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/libcardea.mri CONTENT "${script}")
add_custom_command(OUTPUT ${archive}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
  COMMAND ${CMAKE_AR} -M < ${CMAKE_BINARY_DIR}/libcardea.mri
  COMMAND ${CMAKE_STRIP} --strip-debug ${archive}
  DEPENDS ${rooms} cardea_engine COMMENT "Merging libcardea.a" VERBATIM)
add_custom_target(cardea_static ALL DEPENDS ${archive})

set(to COMPONENT library)
install(TARGETS cardea_shared EXPORT cardea-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT library)
install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR} ${to})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/cardea DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${to})
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/cardea)
install(EXPORT cardea-targets NAMESPACE cardea:: DESTINATION ${package} ${to})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/cardea-config.cmake.in ${CMAKE_BINARY_DIR}/cardea-config.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cardea-config-version.cmake
  VERSION ${CARDEA_LIBRARY_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cardea-config.cmake ${CMAKE_BINARY_DIR}/cardea-config-version.cmake
  DESTINATION ${package} ${to})
file(RELATIVE_PATH CARDEA_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/cardea.pc.in ${CMAKE_BINARY_DIR}/cardea.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/cardea.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${to})

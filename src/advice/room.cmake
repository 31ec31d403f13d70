# The page that is tested is the one in docs/.
set_source_files_properties(${dir}/permission_page_test.cc PROPERTIES
  COMPILE_DEFINITIONS "CARDEA_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"")

set_source_files_properties(${dir}/testing/recordings.cc PROPERTIES
  COMPILE_DEFINITIONS "CARDEA_RECORDINGS=\"${CMAKE_SOURCE_DIR}/tests/conformance/data/http\"")

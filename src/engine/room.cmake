# What strangers include.
target_include_directories(cardea_engine PUBLIC ${CMAKE_SOURCE_DIR}/include)

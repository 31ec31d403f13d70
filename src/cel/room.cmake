# Time zones come from abseil, which reads the system's zone files.
find_package(absl REQUIRED)
target_link_libraries(cardea_cel PRIVATE absl::time)

# Compiler flags, sanitizers, the fast linker and the compiler cache.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -fno-omit-frame-pointer)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

if(CARDEA_SANITIZE)
  add_compile_options(-fsanitize=${CARDEA_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CARDEA_SANITIZE})
endif()

find_package(Threads REQUIRED)

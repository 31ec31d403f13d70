# Compiler flags, sanitizers, the fast linker and the compiler cache.
# libstdc++ 12 uses its own deprecated get_temporary_buffer in std::stable_sort, hence the last warning flag.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -Wno-deprecated-declarations -fno-omit-frame-pointer)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# What the loader has resolved can no longer be written to, and no stack holds code.
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

if(CARDEA_SANITIZE)
  add_compile_options(-fsanitize=${CARDEA_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CARDEA_SANITIZE})
endif()

find_package(Threads REQUIRED)

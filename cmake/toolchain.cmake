# Compiler flags, sanitizers, the fast linker and the compiler cache.
# libstdc++ 12 uses its own deprecated get_temporary_buffer in std::stable_sort, hence the last warning flag.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -Wno-deprecated-declarations -fno-omit-frame-pointer)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# What the loader has resolved can no longer be written to, and no stack holds code. A smashed stack, a call of the C
# library beyond a buffer it knows, and a jump to where no function begins end the program.
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
add_compile_options(-fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  add_compile_options(-fcf-protection=full)
  add_link_options(-Wl,-z,ibt,-z,shstk)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  add_compile_options(-mbranch-protection=standard)
endif()
if(NOT CARDEA_SANITIZE)  # sanitizers check these calls themselves
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
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

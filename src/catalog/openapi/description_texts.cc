#include "catalog/openapi/descriptions.h"

// As in data.cc, the assembler copies the files. A source of their own keeps them out of
// libcardea, which writes no OpenAPI.
#define CARDEA_TEXTS(name) ".incbin \"" CARDEA_CATALOG_DATA "/descriptions/" name ".txt\"\n"

asm(".section .rodata\n"
    ".hidden cardea_descriptions_begin, cardea_descriptions_end\n"
    ".global cardea_descriptions_begin\ncardea_descriptions_begin:\n"
    // clang-format off
    CARDEA_TEXTS("access")
    CARDEA_TEXTS("admissionregistration")
    CARDEA_TEXTS("apiextensions")
    CARDEA_TEXTS("apps")
    CARDEA_TEXTS("autoscaling")
    CARDEA_TEXTS("batch")
    CARDEA_TEXTS("core")
    CARDEA_TEXTS("meta")
    CARDEA_TEXTS("networking")
    CARDEA_TEXTS("others")
    CARDEA_TEXTS("pods")
    CARDEA_TEXTS("policy")
    CARDEA_TEXTS("rbac")
    CARDEA_TEXTS("volumes")
    // clang-format on
    ".global cardea_descriptions_end\ncardea_descriptions_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" {
extern const char cardea_descriptions_begin[], cardea_descriptions_end[];
}

namespace cardea::catalog::openapi {

std::string_view description_texts() {
  return {cardea_descriptions_begin, cardea_descriptions_end};
}

}  // namespace cardea::catalog::openapi

#include "catalog/data.h"

// The compiler would need seconds for an array of this size; the assembler copies the file.
asm(".section .rodata\n"
    ".hidden cardea_types_begin, cardea_types_end, cardea_resources_begin, cardea_resources_end\n"
    ".hidden cardea_own_resources_begin\n"
    ".global cardea_types_begin\ncardea_types_begin:\n.incbin \"" CARDEA_CATALOG_DATA
    "/types.jsonl\"\n"
    ".incbin \"" CARDEA_CATALOG_DATA
    "/own_types.jsonl\"\n"
    ".global cardea_types_end\ncardea_types_end:\n"
    ".global cardea_resources_begin\ncardea_resources_begin:\n.incbin \"" CARDEA_CATALOG_DATA
    "/resources.jsonl\"\n"
    ".global cardea_own_resources_begin\ncardea_own_resources_begin:\n"
    ".incbin \"" CARDEA_CATALOG_DATA
    "/own_resources.jsonl\"\n"
    ".global cardea_resources_end\ncardea_resources_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" {
extern const char cardea_types_begin[], cardea_types_end[];
extern const char cardea_resources_begin[], cardea_own_resources_begin[], cardea_resources_end[];
}

namespace cardea::catalog {

std::string_view types_data() {
  return {cardea_types_begin, cardea_types_end};
}
std::string_view resources_data() {
  return {cardea_resources_begin, cardea_own_resources_begin};
}
std::string_view own_resources_data() {
  return {cardea_own_resources_begin, cardea_resources_end};
}

}  // namespace cardea::catalog

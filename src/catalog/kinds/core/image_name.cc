#include "catalog/kinds/core/image_name.h"

#include <re2/re2.h>

namespace cardea::catalog {
namespace {

// [domain/]path[:tag][@digest], as container registries write it.
const RE2& reference_pattern() {
  static const RE2 pattern(
      R"((?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)"
      R"((?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*)"
      R"(|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?)"
      R"(([a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*))"
      R"((?::(\w[\w.-]{0,127}))?)"
      R"((?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?)");
  return pattern;
}

bool is_bare_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string image_tag(std::string_view reference) {
  std::string path, tag, digest;
  if (is_bare_digest(reference) ||
      !RE2::FullMatch(re2::StringPiece(reference.data(), reference.size()), reference_pattern(),
                      &path, &tag, &digest))
    return "";
  if (tag.empty() && digest.empty()) return "latest";
  return tag;
}

std::string_view default_pull_policy(std::string_view image) {
  return image_tag(image) == "latest" ? "Always" : "IfNotPresent";
}

}  // namespace cardea::catalog

#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/field_error.h"
#include "json/value.h"

namespace cardea::authz::namespace_policy {

inline constexpr std::string_view kGroupWord = "resourcegroup:";

// Names for lists of resources: a rule says `resourcegroup:builds`. Groups may contain other
// groups; a group that contains itself, directly or not, is an error. An immutable value.
class ResourceGroups {
 public:
  // The groups that every server has.
  static const ResourceGroups& built_in();
  // The built-in groups with the additions and replacements of a document, `{"mine": ["pods",
  // "resourcegroup:builds"]}`.
  static ResourceGroups with(const json::Value& document, json::FieldErrors& errors);

  // All members, nested groups expanded, each once; null: the group does not exist.
  const std::vector<std::string>* members(std::string_view name) const;
  // A list of kinds with its groups expanded, `-resourcegroup:x` as `-` before each member.
  // False: some group is not known; its word stays unchanged.
  bool expand(const std::vector<std::string>& kinds, std::vector<std::string>& out) const;

 private:
  using Map = std::map<std::string, std::vector<std::string>, std::less<>>;
  explicit ResourceGroups(Map open) : open_(std::move(open)) {}
  Map open_;
};

}  // namespace cardea::authz::namespace_policy

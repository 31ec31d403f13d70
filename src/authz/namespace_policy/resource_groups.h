#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/field_error.h"
#include "json/value.h"

namespace cardea::authz::namespace_policy {

inline constexpr std::string_view kGroupWord = "resourcegroup:";

// Names for lists of resources: a rule says `resourcegroup:builds`. Groups may name others; a group
// that names itself by any way is an error. An immutable value.
class ResourceGroups {
 public:
  // Those that every server knows.
  static const ResourceGroups& built_in();
  // Those and what a document adds or replaces, `{"mine": ["pods", "resourcegroup:builds"]}`.
  static ResourceGroups with(const json::Value& document, json::FieldErrors& errors);

  // Everything in it, nested groups opened, each once; null: there is no such group.
  const std::vector<std::string>* members(std::string_view name) const;
  // A list of kinds with its groups opened, `-resourcegroup:x` as `-` before each member. False:
  // some group is not known; its word stays as it is.
  bool expand(const std::vector<std::string>& kinds, std::vector<std::string>& out) const;

 private:
  using Map = std::map<std::string, std::vector<std::string>, std::less<>>;
  explicit ResourceGroups(Map open) : open_(std::move(open)) {}
  Map open_;
};

}  // namespace cardea::authz::namespace_policy

#pragma once
#include <random>
#include <string>
#include <vector>

#include "authz/rbac/role_table.h"
#include "authz/user.h"
#include "json/value.h"

namespace cardea::authz::rbac {

// Random roles, bindings and requests from few words, so that they match often. For tests that
// compare two ways of deciding. Some objects are invalid.
struct RandomRequest {
  User user;
  bool is_resource_request = true;
  std::string verb, api_group, namespace_name, resource, subresource, name, path;
  Attributes attributes() const;
};

class RandomWorld {
 public:
  explicit RandomWorld(std::uint64_t seed);

  // Objects with kind and metadata, each name once per kind and namespace.
  const std::vector<json::Value>& objects() const { return objects_; }
  RandomRequest request();
  // Rules of a role that a user may want to write.
  json::Value rules();

  // The same objects in an index.
  void fill(RoleTable& policy) const;

 private:
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  std::string one_of(const std::vector<std::string>& words) { return words[below(words.size())]; }
  json::Value some_of(const std::vector<std::string>& words, std::size_t at_most);
  json::Value rule();
  json::Value subject();
  void add_role(std::string namespace_name, std::string name);
  void add_binding(std::string namespace_name, std::string name);

  std::mt19937_64 random_;
  std::vector<json::Value> objects_;
};

void add_object(RoleTable& policy, const json::Value& object);
void remove_object(RoleTable& policy, const json::Value& object);

}  // namespace cardea::authz::rbac

#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "authz/request_info.h"
#include "authz/user.h"

namespace cardea::authz {

// The question: may `user` do this? Borrows everything.
struct Attributes {
  const User& user;
  bool is_resource_request = false;
  std::string_view verb;
  std::string_view api_group, api_version, namespace_name, resource, subresource, name;
  std::string_view path;                 // of a request that is not about a resource
  const Selectors* selectors = nullptr;  // null: none were sent
  std::string_view via = {};  // the servers that passed this question on, in the form of kViaHeader
  bool above_namespaces = false;  // the documents of single namespaces do not count: the caller
                                  // holds a grant above them
  bool takes_conditions = false;  // whether the answer may be conditional; otherwise the chain
                                  // reduces conditional answers to plain ones

  Attributes(const User& who, const RequestInfo& what);
  explicit Attributes(const User& who) : user(who) {}
};

// The header of a review that names the servers it came through, each by the id that it has for its
// lifetime: `Cardea-Via: ID, ID`. A server that finds itself there answers with the status kCircle:
// authorizers that ask each other in a circle would never come to an end. It counts as a denial.
inline constexpr std::string_view kViaHeader = "Cardea-Via";
inline constexpr int kCircle = 508;
inline constexpr std::size_t kMostHops = 16;

// A question that owns its data, for asking later.
class OwnedAttributes {
 public:
  explicit OwnedAttributes(const Attributes& from);
  OwnedAttributes(const OwnedAttributes&) = delete;
  const Attributes& get() const { return attributes_; }

 private:
  std::string_view keep(std::string_view text);

  User user_;
  std::string text_;
  std::optional<Selectors> selectors_;
  Attributes attributes_;
};

}  // namespace cardea::authz

#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "authz/attributes.h"
#include "json/value.h"

namespace cardea::advice {

// Who still acts as others by the verb `impersonate`, which is good for every user and every
// action, and the constrained permissions that would allow just what they did. Read from audit
// events (audit.k8s.io/v1). Not shared between threads.
class ImpersonationUse {
 public:
  // A sender, as the log names it.
  struct Sender {
    std::size_t requests = 0;
    std::set<std::string> users;  // it acted as these
    std::size_t impossible = 0;   // requests that no constrained mode allows to anybody
  };

  // `only` is one sender; empty: all of them.
  explicit ImpersonationUse(std::string only = {}) : only_(std::move(only)) {}

  void take(const json::Value& event);  // one event, or an EventList

  const std::map<std::string, Sender>& senders() const { return senders_; }
  std::size_t constrained() const { return constrained_; }  // requests that need no change

  // Roles and their bindings, ready for `kubectl apply`: `impersonate:MODE` for the users by name,
  // `impersonate-on:MODE:VERB` for the actions, in the namespaces where they happened.
  std::vector<json::Value> objects() const;

 private:
  struct Place {
    std::string sender, space;  // space: empty for the whole cluster
    auto operator<=>(const Place&) const = default;
  };
  struct Permission {
    std::string group, resource, path, verb;
    auto operator<=>(const Permission&) const = default;
  };

  bool take_request(const json::Value& event);
  void need(const std::string& sender, const authz::Attributes& question);

  const std::string only_;
  std::map<std::string, Sender> senders_;
  std::map<Place, std::map<Permission, std::set<std::string>>> needed_;  // by the names of objects
  std::size_t constrained_ = 0;
};

}  // namespace cardea::advice

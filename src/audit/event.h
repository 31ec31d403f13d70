#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/policy.h"
#include "authz/user.h"
#include "http/message.h"
#include "json/value.h"

namespace cardea::audit {

struct ObjectRef {
  std::string resource, namespace_name, name, uid, api_group, api_version, resource_version,
      subresource;
};

// The facts about a request when its sender is known. Shared by the request's events.
struct Arrival {
  Level level = Level::kNone;
  bool omit_managed_fields = false;
  std::string audit_id, uri, verb, user_agent;
  authz::User user;  // empty when the credentials were refused
  std::vector<std::string> source_ips;
  bool has_object = false;
  ObjectRef object;  // as the URL names it
  std::chrono::system_clock::time_point received;
};

// The bytes that were sent as an answer, and how to read them.
struct AnswerBody {
  enum class Kind : std::uint8_t { kOther, kObject, kStatus };
  Kind kind = Kind::kOther;
  bool is_yaml = false;
  http::Body bytes;
};

// One event of the audit log. Made on a loop's thread from existing data; turned into text on
// the thread that writes it.
struct Event {
  std::shared_ptr<const Arrival> arrival;
  Stage stage = Stage::kRequestReceived;
  std::chrono::system_clock::time_point at;
  std::shared_ptr<const authz::User> impersonated;  // null: no impersonation
  std::string impersonation_constraint;  // "impersonate:user-info"; empty for the old sort
  ObjectRef sent;  // the name and namespace in the body, where the URL has none
  int code = 0;    // 0: no answer yet
  AnswerBody answer;
  bool has_request_object = false;
  json::Value request_object;
  std::size_t request_bytes = 0;  // the approximate size of `request_object`
  std::vector<std::pair<std::string, std::string>> annotations;

  std::size_t weight() const { return 1024 + request_bytes + answer.bytes.size(); }
};
using EventPtr = std::shared_ptr<const Event>;

// An audit.k8s.io/v1 Event on one line, whatever its content is. `bare` leaves out the objects, and
// adds an annotation about this.
std::string print_json(const Event& event, bool bare = false);
// The line in kube-apiserver's format `legacy`.
std::string print_legacy(const Event& event);

}  // namespace cardea::audit

// rooms: audit
// Any bytes as an audit policy, and in every text of an event: an answer or an error, never a
// crash; an event is one line of JSON that says no more than it was told.
#include <cstdint>
#include <string_view>

#include "audit/event.h"
#include "audit/policy.h"
#include "json/parse.h"

using namespace cardea;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto policy = audit::Policy::load(text)) {
    authz::User user{.name = "jane", .groups = {"dev"}};
    for (std::string_view path : {"/api/v1/namespaces/a/pods/x/log", "/version"})
      if (auto info = authz::parse_request_info("GET", path, "")) {
        (void)policy->treat(&user, *info);
        (void)policy->treat(nullptr, *info);
      }
  }
  auto arrival = std::make_shared<audit::Arrival>();
  arrival->level = audit::Level::kRequestResponse;
  arrival->audit_id = arrival->uri = arrival->user_agent = arrival->object.name = arrival->user
                                                                                      .name = text;
  arrival->has_object = true;
  audit::Event event;
  event.arrival = arrival;
  event.code = 200;
  event.answer = {audit::AnswerBody::Kind::kStatus, false, http::Body(std::string(text))};
  std::string line = audit::print_json(event);
  auto read = json::parse(line);
  if (line.find('\n') != std::string::npos || (read && read->has("annotations"))) __builtin_trap();
  if (audit::print_legacy(event).find('\n') != std::string::npos) __builtin_trap();
  return 0;
}

// rooms: impersonation
// Any headers and any answers of the authorizers: a user, of whom every part was allowed, or a
// refusal in words.
//
// The first 8 bytes are the answers, one bit each; what follows are lines of `Name: value`.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/strings.h"
#include "impersonation/attempt.h"
#include "impersonation/headers.h"

namespace {

using namespace cardea;
using impersonation::Attempt;
using impersonation::Mode;

void check(bool holds) {
  if (!holds) std::abort();
}

void attempt(const authz::User& asked, std::uint64_t answers, Attempt::Rules rules) {
  static const authz::RequestInfo info = *authz::parse_request_info(
      "GET", "/api/v1/namespaces/ns/pods", "");
  static const authz::User sender{.name = "system:serviceaccount:ns:agent",
                                  .uid = "",
                                  .groups = {"g"},
                                  .extra = {{"authentication.kubernetes.io/node-name", {"n1"}}}};
  std::size_t values = 0, count = 0;
  for (const auto& [key, list] : asked.extra) values += list.size();
  Attempt a(sender, asked, info, rules);
  bool last = false;
  while (const authz::Attributes* question = a.question()) {
    check(++count <= 2 * (asked.groups.size() + values + 2) + 8);
    check(question->verb.starts_with("impersonate"));
    last = answers >> (count % 64) & 1;
    a.answer(last ? authz::Decision::allow() : authz::Decision::no_opinion());
  }
  if (!a.is_allowed()) {
    check(a.refusal().message.find(
              "forbidden: User \"system:serviceaccount:ns:agent\" cannot impersonate") !=
          std::string::npos);
    return;
  }
  // INVARIANT: at least one question was asked, and the answer to the last one was yes (or a probe
  // got no and everything after it yes).
  check(count > 0 && answers != 0 && last);
  bool is_constrained = a.mode() != Mode::kLegacy;
  authz::User user = a.take_user();
  check(user.name == asked.name && user.uid == asked.uid && user.extra == asked.extra);
  check(user.in_group(authz::kAuthenticatedGroup) || user.in_group(authz::kUnauthenticatedGroup));
  if (is_constrained) check(!user.in_group(authz::kMastersGroup) && !user.in_group(""));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8) return 0;
  std::uint64_t answers;
  std::memcpy(&answers, data, 8);
  http::Headers headers;
  for (std::string_view line : split({reinterpret_cast<const char*>(data) + 8, size - 8}, '\n')) {
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !http::is_token(line.substr(0, colon)) ||
        !http::is_field_value(line.substr(colon + 1)))
      continue;
    headers.add(line.substr(0, colon), trim(line.substr(colon + 1)));
  }
  auto asked = impersonation::requested_user(headers);
  impersonation::remove_headers(headers);
  for (http::Header h : headers) check(!lower(h.name).starts_with("impersonate-"));
  if (!asked || !*asked) return 0;
  check(!(*asked)->name.empty());
  attempt(**asked, answers, Attempt::Rules::kConstrained);
  attempt(**asked, answers, Attempt::Rules::kLegacyOnly);
  return 0;
}

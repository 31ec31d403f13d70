// rooms: rest
// What a cluster sends to the bridge: admission reviews, webhook configurations. A review that was
// read asks questions of one user, about one resource, and settles nothing without its objects.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "json/parse.h"
#include "rest/bridge/admission_question.h"
#include "rest/bridge/coverage.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cardea;
  auto document = json::parse({reinterpret_cast<const char*>(data), size});
  if (!document) return 0;
  if (auto question = rest::bridge::AdmissionQuestion::read(*document)) {
    const auto candidates = (*question)->candidates();
    check(!candidates.empty());
    for (const authz::Attributes& a : candidates) {
      check(&a.user == &candidates[0].user && a.resource == candidates[0].resource);
      check(a.is_resource_request && !a.verb.empty() && !a.resource.empty());
    }
    const json::Value& request = (*document)["request"];
    if ((*question)->problem_of_data().empty())
      check(request["object"].is_object() || request["oldObject"].is_object());
  }
  auto coverage = rest::bridge::Coverage::read(*document, "bridge.cardea.dev", *document);
  const authz::User user{.name = "u"};
  authz::Attributes read(user);
  read.is_resource_request = true;
  read.verb = "get";
  read.api_version = "v1";
  read.resource = "pods";
  check(!coverage || !coverage->covers(read));
  return 0;
}

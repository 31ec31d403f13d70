// rooms: authz
// What a webhook answers, about requests and about conditions: whatever it is, it allows only by
// saying so, settles nothing beyond its own conditions, and means the same when it is printed and
// read again.
#include <cstdint>
#include <cstdlib>

#include "authz/wire/webhook_conditions.h"
#include "json/parse.h"

namespace {

using namespace cardea;
using authz::Decision;
using authz::wire::Dialect;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_conditional(const Decision& d) {
  authz::Outcomes possible = authz::possible_outcomes(d);
  check(possible.allow || possible.deny);
  check(!authz::folded(d).allowed());
  json::FieldErrors errors;
  auto again = authz::wire::from_tree(authz::wire::as_tree(d), "again", errors,
                                      authz::Author::kThirdParty);
  check(again.has_value() && authz::possible_outcomes(*again) == possible);
}

const Decision& open() {
  static const Decision made = authz::conditional_on(
      {.conditions = {{.effect = authz::Condition::Effect::kAllow, .id = "example.com/a"}}});
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto document = json::parse({reinterpret_cast<const char*>(data), size});
  if (!document || !document->is_object()) return 0;
  for (Dialect dialect : {Dialect::kNone, Dialect::kTree, Dialect::kList}) {
    auto decision = authz::wire::decision_in_status(*document, dialect);
    if (!decision) continue;
    // A chain that was asked for may come to a plain Allow: something that can only allow, and then
    // an Allow.
    bool is_plain = (*document)["conditionalDecision"].is_null() &&
                    (*document)["conditionsChain"].is_null();
    if (decision->allowed())
      check(is_plain ? (*document)["allowed"].as_bool() && !(*document)["denied"].as_bool()
                     : dialect != Dialect::kNone);
    if (decision->kind != Decision::Kind::kConditional) continue;
    check(dialect != Dialect::kNone);
    check_conditional(*decision);
  }
  for (Dialect dialect : {Dialect::kTree, Dialect::kList}) {
    Decision settled = authz::wire::settled_by(*document, open(), "u", dialect);
    check(settled.kind == Decision::Kind::kAllow || settled.kind == Decision::Kind::kNoOpinion);
    if (settled.allowed() && dialect == Dialect::kTree)
      check((*document)["response"]["uid"].as_string() == "u");
  }
  return 0;
}

#include "rest/reviews/condition_seal.h"

#include <algorithm>

#include "authz/user_info.h"
#include "authz/wire/decision_json.h"
#include "authz/wire/sealed_text.h"
#include "base/strings.h"
#include "crypto/digest.h"
#include "crypto/equal.h"
#include "json/print.h"

namespace cardea::rest {

using authz::Condition;
using authz::Conditions;
using authz::Decision;
using authz::wire::kSealedType;
using authz::wire::SealedText;
using json::Value;

namespace {

constexpr std::chrono::minutes kSkew{1};  // between the clocks of servers with the same secret
constexpr std::int64_t kKeyLifetime = 3600;

std::int64_t seconds(ConditionSeal::Time at) {
  return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

// Servers tell the groups of a user in their own order.
Value identity(const authz::User& user) {
  authz::User sorted = user;
  std::ranges::sort(sorted.groups);
  return authz::user_info(sorted, authz::EmptyMembers::kShown);
}

// Whether a request with this verb has conditions evaluated for this operation. An update may turn
// out to create the object; every verb may be the one of a connection.
bool leads_to(std::string_view verb, std::string_view operation) {
  if (operation == "CREATE") return verb == "create" || verb == "update" || verb == "patch";
  if (operation == "UPDATE") return verb == "update" || verb == "patch";
  if (operation == "DELETE") return verb == "delete" || verb == "deletecollection";
  return operation == "CONNECT";
}

bool is_opaque(const Condition& c) {
  return !authz::is_cel_type(c.type) && c.type != authz::kParentType;
}

}  // namespace

ConditionSeal::ConditionSeal(std::string secret) : secret_(std::move(secret)) {
  CARDEA_CHECK(!secret_.empty());
}

struct ConditionSeal::Bond {
  std::string_view asker, author;
  const authz::User& user;
  std::string_view group, version, resource, subresource, space;
  Condition::Effect effect;
  std::string_view id;
  const SealedText& text;
};

std::string ConditionSeal::code(const Bond& b) const {
  const std::string key = crypto::hmac_sha256(
      secret_, cat("sealed conditions ", b.text.issued / kKeyLifetime));
  return crypto::hmac_sha256(
      key, json::print(
               Value::array({b.asker, b.author, identity(b.user), b.group, b.version, b.resource,
                             b.subresource, b.space, authz::effect_name(b.effect), b.id,
                             b.text.issued, b.text.verb, b.text.name, b.text.type, b.text.text})));
}

Condition ConditionSeal::sealed(const Condition& c, std::string_view author, std::string_view asker,
                                const authz::Attributes& q, Time now) const {
  SealedText text{.issued = seconds(now),
                  .verb = std::string(q.verb),
                  .name = std::string(q.name),
                  .type = c.type,
                  .text = c.shown_text()};
  text.code = code({asker, author, q.user, q.api_group, q.api_version, q.resource, q.subresource,
                    q.namespace_name, c.effect, c.id, text});
  Condition out = c;
  out.compiled = nullptr;
  out.type = kSealedType;
  out.text = text.print();
  return out;
}

Decision ConditionSeal::seal_inside(const Decision& d, std::string_view author,
                                    std::string_view asker, const authz::Attributes& question,
                                    Time now) const {
  if (d.kind != Decision::Kind::kConditional) return d;
  if (const Conditions::Set* set = d.conditions->set()) {
    if (std::ranges::none_of(set->conditions, is_opaque)) return d;
    Conditions::Set out = *set;
    for (Condition& c : out.conditions)
      if (is_opaque(c)) c = sealed(c, author, asker, question, now);
    return Decision::conditional(std::make_shared<const Conditions>(std::move(out)));
  }
  const Conditions::Chain* chain = d.conditions->chain();
  if (!chain) return d;
  Conditions::Chain out;
  for (const authz::NamedDecision& n : *chain)
    out.push_back({n.authorizer, seal_inside(n.decision, authz::wire::inside(author, n.authorizer),
                                             asker, question, now)});
  return Decision::conditional(std::make_shared<const Conditions>(std::move(out)));
}

Decision ConditionSeal::seal(const Decision& decision, const authz::Chain& chain,
                             std::string_view asker, const authz::Attributes& question,
                             Time now) const {
  const bool is_chain = decision.kind == Decision::Kind::kConditional &&
                        decision.conditions->chain();
  if (!is_chain) return decision;
  auto is_webhook = [&](std::string_view name) {
    auto at = std::ranges::find(chain.authorizers(), name, [](const auto& a) { return a->name(); });
    return at != chain.authorizers().end() && (*at)->type() == "Webhook";
  };
  Conditions::Chain out;
  for (const authz::NamedDecision& n : *decision.conditions->chain())
    out.push_back({n.authorizer, is_webhook(n.authorizer)
                                     ? seal_inside(n.decision, n.authorizer, asker, question, now)
                                     : n.decision});
  return Decision::conditional(std::make_shared<const Conditions>(std::move(out)));
}

Result<Condition> ConditionSeal::open(const Condition& sealed, std::string_view author,
                                      std::string_view asker, const authz::ConditionData& data,
                                      Time now) const {
  auto wrong = [&](std::string_view why) {
    return fail(bad_request(cat("condition ", quoted(sealed.id), " ", why)));
  };
  auto text = SealedText::parse(sealed.text);
  if (!text) return wrong("has no readable seal");
  if (!data.user) return wrong("comes back without its user");
  const std::string ours = code({asker, author, *data.user, data.group, data.version, data.resource,
                                 data.subresource, data.namespace_name, sealed.effect, sealed.id,
                                 *text});
  if (!crypto::equal_in_constant_time(ours, text->code))
    return wrong("was not issued by this server for this asker, user and request");
  if (!leads_to(text->verb, data.operation)) return wrong("is about another operation");
  if (!text->name.empty() && text->name != data.object_name())
    return wrong("is about another object");
  const std::int64_t age = seconds(now) - text->issued;
  if (age > std::chrono::seconds(kLifetime).count()) return wrong("was issued too long ago");
  if (age < -std::chrono::seconds(kSkew).count()) return wrong("was issued in the future");
  Condition out = sealed;
  out.type = text->type;
  out.text = text->text;
  return out;
}

}  // namespace cardea::rest

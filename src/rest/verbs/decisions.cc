// Decision: what the server decided last, read from its history.
#include "base/strings.h"
#include "rest/decision_history.h"
#include "rest/present/status.h"
#include "rest/verbs/continue_token.h"
#include "rest/verbs/options.h"
#include "rest/verbs/selection.h"
#include "rest/verbs/subresources.h"

namespace cardea::rest {

using json::Value;

namespace {

Value shown_request(const KeptDecision& kept) {
  struct Field {
    const char* key;
    KeptDecision::Text text;
  };
  constexpr Field kFields[] = {{"group", KeptDecision::kGroup},
                               {"version", KeptDecision::kVersion},
                               {"resource", KeptDecision::kResource},
                               {"subresource", KeptDecision::kSubresource},
                               {"namespace", KeptDecision::kNamespace},
                               {"name", KeptDecision::kName},
                               {"path", KeptDecision::kPath}};
  Value out = Value::object({{"verb", kept.text(KeptDecision::kVerb)}});
  for (const Field& f : kFields)
    if (auto text = kept.text(f.text); !text.empty()) out.set(f.key, text);
  return out;
}

Value shown_decision(const KeptDecision& kept) {
  Value out = Value::object({{"metadata", Value::object({{"name", std::to_string(kept.number)},
                                                         {"creationTimestamp", rfc3339(kept.at)}})},
                             {"user", kept.text(KeptDecision::kUser)}});
  for (std::string_view group : kept.groups()) out.member("groups").push_back(group);
  if (auto sender = kept.text(KeptDecision::kImpersonator); !sender.empty())
    out.set("impersonator", sender);
  out.set("request", shown_request(kept));
  out.set("outcome", outcome_name(kept.outcome));
  if (kept.is_conditional) out.set("conditional", true);
  out.set("code", kept.code);
  if (auto reason = kept.text(KeptDecision::kReason); !reason.empty()) out.set("reason", reason);
  if (kept.is_cut) out.set("truncated", true);
  return out;
}

Result<Answer> one_decision(const Call& call) {
  const catalog::Resource& r = *call.resource;
  const auto number = parse_int(call.info.name);
  std::optional<KeptDecision> kept;
  if (number && *number > 0)
    kept = call.services.decisions->find(static_cast<std::uint64_t>(*number));
  if (!kept || std::to_string(kept->number) != call.info.name)
    return fail(not_found(r, call.info.name));
  Value object = shown_decision(*kept);
  object.set("kind", r.kind);
  object.set("apiVersion", r.api_version());
  return Answer::of(std::move(object));
}

// The number below which a page begins.
Result<std::uint64_t> page_start(const std::string& token) {
  if (token.empty()) return UINT64_MAX;
  auto decoded = decode_continue(token);
  if (!decoded) return fail(decoded.error());
  auto number = parse_int(decoded->start);
  if (!number || *number <= 0) return fail(bad_request("continue key is not valid"));
  return static_cast<std::uint64_t>(*number);
}

}  // namespace

// Newest first. A page goes on below the last number of the one before, so that what is decided
// meanwhile shifts nothing.
Task<Result<Answer>> show_decisions(Call& call) {
  const catalog::Resource& r = *call.resource;
  if (!call.services.decisions) co_return fail(unknown_resource());
  if (call.info.verb == "get") co_return one_decision(call);
  auto options = list_options(call.info);
  if (!options) co_return fail(options.error());
  auto selection = Selection::make(r, *options);
  if (!selection) co_return fail(selection.error());
  auto before = page_start(options->continue_token);
  if (!before) co_return fail(before.error());

  Value items = Value::array(), metadata = Value::object();
  std::uint64_t last = 0;
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(options->limit, 0));
  call.services.decisions->read(*before, [&](const KeptDecision& kept) {
    Value shown = shown_decision(kept);
    if (!selection->matches(shown)) return true;
    if (limit > 0 && items.items().size() == limit) {
      metadata.set("continue", encode({.revision = -1, .start = std::to_string(last)}));
      return false;
    }
    last = kept.number;
    items.push_back(std::move(shown));
    return true;
  });
  Answer answer = Answer::of(Value::object({{"kind", r.list_kind},
                                            {"apiVersion", r.api_version()},
                                            {"metadata", std::move(metadata)},
                                            {"items", std::move(items)}}));
  answer.is_list = true;
  co_return answer;
}

}  // namespace cardea::rest

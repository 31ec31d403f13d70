#include "engine/field_judgement.h"

#include "authz/fields/field_judge.h"
#include "base/strings.h"
#include "engine/answer.h"
#include "schema/permissions/required_permissions.h"

namespace cardea::engine {

using authz::Decision;
using authz::fields::FieldJudge;
using authz::fields::FieldRefusal;
using authz::fields::Marker;
using Way = v1::FieldJudgement::Way;

namespace {

Result<schema::Demands> demands_of(const State& state, const KnownChange& change) {
  auto changed = change.changed_fields();
  if (!changed) return fail(changed.error());
  const catalog::Resource& r = *change.resource();
  return schema::demands_of(*changed, *r.permissions, state.uncovered.on(r.group, r.name).verbs);
}

// The answer about one verb, settled by the change where it is conditional.
Decision asked(const State& state, const Question& question, const KnownChange& change,
               std::string_view verb) {
  authz::Attributes attributes = question.with_verb(verb);
  auto decision = state.chain->answer(attributes, authz::Asking::kConditionsAwareAtOnce);
  if (!decision) return Decision::no_opinion("", "an authorizer did not answer");
  if (decision->kind != Decision::Kind::kConditional) return std::move(*decision);
  return settled(state, *decision, change.data());
}

std::string why(const Decision& decision, std::string_view otherwise) {
  std::string reason = decision.reason.text();
  if (!decision.error.empty()) reason += cat(reason.empty() ? "" : ": ", decision.error);
  return reason.empty() ? std::string(otherwise) : reason;
}

std::string reason_of(const FieldRefusal& r) {
  switch (r.why) {
    case FieldRefusal::Why::kNotCovered:
      return r.chain.empty() ? cat("field ", r.field, ": no field permission covers it")
                             : cat("field ", r.field, ": not covered by ", join(r.chain, ", "));
    case FieldRefusal::Why::kExcluded:
      return cat("field ", r.field, ": needs ", r.verb,
                 " itself, which no other permission implies");
    case FieldRefusal::Why::kUnnamed:
      return cat("field ", r.field, ": is guarded by ", r.verb,
                 ", and no verb can be made of its parameter");
    case FieldRefusal::Why::kTooMany:
      break;
  }
  return cat("field ", r.field, ": too many field permissions required: more than ",
             authz::fields::kMostVerbs);
}

void take_refusal(const FieldRefusal& refusal, std::string_view verb, v1::FieldJudgement& out) {
  out.field = refusal.field;
  out.reason = reason_of(refusal);
  out.would_cover = refusal.chain;
  if (refusal.why == FieldRefusal::Why::kNotCovered && refusal.chain.empty())
    out.missing_verb = verb;
  else if (refusal.why != FieldRefusal::Why::kUnnamed)
    out.missing_verb = refusal.verb;
}

}  // namespace

Result<std::vector<v1::FieldDemand>> field_demands(const State& state, const KnownChange& change) {
  auto demands = demands_of(state, change);
  if (!demands) return fail(demands.error());
  std::vector<v1::FieldDemand> out;
  for (const schema::Demand& d : demands->fields) {
    v1::FieldDemand& one = out.emplace_back();
    one.field = schema::field_text(d.field);
    one.covered_by = demands->chain_of(d);
    for (const auto* indexes : {&d.excluded, &d.inside})
      for (std::uint32_t index : *indexes) one.needed.push_back(demands->verbs[index]);
    one.unnamed = d.unnamed;
  }
  return out;
}

Result<v1::FieldJudgement> judged_fields(const State& state, const Question& question,
                                         const KnownChange& change) {
  auto demands = demands_of(state, change);
  if (!demands) return fail(demands.error());
  const std::string& verb = question.request().verb;
  v1::FieldJudgement out;
  Decision base = asked(state, question, change, verb);
  if (base.allowed()) {
    out.way = Way::kVerb;
  } else {
    // A denial, and a verb about which something went wrong, leave nothing to single fields.
    if (base.kind == Decision::Kind::kNoOpinion && base.error.empty() &&
        answer(state, question.with_verb(schema::kGranularVerb), Folding::kYes).allowed())
      out.way = Way::kGranular;
    if (out.way == Way::kNone) {
      out.reason = why(base, cat("neither ", quoted(verb), " nor ", quoted(schema::kGranularVerb),
                                 " is allowed"));
      out.missing_verb = verb;
      return out;
    }
  }
  authz::fields::Answers answers;
  FieldJudge judge(*demands, out.way == Way::kVerb ? Marker::kRegular : Marker::kGranular, answers);
  while (const std::string* wanted = judge.next()) {
    const bool allowed = asked(state, question, change, *wanted).allowed();
    out.asked.push_back({*wanted, allowed});
    judge.answer(allowed);
  }
  if (judge.refusal()) {
    take_refusal(*judge.refusal(), verb, out);
    return out;
  }
  out.allowed = true;
  out.reason = out.way == Way::kVerb ? why(base, cat("the verb ", quoted(verb), " is allowed"))
                                     : "every changed field is covered by a permission";
  return out;
}

}  // namespace cardea::engine

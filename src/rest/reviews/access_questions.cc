// access.cardea.dev: many access reviews in one request, and the reverse question: which
// subjects may do something.
#include <map>
#include <unordered_map>

#include "authz/access_review.h"
#include "authz/user_info.h"
#include "base/strings.h"
#include "json/print.h"
#include "rest/audit_trail.h"
#include "rest/reviews/admit_review.h"
#include "rest/reviews/batch_fast_path.h"
#include "rest/reviews/conditional_answer.h"
#include "rest/verbs/body.h"
#include "rest/verbs/subresources.h"
#include "rest/write/write.h"

namespace cardea::rest {

using json::Value;

namespace {

constexpr std::size_t kMostItems = 1000;
constexpr std::size_t kMostErrors = 16;   // in one message
constexpr std::size_t kMostWaiting = 32;  // items that ask elsewhere at the same time

bool names_somebody(const Value& who) {
  return !who["user"].as_string().empty() || !who["groups"].empty();
}

json::FieldErrors batch_errors(const Value& spec) {
  const Value& items = spec["items"];
  if (items.empty()) return {json::required("spec.items", "at least one item must be specified")};
  if (items.size() > kMostItems)
    return {
        json::too_many("spec.items", static_cast<int>(items.size()), static_cast<int>(kMostItems))};
  json::FieldErrors out;
  bool somebody = names_somebody(spec);
  for (std::size_t i = 0; i < items.size() && out.size() < kMostErrors; ++i) {
    const Value& item = items[i];
    const Value* resource = item.find("resourceAttributes");
    bool is_plain = resource && resource->is_object() && !item.has("nonResourceAttributes") &&
                    !resource->has("fieldSelector") && !resource->has("labelSelector");
    if (is_plain && (somebody || names_somebody(item))) continue;
    std::string at = cat("spec.items[", i, "]");
    for (json::FieldError& e : authz::validate_question(item, at)) out.push_back(std::move(e));
    for (json::FieldError& e : authz::validate_selectors(item, at)) out.push_back(std::move(e));
    if (!somebody && !names_somebody(item))
      out.push_back(json::invalid(
          at + ".user", "", "at least one of user or group must be specified, here or in spec"));
  }
  return out;
}

json::FieldErrors who_can_errors(const Value& spec) {
  json::FieldErrors out = authz::validate_question(spec, "spec");
  for (json::FieldError& e : authz::validate_selectors(spec, "spec")) out.push_back(std::move(e));
  return out;
}

// The items of a batch on their way: what can be answered from memory is, the others wait side by
// side.
class Batch {
 public:
  Batch(const Call& call, std::shared_ptr<const authz::Chain> chain, authz::wire::Wish wish,
        const Value& spec)
      : call_(call),
        chain_(std::move(chain)),
        wish_(wish),
        items_(spec["items"]),
        asker_(authz::read_subject(spec)),
        statuses_(items_.size()) {}

  // Answers what needs no waiting; the number of items that do.
  std::size_t decide() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      authz::Question question(items_[i]);
      std::optional<authz::User> own = own_user(i);
      const authz::Attributes attributes = asked(question, own);
      auto verdict = chain_->decide(attributes, asking_for(wish_, attributes));
      if (verdict)
        statuses_[i] = answer_status(call_, attributes, verdict->decision, wish_,
                                     question.remarks());
      else
        waiting_.push_back(i);
    }
    return waiting_.size();
  }

  // Asks about the others, some at a time; `done` is called when all have been answered.
  void ask_the_others(std::function<void()> done) {
    done_ = std::move(done);
    // Answers may come at once, and the waiter for the last one destroys this object: one extra
    // count keeps it alive until all parallel questions have been asked.
    left_ = waiting_.size() + 1;
    for (std::size_t i = 0; i < kMostWaiting; ++i) next();
    answered();
  }

  Value statuses() && { return Value::array(std::move(statuses_)); }

 private:
  std::optional<authz::User> own_user(std::size_t i) const {
    if (!names_somebody(items_[i])) return std::nullopt;
    return authz::read_subject(items_[i]);
  }

  authz::Attributes asked(const authz::Question& question,
                          const std::optional<authz::User>& own) const {
    authz::Attributes out = question.attributes(own ? *own : asker_);
    out.via = call_.info.via;
    return out;
  }

  Task<Value> answer(std::size_t i) const {
    authz::Question question(items_[i]);
    std::optional<authz::User> own = own_user(i);
    const authz::Attributes attributes = asked(question, own);
    authz::Chain::Verdict verdict = co_await chain_->authorize(attributes,
                                                               asking_for(wish_, attributes));
    co_return answer_status(call_, attributes, verdict.decision, wish_, question.remarks());
  }

  void next() {
    if (begun_ == waiting_.size()) return;
    std::size_t i = waiting_[begun_++];
    spawn(answer(i), [this, i](Value status) {
      statuses_[i] = std::move(status);
      next();
      answered();
    });
  }

  void answered() {
    if (--left_ > 0) return;
    auto done = std::move(done_);
    done();
  }

  const Call& call_;
  std::shared_ptr<const authz::Chain> chain_;
  const authz::wire::Wish wish_;
  const Value items_;
  const authz::User asker_;
  std::vector<Value> statuses_;
  std::vector<std::size_t> waiting_;
  std::size_t begun_ = 0, left_ = 0;
  std::function<void()> done_;
};

template <json::FieldErrors (*errors_of)(const Value& spec)>
Result<void> check(const Call& call, const Value& review) {
  json::FieldErrors errors = errors_of(review["spec"]);
  if (errors.empty()) return {};
  return fail(json::invalid_object(call.resource->group, call.resource->kind, "", errors));
}

// The answer to a plain batch that needs no other authorizer, as bytes; nullopt when it must be
// answered in the ordinary way.
std::optional<std::string> plain_answer(Call& call, const authz::Chain& chain) {
  auto options = write_options(call.info.query, "CreateOptions");
  auto format = body_format(call.request().headers.get("content-type"));
  if (!options || !format || *format != Format::kJson || !call.view.is_plain_json() ||
      call.request().body_too_large || (call.trail && call.trail->shows_requests()))
    return std::nullopt;
  if (call.services.admission.handles(
          review_of(call, admission::Operation::kCreate, options->dry_run, options->document)))
    return std::nullopt;
  auto batch = FastBatch::read(call.request().body, kMostItems);
  if (!batch) return std::nullopt;
  std::string out = cat("{\"kind\":\"", call.resource->kind, "\",\"apiVersion\":\"",
                        call.resource->api_version(),
                        "\",\"metadata\":{},\"spec\":{},\"status\":{\"items\":[");
  std::unordered_map<std::uint64_t, std::string> reasons;  // of one source: many items are allowed
                                                           // by the same binding
  authz::Explanation last;  // holds its source: another one must not come to the same address
  for (std::size_t i = 0; i < batch->size(); ++i) {
    auto verdict = chain.decide(batch->attributes(i));
    if (!verdict) return std::nullopt;
    const authz::Decision& d = verdict->decision;
    if (i) out += ',';
    out += d.allowed() ? "{\"allowed\":true" : "{\"allowed\":false";
    if (d.kind == authz::Decision::Kind::kDeny) out += ",\"denied\":true";
    if (!d.error.empty()) {
      out += ",\"evaluationError\":";
      json::print_string_to(out, d.error);
    }
    if (!d.reason.empty()) {
      if (d.reason.source() != last.source()) reasons.clear();
      last = d.reason;
      std::string own;
      std::string& text = last.source() ? reasons[last.key()] : own;
      if (text.empty()) {
        text = ",\"reason\":";
        json::print_string_to(text, d.reason.text());
      }
      out += text;
    }
    out += '}';
  }
  return out + "]}}\n";
}

Value reference(std::string_view kind, std::string_view namespace_name, std::string_view name) {
  Value out = Value::object({{"kind", kind}, {"name", name}});
  if (!namespace_name.empty()) out.set("namespace", namespace_name);
  return out;
}

Value shown_grant(const authz::AllowedSubject& s) {
  Value out = Value::object(
      {{"binding", reference(s.binding_kind, s.binding_namespace, s.binding)}});
  if (!s.role.empty())
    out.set("role",
            reference(s.role_kind, s.role_kind == "Role" ? s.binding_namespace : "", s.role));
  Value rule = s.rule;
  if (const Value* expression = s.rule.find("expression")) {
    out.set("conditions", Value::array({*expression}));
    rule.erase("expression");
  }
  if (!rule.empty()) out.set("rule", std::move(rule));
  return out;
}

// One entry for each subject, with everything that allows it, in the order in which they are asked.
Value shown_subjects(const authz::AllowedSubjects& allowed) {
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::size_t> places;
  std::vector<Value> entries;
  for (const authz::AllowedSubject& s : allowed.subjects) {
    auto [at, is_new] = places.emplace(
        std::tuple(std::string_view(s.kind), std::string_view(s.namespace_name),
                   std::string_view(s.name)),
        entries.size());
    if (is_new) {
      Value& entry = entries.emplace_back(reference(s.kind, s.namespace_name, s.name));
      // Only authentication knows the members of a group. A listed user without a binding is a
      // member of system:nodes.
      if (s.kind == "Group" || s.binding.empty()) entry.set("dependsOn", "group membership");
    }
    Value& entry = entries[at->second];
    if (s.binding.empty()) continue;
    entry.member("via").push_back(shown_grant(s));
    if (s.kind != "Group") entry.erase("dependsOn");
  }
  return Value::array(std::move(entries));
}

}  // namespace

Task<Result<Answer>> review_batch(Call& call) {
  std::shared_ptr<const authz::Chain> chain = call.services.authorizer.get()->frozen();
  if (auto bytes = plain_answer(call, *chain)) {
    Answer answer;
    answer.status = 201;
    answer.is_raw = true;
    answer.body = http::Body(std::move(*bytes));
    co_return answer;
  }
  Result<Value> review = co_await admit_review(call, {.check = check<batch_errors>});
  if (!review) co_return fail(review.error());
  authz::wire::Wish wish;
  json::FieldErrors errors;
  if (call.services.conditional_authorization)
    wish = authz::wire::read_wish((*review)["spec"], errors);
  if (!errors.empty())
    co_return fail(json::invalid_object(call.resource->group, call.resource->kind, "", errors));
  Batch batch(call, chain, wish, (*review)["spec"]);
  if (batch.decide() > 0) {
    bool done = co_await await_callback<bool>([&batch](auto all_done) {
      batch.ask_the_others([all_done]() mutable { all_done(true); });
    });
    (void)done;
  }
  // The answer does not repeat the questions, which are in the same order.
  co_return Answer::of(
      Value::object({{"kind", call.resource->kind},
                     {"apiVersion", call.resource->api_version()},
                     {"metadata", Value::object()},
                     {"spec", Value::object()},
                     {"status", Value::object({{"items", std::move(batch).statuses()}})}}),
      201);
}

Task<Result<Answer>> review_who_can(Call& call) {
  Result<Value> review = co_await admit_review(call, {.check = check<who_can_errors>});
  if (!review) co_return fail(review.error());
  authz::Question question((*review)["spec"]);
  authz::User nobody;
  authz::AllowedSubjects allowed = call.services.authorizer.get()->frozen()->allowed(
      question.attributes(nobody));
  Value status = Value::object(
      {{"subjects", shown_subjects(allowed)}, {"incomplete", allowed.incomplete}});
  if (std::string why = authz::evaluation_error(authz::aggregated(allowed.remarks),
                                                question.remarks());
      !why.empty())
    status.set("evaluationError", why);
  review->set("status", std::move(status));
  co_return Answer::of(std::move(*review), 201);
}

}  // namespace cardea::rest

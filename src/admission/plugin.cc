#include "admission/plugin.h"

#include <algorithm>

namespace cardea::admission {

std::string_view operation_name(Operation operation) {
  switch (operation) {
    case Operation::kCreate:
      return "CREATE";
    case Operation::kUpdate:
      return "UPDATE";
    case Operation::kDelete:
      return "DELETE";
    case Operation::kConnect:
      return "CONNECT";
  }
  return "";
}

void AuditAnnotations::add(std::string_view key, std::string_view value, bool needs_request_level) {
  if (entries.empty()) entries.reserve(4);
  if (std::ranges::find(entries, key, &Entry::key) == entries.end())
    entries.push_back({std::string(key), std::string(value), needs_request_level});
}

void AuditAnnotations::set(std::string_view key, std::string_view value) {
  auto at = std::ranges::find(entries, key, &Entry::key);
  if (at == entries.end()) at = entries.insert(at, {.key = std::string(key), .value = {}});
  *at = {.key = std::move(at->key), .value = std::string(value), .replaces = true};
}

void Reinvocation::Callers::changed() {
  for (std::string& who : called_)
    if (!contains(again_, who)) again_.push_back(std::move(who));
  called_.clear();
}

bool Reinvocation::Callers::contains(const std::vector<std::string>& list, std::string_view who) {
  return std::ranges::find(list, who) != list.end();
}

json::Value Review::by_webhook(const json::Value& object_of_request,
                               const catalog::Resource& as) const {
  if (!conversions) conversions = std::make_shared<catalog::Conversions>();
  const json::Value* known = conversions->find(object_of_request, as);
  return known ? *known : json::Value();
}

Task<Result<void>> Review::wait_for_conversions() const {
  if (!is_waiting()) co_return Result<void>{};
  if (!webhooks) co_return fail(internal_error("this server calls no conversion webhooks"));
  const std::shared_ptr<catalog::Conversions> held = conversions;
  Result<void> fetched = co_await held->fetch(*webhooks, catalog);
  co_return fetched;
}

Task<Result<void>> Plugin::mutate(Review&) const {
  co_return Result<void>{};
}
Task<Result<void>> Plugin::validate(const Review&) const {
  co_return Result<void>{};
}

bool Chain::handles(const Review& review) const {
  for (const auto& plugin : plugins_)
    if (plugin->handles(review)) return true;
  return false;
}

Task<Result<void>> Chain::mutate(Review& review) const {
  while (true) {
    for (const auto& plugin : plugins_) {
      if (!plugin->handles(review)) continue;
      Result<void> done = co_await plugin->mutate(review);
      if (!done) review.is_refusal_plain = plugin->refuses_plainly();
      if (!done) co_return done;
    }
    Reinvocation& again = review.reinvocation;
    if (!again.is_wanted || again.is_second) break;
    again.is_second = true;
  }
  co_return Result<void>{};
}

Task<Result<void>> Chain::validate(const Review& review) const {
  for (const auto& plugin : plugins_) {
    if (!plugin->handles(review)) continue;
    Result<void> done = co_await plugin->validate(review);
    if (!done) review.is_refusal_plain = plugin->refuses_plainly();
    if (!done) co_return done;
  }
  co_return Result<void>{};
}

}  // namespace cardea::admission

#include "rest/bridge/promises.h"

#include "authz/user_info.h"
#include "json/print.h"

namespace cardea::rest::bridge {
namespace {

// The whole question: none must look like another one.
std::string key_of(const authz::Attributes& q) {
  std::string out = json::print(authz::user_info(q.user));
  for (std::string_view part :
       {q.verb, q.api_group, q.api_version, q.resource, q.subresource, q.namespace_name, q.name}) {
    out += cat(part.size(), ':', part);
  }
  return out;
}

}  // namespace

bool Promises::give(const authz::Attributes& question, Time now) {
  std::string key = key_of(question);
  Generation forgotten;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  if (now - began_ >= life_) {
    forgotten = std::move(old_);
    old_ = std::move(young_);
    young_ = {};
    began_ = now;
  }
  auto at = young_.find(question.user.name);
  if (at == young_.end()) {
    if (young_.size() >= limits_.users) return false;
    at = young_.emplace(question.user.name, OfUser{}).first;
  }
  OfUser& of_user = at->second;
  if (of_user.is_whole) return true;
  of_user.questions.insert(std::move(key));
  if (of_user.questions.size() > limits_.per_user) {
    of_user.is_whole = true;
    of_user.questions.clear();
  }
  return true;
}

bool Promises::contains(const Generation& generation, const authz::Attributes& question,
                        const std::string& key) {
  const auto at = generation.find(question.user.name);
  return at != generation.end() && (at->second.is_whole || at->second.questions.contains(key));
}

bool Promises::has(const authz::Attributes& question, Time now) const {
  const std::string key = key_of(question);
  std::lock_guard lock(mutex_);
  const auto age = now - began_;
  return (age < 2 * life_ && contains(young_, question, key)) ||
         (age < life_ && contains(old_, question, key));
}

}  // namespace cardea::rest::bridge

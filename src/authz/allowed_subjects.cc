// The subjects that may do something: the subjects that each authorizer names, without those
// that the chain denies.
#include <map>
#include <tuple>

#include "authz/authorizer.h"
#include "base/strings.h"

namespace cardea::authz {
namespace {

constexpr std::string_view kAccounts = "system:serviceaccount:",
                           kAccountsGroup = "system:serviceaccounts";

// A user without further known attributes: with the groups that every user of this name has.
User somebody(const AllowedSubject& s) {
  User out;
  bool is_anonymous = s.name == (s.kind == "Group" ? kUnauthenticatedGroup : kAnonymousUser);
  out.groups.emplace_back(is_anonymous ? kUnauthenticatedGroup : kAuthenticatedGroup);
  if (s.kind == "Group") {
    out.groups.push_back(s.name);
    return out;
  }
  out.name = s.kind == "ServiceAccount" ? cat(kAccounts, s.namespace_name, ":", s.name) : s.name;
  if (!out.name.starts_with(kAccounts)) return out;
  std::string_view place = std::string_view(out.name).substr(kAccounts.size());
  out.groups.emplace_back(kAccountsGroup);
  out.groups.push_back(cat(kAccountsGroup, ":", place.substr(0, place.find(':'))));
  return out;
}

// Whether the answer is no, whatever the object. Who cannot answer at once does not say so.
bool is_denied(const Chain& chain, const Attributes& question, const User& user) {
  Attributes asked(user);
  asked.is_resource_request = question.is_resource_request;
  asked.verb = question.verb;
  asked.api_group = question.api_group;
  asked.api_version = question.api_version;
  asked.namespace_name = question.namespace_name;
  asked.resource = question.resource;
  asked.subresource = question.subresource;
  asked.name = question.name;
  asked.path = question.path;
  asked.selectors = question.selectors;
  std::optional<Chain::Verdict> verdict = chain.decide(asked, Asking::kConditionsAwareAtOnce);
  return verdict && !verdict->permit && verdict->decision.kind != Decision::Kind::kNoOpinion;
}

}  // namespace

AllowedSubjects Chain::allowed(const Attributes& attributes) const {
  AllowedSubjects out;
  for (const auto& authorizer : authorizers_) authorizer->add_allowed(attributes, out);
  // What one authorizer denies a later one may name still.
  const Chain uncounted(authorizers_);
  std::map<std::tuple<std::string, std::string, std::string>, bool> known;
  std::erase_if(out.subjects, [&](const AllowedSubject& s) {
    auto [at, is_new] = known.try_emplace({s.kind, s.namespace_name, s.name}, false);
    if (is_new) at->second = is_denied(uncounted, attributes, somebody(s));
    return at->second;
  });
  return out;
}

}  // namespace cardea::authz

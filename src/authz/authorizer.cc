#include "authz/authorizer.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::authz {
namespace {

class MastersAuthorizer : public Authorizer {
 public:
  std::string_view name() const override { return kMastersName; }
  std::optional<Decision> authorize(const Attributes& a) const override {
    return a.user.in_group(kMastersGroup) ? Decision::allow() : Decision::no_opinion();
  }
  bool exempts(const User& user) const override { return user.in_group(kMastersGroup); }
  void add_allowed(const Attributes&, AllowedSubjects& allowed) const override {
    allowed.subjects.push_back({.kind = "Group", .name = std::string(kMastersGroup)});
  }
};

class ConstantAuthorizer : public Authorizer {
 public:
  ConstantAuthorizer(std::string name, Decision decision)
      : name_(std::move(name)), decision_(std::move(decision)) {}
  std::string_view name() const override { return name_; }
  std::optional<Decision> authorize(const Attributes&) const override { return decision_; }
  void add_allowed(const Attributes&, AllowedSubjects& allowed) const override {
    if (!decision_.allowed()) return;
    for (std::string_view group : {kAuthenticatedGroup, kUnauthenticatedGroup})
      allowed.subjects.push_back({.kind = "Group", .name = std::string(group)});
  }

 private:
  std::string name_;
  Decision decision_;
};

std::string described(const Attributes& r) {
  std::string who = cat("User ", quoted(r.user.name), " cannot ", r.verb);
  if (!r.is_resource_request) return cat(who, " path ", quoted(r.path));
  std::string resource = r.subresource.empty() ? std::string(r.resource)
                                               : cat(r.resource, "/", r.subresource);
  std::string where = r.namespace_name.empty() ? "at the cluster scope"
                                               : cat("in the namespace ", quoted(r.namespace_name));
  return cat(who, " resource ", quoted(resource), " in API group ", quoted(r.api_group), " ",
             where);
}

}  // namespace

Task<Decision> Authorizer::authorize_waiting(Attributes) const {
  co_return Decision::deny("this authorizer cannot wait");
}

Task<Decision> Authorizer::evaluate(std::shared_ptr<const Conditions>, const ConditionData&) const {
  Decision refusal = Decision::deny({});
  refusal.error = "condition evaluation not supported";
  co_return refusal;
}

void Authorizer::add_rules(const User&, std::string_view, Rules&) const {}

std::vector<Hint> Authorizer::hints(const Attributes&) const {
  return {};
}

void Authorizer::add_allowed(const Attributes&, AllowedSubjects& allowed) const {
  allowed.incomplete = true;
  allowed.remarks.push_back(cat("authorizer `", name(), "` cannot list the users it allows"));
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string each_once(const std::vector<std::string>& texts, std::string_view separator) {
  std::vector<std::string> distinct;
  for (const std::string& t : texts)
    if (!t.empty() && std::ranges::find(distinct, t) == distinct.end()) distinct.push_back(t);
  return join(distinct, separator);
}

std::string aggregated(const std::vector<std::string>& errors) {
  std::vector<std::string> distinct;
  for (const std::string& e : errors)
    if (!e.empty() && std::ranges::find(distinct, e) == distinct.end()) distinct.push_back(e);
  return distinct.size() < 2 ? join(distinct, "") : cat("[", join(distinct, ", "), "]");
}

std::unique_ptr<Authorizer> masters_authorizer() {
  return std::make_unique<MastersAuthorizer>();
}
std::unique_ptr<Authorizer> always_allow() {
  return std::make_unique<ConstantAuthorizer>("alwaysallow", Decision::allow());
}
std::unique_ptr<Authorizer> always_deny() {
  return std::make_unique<ConstantAuthorizer>("alwaysdeny",
                                              Decision::no_opinion("Everything is forbidden."));
}
std::unique_ptr<Authorizer> unavailable_mode(std::string mode) {
  return std::make_unique<ConstantAuthorizer>(lower(mode), Decision::no_opinion());
}

Error forbidden(const Attributes& r, const std::string& reason) {
  std::string text = html_escaped(described(r));
  if (!reason.empty()) text += ": " + reason;
  std::string about = r.api_group.empty() ? std::string(r.resource)
                                          : cat(r.resource, ".", r.api_group);
  std::string message;
  if (r.api_group.empty() && r.resource.empty())
    message = cat("forbidden: ", text);
  else if (r.name.empty())
    message = cat(about, " is forbidden: ", text);
  else
    message = cat(about, " ", quoted(r.name), " is forbidden: ", text);
  return Error::of(Reason::kForbidden, std::move(message))
      .with({.name = std::string(r.name),
             .group = std::string(r.api_group),
             .kind = std::string(r.resource)});
}

}  // namespace cardea::authz

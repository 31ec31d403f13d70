#include "authz/authorizer.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::authz {
namespace {

class MastersAuthorizer : public Authorizer {
 public:
  std::string_view name() const override { return "kubernetes.io/system-privileged-group"; }
  std::optional<Decision> authorize(const Attributes& a) const override {
    return a.user.in_group(kMastersGroup) ? Decision::allow() : Decision::no_opinion();
  }
};

class ConstantAuthorizer : public Authorizer {
 public:
  ConstantAuthorizer(std::string name, Decision decision) : name_(std::move(name)), decision_(std::move(decision)) {}
  std::string_view name() const override { return name_; }
  std::optional<Decision> authorize(const Attributes&) const override { return decision_; }

 private:
  std::string name_;
  Decision decision_;
};

// Joins what several authorizers said, each thing once.
void add_line(std::vector<std::string>& lines, std::string line) {
  if (!line.empty() && std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else out += c;
  }
  return out;
}

std::string described(const Attributes& a) {
  const RequestInfo& r = a.request;
  std::string who = cat("User ", quoted(a.user.name), " cannot ", r.verb);
  if (!r.is_resource_request) return cat(who, " path ", quoted(r.path));
  std::string resource = r.subresource.empty() ? r.resource : cat(r.resource, "/", r.subresource);
  std::string where = r.namespace_name.empty() ? "at the cluster scope" : cat("in the namespace ", quoted(r.namespace_name));
  return cat(who, " resource ", quoted(resource), " in API group ", quoted(r.api_group), " ", where);
}

}  // namespace

Task<Decision> Authorizer::authorize_waiting(Attributes) const {
  co_return Decision::deny("this authorizer cannot wait");
}

Task<Chain::Verdict> Chain::authorize(Attributes attributes) const {
  std::vector<std::string> reasons, errors;
  for (const auto& authorizer : authorizers_) {
    std::optional<Decision> at_once = authorizer->authorize(attributes);
    Decision decision;
    if (at_once) {
      decision = std::move(*at_once);
    } else {
      Decision waited = co_await authorizer->authorize_waiting(attributes);
      decision = std::move(waited);
    }
    if (decision.kind == Decision::Kind::kAllow) {
      Permit permit(decision.reason);
      co_return Verdict{std::move(decision), std::move(permit)};
    }
    if (decision.kind == Decision::Kind::kDeny) co_return Verdict{std::move(decision), std::nullopt};
    add_line(reasons, std::move(decision.reason));
    add_line(errors, std::move(decision.error));
  }
  Decision none = Decision::no_opinion(join(reasons, "\n"));
  if (errors.size() == 1) none.error = errors[0];
  if (errors.size() > 1) none.error = cat("[", join(errors, ", "), "]");
  co_return Verdict{std::move(none), std::nullopt};
}

std::unique_ptr<Authorizer> masters_authorizer() { return std::make_unique<MastersAuthorizer>(); }
std::unique_ptr<Authorizer> always_allow() {
  return std::make_unique<ConstantAuthorizer>("alwaysallow", Decision::allow());
}
std::unique_ptr<Authorizer> always_deny() {
  return std::make_unique<ConstantAuthorizer>("alwaysdeny", Decision::no_opinion("Everything is forbidden."));
}
std::unique_ptr<Authorizer> unavailable_mode(std::string mode) {
  return std::make_unique<ConstantAuthorizer>(lower(mode), Decision::no_opinion());
}

Error forbidden(const Attributes& a, const std::string& reason) {
  const RequestInfo& r = a.request;
  std::string text = html_escaped(described(a));
  if (!reason.empty()) text += ": " + reason;
  std::string about = r.api_group.empty() ? r.resource : cat(r.resource, ".", r.api_group);
  std::string message;
  if (r.api_group.empty() && r.resource.empty())
    message = cat("forbidden: ", text);
  else if (r.name.empty())
    message = cat(about, " is forbidden: ", text);
  else
    message = cat(about, " ", quoted(r.name), " is forbidden: ", text);
  return Error::of(Reason::kForbidden, std::move(message))
      .with({.name = r.name, .group = r.api_group, .kind = r.resource});
}

}  // namespace cardea::authz

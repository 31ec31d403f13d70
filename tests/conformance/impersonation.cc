// impersonation.json: from the requestor, headers and permissions to the impersonated user or a
// refusal, with the questions to the authorizer.
//
// The recorded server remembers the mode that last worked for a requestor, and caches allowed
// questions for ten seconds. Cardea does neither, and answers 400 to a repeated or empty
// Impersonate-User. Rows that differ only for these reasons are counted as skipped.
#include "impersonation/impersonation.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "authz/rbac/rbac_authorizer.h"
#include "base/strings.h"
#include "conformance/conformance.h"
#include "impersonation/headers.h"
#include "json/print.h"

namespace cardea::conformance {
namespace {

using authz::Attributes;
using authz::Decision;
using authz::User;
using impersonation::Attempt;
using impersonation::Mode;
using json::Value;

void set_text(Value& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object.set(key, text);
}

// `order`: the order of groups matters; absent and empty are the same.
std::string shown(const User& user) {
  Value out = Value::object({{"username", user.name}});
  set_text(out, "uid", user.uid);
  for (const std::string& g : user.groups) out.member("groups").push_back(g);
  for (const auto& [key, values] : user.extra)
    for (const std::string& v : values) out.member("extra").member(key).push_back(v);
  return json::print(out);
}

User user_of(const Value& v) {
  User user{.name = std::string(v["username"].as_string()),
            .uid = std::string(v["uid"].as_string())};
  for (const Value& g : v["groups"].items()) user.groups.emplace_back(g.as_string());
  for (const auto& [key, values] : v["extra"].members())
    for (const Value& one : values.items())
      user.extra[std::string(key.as_string())].emplace_back(one.as_string());
  return user;
}

constexpr std::string_view kTexts[] = {"verb",          "apiGroup",     "apiVersion", "namespace",
                                       "resource",      "subresource",  "name",       "path",
                                       "fieldSelector", "labelSelector"};

// Attributes in the form of the data: members in one order, empty ones left out.
std::string shown_check(const Value& attributes, std::string_view decision) {
  Value out = Value::object({{"resourceRequest", attributes["resourceRequest"].as_bool()}});
  for (std::string_view key : kTexts) set_text(out, key, attributes[key].as_string());
  out.set("decision", decision);
  return json::print(out);
}

authz::RequestInfo info_of(const Value& r) {
  authz::RequestInfo info;
  info.is_resource_request = r["resourceRequest"].as_bool();
  info.verb = r["verb"].as_string();
  info.api_group = r["apiGroup"].as_string();
  info.api_version = r["apiVersion"].as_string();
  info.namespace_name = r["namespace"].as_string();
  info.resource = r["resource"].as_string();
  info.subresource = r["subresource"].as_string();
  info.name = r["name"].as_string();
  info.path = r["path"].as_string();
  info.field_selector = r["fieldSelector"].as_string();
  info.label_selector = r["labelSelector"].as_string();
  info.selectors = authz::read_selectors(info.field_selector, info.label_selector);
  return info;
}

// Decides by the rules of the data, and keeps the questions.
class Scripted : public authz::Authorizer {
 public:
  Scripted(const Value& rules, const Value& fallback, const authz::RequestInfo& info)
      : rules_(rules), default_(fallback), info_(info) {}
  std::string_view name() const override { return "scripted"; }

  std::optional<Decision> authorize(const Attributes& a) const override {
    const Value* outcome = &default_;
    for (const Value& rule : rules_.items())
      if (matches(rule["when"], a)) {
        outcome = &rule;
        break;
      }
    bool allows = (*outcome)["decision"].as_string() == "allow";
    Decision d = allows ? Decision::allow() : Decision::no_opinion();
    d.reason = std::string((*outcome)["reason"].as_string());
    d.error = (*outcome)["error"].as_string();
    note(a, (*outcome)["decision"].as_string());
    return d;
  }

  mutable std::vector<std::string> checks;
  mutable std::vector<std::string> users;

 private:
  static bool matches(const Value& when, const Attributes& a) {
    for (const auto& [member, want] : when.members()) {
      std::string_view key = member.as_string();
      std::string_view text = want.as_string();
      bool ok = key == "user"          ? a.user.name == text
                : key == "userNot"     ? a.user.name != text
                : key == "group0"      ? !a.user.groups.empty() && a.user.groups[0] == text
                : key == "group1"      ? a.user.groups.size() > 1 && a.user.groups[1] == text
                : key == "verb"        ? a.verb == text
                : key == "verbPrefix"  ? a.verb.starts_with(text)
                : key == "resource"    ? a.resource == text
                : key == "subresource" ? a.subresource == text
                : key == "name"        ? a.name == text
                : key == "nameNot"     ? a.name != text
                : key == "apiGroup"    ? a.api_group == text
                : key == "namespace"   ? a.namespace_name == text
                : key == "path"        ? a.path == text
                                       : false;
      if (key == "verbSuffixAny")
        ok = std::ranges::any_of(want.items(),
                                 [&](const Value& s) { return a.verb.ends_with(s.as_string()); });
      if (!ok) return false;
    }
    return true;
  }

  void note(const Attributes& a, std::string_view decision) const {
    Value v = Value::object({{"resourceRequest", a.is_resource_request},
                             {"verb", a.verb},
                             {"apiGroup", a.api_group},
                             {"apiVersion", a.api_version},
                             {"namespace", a.namespace_name},
                             {"resource", a.resource},
                             {"subresource", a.subresource},
                             {"name", a.name},
                             {"path", a.path}});
    if (a.selectors && a.selectors == info_.selectors.get()) {
      v.set("fieldSelector", info_.field_selector);
      v.set("labelSelector", info_.label_selector);
    }
    checks.push_back(shown_check(v, decision));
    users.push_back(shown(a.user));
  }

  const Value& rules_;
  const Value& default_;
  const authz::RequestInfo& info_;
};

struct Seen {
  int code = 200;
  std::string message;
  User user;
  std::optional<Mode> mode;  // if a user was impersonated
};

Seen serve(const impersonation::Impersonator& impersonator,
           std::shared_ptr<const authz::Chain> chain, const User& sender, const Value& headers,
           const authz::RequestInfo& info) {
  http::Headers sent;
  for (const Value& h : headers.items()) sent.add(h[0].as_string(), h[1].as_string());
  auto asked = impersonation::requested_user(sent,
                                             impersonator.rules() == Attempt::Rules::kConstrained);
  if (!asked) return {.code = 400, .message = asked.error().message};
  if (!*asked) return {.user = sender};
  Attempt attempt(sender, std::move(**asked), info, impersonator.rules());
  CARDEA_CHECK(impersonator.advance(*chain, attempt, authz::Asking::kFolded));
  Result<User> user = impersonator.outcome(attempt);
  if (!user) return {.code = http_status(user.error().reason), .message = user.error().message};
  return {.user = std::move(*user), .mode = attempt.mode()};
}

std::map<std::string, std::uint64_t> counted(MetricRegistry& registry, const char* family) {
  std::map<std::string, std::uint64_t> out;
  auto add = [&](std::string mode, std::string decision) {
    std::uint64_t n = registry.counter({family, ""}, {{"mode", mode}, {"decision", decision}})
                          .value();
    if (n) out[mode + "/" + decision] = n;
  };
  add("", "denied");
  for (std::size_t i = 0; i < impersonation::kModes; ++i)
    for (const char* decision : {"allowed", "denied"})
      add(std::string(mode_name(static_cast<Mode>(i))), decision);
  return out;
}

std::map<std::string, std::uint64_t> expected_counts(const Value& v) {
  std::map<std::string, std::uint64_t> out;
  for (const auto& [key, n] : v.members())
    if (n.as_int()) out[std::string(key.as_string())] = static_cast<std::uint64_t>(n.as_int());
  return out;
}

// Whether Impersonate-User is repeated or empty: 400 in Cardea.
bool names_badly(const Value& headers) {
  int names = 0;
  for (const Value& h : headers.items())
    if (equals_ignoring_case(h[0].as_string(), "impersonate-user") &&
        (h[1].as_string().empty() || ++names > 1))
      return true;
  return false;
}

class Run {
 public:
  // Compares one value; prints the difference.
  bool expect(std::string_view id, std::size_t step, const char* what, bool ok,
              const std::string& got) {
    counts.check(ok);
    if (!ok)
      std::printf("impersonation %.*s [%zu] %s: got %s\n", static_cast<int>(id.size()), id.data(),
                  step, what, got.c_str());
    return ok;
  }
  void skip(std::string_view id, std::size_t step, const char* why) {
    ++counts.skipped;
    std::printf("impersonation %.*s [%zu]: skipped, %s\n", static_cast<int>(id.size()), id.data(),
                step, why);
  }
  Counts counts;
};

constexpr const char* kBadName = "a repeated or empty Impersonate-User is 400 here";
constexpr const char* kMemory = "there are no caches and no memory of modes here";

// Kubernetes takes the first of several headers, and an empty one as absent. Cardea must refuse
// both.
void expect_refused_name(Run& run, std::string_view id, std::size_t step, const Seen& seen) {
  if (seen.code != 400)
    run.expect(id, step, "code", false, std::to_string(seen.code));
  else
    run.skip(id, step, kBadName);
}

bool message_fits(const Value& expect, const Seen& seen) {
  if (expect.has("message") && expect["message"].as_string() != seen.message) return false;
  return !expect.has("messageSubstring") ||
         seen.message.find(expect["messageSubstring"].as_string()) != std::string::npos;
}

bool user_fits(const Value& expect, const Seen& seen) {
  return !expect.has("user") || shown(user_of(expect["user"])) == shown(seen.user);
}

bool constraint_fits(const Value& expect, const Seen& seen) {
  if (!expect.has("auditConstraint")) return true;
  return expect["auditConstraint"].as_string() == (seen.mode ? constraint(*seen.mode) : "");
}

// A scenario of scripted permissions.
void run_scenario(Run& run, const Value& s, const Value& rules, const Value& fallback) {
  std::string_view id = s["id"].as_string();
  std::set<std::string, std::less<>> succeeded;  // the recorded server remembers the mode of this
                                                 // requestor
  std::size_t n = 0;
  for (const Value& step : s["steps"].items()) {
    std::size_t at = n++;
    const Value& expect = step["expect"];
    authz::RequestInfo info = info_of(step["request"]);
    auto scripted = std::make_shared<Scripted>(rules, fallback, info);
    auto chain = std::make_shared<authz::Chain>(
        std::vector<std::shared_ptr<const authz::Authorizer>>{scripted});
    MetricRegistry registry;
    impersonation::Impersonator impersonator(Attempt::Rules::kConstrained, &registry);
    User sender = user_of(step["requestor"]);
    Seen seen = serve(impersonator, chain, sender, step["headers"], info);
    if (names_badly(step["headers"])) {
      expect_refused_name(run, id, at, seen);
      continue;
    }
    bool has_history = succeeded.contains(sender.name);
    run.expect(id, at, "code", expect["code"].as_int() == seen.code,
               std::to_string(seen.code) + " " + seen.message);
    run.expect(id, at, "user", user_fits(expect, seen), shown(seen.user));
    run.expect(id, at, "constraint", constraint_fits(expect, seen),
               seen.mode ? std::string(constraint(*seen.mode)) : "none");
    if (expect["code"].as_int() == 200 && seen.mode) succeeded.insert(sender.name);
    if (has_history && !message_fits(expect, seen))
      run.skip(id, at, kMemory);
    else
      run.expect(id, at, "message", message_fits(expect, seen), seen.message);
    if (!expect.has("authzChecks")) continue;
    std::vector<std::string> wanted;
    for (const Value& c : expect["authzChecks"].items())
      wanted.push_back(shown_check(c["attributes"], c["decision"].as_string()));
    // A server that remembers asks fewer questions, but never others.
    bool asks_less = has_history && wanted != scripted->checks &&
                     std::ranges::all_of(wanted, [&](const std::string& c) {
                       return std::ranges::find(scripted->checks, c) != scripted->checks.end();
                     });
    if (asks_less) {
      run.skip(id, at, kMemory);
      continue;
    }
    std::string got;
    for (const std::string& c : scripted->checks) got += "\n  " + c;
    run.expect(id, at, "questions", wanted == scripted->checks, got);
    if (!expect["authzUser"].is_null()) {
      // The rewritten requestor is only for the mode of an associated node.
      bool ok = !scripted->users.empty() &&
                scripted->users.front() == shown(user_of(expect["authzUser"]));
      run.expect(id, at, "asked as", ok,
                 scripted->users.empty() ? "nobody" : scripted->users.front());
    }
    if (const Value& metrics = expect["metrics"]; !metrics.is_null()) {
      std::string attempt = std::string(metrics["attempt"]["mode"].as_string()) + "/" +
                            std::string(metrics["attempt"]["decision"].as_string());
      auto attempts = counted(registry, "apiserver_impersonation_attempts_total");
      run.expect(id, at, "attempts", attempts == std::map<std::string, std::uint64_t>{{attempt, 1}},
                 attempts.empty() ? "none" : attempts.begin()->first);
      run.expect(id, at, "authorization calls",
                 counted(registry, "apiserver_impersonation_authorization_attempts_total") ==
                     expected_counts(metrics["authorizationCalls"]),
                 "others");
    }
  }
}

void run_both_handlers(Run& run, const Value& data) {
  const Value request = Value::object(
      {{"verb", "get"}, {"resourceRequest", true}, {"apiVersion", "v1"}, {"resource", "pods"}});
  const authz::RequestInfo info = info_of(request);
  const Value& rules = data["bothHandlersAuthorizer"];
  for (const Value& row : data["bothHandlers"].items())
    for (auto how : {Attempt::Rules::kConstrained, Attempt::Rules::kLegacyOnly}) {
      std::string_view id = row["id"].as_string();
      auto scripted = std::make_shared<Scripted>(rules["rules"], rules["default"], info);
      auto chain = std::make_shared<authz::Chain>(
          std::vector<std::shared_ptr<const authz::Authorizer>>{scripted});
      Seen seen = serve(impersonation::Impersonator(how), chain, user_of(row["requestor"]),
                        row["headers"], info);
      std::size_t handler = how == Attempt::Rules::kConstrained ? 0 : 1;
      if (names_badly(row["headers"])) {
        expect_refused_name(run, id, handler, seen);
        continue;
      }
      const Value& expect = row["expect"];
      run.expect(id, handler, "code", expect["code"].as_int() == seen.code,
                 std::to_string(seen.code) + " " + seen.message);
      run.expect(id, handler, "message", message_fits(expect, seen), seen.message);
      run.expect(id, handler, "user", user_fits(expect, seen), shown(seen.user));
    }
}

// Grants as roles and bindings of a policy.
class Grants {
 public:
  void add(const Value& grant) { list_.push_back(grant); }
  void revoke(const Value& users) {
    for (const Value& u : users.items())
      std::erase_if(list_, [&](const Value& g) { return g["user"].as_string() == u.as_string(); });
  }
  std::shared_ptr<const authz::Chain> chain() const {
    auto policy = std::make_shared<authz::rbac::RoleTable>();
    for (std::size_t i = 0; i < list_.size(); ++i) {
      std::string name = "r" + std::to_string(i);
      Value rules = Value::array();
      rules.push_back(list_[i]["clusterRole"]);
      policy->set_role("", name, authz::rbac::read_rules(rules));
      Value subjects = Value::array();
      subjects.push_back(Value::object({{"kind", "User"},
                                        {"apiGroup", "rbac.authorization.k8s.io"},
                                        {"name", list_[i]["user"]}}));
      policy->add_binding(
          "", name,
          Value::object({{"subjects", subjects},
                         {"roleRef", Value::object({{"apiGroup", "rbac.authorization.k8s.io"},
                                                    {"kind", "ClusterRole"},
                                                    {"name", name}})}}));
    }
    std::vector<std::shared_ptr<const authz::Authorizer>> list{
        authz::masters_authorizer(), std::make_shared<Fixed>(std::move(policy))};
    return std::make_shared<authz::Chain>(std::move(list));
  }

 private:
  class Fixed : public authz::Authorizer {
   public:
    explicit Fixed(std::shared_ptr<const authz::rbac::RoleTable> policy)
        : policy_(std::move(policy)) {}
    std::string_view name() const override { return "rbac"; }
    std::optional<Decision> authorize(const Attributes& a) const override {
      return authz::rbac::decide(policy_, a);
    }

   private:
    std::shared_ptr<const authz::rbac::RoleTable> policy_;
  };
  std::vector<Value> list_;
};

void run_rbac_world(Run& run, const Value& world) {
  std::string_view id = world["id"].as_string();
  auto rules = world["constrainedImpersonation"].as_bool() ? Attempt::Rules::kConstrained
                                                           : Attempt::Rules::kLegacyOnly;
  Grants grants;
  auto registry = std::make_unique<MetricRegistry>();
  auto impersonator = std::make_unique<impersonation::Impersonator>(rules, registry.get());
  std::set<std::string, std::less<>> succeeded, revoked;
  bool counts_depend_on_memory = false;
  std::size_t n = 0;
  for (const Value& step : world["steps"].items()) {
    std::size_t at = n++;
    if (step.has("grant")) grants.add(step["grant"]);
    if (step.has("revokeGrantsOf")) grants.revoke(step["revokeGrantsOf"]);
    for (const Value& u : step["revokeGrantsOf"].items()) revoked.emplace(u.as_string());
    if (step.has("resetMetrics")) {
      impersonator.reset();
      registry = std::make_unique<MetricRegistry>();
      impersonator = std::make_unique<impersonation::Impersonator>(rules, registry.get());
      counts_depend_on_memory = false;
    }
    for (const auto& [family, want] : step["checkMetricsSinceLastReset"].members()) {
      std::string name(family.as_string());
      name.resize(std::min(name.size(), name.find('{')));
      bool ok = counted(*registry, name.c_str()) == expected_counts(want);
      if (!ok && counts_depend_on_memory)
        run.skip(id, at, kMemory);
      else
        run.expect(id, at, name.c_str(), ok, "others");
    }
    if (!step.has("request")) continue;
    const Value& expect = step["expect"];
    authz::RequestInfo info = info_of(step["request"]);
    User sender = user_of(step["requestor"]);
    std::shared_ptr<const authz::Chain> chain = grants.chain();
    Seen seen = serve(*impersonator, chain, sender, step["headers"], info);
    if (names_badly(step["headers"])) {
      expect_refused_name(run, id, at, seen);
      continue;
    }
    if (seen.code == 200) {
      Attributes attributes{seen.user, info};
      authz::Chain::Verdict verdict = *chain->decide(attributes);
      if (!verdict.permit) {
        Error refusal = authz::forbidden(attributes, verdict.decision.reason.text());
        seen.code = http_status(refusal.reason);
        seen.message = refusal.message;
      }
    }
    bool has_history = succeeded.contains(sender.name);
    counts_depend_on_memory |= has_history;
    if (seen.mode) succeeded.insert(sender.name);
    if (has_history && revoked.contains(sender.name) && expect["code"].as_int() == 200 &&
        seen.code == 403) {
      run.skip(id, at, kMemory);
      continue;
    }
    run.expect(id, at, "code", expect["code"].as_int() == seen.code,
               std::to_string(seen.code) + " " + seen.message);
    if (has_history && !message_fits(expect, seen))
      run.skip(id, at, kMemory);
    else
      run.expect(id, at, "message", message_fits(expect, seen), seen.message);
    run.expect(id, at, "user", user_fits(expect, seen), shown(seen.user));
    run.expect(id, at, "constraint", constraint_fits(expect, seen),
               seen.mode ? std::string(constraint(*seen.mode)) : "none");
  }
}

}  // namespace

Counts run_impersonation(const std::string& path) {
  const Value data = read(path);
  Run run;
  for (const Value& s : data["constrained"].items())
    run_scenario(run, s, data["unitAuthorizer"]["rules"], data["unitAuthorizer"]["default"]);
  for (const Value& s : data["derived"].items()) run_scenario(run, s, s["rules"], s["default"]);
  run_both_handlers(run, data);
  for (const Value& world : data["rbac"].items()) run_rbac_world(run, world);
  return run.counts;
}

}  // namespace cardea::conformance

// Every way to an effect that is denied is denied, for each kind of document that can deny it.
#include "authz/effects.h"

#include <gtest/gtest.h>

#include "authz/access/access_authorizer.h"
#include "authz/namespace_policy/policy_authorizer.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"

namespace cardea::authz {
namespace {

using json::Value;
using Kind = Decision::Kind;

Value list_of(std::string_view word) {
  Value out = Value::array();
  out.push_back(word);
  return out;
}

// A request, and the texts that it refers to.
struct Ask {
  std::string verb, group, resource, subresource = "", name = "n", fields = "";
  User user{.name = "edgar", .groups = {"system:authenticated"}};
  std::shared_ptr<const Selectors> selectors = read_selectors(fields, "");

  Attributes attributes() const {
    Attributes a(user);
    a.is_resource_request = true;
    a.verb = verb;
    a.api_group = group;
    a.api_version = "v1";
    a.resource = resource;
    a.subresource = subresource;
    a.namespace_name = "hammer";
    a.name = name;
    a.selectors = selectors.get();
    a.takes_conditions = true;
    return a;
  }
  std::string text() const {
    return cat(verb, " ", group, " ", resource, "/", subresource, " ", name, " ", fields);
  }
};

// The effect that is denied.
struct Denial {
  std::string verb, group, resource, name = "", expression = "";
};

class Denier {
 public:
  virtual ~Denier() = default;
  virtual Decision decide(const Ask& ask) const = 0;
};

// Denied by a rule of the namespace's policy.
class ByPolicy : public Denier {
 public:
  explicit ByPolicy(const Denial* denial) : index_(std::make_shared<namespace_policy::Index>()) {
    Value rules = Value::array();
    if (denial) {
      Value rule = Value::object({{"deny", true},
                                  {"verbs", list_of(denial->verb)},
                                  {"resourceKinds", list_of(denial->resource)},
                                  {"apiGroups", list_of(denial->group)}});
      if (!denial->name.empty()) rule.set("resourceNames", list_of(denial->name));
      if (!denial->expression.empty())
        rule.set("attributeRestrictions",
                 Value::object({{"kind", "cel"}, {"expression", denial->expression}}));
      rules.push_back(rule);
    }
    rules.push_back(*json::parse(R"({"verbs":["*"],"resourceKinds":["*"]})"));
    index_->change_policy(
        "hammer", {},
        Value::object({{"roles", Value::object({{"r", Value::object({{"rules", rules}})}})}}));
    index_->change_bindings("hammer", "hammer", {},
                            *json::parse(
                                R"({"roleBindings": {
                  "b": {"roleRef": {"namespace": "hammer", "name": "r"},
                    "userNames": ["edgar"]}}})"));
  }
  Decision decide(const Ask& ask) const override {
    return namespace_policy::decide(index_, ask.attributes(), {});
  }

 private:
  std::shared_ptr<namespace_policy::Index> index_;
};

// Denied by an access policy with rules, or by one whose expression alone selects the request.
class ByAccess : public Denier {
 public:
  ByAccess(const Denial* denial, bool by_expression) {
    add("all", Value::object({{"effect", "Allow"}}));
    if (!denial) return;
    Value spec = Value::object({{"effect", "Deny"}});
    std::string expression = denial->expression;
    if (by_expression) {
      std::string_view resource = denial->resource, part = "";
      if (auto slash = resource.find('/'); slash != resource.npos) {
        part = resource.substr(slash + 1);
        resource = resource.substr(0, slash);
      }
      std::string says = cat("request.verb == '", denial->verb, "' && request.apiGroup == '",
                             denial->group, "' && request.resource == '", resource,
                             "' && request.subresource == '", part, "'");
      if (!denial->name.empty()) says += cat(" && request.name == '", denial->name, "'");
      expression = expression.empty() ? says : cat(says, " && (", expression, ")");
    } else {
      Value rule = Value::object({{"verbs", list_of(denial->verb)},
                                  {"resources", list_of(denial->resource)},
                                  {"apiGroups", list_of(denial->group)}});
      if (!denial->name.empty()) rule.set("resourceNames", list_of(denial->name));
      Value rules = Value::array();
      rules.push_back(rule);
      spec.set("rules", rules);
    }
    if (!expression.empty()) spec.set("expression", expression);
    add("no", spec);
  }
  Decision decide(const Ask& ask) const override {
    return access::decide(index_, ask.attributes());
  }

 private:
  void add(std::string name, Value spec) {
    index_.add(std::make_shared<const access::Policy>("", name, Value::object({{"spec", spec}})));
  }
  access::Index index_;
};

std::vector<std::pair<std::string, std::unique_ptr<Denier>>> deniers(const Denial* denial,
                                                                     bool with_expression = true) {
  std::vector<std::pair<std::string, std::unique_ptr<Denier>>> out;
  out.emplace_back("namespace policy", std::make_unique<ByPolicy>(denial));
  out.emplace_back("access policy by rules", std::make_unique<ByAccess>(denial, false));
  if (with_expression)
    out.emplace_back("access policy by expression", std::make_unique<ByAccess>(denial, true));
  return out;
}

std::string in_full(std::string_view resource, std::string_view part) {
  return part.empty() ? std::string(resource) : cat(resource, "/", part);
}

// Requests of a row, and the effect.
std::vector<std::pair<Ask, Denial>> cases_of(const EffectRow& row) {
  std::vector<std::string> parts;
  if (row.subresource == "*")
    parts = {"status", "scale", "ephemeralcontainers", "resize", "approval", "finalize"};
  else if (row.subresource == "/")
    parts = {""};
  else
    for (std::string_view p : split(row.subresource, ' ')) parts.emplace_back(p);
  std::vector<std::pair<Ask, Denial>> out;
  for (std::string_view verb : split(row.verbs == "*" ? "get" : row.verbs, ' '))
    for (const std::string& part : parts) {
      Ask ask{.verb = verb == "impersonate:*" ? "impersonate:user-info" : std::string(verb),
              .group = row.api_group == "*" ? "apps" : std::string(row.api_group),
              .resource = row.resource == "*" ? "deployments" : std::string(row.resource),
              .subresource = part};
      std::string to_group = row.to_group.empty()     ? ask.group
                             : row.to_group == "core" ? ""
                                                      : std::string(row.to_group);
      std::string to_part = row.to_subresource.empty()  ? part
                            : row.to_subresource == "-" ? ""
                                                        : std::string(row.to_subresource);
      out.emplace_back(
          ask, Denial{row.to_verb.empty() ? ask.verb : std::string(row.to_verb), to_group,
                      in_full(row.to_resource.empty() ? ask.resource : std::string(row.to_resource),
                              to_part)});
    }
  return out;
}

TEST(Effects, EveryRowOfTheTableIsDeniedByADenialOfItsEffectAndAllowedWithoutIt) {
  int walked = 0;
  for (const EffectRow& row : effect_rows())
    for (const auto& [ask, denial] : cases_of(row)) {
      bool is_word = row.kind == EffectRow::Kind::kWord;
      for (const auto& [who, denier] : deniers(&denial, !is_word))
        EXPECT_EQ(denier->decide(ask).kind, Kind::kDeny)
            << who << ": " << ask.text() << " as " << denial.verb << " " << denial.resource;
      for (const auto& [who, denier] : deniers(nullptr))
        EXPECT_EQ(denier->decide(ask).kind, Kind::kAllow) << who << ": " << ask.text();
      ++walked;
    }
  EXPECT_GT(walked, 40);
}

TEST(Effects, EveryRowOfTheTableIsConditionalWhereTheDenialIsAndFoldedWhereNobodyCanWait) {
  for (const EffectRow& row : effect_rows())
    for (auto [ask, denial] : cases_of(row)) {
      if (row.kind == EffectRow::Kind::kWord) continue;
      denial.expression = "oldObject != null && has(oldObject.metadata.labels)";
      for (const auto& [who, denier] : deniers(&denial)) {
        Decision d = denier->decide(ask);
        EXPECT_FALSE(d.allowed()) << who << ": " << ask.text();
        if (d.kind != Kind::kConditional) continue;
        EXPECT_EQ(folded(d).kind, Kind::kDeny) << who << ": " << ask.text();
        bool on_parent = false;
        for (const Condition& c : d.conditions->set()->conditions) on_parent |= c.on_parent;
        EXPECT_EQ(on_parent, row.on_parent) << who << ": " << ask.text();
      }
    }
}

TEST(Effects, WhatComesToSomethingElseInTurnIsFollowed) {
  Ask ask{.verb = "patch", .group = "", .resource = "events", .subresource = "status"};
  std::vector<std::string> found;
  for (const IndirectEffect& e : effects_of(ask.attributes()))
    found.push_back(cat(e.attributes.verb, " ",
                        in_full(e.attributes.resource, e.attributes.subresource), ".",
                        e.attributes.api_group));
  std::ranges::sort(found);
  EXPECT_EQ(
      join(found, ", "),
      "patch events/status.events.k8s.io, update events., update events.events.k8s.io, update "
      "events/status., update events/status.events.k8s.io");
}

TEST(Effects, TheReasonSaysWhatTheRequestComesTo) {
  Denial denial{"delete", "", "pods"};
  for (const auto& [who, denier] : deniers(&denial)) {
    Ask ask{.verb = "create", .group = "", .resource = "pods", .subresource = "eviction"};
    std::string reason = denier->decide(ask).reason.text();
    EXPECT_TRUE(reason.ends_with(": the effect of this request is delete pods"))
        << who << ": " << reason;
  }
}

TEST(Effects, PlainRequestsHaveNone) {
  for (std::string verb : {"get", "create", "update", "delete", "impersonate", "granular", "use"})
    EXPECT_TRUE(effects_of(Ask{.verb = verb, .group = "", .resource = "pods"}.attributes()).empty())
        << verb;
  Ask path{.verb = "patch", .group = "", .resource = "pods"};
  Attributes a = path.attributes();
  a.is_resource_request = false;
  a.verb = "get";
  for (std::string_view plain : {"/", "/metrics", "/openapi/v2"}) {
    a.path = plain;
    EXPECT_TRUE(effects_of(a).empty()) << plain;
  }
}

// A request for a path.
Decision decide_path(const Value& denied, std::string_view verb, std::string_view path,
                     bool by_policy) {
  Ask ask{.verb = "", .group = "", .resource = ""};
  Attributes a = ask.attributes();
  a.is_resource_request = a.takes_conditions = false;
  a.namespace_name = a.name = a.api_version = "";
  a.verb = verb;
  a.path = path;
  Value rules = Value::array();
  Value rule = Value::object({{"verbs", list_of("get")}, {"nonResourceURLs", denied}});
  if (by_policy) rule.set("deny", true);
  rules.push_back(rule);
  if (!by_policy) {
    access::Index index;
    index.add(std::make_shared<const access::Policy>(
        "", "no",
        Value::object({{"spec", Value::object({{"effect", "Deny"}, {"rules", rules}})}})));
    return access::decide(index, a);
  }
  auto index = std::make_shared<namespace_policy::Index>();
  index->change_policy(
      "master", {},
      Value::object({{"roles", Value::object({{"r", Value::object({{"rules", rules}})}})}}));
  index->change_bindings("master", "master", {},
                         *json::parse(
                             R"({"roleBindings": {
                "b": {"roleRef": {"namespace": "master", "name": "r"},
                  "userNames": ["edgar"]}}})"));
  return namespace_policy::decide(index, a, {});
}

TEST(Effects, ADenialOfAPathHoldsForEveryMethodAndForSlashesAtItsEnd) {
  Value denied = *json::parse(R"(["/metrics","/openapi/*"])");
  for (bool by_policy : {false, true}) {
    for (std::string_view verb :
         {"get", "head", "post", "put", "patch", "delete", "options", "trace"})
      for (std::string_view path :
           {"/metrics", "/metrics/", "/metrics//", "/openapi/v2", "/openapi/v2/"})
        EXPECT_EQ(decide_path(denied, verb, path, by_policy).kind, Kind::kDeny)
            << verb << path << by_policy;
    EXPECT_EQ(decide_path(denied, "impersonate-on:user-info:get", "/metrics", by_policy).kind,
              Kind::kNoOpinion)
        << "what the sender may not read, somebody else may";
    for (std::string_view path : {"/", "/metrics/slis", "/metricsx", "/openapi", "/version/"})
      EXPECT_EQ(decide_path(denied, "post", path, by_policy).kind, Kind::kNoOpinion)
          << path << by_policy;
  }
  EXPECT_TRUE(decide_path(denied, "post", "/metrics/", false)
                  .reason.text()
                  .ends_with(": the effect of this request is get /metrics"));
}

TEST(Effects, ADenialOfImpersonationHoldsForItInAMode) {
  struct Row {
    std::string mode, resource, part, group, denied;
  };
  for (const Row& row :
       std::vector<Row>{{"user-info", "users", "", "", "users"},
                        {"user-info", "groups", "", "", "groups"},
                        {"user-info", "uids", "", "authentication.k8s.io", "uids"},
                        {"user-info", "userextras", "acme.io/k", "authentication.k8s.io",
                         "userextras/acme.io/k"},
                        {"serviceaccount", "serviceaccounts", "", "", "serviceaccounts"},
                        {"arbitrary-node", "nodes", "", "", "users"},
                        {"associated-node", "nodes", "", "", "users"}}) {
    Denial denial{"impersonate", row.group, row.denied};
    Ask ask{.verb = cat("impersonate:", row.mode),
            .group = "authentication.k8s.io",
            .resource = row.resource,
            .subresource = row.part};
    for (const auto& [who, denier] : deniers(&denial, row.part.empty()))
      EXPECT_EQ(denier->decide(ask).kind, Kind::kDeny) << who << ": " << ask.text();
    Denial named = denial;
    named.name = "other";
    for (const auto& [who, denier] : deniers(&named, row.part.empty()))
      EXPECT_EQ(denier->decide(ask).kind, Kind::kAllow) << who << ": " << ask.text();
    Denial way{ask.verb, ask.group, ask.resource};
    for (const auto& [who, denier] : deniers(&way))
      EXPECT_EQ(denier->decide({"impersonate", row.group, row.resource}).kind, Kind::kAllow) << who;
  }
}

TEST(Effects, NoRequestHasMoreThanTheyHaveRoomFor) {
  std::size_t most = 0;
  for (std::string verb :
       {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"})
    for (std::string group : {"", "apps", "events.k8s.io", "authorization.openshift.io"})
      for (std::string resource :
           {"pods", "bindings", "events", "policies", "policybindings", "nodes"})
        for (std::string part : {"", "status", "scale", "exec", "attach", "portforward", "proxy",
                                 "log", "binding", "eviction"})
          most = std::max(
              most, effects_of(
                        Ask{.verb = verb, .group = group, .resource = resource, .subresource = part}
                            .attributes())
                        .size());
  EXPECT_LT(most, kMostEffects);
}

TEST(Effects, ADenialOfAWayIsNoDenialOfTheEffect) {
  struct Row {
    Denial denial;
    Ask passes;
  };
  for (const Row& row : std::vector<Row>{{{"patch", "", "pods"}, {"update", "", "pods"}},
                                         {{"deletecollection", "", "pods"}, {"delete", "", "pods"}},
                                         {{"watch", "", "pods"}, {"list", "", "pods"}},
                                         {{"list", "", "pods"}, {"get", "", "pods"}},
                                         {{"create", "", "pods/eviction"}, {"delete", "", "pods"}},
                                         {{"update", "", "pods/status"}, {"update", "", "pods"}},
                                         {{"update", "", "pods"}, {"get", "", "pods", "status"}},
                                         {{"delete", "", "pods"}, {"create", "", "pods", "exec"}},
                                         {{"get", "", "pods"}, {"get", "", "pods", "log"}}})
    for (const auto& [who, denier] : deniers(&row.denial))
      EXPECT_EQ(denier->decide(row.passes).kind, Kind::kAllow)
          << who << ": " << row.denial.verb << " " << row.denial.resource << ", "
          << row.passes.text();
}

TEST(Effects, ANegationOfADenialLeavesOutWhatItNames) {
  auto index = std::make_shared<namespace_policy::Index>();
  index->change_policy("hammer", {}, *json::parse(R"({"roles":{"r":{"rules":[
      {"deny":true,"verbs":["update"],"resourceKinds":["*","-pods/status"]},
      {"deny":true,"verbs":["*","-list"],"resourceKinds":["secrets"]}]}}})"));
  index->change_bindings("hammer", "hammer", {},
                         *json::parse(
                             R"({"roleBindings": {
                "b": {"roleRef": {"namespace": "hammer", "name": "r"},
                  "userNames": ["edgar"]}}})"));
  auto kind = [&](const Ask& ask) {
    return namespace_policy::decide(index, ask.attributes(), {}).kind;
  };
  EXPECT_EQ(kind({"update", "", "pods", "status"}), Kind::kNoOpinion);
  EXPECT_EQ(kind({"patch", "", "pods", "status"}), Kind::kNoOpinion);
  EXPECT_EQ(kind({"update", "", "pods", "resize"}), Kind::kDeny);
  EXPECT_EQ(kind({"list", "", "secrets", "", ""}), Kind::kNoOpinion);
  EXPECT_EQ(kind({"watch", "", "secrets", "", ""}), Kind::kDeny);
}

TEST(Effects, ADenialOfANameHoldsForWhatReachesItWithoutNamingIt) {
  for (std::string denied : {"get", "list", "delete", "deletecollection", "watch"}) {
    Denial denial{denied, "", "secrets", "x"};
    for (const auto& [who, denier] : deniers(&denial)) {
      auto kind = [&](std::string verb, std::string name, std::string fields = "") {
        return denier
            ->decide(Ask{
                .verb = verb, .group = "", .resource = "secrets", .name = name, .fields = fields})
            .kind;
      };
      std::vector<std::string> reach;
      if (denied == "get") reach = {"list", "watch"};
      if (denied == "list") reach = {"list", "watch"};
      if (denied == "watch") reach = {"watch"};
      if (denied == "delete" || denied == "deletecollection") reach = {"deletecollection"};
      for (const std::string& verb : reach) {
        std::string what = cat(who, ": ", denied, " by ", verb);
        EXPECT_EQ(kind(verb, ""), Kind::kDeny) << what;
        EXPECT_EQ(kind(verb, "x"), Kind::kDeny) << what;
        EXPECT_EQ(kind(verb, "y"), Kind::kAllow) << what;
        EXPECT_EQ(kind(verb, "", "metadata.name!=x"), Kind::kAllow) << what;
        EXPECT_EQ(kind(verb, "", "metadata.name!=x,metadata.name!=z"), Kind::kAllow) << what;
        EXPECT_EQ(kind(verb, "", "metadata.name!=y"), Kind::kDeny) << what;
        EXPECT_EQ(kind(verb, "", "metadata.namespace!=x"), Kind::kDeny) << what;
        std::string reason = denier
                                 ->decide(Ask{
                                     .verb = verb, .group = "", .resource = "secrets", .name = ""})
                                 .reason.text();
        EXPECT_NE(reason.find("fieldSelector=metadata.name!=NAME"), std::string::npos)
            << what << ": " << reason;
      }
    }
  }
}

TEST(Effects, ADenialOfANameMeetsTheNameThatAnObjectBrings) {
  Denial denial{"create", "", "secrets", "x"};
  for (const auto& [who, denier] : deniers(&denial)) {
    Decision d = denier->decide(
        Ask{.verb = "create", .group = "", .resource = "secrets", .name = ""});
    ASSERT_EQ(d.kind, Kind::kConditional) << who;
    EXPECT_EQ(folded(d).kind, Kind::kDeny) << who;
  }
}

TEST(Effects, AWordForAStreamIsHeardFromWhoSaysIt) {
  for (std::string word : {"exec", "attach", "portforward", "proxy", "log"}) {
    Denial denial{word, "", "pods"};
    for (const auto& [who, denier] : deniers(&denial, false))
      for (std::string part : {"exec", "attach", "portforward", "proxy", "log"})
        EXPECT_EQ(denier
                      ->decide(Ask{.verb = part == "log" ? "get" : "create",
                                   .group = "",
                                   .resource = "pods",
                                   .subresource = part})
                      .kind,
                  part == word ? Kind::kDeny : Kind::kAllow)
            << who << ": " << word << " " << part;
  }
  // An expression that lists the requests that it does not deny does not know such verbs.
  access::Index index;
  index.add(std::make_shared<const access::Policy>("", "others",
                                                   *json::parse(
                                                       R"j({"spec": {"effect": "Deny",
                "expression": "!(request.verb in ['get','list','create'])"}})j")));
  EXPECT_EQ(access::decide(
                index, Ask{.verb = "create", .group = "", .resource = "pods", .subresource = "exec"}
                           .attributes())
                .kind,
            Kind::kNoOpinion);
}

}  // namespace
}  // namespace cardea::authz

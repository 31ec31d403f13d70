// conditional-authz.json: the answers to access reviews, by a whole server without sockets;
// malformed answers of webhooks; and the configuration of webhooks with conditions.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "authz/config/authorization_config.h"
#include "authz/wire/webhook_conditions.h"
#include "base/strings.h"
#include "conformance/conditional.h"
#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::conformance {
namespace {

using authz::Decision;
using authz::wire::Dialect;
using json::Value;

constexpr std::string_view kReviews = "authorization.k8s.io";

// Lets every user ask, and gives the answers of the case.
class Scripted : public authz::Authorizer {
 public:
  explicit Scripted(std::string name, bool lets_ask = false)
      : name_(std::move(name)), lets_ask_(lets_ask) {}
  std::string_view name() const override { return name_; }
  std::optional<Decision> authorize(const authz::Attributes& a) const override {
    if (a.api_group == kReviews) return lets_ask_ ? Decision::allow() : Decision::no_opinion();
    return answer;
  }
  Decision answer = Decision::no_opinion();

 private:
  std::string name_;
  bool lets_ask_;
};

// A server with or without the feature; the user who asks is not in system:masters.
class Asked {
 public:
  Asked(std::vector<std::shared_ptr<const authz::Authorizer>> authorizers, bool feature)
      : server_({}, std::move(authorizers), feature) {}
  rest::Loopback::Reply review(std::string_view kind, const Value& handled_types) {
    Value spec = Value::object({{"resourceAttributes", Value::object({{"verb", "create"},
                                                                      {"version", "v1"},
                                                                      {"resource", "configmaps"},
                                                                      {"namespace", "default"}})}});
    if (kind != "SelfSubjectAccessReview") spec.set("user", "somebody");
    if (!handled_types.is_null())
      spec.set("authorizationOptions", Value::object({{"handledDecisionTypes", handled_types}}));
    std::string resource = lower(kind) + "s";
    std::string path = kind == "LocalSubjectAccessReview" ? cat("namespaces/default/", resource)
                                                          : resource;
    rest::Loopback api(server_.gateway(), server_.loop(), {.name = "somebody"}, "test");
    return api.send_and_wait("POST", cat("/apis/authorization.k8s.io/v1/", path),
                             Value::object({{"spec", std::move(spec)}}));
  }

 private:
  rest::TestServer server_;
};

std::string cause_of(std::string_view kind) {
  if (kind == "required") return "FieldValueRequired";
  if (kind == "duplicate") return "FieldValueDuplicate";
  return "";
}

// Without reasons, which differ between servers, and without empty lists.
Value bare(const Value& v) {
  if (v.is_array()) {
    Value out = Value::array();
    for (const Value& item : v.items()) out.push_back(bare(item));
    return out;
  }
  if (!v.is_object()) return v;
  Value out = Value::object();
  for (const json::Member& m : v.members())
    if (m.key() != "reason" && m.key() != "k8s_reason" && !(m.value.is_array() && m.value.empty()))
      out.set(m.key(), bare(m.value));
  return out;
}

const Value& all_types() {
  static const Value types = Value::array({"Allow", "Deny", "NoOpinion", "ConditionsMap", "Union"});
  return types;
}

Value condition(std::string id) {
  return Value::object({{"id", std::move(id)}, {"type", "example.com/t"}, {"condition", "c"}});
}
Value map_with(Value one) {
  return Value::object(
      {{"type", "ConditionsMap"},
       {"conditionsMap", Value::object({{"allowConditions", Value::array({std::move(one)})}})}});
}
Value union_of(Value first) {
  return Value::object({{"type", "Union"}, {"union", Value::array({std::move(first)})}});
}
Value entry(std::string name) {
  return Value::object(
      {{"authorizerName", std::move(name)}, {"decision", map_with(condition("example.com/c"))}});
}

// The rows name the error in an answer, and its place; these are the answers. Null: no answer is
// known for the row.
Value malformed(std::string_view field, std::string_view kind, std::string_view name) {
  auto about = [&](std::string_view what) { return name.find(what) != std::string_view::npos; };
  auto with = [](std::string_view key, Value value) {
    Value c = condition("example.com/c");
    c.set(key, std::move(value));
    return map_with(std::move(c));
  };
  if (field.ends_with("authorizerName")) {
    if (kind == "required") return union_of(entry(""));
    if (kind != "duplicate") return union_of(entry("Not_A_Name"));
    Value twice = union_of(entry("a"));
    twice.member("union").push_back(entry("a"));
    return twice;
  }
  if (field.ends_with("union"))
    return kind == "required" ? Value::object({{"type", "Union"}, {"union", Value::array()}})
                              : Value::object({{"type", "Union"}});
  if (field == "status.conditionalDecision.type") {
    Value tree = map_with(condition("example.com/c"));
    if (kind == "required")
      tree.erase("type");
    else if (kind == "unsupported value")
      tree.set("type", "Perhaps");
    else
      return Value::object({{"type", "Allow"}, {"allow", Value::object()}});
    return tree;
  }
  if (field.ends_with("conditionsMap")) return Value::object({{"type", "ConditionsMap"}});
  if (field == "status.conditionalDecision") return map_with(condition("example.com/c"));
  if (field.ends_with("id") && kind == "duplicate") {
    Value tree = map_with(condition("example.com/c"));
    tree.member("conditionsMap").set("denyConditions", Value::array({condition("example.com/c")}));
    return tree;
  }
  if (field.ends_with("id"))
    return with("id", kind == "required" ? "" : about("domain") ? "c" : "not a key");
  if (field.ends_with("type")) return with("type", about("domain") ? "t" : "not a key");
  if (field.ends_with("condition"))
    return with("condition", std::string(authz::kLongestCondition + 1, 'x'));
  if (field.ends_with("description"))
    return with("description", std::string(authz::kLongestDescription + 1, 'x'));
  if (field.ends_with("Conditions")) {
    Value many = Value::array();
    for (std::size_t i = 0; i <= authz::kMostConditions; ++i)
      many.push_back(condition(cat("example.com/c", i)));
    return Value::object(
        {{"type", "ConditionsMap"},
         {"conditionsMap", Value::object({{"allowConditions", std::move(many)}})}});
  }
  return {};
}

std::string_view said(std::string_view kind) {
  if (kind == "required" || kind == "must be specified") return ": Required value";
  if (kind == "unsupported value") return ": Unsupported value";
  if (kind == "too long") return ": Too long";
  if (kind == "too many") return ": Too many";
  if (kind == "duplicate") return ": Duplicate value";
  if (kind == "forbidden") return ": Forbidden";
  return kind == "invalid" ? ": Invalid value" : "";
}

}  // namespace

Check sar_endpoint(const Value& c) {
  Check check;
  for (bool feature : {true, false}) {
    auto author = std::make_shared<Scripted>("author", true);
    author->answer = decision_of(c["input"]);
    Asked server({author}, feature);
    const Value& want = c["expected"][feature ? "feature_on" : "feature_off"];
    for (const Value& kind : c["kinds"].items()) {
      rest::Loopback::Reply reply = server.review(kind.as_string(), c["handledDecisionTypes"]);
      std::string what = cat(kind.as_string(), feature ? " with the feature" : " without");
      check.same(what, std::to_string(reply.status), std::to_string(want["http"].as_int()));
      const Value& status = reply.body["status"];
      for (std::string_view key : {"allowed", "denied"})
        if (want[key].is_bool())
          check.that(cat(what, " ", key), status[key].as_bool() == want[key].as_bool());
      if (want["conditionalDecision"].is_bool())
        check.that(cat(what, " conditions"),
                   status.has("conditionalDecision") == want["conditionalDecision"].as_bool());
      if (!want["field"].is_string()) continue;
      const Value& cause = reply.body["details"]["causes"][0];
      check.same(what, cause["field"].as_string(), want["field"].as_string());
      if (want["kind"].is_string())
        check.same(what, cause["reason"].as_string(), cause_of(want["kind"].as_string()));
    }
  }
  return check;
}

Check sar_wire_shape(const Value& c) {
  Check check;
  std::vector<std::shared_ptr<const authz::Authorizer>> authorizers;
  for (const Value& v : c["chain"].items()) {
    std::string_view text = v.as_string(), name = text.substr(0, text.find(' '));
    if (name == authz::kMastersName) continue;  // every server's first
    auto one = std::make_shared<Scripted>(std::string(name), true);
    if (text.find('(') != std::string_view::npos) {
      one->answer = {
          kind_named(text.substr(text.find('(') + 1, text.find(')') - text.find('(') - 1)),
          {},
          "",
          nullptr};
    } else if (c["webhook_decision"].has("conditionsMap")) {
      json::FieldErrors errors;
      auto read = authz::wire::from_tree(c["webhook_decision"], "decision", errors,
                                         authz::Author::kThirdParty);
      check.that("decision of the row", read.has_value());
      if (read) one->answer = std::move(*read);
    } else {
      one->answer = decision_of(c["webhook_decision"]);
    }
    authorizers.push_back(std::move(one));
  }
  Asked server(authorizers, true);
  for (const Value& kind : c["expected"]["same_for_kinds"].items())
    for (bool aware : {true, false}) {
      const Value& want = c["expected"][aware ? "status_for_conditions_aware_client"
                                              : "status_for_unaware_client"];
      if (want.is_null()) continue;
      rest::Loopback::Reply reply = server.review(kind.as_string(), aware ? all_types() : Value());
      check.same(cat(kind.as_string(), aware ? " aware" : " unaware"),
                 json::print(bare(reply.body["status"])), json::print(bare(want)));
    }
  return check;
}

Check decision_validation(const Value& c) {
  Check check;
  std::string_view field = c["expected"]["invalid_field"].as_string(),
                   kind = c["expected"]["kind"].as_string();
  Value tree = malformed(field, kind, c["name"].as_string());
  check.that("row: nothing is known of it", !tree.is_null());
  if (tree.is_null()) return check;
  bool is_asked = field != "status.conditionalDecision";
  auto read = authz::wire::decision_in_status(
      Value::object({{"allowed", false}, {"conditionalDecision", tree}}),
      is_asked ? Dialect::kTree : Dialect::kNone);
  // Conditions that were not requested are a decision, but never an Allow. The failure policy
  // decides about all other errors.
  if (read)
    check.that("decision",
               !is_asked && read->kind == Decision::Kind::kNoOpinion && !read->error.empty());
  std::string error = read ? read->error : read.error().message;
  if (field.starts_with("...")) field.remove_prefix(3);
  check.that(cat("error, which is ", error),
             error.find(cat(field, said(kind))) != std::string::npos);
  return check;
}

Check webhook_config(const Value& c) {
  std::string file = (std::filesystem::temp_directory_path() / "cardea-kubeconfig-XXXXXX").string();
  if (int fd = ::mkstemp(file.data()); fd >= 0) ::close(fd);
  const Value& row = c["config"];
  std::string_view connection = row["connectionInfo.type"].as_string();
  Value webhook = Value::object({{"timeout", "3s"},
                                 {"authorizedTTL", "5m"},
                                 {"unauthorizedTTL", "30s"},
                                 {"subjectAccessReviewVersion", "v1"},
                                 {"failurePolicy", "NoOpinion"},
                                 {"connectionInfo", Value::object({{"type", connection}})}});
  if (connection == "KubeConfigFile") webhook.member("connectionInfo").set("kubeConfigFile", file);
  if (!row["conditionsReview"].is_null()) webhook.set("conditionsReview", row["conditionsReview"]);
  Value document = Value::object(
      {{"authorizers",
        Value::array({Value::object(
            {{"type", "Webhook"}, {"name", "w"}, {"webhook", std::move(webhook)}})})}});
  Check check;
  authz::AuthorizerTypes types;
  types.conditions = row["feature_gate"].as_bool();
  auto config = authz::authorization_config_of(document);
  check.that("configuration", config.has_value());
  json::FieldErrors errors = config ? authz::validate(*config, types) : json::FieldErrors();
  std::filesystem::remove(file);
  const Value& want = c["expected"]["errors"];
  check.that("valid", errors.empty() == c["expected"]["valid"].as_bool());
  check.same("number of errors", std::to_string(errors.size()), std::to_string(want.size()));
  for (std::size_t i = 0; i < errors.size() && i < want.size(); ++i) {
    std::string_view text = want[i].as_string();
    std::string_view field = text.substr(0, text.find(": "));
    check.that(cat("error ", errors[i].message()),
               errors[i].message().find(cat(field, said(text.substr(field.size() + 2)))) !=
                   std::string::npos);
  }
  return check;
}

}  // namespace cardea::conformance

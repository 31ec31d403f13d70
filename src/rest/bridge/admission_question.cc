#include "rest/bridge/admission_question.h"

#include <algorithm>

#include "authz/user_info.h"
#include "base/strings.h"

namespace cardea::rest::bridge {
namespace {

using json::Value;

constexpr std::string_view kOperations[] = {"CREATE", "UPDATE", "DELETE", "CONNECT"};

const Value* known(const Value& value) {
  return value.is_null() ? nullptr : &value;
}

Result<void> check_strings(const Value& holder, std::string_view at,
                           std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys)
    if (const Value& v = holder[key]; !v.is_null() && !v.is_string())
      return fail(bad_request(cat(at, ".", key, " must be a string")));
  return {};
}

Result<void> check_types(const Value& request) {
  if (auto ok = check_strings(
          request, "request",
          {"uid", "operation", "namespace", "name", "subResource", "requestSubResource"});
      !ok)
    return ok;
  for (std::string_view part : {"resource", "requestResource", "kind", "requestKind"}) {
    const Value& v = request[part];
    if (!v.is_null() && !v.is_object())
      return fail(bad_request(cat("request.", part, " must be an object")));
    if (auto ok = check_strings(v, cat("request.", part), {"group", "version", "resource", "kind"});
        !ok)
      return ok;
  }
  for (std::string_view part : {"object", "oldObject", "options"})
    if (const Value& v = request[part]; !v.is_null() && !v.is_object())
      return fail(bad_request(cat("request.", part, " must be an object")));
  if (const Value& v = request["dryRun"]; !v.is_null() && !v.is_bool())
    return fail(bad_request("request.dryRun must be a boolean"));
  if (!request["userInfo"].is_object() || !authz::misfits(request["userInfo"]).empty())
    return fail(bad_request("request.userInfo is not one of a user"));
  if (request["uid"].as_string().empty()) return fail(bad_request("request.uid is required"));
  if (request["resource"]["resource"].as_string().empty() ||
      request["resource"]["version"].as_string().empty())
    return fail(bad_request("request.resource is required"));
  if (std::ranges::find(kOperations, request["operation"].as_string()) == std::end(kOperations))
    return fail(bad_request("request.operation is not known"));
  return {};
}

const Value& resource_in(const Value& request) {
  return request["requestResource"].is_null() ? request["resource"] : request["requestResource"];
}

}  // namespace

Result<std::unique_ptr<AdmissionQuestion>> AdmissionQuestion::read(const Value& review) {
  if (review["kind"].as_string() != "AdmissionReview" ||
      review["apiVersion"].as_string() != "admission.k8s.io/v1")
    return fail(bad_request("the body is not an AdmissionReview of admission.k8s.io/v1"));
  const Value& request = review["request"];
  if (!request.is_object()) return fail(bad_request("request is required"));
  if (auto ok = check_types(request); !ok) return fail(ok.error());
  return std::unique_ptr<AdmissionQuestion>(new AdmissionQuestion(request));
}

AdmissionQuestion::AdmissionQuestion(Value request)
    : request_(std::move(request)), user_(authz::read_user_info(request_["userInfo"])) {
  const Value& resource = resource_in(request_);
  group_ = resource["group"].as_string();
  version_ = resource["version"].as_string();
  resource_ = resource["resource"].as_string();
  subresource_ = request_[request_["requestResource"].is_null() ? "subResource"
                                                                : "requestSubResource"]
                     .as_string();
  namespace_ = request_["namespace"].as_string();
  name_ = request_["name"].as_string();
  is_namespace_ = group_.empty() && resource_ == "namespaces";
  if (name_.empty()) name_ = request_["object"]["metadata"]["name"].as_string();
  if (name_.empty()) name_ = request_["oldObject"]["metadata"]["name"].as_string();

  const std::string_view all = is_namespace_ ? "" : namespace_;  // of a collection of namespaces
  if (operation() == "CREATE") {
    add("create", all, "");
    if (!name_.empty()) add("create", namespace_, name_);
  } else if (operation() == "UPDATE") {
    add("update", namespace_, name_);
    add("patch", namespace_, name_);
  } else if (operation() == "DELETE") {
    add("delete", namespace_, name_);
    add("deletecollection", all, "");
    // It is about this object: denials of others by name do not matter.
    by_name_ = authz::read_selectors(cat("metadata.name=", name_), "");
    candidates_.back().selectors = by_name_.get();
  } else {
    add("get", namespace_, name_);
    add("create", namespace_, name_);
  }
}

void AdmissionQuestion::add(std::string_view verb, std::string_view namespace_name,
                            std::string_view name) {
  authz::Attributes& a = candidates_.emplace_back(user_);
  a.is_resource_request = true;
  a.verb = verb;
  a.api_group = group_;
  a.api_version = version_;
  a.resource = resource_;
  a.subresource = subresource_;
  a.namespace_name = namespace_name;
  a.name = name;
}

std::string_view AdmissionQuestion::annotation(std::string_view key) const {
  return request_["object"]["metadata"]["annotations"][key].as_string();
}

bool AdmissionQuestion::is_about(std::string_view group, std::string_view resource) const {
  return group_ == group && resource_ == resource && subresource_.empty();
}

std::string AdmissionQuestion::problem_of_data() const {
  const auto differs = [&](std::string_view sent, std::string_view asked) {
    return !request_[asked].is_null() && request_[asked] != request_[sent];
  };
  if (differs("resource", "requestResource") || differs("kind", "requestKind") ||
      request_["subResource"].as_string() != subresource_)
    return "the object was converted to another version for the webhook";
  if (operation() != "DELETE" && !request_["object"].is_object()) return "the review has no object";
  if ((operation() == "UPDATE" || operation() == "DELETE") && !request_["oldObject"].is_object())
    return "the review has no oldObject";
  return "";
}

authz::ConditionData AdmissionQuestion::data(const authz::ObjectOnDemand& space) const {
  return {.operation = operation(),
          .object = known(request_["object"]),
          .old_object = known(request_["oldObject"]),
          .options = known(request_["options"]),
          .namespace_on_demand = &space,
          .dry_run = request_["dryRun"].as_bool(),
          .group = group_,
          .version = version_,
          .kind = request_["kind"]["kind"].as_string(),
          .resource = resource_,
          .subresource = subresource_,
          .namespace_name = namespace_,
          .name = name_,
          .user = &user_};
}

bool AdmissionQuestion::describe_parent(authz::ConditionData& data) const {
  if (operation() != "UPDATE") return false;
  data.subresource = "";
  return true;
}

bool passes(std::string_view operation, std::span<const Finding> findings) {
  const auto any = [&](Finding what) {
    return std::ranges::find(findings, what) != findings.end();
  };
  const auto all = [&](Finding what) {
    return std::ranges::all_of(findings, [&](Finding f) { return f == what; });
  };
  if (findings.empty() || any(Finding::kForbidden)) return false;
  if (operation == "CONNECT") return !any(Finding::kRefused) && findings.back() != Finding::kDenied;
  if (any(Finding::kAllowed)) return true;
  return !any(Finding::kRefused) && !all(Finding::kDenied);
}

}  // namespace cardea::rest::bridge

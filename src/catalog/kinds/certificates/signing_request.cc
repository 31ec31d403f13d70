#include <algorithm>
#include <set>

#include "catalog/kinds/certificates/pem.h"
#include "catalog/kinds/check.h"
#include "catalog/kinds/object_meta.h"
#include "catalog/kinds/strategies.h"

namespace cardea::catalog {
namespace {

const std::vector<std::string> kUsages = {"any",
                                          "cert sign",
                                          "client auth",
                                          "code signing",
                                          "content commitment",
                                          "crl sign",
                                          "data encipherment",
                                          "decipher only",
                                          "digital signature",
                                          "email protection",
                                          "encipher only",
                                          "ipsec end system",
                                          "ipsec tunnel",
                                          "ipsec user",
                                          "key agreement",
                                          "key encipherment",
                                          "microsoft sgc",
                                          "netscape sgc",
                                          "ocsp signing",
                                          "s/mime",
                                          "server auth",
                                          "signing",
                                          "timestamping"};

bool is_approval(std::string_view type) {
  return type == "Approved" || type == "Denied";
}

const Value& condition_of(const Value& object, std::string_view type) {
  static const Value none;
  for (const Value& c : object["status"]["conditions"].items())
    if (c["type"].as_string() == type) return c;
  return none;
}

// The user is the authenticated user, never the user that the client wrote.
void prepare_create(Value& object, const StrategyContext& context) {
  object.erase("status");
  Value& spec = object_member(object, "spec");
  for (std::string_view name : {"username", "uid", "groups", "extra"}) {
    spec.erase(name);
    if (context.user_info != nullptr && !is_zero((*context.user_info)[name]))
      spec.set(name, (*context.user_info)[name]);
  }
  if (context.user_info == nullptr) spec.set("username", context.user);
}

void prepare_update(Value& object, const Value& old, const StrategyContext& context) {
  keep_spec(object, old, context);
  keep_status(object, old, context);
}

void stamp_conditions(Value& object, const Value& old, std::string_view now) {
  if (object["status"]["conditions"].empty()) return;
  Value& conditions = object.member("status").member("conditions");
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value before = condition_of(old, conditions[i]["type"].as_string());
    Value& c = conditions.item(i);
    set_default(c, "lastUpdateTime", now);
    if (!c["lastTransitionTime"].is_null()) continue;
    bool unchanged = !before["lastTransitionTime"].is_null() && before["status"] == c["status"];
    c.set("lastTransitionTime", unchanged ? before["lastTransitionTime"] : Value(now));
  }
}

void prepare_status(Value& object, const Value& old, const StrategyContext& context) {
  keep_spec(object, old, context);
  Value& status = object_member(object, "status");
  if (context.subresource == "approval") {
    if (const Value* certificate = old["status"].find("certificate"))
      status.set("certificate", *certificate);
    else
      status.erase("certificate");
  }
  stamp_conditions(object, old, context.now);
}

void validate_request(const Value& request, FieldErrors& out) {
  std::string text = base64_decode(request.as_string()).value_or("");
  std::string_view rest = text;
  auto block = next_pem_block(rest);
  if (!block || block->type != "CERTIFICATE REQUEST") {
    out.push_back(
        json::invalid("spec.request", request, "PEM block type must be CERTIFICATE REQUEST"));
    return;
  }
  if (std::string error = certificate_request_error(block->der); !error.empty())
    out.push_back(json::invalid("spec.request", request, error));
}

void validate_usages(const Value& usages, FieldErrors& out) {
  if (usages.empty()) out.push_back(json::required("spec.usages"));
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < usages.size(); ++i) {
    Path at = Path("spec.usages").index(i);
    if (std::ranges::find(kUsages, usages[i].as_string()) == kUsages.end())
      out.push_back(json::not_supported(at, usages[i], kUsages));
    else if (!seen.insert(usages[i].as_string()).second)
      out.push_back(json::duplicate(at, usages[i]));
  }
}

void validate_signer(const Value& signer, FieldErrors& out) {
  constexpr int kLongestSigner = 571;
  Path path = "spec.signerName";
  std::string_view text = signer.as_string();
  if (text.empty()) {
    out.push_back(json::required(path));
    return;
  }
  auto parts = split(text, '/');
  if (parts.size() != 2) {
    out.push_back(json::invalid(
        path, signer,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'"));
    return;
  }
  auto domain = split(parts[0], '.');
  for (std::string_view label : domain)
    for (const std::string& complaint : dns1123_label(label))
      out.push_back(
          json::invalid(path, parts[0], cat("validating label ", quoted(label), ": ", complaint)));
  if (domain.size() < 2)
    out.push_back(json::invalid(path, parts[0],
                                "should be a domain with at least two segments separated by dots"));
  for (std::string_view label : split(parts[1], '.'))
    for (const std::string& complaint : dns1123_subdomain(label))
      out.push_back(
          json::invalid(path, parts[1], cat("validating label ", quoted(label), ": ", complaint)));
  if (text.size() > static_cast<std::size_t>(kLongestSigner))
    out.push_back(json::too_long(path, kLongestSigner));
  if (text == "kubernetes.io/legacy-unknown")
    out.push_back(
        json::invalid(path, signer, "the legacy signerName is not allowed via this API version"));
}

void validate_conditions(const Value& conditions, FieldErrors& out) {
  std::set<std::string_view> seen;
  bool approved = false, denied = false;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    Path at = Path("status.conditions").index(i);
    std::string_view type = conditions[i]["type"].as_string(),
                     status = conditions[i]["status"].as_string();
    if (type.empty()) out.push_back(json::required(at / "type"));
    if (status.empty())
      out.push_back(json::required(at / "status"));
    else if (is_approval(type) || type == "Failed")
      check_one_of(at / "status", conditions[i]["status"], {"True"}, out);
    else
      check_one_of(at / "status", conditions[i]["status"], {"False", "True", "Unknown"}, out);
    approved |= type == "Approved";
    denied |= type == "Denied";
    if (is_approval(type) && approved && denied)
      out.push_back(json::invalid("status.conditions", conditions[i]["type"],
                                  "Approved and Denied conditions are mutually exclusive"));
    if (!seen.insert(type).second)
      out.push_back(json::duplicate(at / "type", conditions[i]["type"]));
  }
}

void validate_certificate(const Value& certificate, FieldErrors& out) {
  if (certificate.as_string().empty()) return;
  auto wrong = [&](std::string why) {
    out.push_back(json::invalid("status.certificate", "<certificate data>", std::move(why)));
  };
  std::string text = base64_decode(certificate.as_string()).value_or("");
  std::string_view rest = text;
  bool any = false;
  while (auto block = next_pem_block(rest)) {
    any = true;
    if (block->type != "CERTIFICATE")
      return wrong(cat("only CERTIFICATE PEM blocks are allowed, found ", quoted(block->type)));
    if (block->has_headers) return wrong("no PEM block headers are permitted");
    if (std::string error = certificate_error(block->der); !error.empty())
      return wrong(std::move(error));
  }
  if (!any) wrong("must contain at least one CERTIFICATE PEM block");
}

FieldErrors validate(const Value& object, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta(object, false, name_is_path_segment, out);
  const Value& spec = object["spec"];
  validate_request(spec["request"], out);
  validate_usages(spec["usages"], out);
  validate_signer(spec["signerName"], out);
  const Value& expiration = spec["expirationSeconds"];
  if (!expiration.is_null() && expiration.as_int() < 600)
    out.push_back(json::invalid("spec.expirationSeconds", expiration,
                                "may not specify a duration less than 600 seconds (10 minutes)"));
  return out;
}

FieldErrors validate_update(const Value& object, const Value& old, const StrategyContext&) {
  FieldErrors out;
  validate_kind_meta_update(object, old, out);
  return out;
}

// Approval, denial and failure are final. Only the approval subresource may add the first two.
FieldErrors validate_status(const Value& object, const Value& old, const StrategyContext& context) {
  FieldErrors out;
  validate_conditions(object["status"]["conditions"], out);
  if (context.subresource != "approval") validate_certificate(object["status"]["certificate"], out);
  validate_kind_meta_update(object, old, out);
  bool may_approve = context.subresource == "approval";
  for (std::string_view type : {"Approved", "Denied", "Failed"}) {
    bool now = !condition_of(object, type).is_null(), before = !condition_of(old, type).is_null();
    if (before && !now)
      out.push_back(json::forbidden(
          "status.conditions", cat("updates may not remove a condition of type ", quoted(type))));
    if (now && !before && is_approval(type) && !may_approve)
      out.push_back(json::forbidden("status.conditions",
                                    cat("updates may not add a condition of type ", quoted(type))));
  }
  return out;
}

std::string field(const Value& object, std::string_view name) {
  if (name == "spec.signerName") return std::string(object["spec"]["signerName"].as_string());
  return "";
}

}  // namespace

const Strategy& certificate_signing_request_strategy() {
  static const Strategy strategy{
      .prepare_for_create = prepare_create,
      .prepare_for_update = prepare_update,
      .validate_create = validate,
      .validate_update = validate_update,
      .prepare_for_status_update = prepare_status,
      .validate_status_update = validate_status,
      .selectable_fields = {"spec.signerName"},
      .selectable_field = field,
      .unknown_field = "field label not supported: {}",
      .name_rule = Strategy::NameRule::kPathSegment,
  };
  return strategy;
}

}  // namespace cardea::catalog

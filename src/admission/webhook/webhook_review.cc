#include "admission/webhook/webhook_review.h"

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "json/yaml.h"

namespace cardea::admission {
namespace {

using json::Value;

constexpr std::size_t kShownText = 2048;

Error not_called(std::string why) {
  return internal_error(cat("failed to call webhook: ", why));
}
Error not_valid(std::string why) {
  return internal_error(cat("received invalid webhook response: ", why));
}

// Go's API client words an unsuccessful answer in this way.
std::string status_text(int code, const std::string& said) {
  switch (code) {
    case 400:
      return "the server rejected our request for an unknown reason";
    case 401:
      return "the server has asked for the client to provide credentials";
    case 403:
    case 415:
      return said;
    case 404:
      return "the server could not find the requested resource";
    case 405:
      return "the server does not allow this method on the requested resource";
    case 406:
      return said == "unknown"
                 ? "the server was unable to respond with a content type that the client supports"
                 : said;
    case 409:
      return "the server reported a conflict";
    case 422:
      return "the server rejected our request due to an error in our request";
    case 429:
      return "the server has received too many requests and has asked us to try again later";
    case 503:
      return "the server is currently unable to handle the request";
    case 504:
      return "the server was unable to return a response in the time allotted, but may still be "
             "processing the request";
    default:
      break;
  }
  if (code >= 500)
    return cat("an error on the server (", quoted(said),
               ") has prevented the request from succeeding");
  return cat("the server responded with the status code ", code,
             " but did not return more information");
}

std::string failure_in(const http::Answer& answer) {
  if (auto document = json::parse(answer.body); document &&
                                                (*document)["kind"].as_string() == "Status" &&
                                                (*document)["apiVersion"].as_string() == "v1")
    if (const std::string_view message = (*document)["message"].as_string(); !message.empty())
      return std::string(message.substr(0, kShownText));
  const std::string_view type = answer.headers.get("content-type");
  std::string said = "unknown";
  if (type.empty() || type.starts_with("text/")) {
    const std::string_view text = trim(std::string_view(answer.body).substr(0, kShownText));
    if (is_valid_utf8(text)) said = text;
  }
  return status_text(answer.status, said);
}

Result<void> check_kind(const Value& review, std::string_view version) {
  const std::string_view kind = review["kind"].as_string(), api = review["apiVersion"].as_string();
  const std::string wanted = cat("admission.k8s.io/", version);
  const std::string_view effective_kind = kind.empty() ? "AdmissionReview" : kind,
                         effective_api = api.empty() ? wanted : api;
  const bool known = effective_kind == "AdmissionReview" &&
                     (effective_api == "admission.k8s.io/v1" ||
                      effective_api == "admission.k8s.io/v1beta1");
  if (!known)
    return fail(not_called(cat("no kind ", quoted(std::string(effective_kind)),
                               " is registered for version ", quoted(std::string(effective_api)),
                               " in scheme \"pkg/runtime/scheme.go:111\"")));
  if (effective_api != wanted)
    return fail(not_called(cat("converting (", effective_api.substr(effective_api.find('/') + 1),
                               ".AdmissionReview) to (", version,
                               ".AdmissionReview): unknown conversion")));
  return {};
}

// Only v1 insists on being named.
Result<void> check_named(const Value& review) {
  const std::string_view kind = review["kind"].as_string(), api = review["apiVersion"].as_string();
  if (kind == "AdmissionReview" && api == "admission.k8s.io/v1") return {};
  const auto slash = api.find('/');
  const std::string group(slash == api.npos ? "" : api.substr(0, slash)),
      version(slash == api.npos ? api : api.substr(slash + 1));
  return fail(
      not_valid(cat("expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ",
                    group, "/", version, ", Kind=", kind)));
}

Result<void> check_types(const Value& response) {
  struct Field {
    std::string_view name, type;
    bool (Value::*is)() const;
  };
  constexpr Field kFields[] = {{"uid", "types.UID", &Value::is_string},
                               {"allowed", "bool", &Value::is_bool},
                               {"status", "v1.Status", &Value::is_object},
                               {"patch", "[]uint8", &Value::is_string},
                               {"patchType", "v1.PatchType", &Value::is_string},
                               {"auditAnnotations", "map[string]string", &Value::is_object},
                               {"warnings", "[]string", &Value::is_array}};
  const auto wrong = [](std::string_view path, const Value& v, std::string_view type) {
    return fail(not_called(cat("json: cannot unmarshal ", json::go_kind(v),
                               " into Go struct field AdmissionResponse.response.", path,
                               " of type ", type)));
  };
  for (const Field& f : kFields)
    if (const Value& v = response[f.name]; !v.is_null() && !(v.*f.is)())
      return wrong(f.name, v, f.type);
  for (const json::Member& m : response["auditAnnotations"].members())
    if (!m.value.is_string()) return wrong("auditAnnotations", m.value, "string");
  for (const Value& w : response["warnings"].items())
    if (!w.is_string()) return wrong("warnings", w, "string");
  const Value& status = response["status"];
  if (const Value& v = status["code"]; !v.is_null() && !v.is_int())
    return wrong("status.code", v, "int32");
  for (const char* key : {"message", "reason", "status"})
    if (const Value& v = status[key]; !v.is_null() && !v.is_string())
      return wrong(cat("status.", key), v, "string");
  for (const char* key : {"metadata", "details"})
    if (const Value& v = status[key]; !v.is_null() && !v.is_object())
      return wrong(cat("status.", key), v, key[0] == 'm' ? "v1.ListMeta" : "v1.StatusDetails");
  return {};
}

Result<void> check_v1(const Value& review, std::string_view uid, bool is_mutating) {
  const Value& response = review["response"];
  if (response["uid"].as_string() != uid)
    return fail(not_valid(cat("expected response.uid=", quoted(std::string(uid)), ", got ",
                              quoted(std::string(response["uid"].as_string())))));
  if (auto ok = check_named(review); !ok) return ok;
  const bool patch = !response["patch"].as_string().empty(),
             type = !response["patchType"].is_null();
  if (!is_mutating && patch)
    return fail(not_valid("validating webhook may not return response.patch"));
  if (!is_mutating && type)
    return fail(not_valid("validating webhook may not return response.patchType"));
  if (patch && !type)
    return fail(not_valid("webhook returned response.patch but not response.patchType"));
  if (!patch && type)
    return fail(not_valid("webhook returned response.patchType but not response.patch"));
  return {};
}

Result<Value> operations_in(const std::string& patch) {
  const auto undecodable = [](std::string why) {
    return fail(internal_error(cat("received undecodable patch in webhook response: ", why)));
  };
  auto parsed = json::parse(patch);
  if (!parsed) return undecodable(parsed.error().message);
  if (parsed->is_null()) return Value::array();
  if (!parsed->is_array())
    return undecodable(cat("json: cannot unmarshal ", json::go_kind(*parsed),
                           " into Go value of type jsonpatch.Patch"));
  for (const Value& op : parsed->items())
    if (!op.is_object())
      return undecodable(cat("json: cannot unmarshal ", json::go_kind(op),
                             " into Go value of type jsonpatch.Operation"));
  return *parsed;
}

}  // namespace

Result<Value> document_in(const http::Answer& answer) {
  if (answer.status < 200 || answer.status > 206) return fail(internal_error(failure_in(answer)));
  if (answer.body.empty())
    return fail(internal_error(cat("0-length response with status code: ", answer.status,
                                   " and content type: ", answer.headers.get("content-type"))));
  constexpr std::string_view kHead = "couldn't get version/kind; json parse error: ";
  auto parsed = json::parse(answer.body);
  // Whatever the type says, YAML is understood.
  if (!parsed) {
    // YAML takes its time, on the loop of a request: long answers have to be JSON.
    constexpr std::size_t kLongestYaml = 256u << 10;
    Result<json::Document> yaml = fail(parsed.error());
    if (answer.body.size() <= kLongestYaml)
      yaml = json::parse_yaml(answer.body, answer.body.size());
    const bool is_braced = answer.body[0] == '{' || answer.body[0] == '[';
    if (!yaml && is_braced) return fail(internal_error(cat(kHead, parsed.error().message)));
    parsed = yaml ? yaml->value : Value("");
  }
  if (!parsed->is_object())
    return fail(internal_error(cat(
        kHead, "json: cannot unmarshal ", json::go_kind(*parsed),
        " into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; "
        "Kind string \"json:\\\"kind,omitempty\\\"\" }")));
  return *parsed;
}

Value admission_review(std::string_view version, std::string_view uid, const PolicyInput& input) {
  Value request = Value::object({{"uid", uid}});
  for (const char* key : {"kind", "resource", "subResource", "requestKind", "requestResource",
                          "requestSubResource", "name", "namespace", "operation", "userInfo"})
    if (const Value* v = input.request.find(key)) request.set(key, *v);
  request.set("object", input.object);
  request.set("oldObject", input.old_object);
  request.set("dryRun", input.request["dryRun"]);
  request.set("options", input.request["options"]);
  return Value::object({{"kind", "AdmissionReview"},
                        {"apiVersion", cat("admission.k8s.io/", version)},
                        {"request", std::move(request)}});
}

Result<WebhookAnswer> read_webhook_answer(const http::Answer& answer, std::string_view version,
                                          std::string_view uid, bool is_mutating) {
  const auto review = document_in(answer);
  if (!review) return fail(not_called(review.error().message));
  if (auto ok = check_kind(*review, version); !ok) return fail(ok.error());
  const Value& response = (*review)["response"];
  if (!response.is_null() && !response.is_object())
    return fail(not_called(cat("json: cannot unmarshal ", json::go_kind(response),
                               " into Go struct field AdmissionReview.response of type ", version,
                               ".AdmissionResponse")));
  if (auto ok = check_types(response); !ok) return fail(ok.error());
  std::optional<std::string> patch = std::string();
  if (const std::string_view text = response["patch"].as_string(); !text.empty())
    patch = base64_decode(text);
  if (!patch) return fail(not_called("illegal base64 data at input byte 0"));
  if (response.is_null()) return fail(not_valid("webhook response was absent"));
  if (version == "v1")
    if (auto ok = check_v1(*review, uid, is_mutating); !ok) return fail(ok.error());
  WebhookAnswer out;
  out.is_allowed = response["allowed"].as_bool();
  out.status = response["status"];
  for (const Value& w : response["warnings"].items()) out.warnings.emplace_back(w.as_string());
  for (const json::Member& m : response["auditAnnotations"].members())
    out.annotations.emplace_back(m.key(), m.value.as_string());
  if (!is_mutating || !out.is_allowed || patch->empty()) return out;
  auto operations = operations_in(*patch);
  if (!operations) return fail(operations.error());
  if (const std::string_view type = response["patchType"].as_string();
      version == "v1" && !operations->empty() && type != "JSONPatch")
    return fail(internal_error(cat("unsupported patch type ", quoted(std::string(type)))));
  if (!operations->empty()) out.operations = std::move(*operations);
  return out;
}

Value refusal_status(std::string_view webhook, const Value& status) {
  const std::string denied = cat("admission webhook ", quoted(std::string(webhook)),
                                 " denied the request");
  const std::string_view message = status["message"].as_string(),
                         reason = status["reason"].as_string(), said = status["status"].as_string();
  const std::int64_t code = status["code"].as_int();
  Value out = Value::object(
      {{"kind", "Status"},
       {"apiVersion", "v1"},
       {"metadata", status["metadata"].is_object() ? status["metadata"] : Value::object()},
       {"status", said.empty() || said == "Success" ? "Failure" : said}});
  out.set("message", !message.empty()  ? cat(denied, ": ", message)
                     : !reason.empty() ? cat(denied, ": ", reason)
                                       : cat(denied, " without explanation"));
  if (!reason.empty()) out.set("reason", reason);
  if (status["details"].is_object()) out.set("details", status["details"]);
  out.set("code", code < 400 || code > 599 ? 400 : code);
  return out;
}

std::string call_failure(const Error& error, std::string_view url, std::string_view address) {
  const std::string& text = error.message;
  const auto says = [&](std::string_view part) {
    return lower(text).find(part) != std::string::npos;
  };
  std::string why = text;
  if (error.reason == Reason::kTimeout)
    why = "context deadline exceeded";
  else if (says("connection refused"))
    why = cat("dial tcp ", address, ": connect: connection refused");
  else if (says("no route to host") || says("network is unreachable"))
    why = cat("dial tcp ", address, ": connect: no route to host");
  else if (says("cannot find `"))
    why = cat("dial tcp: lookup ", address.substr(0, address.rfind(':')), ": no such host");
  else if (says("self-signed certificate") || says("unable to get local issuer") ||
           says("unable to verify the first"))
    why = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
  else if (says("certificate has expired") || says("certificate is not yet valid"))
    why = "tls: failed to verify certificate: x509: certificate has expired or is not yet valid";
  else if (says("hostname mismatch") || says("ip address mismatch"))
    why = cat("tls: failed to verify certificate: x509: certificate is not valid for ", address);
  else if (says("closed"))
    why = "EOF";
  return cat("Post ", quoted(std::string(url)), ": ", why);
}

}  // namespace cardea::admission

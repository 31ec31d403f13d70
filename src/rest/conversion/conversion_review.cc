#include "rest/conversion/conversion_review.h"

#include "admission/webhook/webhook_review.h"
#include "base/strings.h"
#include "catalog/kinds/object_meta.h"
#include "json/field_error.h"
#include "json/print.h"

namespace cardea::rest {

using json::Value;

namespace {

constexpr std::string_view kGroup = "apiextensions.k8s.io/";
constexpr std::string_view kCallFailure = "conversion_webhook_call_failure",
                           kMalformed = "conversion_webhook_malformed_response_failure",
                           kPartial = "conversion_webhook_partial_response_failure",
                           kInvalidObject = "conversion_webhook_invalid_converted_object_failure";

using Failure = std::unexpected<ConversionFailure>;
using Read = std::expected<Value, ConversionFailure>;

// How Go names the type of a decoded value.
std::string_view go_type(const Value& v) {
  if (v.is_object()) return "map[string]interface {}";
  if (v.is_array()) return "[]interface {}";
  if (v.is_string()) return "string";
  if (v.is_bool()) return "bool";
  if (v.is_null()) return "<nil>";
  return v.is_int() ? "int64" : "float64";
}

std::pair<std::string_view, std::string_view> group_and_version(std::string_view api) {
  const auto slash = api.find('/');
  if (slash == api.npos) return {"", api};
  return {api.substr(0, slash), api.substr(slash + 1)};
}

Failure call_failed(const ConversionQuestion& q, std::string_view why) {
  return Failure(
      {cat("conversion webhook for ", kind_named(q.objects[0]), " failed: ", why), kCallFailure});
}
Failure malformed(const ConversionQuestion& q, std::string_view why) {
  return Failure(
      {cat("conversion webhook for ", kind_named(q.objects[0]), " failed: ", why), kMalformed});
}

// What does not decode into the type of a review.
std::string decoding_error(const Value& review, const ConversionQuestion& q) {
  const std::string_view kind = review["kind"].as_string(), api = review["apiVersion"].as_string();
  const std::string wanted = cat(kGroup, q.version);
  const std::string_view is_kind = kind.empty() ? "ConversionReview" : kind,
                         is_api = api.empty() ? std::string_view(wanted) : api;
  const bool is_known = is_kind == "ConversionReview" && is_api.starts_with(kGroup) &&
                        (is_api.ends_with("/v1") || is_api.ends_with("/v1beta1"));
  if (!is_known)
    return cat("no kind ", quoted(is_kind), " is registered for version ", quoted(is_api),
               " in scheme \"pkg/runtime/scheme.go:111\"");
  if (is_api != wanted)
    return cat("converting (", is_api.substr(kGroup.size()), ".ConversionReview) to (", q.version,
               ".ConversionReview): unknown conversion");
  auto wrong = [&](const Value& v, std::string_view path, std::string_view type) {
    return cat("json: cannot unmarshal ", json::go_kind(v), " into Go struct field ", path,
               " of type ", type);
  };
  const Value& response = review["response"];
  if (!response.is_null() && !response.is_object())
    return wrong(response, "ConversionReview.response", cat(q.version, ".ConversionResponse"));
  if (const Value& v = response["uid"]; !v.is_null() && !v.is_string())
    return wrong(v, "ConversionResponse.response.uid", "types.UID");
  if (const Value& v = response["convertedObjects"]; !v.is_null() && !v.is_array())
    return wrong(v, "ConversionResponse.response.convertedObjects", "[]runtime.RawExtension");
  const Value& result = response["result"];
  if (!result.is_null() && !result.is_object())
    return wrong(result, "ConversionResponse.response.result", "v1.Status");
  for (std::string_view key : {"status", "message"})
    if (const Value& v = result[key]; !v.is_null() && !v.is_string())
      return wrong(v, cat("Status.response.result.", key), "string");
  return "";
}

// What is wrong with the answer as a whole. Only v1 has to say what it is, and what it answers.
std::string flaw(const Value& review, const ConversionQuestion& q) {
  const Value& response = review["response"];
  if (q.version == "v1") {
    const auto [group, version] = group_and_version(review["apiVersion"].as_string());
    if (review["kind"].as_string() != "ConversionReview" ||
        review["apiVersion"].as_string() != "apiextensions.k8s.io/v1")
      return cat(
          "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got ",
          group, "/", version, ", Kind=", review["kind"].as_string());
  }
  if (response.is_null()) return "no response provided";
  if (q.version == "v1" && response["uid"].as_string() != q.uid)
    return cat("expected response.uid=", quoted(q.uid), ", got ",
               quoted(response["uid"].as_string()));
  const Value& result = response["result"];
  if (result["status"].as_string() == "Success") return "";
  if (std::string_view said = result["message"].as_string(); !said.empty())
    return std::string(said);
  return cat("response.result.status was '", result["status"].as_string(), "', not 'Success'");
}

std::string identity_change(const Value& sent, const Value& converted) {
  struct Part {
    std::string_view key, called;
  };
  for (const auto& [key, called] :
       {Part{"name", "name"}, Part{"namespace", "namespace"}, Part{"uid", "UID"}}) {
    const std::string_view was = sent["metadata"][key].as_string(),
                           is = converted["metadata"][key].as_string();
    if (was != is) return cat("must have the same ", called, ": ", was, " != ", is);
  }
  return "";
}

std::string said_by(const json::FieldErrors& errors) {
  std::vector<std::string> texts;
  for (const json::FieldError& e : errors) texts.push_back(e.message());
  return texts.size() == 1 ? texts[0] : cat("[", join(texts, ", "), "]");
}

// Labels or annotations of the answer.
std::string wrong_texts(const Value& was, const Value& is, std::string_view key) {
  if (!is.is_object())
    return cat("invalid metadata.", key, " of type ", go_type(is), " in converted object");
  for (const json::Member& m : is.members())
    if (!m.value.is_string())
      return cat("metadata.", key, "[", m.key(), "] must be a string, but is ", go_type(m.value),
                 " in converted object");
  if (was == is) return "";
  json::FieldErrors errors;
  if (key == "labels")
    catalog::validate_labels(is, catalog::Path("metadata.labels"), errors);
  else
    catalog::validate_annotations(is, catalog::Path("metadata.annotation"), errors);
  return errors.empty() ? "" : said_by(errors);
}

// Gives the converted object the metadata of the one that was sent. Returns what prevents it.
std::string restore_metadata(const Value& sent, Value& converted) {
  const Value* answered = converted.find("metadata");
  if (!answered) return "missing metadata in converted object";
  if (!answered->is_object())
    return cat("invalid metadata of type ", go_type(*answered), " in converted object");
  Value meta = sent["metadata"];
  for (std::string_view key : {"labels", "annotations"}) {
    const Value is = (*answered)[key];
    if (is.is_null()) {
      meta.erase(key);
      continue;
    }
    if (std::string wrong = wrong_texts(meta[key], is, key); !wrong.empty()) return wrong;
    meta.set(key, is);
  }
  converted.set("metadata", std::move(meta));
  return "";
}

// Why this is no object at all, in the words of Go's decoder.
std::string undecodable(const Value& v) {
  if (v.is_null()) return "unexpected end of JSON input";
  if (!v.is_object())
    return cat("json: cannot unmarshal ", json::go_kind(v),
               " into Go value of type map[string]interface {}");
  if (!v["kind"].as_string().empty()) return "";
  return cat("Object 'Kind' is missing in '", json::print(v), "'");
}

Read checked(Value converted, std::size_t index, const ConversionQuestion& q) {
  const Value& sent = q.objects[index];
  const std::string webhook = cat("conversion webhook for ", kind_named(sent),
                                  " returned invalid ");
  const bool is_alone = q.objects.size() == 1;
  auto refuse = [&](std::string why) { return Failure({std::move(why), kInvalidObject}); };
  const std::string at = is_alone ? cat(webhook, "object at index 0: ")
                                  : cat(webhook, "converted object at index ", index, ": ");
  if (std::string why = undecodable(converted); !why.empty())
    return refuse(is_alone ? why : cat(at, why));
  if (std::string_view api = converted["apiVersion"].as_string(); api != q.desired_api_version)
    return refuse(
        cat(at, "invalid groupVersion (expected ", q.desired_api_version, ", received ", api, ")"));
  if (converted["kind"] != sent["kind"])
    return refuse(cat(at, "invalid kind (expected ", sent["kind"].as_string(), ", received ",
                      converted["kind"].as_string(), ")"));
  if (std::string why = identity_change(sent, converted); !why.empty())
    return refuse(is_alone ? cat(webhook, "object: ", why) : cat(at, why));
  if (std::string why = restore_metadata(sent, converted); !why.empty())
    return refuse(is_alone ? cat(webhook, "metadata: ", why)
                           : cat(webhook, "metadata in object at index ", index, ": ", why));
  return converted;
}

}  // namespace

std::string kind_named(const Value& object) {
  const auto [group, version] = group_and_version(object["apiVersion"].as_string());
  return cat(group, "/", version, ", Kind=", object["kind"].as_string());
}

std::string_view review_version(const Value& versions) {
  for (const Value& v : versions.items())
    if (v.as_string() == "v1" || v.as_string() == "v1beta1") return v.as_string();
  return "";
}

Value conversion_review(std::string_view version, std::string_view uid,
                        std::string_view desired_api_version, const std::vector<Value>& objects) {
  return Value::object(
      {{"kind", "ConversionReview"},
       {"apiVersion", cat(kGroup, version)},
       {"request", Value::object({{"uid", uid},
                                  {"desiredAPIVersion", desired_api_version},
                                  {"objects", Value::array(objects)}})},
       {"response", Value::object({{"uid", ""},
                                   {"convertedObjects", Value()},
                                   {"result", Value::object({{"metadata", Value::object()}})}})}});
}

std::expected<std::vector<Value>, ConversionFailure> read_conversion(const http::Answer& answer,
                                                                     const ConversionQuestion& q) {
  const Result<Value> review = admission::document_in(answer);
  if (!review) return call_failed(q, review.error().message);
  if (std::string why = decoding_error(*review, q); !why.empty()) return call_failed(q, why);
  if (std::string why = flaw(*review, q); !why.empty()) return malformed(q, why);
  const Value& objects = (*review)["response"]["convertedObjects"];
  if (objects.size() != q.objects.size())
    return Failure({cat("conversion webhook for ", kind_named(q.objects[0]), " returned ",
                        objects.size(), " objects, expected ", q.objects.size()),
                    kPartial});
  std::vector<Value> out;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    Read one = checked(objects[i], i, q);
    if (!one) return Failure(std::move(one.error()));
    out.push_back(std::move(*one));
  }
  return out;
}

}  // namespace cardea::rest

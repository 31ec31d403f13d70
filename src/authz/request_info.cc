#include "authz/request_info.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "json/selector.h"

namespace cardea::authz {
namespace {

std::string decode_component(std::string_view text) {
  std::string plain(text);
  for (char& c : plain)
    if (c == '+') c = ' ';
  auto decoded = percent_decode(plain);
  return decoded ? *decoded : plain;
}

std::string_view verb_of_method(std::string_view method) {
  struct Row {
    std::string_view method, verb;
  };
  constexpr std::array kRows = {Row{"POST", "create"}, Row{"GET", "get"},
                                Row{"HEAD", "get"},    Row{"PUT", "update"},
                                Row{"PATCH", "patch"}, Row{"DELETE", "delete"}};
  for (const Row& r : kRows)
    if (r.method == method) return r.verb;
  return "";
}

// Whether every number among the list options can be read. One that cannot makes Kubernetes forget
// the others.
bool list_numbers_are_readable(const Query& query) {
  for (std::string_view number : {"limit", "timeoutSeconds"})
    if (auto v = query.first(number); v && !v->empty() && !parse_int(*v)) return false;
  return true;
}

bool is_path_segment(std::string_view name) {
  return name != "." && name != ".." && name.find_first_of("/%") == std::string_view::npos;
}

// Once: a selector may have tens of thousands of terms.
void take_selectors(RequestInfo& info) {
  if (info.selectors ||
      (info.verb != "list" && info.verb != "watch" && info.verb != "deletecollection"))
    return;
  info.field_selector = info.query.first("fieldSelector").value_or("");
  info.label_selector = info.query.first("labelSelector").value_or("");
  info.selectors = read_selectors(info.field_selector, info.label_selector);
}

// A list or watch whose field selector asks for one name is about that name.
void take_list_options(RequestInfo& info) {
  auto watch = info.query.first("watch");
  info.verb = watch && is_true_parameter(*watch) ? "watch" : "list";
  take_selectors(info);
  if (!info.selectors || !list_numbers_are_readable(info.query)) return;
  if (!info.selectors->field_error.empty() || !info.selectors->label_error.empty()) return;
  auto name = info.selectors->fields.exact("metadata.name");
  if (name && !name->empty() && is_path_segment(*name)) info.name = *name;
}

constexpr std::string_view kPolicyGroup = "authorization.openshift.io", kPolicyVersion = "v1beta3";

// The reviews of namespace policy, however they are written: in any case, in one or many. Empty:
// something else.
std::string review_named(std::string_view text) {
  std::string name = lower(text);
  if (!name.ends_with('s')) name += 's';
  return name == "resourceaccessreviews" || name == "subjectaccessreviews" ? name : "";
}

// The documents of namespace policy, in any case. Empty: something else.
std::string document_named(std::string_view text) {
  constexpr std::string_view kAll[] = {"roles", "rolebindings", "policies", "policybindings"};
  std::string name = lower(text);
  return std::ranges::find(kAll, name) != std::end(kAll) ? name : "";
}

// `/api/v1beta3/ns/NAMESPACE/resourceAccessReviews`, where the objects of namespace policy were
// before there were groups; nothing else is served there.
bool take_older_path(const std::vector<std::string_view>& parts, std::string_view method,
                     RequestInfo& info) {
  if (parts.size() < 5 || parts.size() > 6 || parts[0] != "api" || parts[1] != kPolicyVersion ||
      parts[2] != "ns" || parts[3].empty())
    return false;
  std::string name = parts.size() == 5 ? review_named(parts[4]) : "";
  if (name.empty()) name = document_named(parts[4]);
  if (name.empty()) return false;
  info.is_resource_request = true;
  info.api_prefix = "apis";
  info.api_group = kPolicyGroup;
  info.api_version = kPolicyVersion;
  info.namespace_name = parts[3];
  info.resource = name;
  info.parts = {name};
  if (parts.size() == 6) info.name = info.parts.emplace_back(parts[5]);
  info.verb = verb_of_method(method);
  if (info.name.empty() && info.verb == "get") take_list_options(info);
  if (info.name.empty() && info.verb == "delete") info.verb = "deletecollection";
  take_selectors(info);
  return true;
}

}  // namespace

std::shared_ptr<const Selectors> read_selectors(std::string_view fields, std::string_view labels) {
  if (fields.empty() && labels.empty()) return nullptr;
  auto out = std::make_shared<Selectors>();
  if (auto parsed = json::FieldSelector::parse(fields))
    out->fields = std::move(*parsed);
  else
    out->field_error = parsed.error().message;
  if (auto parsed = json::LabelSelector::parse(labels))
    out->labels = std::move(*parsed);
  else
    out->label_error = parsed.error().message;
  return out;
}

Query Query::parse(std::string_view raw) {
  Query query;
  if (raw.empty()) return query;
  for (std::string_view pair : split(raw, '&')) {
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    auto at = pair.find('=');
    auto value = at == std::string_view::npos ? std::string_view() : pair.substr(at + 1);
    query.pairs_.emplace_back(decode_component(pair.substr(0, at)), decode_component(value));
  }
  return query;
}

std::optional<std::string_view> Query::first(std::string_view key) const {
  for (const auto& [k, v] : pairs_)
    if (k == key) return v;
  return std::nullopt;
}

std::vector<std::string_view> Query::all(std::string_view key) const {
  std::vector<std::string_view> values;
  for (const auto& [k, v] : pairs_)
    if (k == key) values.push_back(v);
  return values;
}

bool is_true_parameter(std::string_view value) {
  return value != "0" && !equals_ignoring_case(value, "false");
}

Result<RequestInfo> parse_request_info(std::string_view method, std::string_view path,
                                       std::string_view query) {
  Result<RequestInfo> out(std::in_place);
  RequestInfo& info = *out;
  info.path = percent_decode(path).value_or(std::string(path));
  info.verb = lower(method);
  info.query = Query::parse(query);

  std::string_view trimmed = info.path;
  if (trimmed.starts_with('/')) trimmed.remove_prefix(1);
  if (trimmed.ends_with('/')) trimmed.remove_suffix(1);
  std::vector<std::string_view> parts = split(trimmed, '/');
  if (take_older_path(parts, method, info)) return out;
  std::size_t at = 0;
  auto left = [&] { return parts.size() - at; };

  if (left() < 3 || (parts[0] != "api" && parts[0] != "apis")) return out;
  info.api_prefix = parts[at++];
  if (info.api_prefix == "apis") {
    if (left() < 3) return out;
    info.api_group = parts[at++];
  }
  info.is_resource_request = true;
  info.api_version = parts[at++];

  bool verb_in_path = parts[at] == "proxy" || parts[at] == "watch";
  if (verb_in_path) {
    if (left() < 2)
      return fail(
          internal_error(cat("unable to determine kind and namespace from url, ", info.path)));
    info.verb = parts[at++];
  } else {
    info.verb = verb_of_method(method);
  }

  if (parts[at] == "namespaces" && left() > 1) {
    info.namespace_name = parts[at + 1];
    if (left() > 2 && parts[at + 2] != "status" && parts[at + 2] != "finalize") at += 2;
  }
  info.parts.reserve(left());
  for (std::size_t i = at; i < parts.size(); ++i) info.parts.emplace_back(parts[i]);
  // Written `/namespaces/x/status`: the namespace itself is meant.
  info.resource = info.parts[0];
  if (info.api_group == kPolicyGroup && info.api_version == kPolicyVersion)
    if (std::string name = review_named(info.resource); !name.empty())
      info.resource = info.parts[0] = std::move(name);
  if (info.parts.size() >= 2) info.name = info.parts[1];
  if (info.parts.size() >= 3 && info.verb != "proxy") info.subresource = info.parts[2];

  if (info.name.empty() && info.verb == "get") take_list_options(info);
  if (info.name.empty() && info.verb == "delete") info.verb = "deletecollection";
  if (!verb_in_path) take_selectors(info);
  return out;
}

}  // namespace cardea::authz

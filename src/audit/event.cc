#include "audit/event.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "json/yaml.h"

namespace cardea::audit {

using json::Value;

namespace {

constexpr std::size_t kMaxYaml = 64u << 20;

// Text as a JSON string. Bytes that are not UTF-8 would make the line unreadable: each becomes
// U+FFFD.
void text_to(std::string& out, std::string_view text) {
  if (is_valid_utf8(text)) return json::print_string_to(out, text);
  std::string mended;
  while (!text.empty()) {
    std::size_t length = 1;
    while (length < 4 && length < text.size() && !is_valid_utf8(text.substr(0, length))) ++length;
    if (is_valid_utf8(text.substr(0, length)))
      mended += text.substr(0, length);
    else {
      mended += "\xef\xbf\xbd";
      length = 1;
    }
    text.remove_prefix(length);
  }
  json::print_string_to(out, mended);
}

// Writes the members of an object, commas where they belong.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  std::string& key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    text_to(out_, name);
    out_ += ':';
    return out_;
  }
  void text(std::string_view name, std::string_view value) { text_to(key(name), value); }
  void text_if(std::string_view name, std::string_view value) {
    if (!value.empty()) text(name, value);
  }
  void texts_if(std::string_view name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    list_to(key(name), values);
  }
  static void list_to(std::string& out, const std::vector<std::string>& values) {
    out += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i) out += ',';
      text_to(out, values[i]);
    }
    out += ']';
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

void user_to(std::string& out, const authz::User& user, std::string_view constraint = {}) {
  Members m(out);
  m.text_if("username", user.name);
  m.text_if("uid", user.uid);
  m.texts_if("groups", user.groups);
  if (!user.extra.empty()) {
    Members extra(m.key("extra"));
    for (const auto& [key, values] : user.extra) Members::list_to(extra.key(key), values);
    extra.end();
  }
  m.text_if("impersonationConstraint", constraint);
  m.end();
}

std::string_view first_of(std::string_view a, std::string_view b) {
  return a.empty() ? b : a;
}

void object_to(std::string& out, const ObjectRef& url, const ObjectRef& sent) {
  Members m(out);
  m.text_if("resource", url.resource);
  m.text_if("namespace", first_of(url.namespace_name, sent.namespace_name));
  m.text_if("name", first_of(url.name, sent.name));
  m.text_if("uid", sent.uid);
  m.text_if("apiGroup", url.api_group);
  m.text_if("apiVersion", url.api_version);
  m.text_if("resourceVersion", sent.resource_version);
  m.text_if("subresource", url.subresource);
  m.end();
}

// What a Status in the answer says, and the code that was sent.
void status_to(std::string& out, const Value& status, int code) {
  Members m(out);
  m.key("metadata") += "{}";
  for (std::string_view key : {"status", "message", "reason"})
    if (const Value& v = status[key]; !v.as_string().empty()) json::print_to(m.key(key), v);
  if (const Value& details = status["details"]; details.is_object())
    json::print_to(m.key("details"), details);
  json::print_to(m.key("code"),
                 Value(status["code"].as_int() ? static_cast<int>(status["code"].as_int()) : code));
  m.end();
}

void forget_owners(Value& object) {
  if (object.is_object() && object["metadata"].has("managedFields"))
    object.member("metadata").erase("managedFields");
}

// Without managedFields, in lists and tables too.
Value without_owners(Value document) {
  forget_owners(document);
  if (document["items"].is_array()) {
    Value& items = document.member("items");
    for (std::size_t i = 0; i < items.size(); ++i) forget_owners(items.item(i));
  }
  if (document["kind"].as_string() == "Table" && document["rows"].is_array()) {
    Value& rows = document.member("rows");
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i]["object"].is_object()) forget_owners(rows.item(i).member("object"));
  }
  return document;
}

std::optional<Value> read(const AnswerBody& answer) {
  std::string text = answer.bytes.text();
  if (answer.is_yaml) {
    auto document = json::parse_yaml(text, kMaxYaml);
    if (!document) return std::nullopt;
    return std::move(document->value);
  }
  auto value = json::parse(text);
  if (!value) return std::nullopt;
  return std::move(*value);
}

// Whether the bytes may stand in a line as they are: JSON as our printer writes it, which has no
// line breaks.
bool fits_in_line(const AnswerBody& answer) {
  if (answer.is_yaml) return false;
  for (std::size_t i = 0; i < answer.bytes.pieces(); ++i) {
    std::string_view piece = answer.bytes.piece(i).bytes;
    std::size_t at = piece.find('\n');
    bool is_end = i + 1 == answer.bytes.pieces() && at == piece.size() - 1;
    if (at != std::string_view::npos && !is_end) return false;
  }
  return true;
}

void bytes_to(std::string& out, const http::Body& body) {
  for (std::size_t i = 0; i < body.pieces(); ++i) out += body.piece(i).bytes;
  if (out.ends_with('\n')) out.pop_back();
}

// With as many digits of the second as there are.
std::string shortest_time(std::chrono::system_clock::time_point at) {
  std::string text = rfc3339_micro(at);
  text.pop_back();
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text + "Z";
}

void annotations_to(std::string& out, const Event& event, bool bare) {
  auto sorted = event.annotations;
  if (bare) sorted.emplace_back("audit.k8s.io/truncated", "true");
  std::ranges::stable_sort(sorted, {}, [](const auto& a) { return std::string_view(a.first); });
  Members m(out);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (i == 0 || sorted[i].first != sorted[i - 1].first) m.text(sorted[i].first, sorted[i].second);
  m.end();
}

}  // namespace

std::string print_json(const Event& event, bool bare) {
  const Arrival& a = *event.arrival;
  bool shows_answer = !bare && a.level >= Level::kRequestResponse &&
                      event.answer.kind != AnswerBody::Kind::kOther;
  bool as_it_is = shows_answer && !a.omit_managed_fields && fits_in_line(event.answer);
  std::optional<Value> answer;
  if (event.answer.kind == AnswerBody::Kind::kStatus || (shows_answer && !as_it_is))
    answer = read(event.answer);
  if (event.answer.kind == AnswerBody::Kind::kStatus && !answer)
    as_it_is = false;  // no JSON after all

  std::string out;
  out.reserve(1024 + (as_it_is ? event.answer.bytes.size() : 0));
  Members m(out);
  m.text("kind", "Event");
  m.text("apiVersion", "audit.k8s.io/v1");
  m.text("level", level_name(a.level));
  m.text("auditID", a.audit_id);
  m.text("stage", stage_name(event.stage));
  m.text("requestURI", a.uri);
  m.text("verb", a.verb);
  user_to(m.key("user"), a.user);
  if (event.impersonated)
    user_to(m.key("impersonatedUser"), *event.impersonated, event.impersonation_constraint);
  if (!event.impersonation_constraint.empty()) {
    Members metadata(m.key("authenticationMetadata"));
    metadata.text("impersonationConstraint", event.impersonation_constraint);
    metadata.end();
  }
  m.texts_if("sourceIPs", a.source_ips);
  m.text_if("userAgent", a.user_agent);
  if (a.has_object) object_to(m.key("objectRef"), a.object, event.sent);
  if (event.code)
    status_to(m.key("responseStatus"),
              event.answer.kind == AnswerBody::Kind::kStatus && answer ? *answer : Value(),
              event.code);
  if (!bare && a.level >= Level::kRequest && event.has_request_object)
    json::print_to(m.key("requestObject"), a.omit_managed_fields
                                               ? without_owners(event.request_object)
                                               : event.request_object);
  if (as_it_is)
    bytes_to(m.key("responseObject"), event.answer.bytes);
  else if (shows_answer && answer)
    json::print_to(m.key("responseObject"),
                   a.omit_managed_fields ? without_owners(std::move(*answer)) : *answer);
  m.text("requestReceivedTimestamp", rfc3339_micro(a.received));
  m.text("stageTimestamp", rfc3339_micro(event.at));
  if (!event.annotations.empty() || bare) annotations_to(m.key("annotations"), event, bare);
  m.end();
  return out;
}

std::string print_legacy(const Event& event) {
  const Arrival& a = *event.arrival;
  auto listed = [](const std::vector<std::string>& names) {
    std::vector<std::string> out;
    for (const std::string& n : names) out.push_back(quoted(n));
    return quoted(join(out, ","));
  };
  auto given = [](std::string_view text, std::string_view otherwise) {
    return quoted(text.empty() ? otherwise : text);
  };
  bool known = !a.user.name.empty();
  std::string groups = known && !a.user.groups.empty() ? listed(a.user.groups) : "\"<none>\"";
  std::string as_groups = event.impersonated && !event.impersonated->groups.empty()
                              ? listed(event.impersonated->groups)
                              : "\"<lookup>\"";
  return cat(shortest_time(a.received), " AUDIT: id=", quoted(a.audit_id),
             " stage=", quoted(stage_name(event.stage)),
             " ip=", given(a.source_ips.empty() ? "" : a.source_ips[0], "<unknown>"),
             " method=", quoted(a.verb), " user=", given(a.user.name, "<none>"), " groups=", groups,
             " as=", event.impersonated ? quoted(event.impersonated->name) : "\"<self>\"",
             " asgroups=", as_groups, " user-agent=", quoted(a.user_agent), " namespace=",
             given(first_of(a.object.namespace_name, event.sent.namespace_name), "<none>"),
             " uri=", quoted(a.uri), " response=\"",
             event.code ? std::to_string(event.code) : "<deferred>", "\"");
}

}  // namespace cardea::audit

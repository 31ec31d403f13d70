#include "rest/presentation.h"

#include "base/strings.h"
#include "json/print.h"
#include "json/yaml.h"
#include "rest/status.h"

namespace cardea::rest {

using json::Value;

namespace {

void pretty_to(std::string& out, const Value& value, std::size_t indent) {
  auto line = [&](std::size_t depth) { out += "\n" + std::string(depth * 2, ' '); };
  if (value.is_object() && !value.empty()) {
    out += '{';
    bool first = true;
    for (const json::Member& m : value.members()) {
      if (!first) out += ',';
      first = false;
      line(indent + 1);
      json::print_string_to(out, m.key());
      out += ": ";
      pretty_to(out, m.value, indent + 1);
    }
    line(indent);
    out += '}';
  } else if (value.is_array() && !value.empty()) {
    out += '[';
    bool first = true;
    for (const Value& item : value.items()) {
      if (!first) out += ',';
      first = false;
      line(indent + 1);
      pretty_to(out, item, indent + 1);
    }
    line(indent);
    out += ']';
  } else {
    json::print_to(out, value);
  }
}

// RFC 7234: `299 - "text"`, with what cannot stand in a header left out.
std::string warning_header(std::string_view text) {
  std::string out = "299 - \"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c >= 0x20 && c != 0x7f) out += static_cast<char>(c);
  }
  return out + "\"";
}

std::string printed(const Value& document, const View& view) {
  if (view.yaml) return json::print_yaml(document);
  if (view.pretty) return print_pretty(document) + "\n";
  return json::print_object(document) + "\n";
}

}  // namespace

std::string print_pretty(const Value& value) {
  std::string out;
  pretty_to(out, value, 0);
  return out;
}

Value present_object(const Value& object, const View&, const catalog::Resource&, const Clock&) { return object; }

http::Response present(Result<Answer> answer, const View& view, const std::vector<std::string>& warnings,
                       const catalog::Resource*, const authz::Query&, const Clock&) {
  http::Response response;
  response.headers.add("Cache-Control", "no-cache, private");
  if (!answer) {
    const Error& error = answer.error();
    response.status = status_code(error);
    response.headers.add("Content-Type", view.content_type());
    if (error.details && error.details->retry_after_seconds)
      response.headers.add("Retry-After", std::to_string(error.details->retry_after_seconds));
    response.body = http::Body(printed(status_document(error), view));
  } else if (answer->is_raw) {
    response.status = answer->status;
    response.headers.add("Content-Type", answer->content_type.empty() ? "application/json" : answer->content_type);
    response.body = std::move(answer->body);
  } else {
    response.status = answer->status;
    response.headers.add("Content-Type", answer->content_type.empty() ? view.content_type() : answer->content_type);
    response.body = http::Body(printed(answer->document, view));
  }
  if (answer)
    for (const auto& [name, value] : answer->headers) response.headers.add(name, value);
  for (const std::string& w : warnings) response.headers.add("Warning", warning_header(w));
  return response;
}

}  // namespace cardea::rest

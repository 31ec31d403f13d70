#include "rest/present/presentation.h"

#include <algorithm>
#include <unordered_set>

#include "base/strings.h"
#include "catalog/tables/tables.h"
#include "json/print.h"
#include "json/print_as_go.h"
#include "json/yaml.h"
#include "rest/present/status.h"
#include "schema/wire/protobuf_writer.h"

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
      json::print_string_as_go_to(out, m.key());
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
    json::print_as_go_to(out, value);
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

constexpr std::size_t kAllWarnings = 4096, kLongWarning = 256;  // characters

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](unsigned char c) { return (c & 0xc0) != 0x80; }));
}

std::string_view first_characters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && count-- == 0) break;
  return text.substr(0, at);
}

// Each once, without those a header cannot hold. When all together are long, each is cut and the
// last are left out.
void add_warnings(http::Headers& headers, const std::vector<std::string>& warnings) {
  std::vector<std::string_view> shown;
  std::unordered_set<std::string_view> seen;
  std::size_t total = 0;
  for (const std::string& w : warnings) {
    if (shown.size() > kAllWarnings)
      break;  // there may be hundreds of thousands, and no more than that fit
    const bool has_controls = std::ranges::any_of(
        w, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (w.empty() || has_controls || !seen.insert(w).second) continue;
    shown.push_back(w);
    total += characters(w);
  }
  const bool is_long = total > kAllWarnings;
  std::size_t left = kAllWarnings;
  for (std::string_view w : shown) {
    if (is_long) w = first_characters(w, kLongWarning);
    const std::size_t length = characters(w);
    if (length > left) break;
    left -= length;
    headers.add("Warning", warning_header(w));
  }
}

// The name of the type that holds such objects in Kubernetes; people search for it.
std::string internal_type(const catalog::Resource& r, bool is_list) {
  if (r.is_custom) return is_list ? "*unstructured.UnstructuredList" : "*unstructured.Unstructured";
  std::string_view group = r.group.empty() ? "core" : split(r.group, '.')[0];
  return cat("*", group, ".", is_list ? r.list_kind : r.kind);
}

// A document in text. Protobuf is none: see `write_document`.
std::string printed(const Value& document, const View& view) {
  if (view.format == Format::kYaml) return json::print_yaml(document);
  if (view.pretty) return print_pretty(document) + "\n";
  return json::print_object(document) + "\n";
}

void write_document(http::Response& response, const Value& document, const View& view,
                    const catalog::Catalog* catalog) {
  if (view.format != Format::kProtobuf) {
    response.headers.add("Content-Type", view.content_type());
    response.body = http::Body(printed(document, view));
    return;
  }
  const schema::Schema* type = catalog ? protobuf_type(*catalog, document) : nullptr;
  if (!type) {
    Error error = not_in_protobuf(document);
    if (response.status < 400) response.status = status_code(error);
    return write_document(response, status_document(error), View{}, nullptr);
  }
  response.headers.add("Content-Type", view.content_type());
  response.body = http::Body(schema::encode_enveloped(*type, document).bytes);
}

// An error has the format that the client accepts for it, whatever shape it wants of objects.
void write_error(http::Response& response, const Value& status, const Frame& frame) {
  if (auto format = negotiate_error(frame.accept)) {
    View view{.format = *format, .pretty = frame.view.pretty};
    return write_document(response, status, view, frame.catalog);
  }
  response.headers.add("Content-Type", "application/json");
  response.body = http::Body(print_pretty(status));
}

}  // namespace

const schema::Schema* protobuf_type(const catalog::Catalog& catalog, const Value& document) {
  std::string_view api_version = document["apiVersion"].as_string();
  auto slash = api_version.find('/');
  bool has_group = slash != std::string_view::npos;
  std::string_view version = has_group ? api_version.substr(slash + 1) : api_version;
  // Discovery leaves the version out.
  return catalog.kind_type(has_group ? api_version.substr(0, slash) : "",
                           version.empty() ? "v1" : version, document["kind"].as_string());
}

Error not_in_protobuf(const Value& document) {
  return Error::of(Reason::kNotAcceptable,
                   cat("object ", document["kind"].as_string(),
                       " does not implement the protobuf marshalling interface and cannot be "
                       "encoded to a protobuf message"));
}

std::string print_pretty(const Value& value) {
  std::string out;
  pretty_to(out, value, 0);
  return out;
}

Result<Value> shaped(const Value& document, bool is_list, const Frame& frame) {
  const View& view = frame.view;
  if (view.shape == View::Shape::kObject || !frame.resource) return document;
  if (view.shape == View::Shape::kTable) {
    auto include = catalog::parse_include_object(frame.include_object);
    if (!include) return fail(include.error());
    return catalog::table_of(document, *frame.resource, *frame.catalog,
                             {.include = *include,
                              .version = view.table_version,
                              .headers = frame.table_headers,
                              .now = frame.now});
  }
  bool wants_list = view.shape == View::Shape::kPartialList;
  if (wants_list == is_list)
    return is_list ? catalog::partial_metadata_list(document, view.table_version)
                   : catalog::partial_metadata(document, view.table_version);
  return fail(Error::of(Reason::kNotAcceptable,
                        cat("you requested PartialObjectMetadata", wants_list ? "List" : "",
                            ", but the requested object is ", is_list ? "a list (" : "not a list (",
                            internal_type(*frame.resource, is_list), ")")));
}

http::Response present(Result<Answer> answer, const Frame& frame,
                       const std::vector<std::string>& warnings) {
  http::Response response;
  response.headers.reserve(384);  // for all that most answers have
  response.headers.add("Cache-Control", "no-cache, private");
  if (answer && !answer->is_raw && answer->transforms) {
    auto document = shaped(answer->document, answer->is_list, frame);
    if (document)
      answer->document = std::move(*document);
    else
      answer = fail(document.error());
  }
  if (!answer) {
    const Error& error = answer.error();
    response.status = status_code(error);
    if (error.details && error.details->retry_after_seconds)
      response.headers.add("Retry-After", std::to_string(error.details->retry_after_seconds));
    write_error(response, status_document(error), frame);
  } else if (answer->is_raw) {
    response.status = answer->status;
    response.headers.add("Content-Type",
                         answer->content_type.empty() ? "application/json" : answer->content_type);
    response.body = std::move(answer->body);
  } else {
    response.status = answer->status;
    if (answer->status >= 400)
      write_error(response, answer->document, frame);
    else
      write_document(response, answer->document, frame.view, frame.catalog);
    if (!answer->content_type.empty()) response.headers.set("Content-Type", answer->content_type);
  }
  if (answer)
    for (const auto& [name, value] : answer->headers) response.headers.set(name, value);
  add_warnings(response.headers, warnings);
  return response;
}

}  // namespace cardea::rest

#include "rest/present/negotiation.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/strings.h"

namespace cardea::rest {
namespace {

constexpr std::string_view
    kAccepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
constexpr std::string_view
    kWatched = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

// One of the types that a client accepts.
struct Clause {
  std::string type;
  double quality = 1;
  std::string as, group, version, stream;
  bool converts = false;  // asks for another kind than the object's own

  bool is_any() const { return type == "*/*" || type == "application/*"; }
};

Clause parse_clause(std::string_view text) {
  Clause clause;
  bool first = true;
  for (std::string_view part : split(text, ';')) {
    part = trim(part);
    if (first) {
      clause.type = part;
      first = false;
      continue;
    }
    auto at = part.find('=');
    std::string key = lower(trim(part.substr(0, at)));
    std::string_view value = at == std::string_view::npos ? std::string_view()
                                                          : trim(part.substr(at + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (key == "q") std::from_chars(value.data(), value.data() + value.size(), clause.quality);
    if (key == "stream") clause.stream = value;
    for (auto [name, member] : {std::pair("as", &Clause::as), std::pair("g", &Clause::group),
                                std::pair("v", &Clause::version)})
      if (key == name) {
        clause.*member = value;
        clause.converts = true;
      }
  }
  return clause;
}

// Kubernetes moves a type that names more before one that leaves more open, whatever their quality.
bool comes_before(const Clause& a, const Clause& b) {
  if (a.quality > b.quality) return true;
  if (!a.type.starts_with('*') && b.type.starts_with('*')) return true;
  return !a.type.ends_with('*') && b.type.ends_with('*');
}

// That is no order that std::sort accepts: two types may each come before the other. So the clauses
// are inserted one after the other, as Kubernetes does with so few. Of many the quality decides.
std::vector<Clause> parse_accept(std::string_view accept) {
  constexpr std::size_t kFew = 12;
  std::vector<Clause> clauses;
  for (std::string_view part : split(accept, ',')) clauses.push_back(parse_clause(trim(part)));
  if (clauses.size() > kFew) {
    std::ranges::stable_sort(clauses, std::greater<>(), &Clause::quality);
    return clauses;
  }
  for (std::size_t next = 1; next < clauses.size(); ++next)
    for (std::size_t i = next; i > 0 && comes_before(clauses[i], clauses[i - 1]); --i)
      std::swap(clauses[i], clauses[i - 1]);
  return clauses;
}

constexpr std::pair<Format, std::string_view> kFormats[] = {{Format::kJson, "application/json"},
                                                            {Format::kYaml, "application/yaml"},
                                                            {Format::kProtobuf, kProtobufType}};

bool names(const Clause& c, std::string_view type) {
  return c.type == type || c.is_any();
}

// What Kubernetes' router looks at, before anything else does.
bool names_format(const Clause& c) {
  return c.type == "*/*" ||
         std::ranges::any_of(kFormats, [&](const auto& f) { return f.second == c.type; });
}

bool can_stream(Format format) {
  return format != Format::kYaml;
}

bool can_stream_as_asked(const Clause& c, Format format) {
  return c.stream.empty() || (c.stream == "watch" && can_stream(format));
}

bool take_shape(const Clause& c, bool transforms, View& view) {
  if (!c.converts) return true;
  if (!transforms || c.group != "meta.k8s.io" || (c.version != "v1" && c.version != "v1beta1"))
    return false;
  view.table_version = c.version;
  if (c.as == "Table" && view.format != Format::kProtobuf)
    view.shape = View::Shape::kTable;
  else if (c.as == "PartialObjectMetadata")
    view.shape = View::Shape::kPartialObject;
  else if (c.as == "PartialObjectMetadataList")
    view.shape = View::Shape::kPartialList;
  else
    return false;
  return true;
}

}  // namespace

std::string_view View::content_type() const {
  return kFormats[static_cast<std::size_t>(format)].second;
}

Result<View> negotiate(std::string_view accept, Offer offer) {
  if (trim(accept).empty()) return View{};
  const std::vector<Clause> clauses = parse_accept(accept);
  if (!offer.is_custom && !std::ranges::any_of(clauses, names_format))
    return fail(
        not_acceptable(offer.is_list ? cat(kAccepted, ", ", kWatched) : std::string(kAccepted)));
  auto refusal = [](std::string_view types) {
    return fail(Error::of(Reason::kNotAcceptable,
                          cat("only the following media types are accepted: ", types)));
  };
  for (const Clause& c : clauses)
    for (const auto& [format, type] : kFormats) {
      if (!names(c, type) || !can_stream_as_asked(c, format)) continue;
      View view{.format = format};
      if (!take_shape(c, offer.transforms, view)) continue;
      if (view.is_plain_protobuf() && !offer.has_protobuf) continue;
      // Events have no form in YAML, and the client prefers it to all others.
      if (offer.is_watch && !can_stream(format)) return refusal(kWatched);
      return view;
    }
  return refusal(kAccepted);
}

Result<PageForm> negotiate_page(std::string_view accept, std::string_view as) {
  if (trim(accept).empty()) return PageForm::kText;
  for (const Clause& c : parse_accept(accept)) {
    if (c.type == "*/*" || c.type == "text/*" || c.type == "text/plain") return PageForm::kText;
    if (c.as != as || c.group != "config.k8s.io" || c.version != "v1beta1") continue;
    if (c.type == "application/json") return PageForm::kJson;
    if (c.type == "application/yaml") return PageForm::kYaml;
  }
  return fail(Error::of(Reason::kNotAcceptable,
                        "only the following media types are accepted: application/json, "
                        "application/yaml, text/plain"));
}

Error not_acceptable(std::string_view available) {
  return Error::of(Reason::kNotAcceptable,
                   cat("406: Not Acceptable\n\nAvailable representations: ", available))
      .with({});
}

bool accepts(std::string_view accept, std::string_view type) {
  if (trim(accept).empty()) return true;
  return std::ranges::any_of(parse_accept(accept),
                             [&](const Clause& c) { return c.type == "*/*" || c.type == type; });
}

std::optional<Format> negotiate_error(std::string_view accept) {
  if (trim(accept).empty()) return Format::kJson;
  for (const Clause& c : parse_accept(accept))
    for (const auto& [format, type] : kFormats)
      if (names(c, type) && !c.converts && can_stream_as_asked(c, format)) return format;
  return std::nullopt;
}

bool wants_pretty(std::string_view user_agent, std::string_view parameter, bool has_parameter) {
  if (has_parameter) return parameter == "1" || parameter == "true";
  return user_agent.starts_with("curl") || user_agent.starts_with("Wget") ||
         user_agent.starts_with("Mozilla/5.0");
}

std::string media_type(std::string_view content_type) {
  return lower(trim(content_type.substr(0, content_type.find(';'))));
}

Result<Format> body_format(std::string_view content_type) {
  std::string type = media_type(content_type);
  if (trim(content_type).empty() || type == "application/json") return Format::kJson;
  if (type == "application/yaml") return Format::kYaml;
  if (type == "application/vnd.kubernetes.protobuf") return Format::kProtobuf;
  return fail(Error::of(
      Reason::kUnsupportedMediaType,
      cat("the body of the request was in an unknown format - accepted media types include: ",
          kAccepted)));
}

Result<PatchType> patch_type(std::string_view content_type, bool strategic_allowed) {
  std::string type = media_type(content_type);
  if (type == "application/json-patch+json") return PatchType::kJson;
  if (type == "application/merge-patch+json") return PatchType::kMerge;
  if (type == "application/apply-patch+yaml") return PatchType::kApply;
  if (type == "application/strategic-merge-patch+json") {
    if (strategic_allowed) return PatchType::kStrategicMerge;
    return fail(Error::of(
        Reason::kUnsupportedMediaType,
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"));
  }
  return fail(Error::of(Reason::kUnsupportedMediaType, "415: Unsupported Media Type").with({}));
}

}  // namespace cardea::rest

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

struct Clause {
  std::string type;
  double quality = 1;
  std::string as, group, version;
};

Clause parse_clause(std::string_view text) {
  Clause clause;
  bool first = true;
  for (std::string_view part : split(text, ';')) {
    part = trim(part);
    if (first) {
      clause.type = lower(part);
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
    if (key == "as") clause.as = value;
    if (key == "g") clause.group = value;
    if (key == "v") clause.version = value;
  }
  return clause;
}

bool take_shape(const Clause& c, bool transforms, View& view) {
  if (c.as.empty()) return true;
  if (!transforms || c.group != "meta.k8s.io" || (c.version != "v1" && c.version != "v1beta1"))
    return false;
  view.table_version = c.version;
  if (c.as == "Table")
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

Result<View> negotiate(std::string_view accept, Offer offer) {
  if (trim(accept).empty()) return View{};
  std::vector<Clause> clauses;
  for (std::string_view part : split(accept, ',')) clauses.push_back(parse_clause(trim(part)));
  std::ranges::stable_sort(clauses, std::greater<>(), &Clause::quality);
  bool type_matched = false, only_yaml = false;
  for (const Clause& c : clauses) {
    bool json = c.type == "application/json" || c.type == "*/*" || c.type == "application/*";
    bool yaml = c.type == "application/yaml";
    if (!json && !yaml) continue;
    type_matched = true;
    only_yaml = yaml && offer.is_watch;
    if (only_yaml) continue;
    View view;
    view.yaml = yaml;
    if (take_shape(c, offer.transforms, view)) return view;
  }
  if (type_matched || offer.is_custom || clauses[0].type == "application/vnd.kubernetes.protobuf")
    return fail(Error::of(
        Reason::kNotAcceptable,
        cat("only the following media types are accepted: ", only_yaml ? kWatched : kAccepted)));
  std::string all = offer.is_list ? cat(kAccepted, ", ", kWatched) : std::string(kAccepted);
  return fail(Error::of(Reason::kNotAcceptable,
                        cat("406: Not Acceptable\n\nAvailable representations: ", all))
                  .with({}));
}

bool wants_pretty(std::string_view user_agent, std::string_view parameter, bool has_parameter) {
  if (has_parameter) return parameter == "1" || parameter == "true";
  return user_agent.starts_with("curl") || user_agent.starts_with("Wget") ||
         user_agent.starts_with("Mozilla/5.0");
}

std::string media_type(std::string_view content_type) {
  return lower(trim(content_type.substr(0, content_type.find(';'))));
}

Result<BodyFormat> body_format(std::string_view content_type) {
  std::string type = media_type(content_type);
  if (trim(content_type).empty() || type == "application/json") return BodyFormat::kJson;
  if (type == "application/yaml") return BodyFormat::kYaml;
  if (type == "application/vnd.kubernetes.protobuf") return BodyFormat::kProtobuf;
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

#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea::rest {

// The form of an answer that a client asks for.
struct View {
  enum class Shape { kObject, kTable, kPartialObject, kPartialList };
  Shape shape = Shape::kObject;
  bool yaml = false;
  bool pretty = false;
  std::string table_version = "v1";  // of meta.k8s.io, for tables and partial metadata

  bool is_plain_json() const { return shape == Shape::kObject && !yaml && !pretty; }
  std::string_view content_type() const { return yaml ? "application/yaml" : "application/json"; }
};

// The available forms.
struct Offer {
  bool transforms = false;  // tables and partial metadata too
  bool is_custom = false;   // of a definition: Kubernetes words the refusal otherwise
  bool is_list = false;     // a path that can be watched as well, which the refusal says too
  bool is_watch = false;    // events are not written in YAML
};

// Chooses by the Accept header: the first available form, in the order of quality values. 406
// when none fits.
Result<View> negotiate(std::string_view accept, Offer offer);

// `pretty=1`, or a tool for people (curl, wget, a browser) without another choice.
bool wants_pretty(std::string_view user_agent, std::string_view pretty_parameter,
                  bool has_parameter);

enum class BodyFormat { kJson, kYaml, kProtobuf };

// The format of a request body by its Content-Type; an absent one is JSON. 415 for any other.
Result<BodyFormat> body_format(std::string_view content_type);

enum class PatchType { kJson, kMerge, kStrategicMerge, kApply };
Result<PatchType> patch_type(std::string_view content_type, bool strategic_allowed);

// The media type without its parameters, in lower case.
std::string media_type(std::string_view content_type);

}  // namespace cardea::rest

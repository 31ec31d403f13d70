#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea::rest {

// The formats of bodies, in the order in which a client without a preference gets them.
enum class Format { kJson, kYaml, kProtobuf };
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// The form of an answer that a client asks for.
struct View {
  enum class Shape { kObject, kTable, kPartialObject, kPartialList };
  Shape shape = Shape::kObject;
  Format format = Format::kJson;
  bool pretty = false;
  std::string table_version = "v1";  // of meta.k8s.io, for tables and partial metadata

  bool is_plain_json() const {
    return shape == Shape::kObject && format == Format::kJson && !pretty;
  }
  bool is_plain_protobuf() const { return shape == Shape::kObject && format == Format::kProtobuf; }
  std::string_view content_type() const;
};

// The available forms.
struct Offer {
  bool transforms = false;   // tables and partial metadata too
  bool has_protobuf = true;  // of the object itself; its partial metadata always can be had
  bool is_custom = false;    // of a definition: Kubernetes words the refusal otherwise
  bool is_list = false;      // a path that can be watched as well, which the refusal says too
  bool is_watch = false;     // events are not written in YAML
};

// Chooses by the Accept header: the first available form, in the order of quality values. 406
// when none fits.
Result<View> negotiate(std::string_view accept, Offer offer);

// The form of a page for people that also has a document, `as` of config.k8s.io: text unless the
// client asks for that document in JSON or YAML by its full name.
enum class PageForm { kText, kJson, kYaml };
Result<PageForm> negotiate_page(std::string_view accept, std::string_view as);

// Whether the Accept header names this type, alone or among others.
bool accepts(std::string_view accept, std::string_view type);
Error not_acceptable(std::string_view available);

// The format of an error, which has no other shape than its own; nullopt when the header accepts
// none. The error is then sent as JSON all the same.
std::optional<Format> negotiate_error(std::string_view accept);

// `pretty=1`, or a tool for people (curl, wget, a browser) without another choice.
bool wants_pretty(std::string_view user_agent, std::string_view pretty_parameter,
                  bool has_parameter);

// The format of a request body by its Content-Type; an absent one is JSON. 415 for any other.
Result<Format> body_format(std::string_view content_type);

enum class PatchType { kJson, kMerge, kStrategicMerge, kApply };
Result<PatchType> patch_type(std::string_view content_type, bool strategic_allowed);

// The media type without its parameters, in lower case.
std::string media_type(std::string_view content_type);

}  // namespace cardea::rest

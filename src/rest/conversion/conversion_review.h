#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "json/value.h"

// ConversionReviews as they are sent and read. Pure functions.
namespace cardea::rest {

// The first of a definition's `conversionReviewVersions` that is known here; empty: none is.
std::string_view review_version(const json::Value& versions);

json::Value conversion_review(std::string_view version, std::string_view uid,
                              std::string_view desired_api_version,
                              const std::vector<json::Value>& objects);

// Why a webhook's answer is not used: the text for the client, and the word for metrics.
struct ConversionFailure {
  std::string message;
  std::string_view type;
};

// What was asked, as the answer is held against it.
struct ConversionQuestion {
  std::string_view version;  // of the review: v1 or v1beta1
  std::string_view uid;
  std::string_view desired_api_version;
  const std::vector<json::Value>& objects;
};

// The converted objects. They have the metadata of the objects that were sent, except for labels
// and annotations. One wrong object spoils the whole answer.
std::expected<std::vector<json::Value>, ConversionFailure> read_conversion(
    const http::Answer& answer, const ConversionQuestion& question);

// `example.com/v1, Kind=Door`, as Kubernetes names what an object claims to be.
std::string kind_named(const json::Value& object);

}  // namespace cardea::rest

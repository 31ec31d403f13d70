#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/selector.h"

namespace cardea::authz {

// Decoded query parameters in the order of the URL.
class Query {
 public:
  static Query parse(std::string_view raw);

  std::optional<std::string_view> first(std::string_view key) const;
  std::vector<std::string_view> all(std::string_view key) const;
  bool has(std::string_view key) const { return first(key).has_value(); }
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// Kubernetes' reading of a boolean parameter: `0` and `false` in any case are false, everything
// else is true.
bool is_true_parameter(std::string_view value);

// The readable selectors of a list, watch or deletecollection. Selectors only narrow a request:
// unreadable ones are left out and reported.
struct Selectors {
  json::FieldSelector fields;
  json::LabelSelector labels;
  std::string field_error, label_error;
};
// Null when both are empty.
std::shared_ptr<const Selectors> read_selectors(std::string_view fields, std::string_view labels);

// The content of a request, from its method and URL alone. Authorization, admission and audit
// all use these names.
struct RequestInfo {
  bool is_resource_request = false;
  std::string path;  // decoded
  std::string verb;  // "list", "deletecollection"; lower-cased method for other paths
  std::string api_prefix, api_group, api_version;
  std::string namespace_name, resource, subresource, name;
  std::vector<std::string> parts;              // from the resource on
  std::string field_selector, label_selector;  // raw
  std::shared_ptr<const Selectors> selectors;  // the same, read; null when there are none
  Query query;
  std::string via;  // of a review: the servers that passed it on (authz/attributes.h)
};

// `path` as sent (still percent-encoded), `query` without the question mark. The only error is a
// `watch` or `proxy` prefix that nothing follows.
Result<RequestInfo> parse_request_info(std::string_view method, std::string_view path,
                                       std::string_view query);

}  // namespace cardea::authz

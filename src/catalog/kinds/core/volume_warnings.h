#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "catalog/kinds/path.h"
#include "json/value.h"

namespace cardea::catalog {

// What is told about names and kinds of storage that still work, or no longer do.

// The hint for a node label of old, or "".
std::string_view deprecated_node_label(std::string_view key);
void warn_about_node_selector_term(const json::Value& term, bool check_values, const Path& path,
                                   std::vector<std::string>& out);
// `holder` is a pod's volume or a persistent volume's spec.
void warn_about_volume_source(const json::Value& holder, const Path& path,
                              std::vector<std::string>& out);
void warn_about_claim_spec(const json::Value& spec, const Path& path,
                           std::vector<std::string>& out);
// Bytes come whole.
void warn_about_fraction(const json::Value& quantity, const Path& path,
                         std::vector<std::string>& out);

}  // namespace cardea::catalog

#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "catalog/kinds/path.h"
#include "json/value.h"

namespace cardea::catalog {

// Warnings about deprecated or removed names and volume sources.

// The hint for a deprecated node label, or "".
std::string_view deprecated_node_label(std::string_view key);
void warn_about_node_selector_term(const json::Value& term, bool check_values, const Path& path,
                                   std::vector<std::string>& out);
// `holder` is a pod's volume or a persistent volume's spec.
void warn_about_volume_source(const json::Value& holder, const Path& path,
                              std::vector<std::string>& out);
void warn_about_claim_spec(const json::Value& spec, const Path& path,
                           std::vector<std::string>& out);
// A warning if an amount of bytes is not a whole number.
void warn_about_fraction(const json::Value& quantity, const Path& path,
                         std::vector<std::string>& out);

}  // namespace cardea::catalog

#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/strategy.h"

namespace cardea::catalog {

// The rules for names, labels, keys and ports. Each function returns the errors of the text, in
// Kubernetes' words and order, and nothing if it is well formed. Pure; safe from any thread.
using Complaints = std::vector<std::string>;

// `prefix`: the text is a generateName, to which the server appends a suffix, so it may end with a
// dash.
using NameCheck = Complaints (*)(std::string_view name, bool prefix);

Complaints name_is_dns_subdomain(std::string_view name, bool prefix);
Complaints name_is_dns_label(std::string_view name, bool prefix);
Complaints name_is_dns1035_label(std::string_view name, bool prefix);
Complaints name_is_path_segment(std::string_view name, bool prefix);
NameCheck name_check(Strategy::NameRule rule);

Complaints dns1123_label(std::string_view text);
Complaints dns1123_subdomain(std::string_view text);
Complaints dns1123_subdomain_caseless(std::string_view text);
Complaints dns1123_subdomain_with_underscore(std::string_view text);
Complaints dns1035_label(std::string_view text);
Complaints wildcard_dns1123_subdomain(std::string_view text);  // *.example.com
Complaints qualified_name(std::string_view text);              // a label's key: [prefix/]name
Complaints label_value(std::string_view text);
Complaints c_identifier(std::string_view text);
Complaints env_var_name(std::string_view text);
Complaints config_map_key(std::string_view text);
Complaints http_header_name(std::string_view text);
Complaints percent(std::string_view text);
Complaints condition_reason(std::string_view text);
Complaints port_number(std::int64_t port);
Complaints port_name(std::string_view text);  // an IANA service name
Complaints in_range(std::int64_t value, std::int64_t low, std::int64_t high);
Complaints user_id(std::int64_t id);
Complaints group_id(std::int64_t id);

// Phrases that several rules share.
std::string max_length_error(int length);
std::string inclusive_range_error(std::int64_t low, std::int64_t high);
std::string regex_error(std::string_view message, std::string_view expression,
                        const std::vector<std::string>& examples);
inline constexpr std::string_view kMustBeNonEmpty = "must be non-empty";
inline constexpr std::string_view kMustNotBeNegative = "must be greater than or equal to 0";
inline constexpr std::string_view kFieldIsImmutable = "field is immutable";

}  // namespace cardea::catalog

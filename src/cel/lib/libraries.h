#pragma once
#include <span>

#include "cel/check/function.h"

// The tables of functions, one per library. environment.h chooses among them.
namespace cardea::cel {

std::span<const OverloadRow> standard_overloads();
std::span<const OverloadRow> optional_overloads();
std::span<const OverloadRow> strings_overloads();
std::span<const OverloadRow> lists_overloads();
std::span<const OverloadRow> sets_overloads();
std::span<const OverloadRow> math_overloads();
std::span<const OverloadRow> encoders_overloads();
std::span<const OverloadRow> ip_overloads();
std::span<const OverloadRow> cidr_overloads();
std::span<const OverloadRow> network_overloads();
std::span<const OverloadRow> k8s_lists_overloads();
std::span<const OverloadRow> k8s_regex_overloads();
std::span<const OverloadRow> urls_overloads();
std::span<const OverloadRow> quantity_overloads();
std::span<const OverloadRow> format_overloads();
std::span<const OverloadRow> semver_overloads();
std::span<const OverloadRow> authorizer_overloads();
std::span<const OverloadRow> selector_overloads();
std::span<const OverloadRow> jsonpatch_overloads();

}  // namespace cardea::cel

#include "cel/cost/cost.h"

#include <algorithm>
#include <cmath>

#include "cel/eval/opaque.h"

namespace cardea::cel {
namespace {

std::uint64_t ceil_of(double d) {
  return static_cast<std::uint64_t>(std::ceil(d));
}
// Sizes that are not small are computed in doubles, to round as cel-go does.
std::uint64_t tenth(std::uint64_t size) {
  return size <= 29 ? (size + 9) / 10 : ceil_of(static_cast<double>(size) * 0.1);
}
std::uint64_t tenth(const Value& v) {
  return tenth(actual_size(v));
}
std::uint64_t allocating(double factor, std::uint64_t size) {
  return static_cast<std::uint64_t>(static_cast<double>(size) * factor) + 11;
}

// Visits everything in a value.
std::uint64_t traversal(const Value& v) {
  switch (v.kind) {
    case Kind::kString:
    case Kind::kBytes:
      return static_cast<std::uint64_t>(v.size * 0.1);
    case Kind::kList: {
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < v.size; ++i) sum += traversal(list_at(v, i));
      return sum;
    }
    case Kind::kMap: {
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < v.size; ++i)
        sum += traversal(map_key(v, i)) + traversal(map_value(v, i));
      return sum;
    }
    default:
      return 1;
  }
}

std::uint64_t pattern_cost(std::uint64_t text, std::uint64_t pattern) {
  return ceil_of((1.0 + static_cast<double>(text)) * 0.1) *
         ceil_of(static_cast<double>(pattern) * 0.25);
}

using Args = const Value*;
std::uint64_t k_one(Args, std::size_t, const Value&) {
  return 1;
}
std::uint64_t k_check(Args, std::size_t, const Value&) {
  return 350000;
}
std::uint64_t k_selector(Args a, std::size_t n, const Value&) {
  if (n < 2) return 1;
  const std::uint64_t size = actual_size(a[1]);
  return 10 + tenth(size) +
         ceil_of(static_cast<double>(ceil_of(static_cast<double>(size) * 0.5)) * 50.0);
}
std::uint64_t k_walk(Args a, std::size_t n, const Value&) {
  return n > 0 ? traversal(a[0]) : 0;
}
std::uint64_t k_tenth(Args a, std::size_t, const Value&) {
  return tenth(a[0]);
}
std::uint64_t k_fifth(Args a, std::size_t, const Value&) {
  return ceil_of(static_cast<double>(actual_size(a[0])) * 2 * 0.1);
}
std::uint64_t k_join(Args, std::size_t, const Value& r) {
  return ceil_of(static_cast<double>(actual_size(r)) * 2 * 0.1);
}
std::uint64_t k_find(Args a, std::size_t, const Value&) {
  return pattern_cost(actual_size(a[0]), actual_size(a[1]));
}
std::uint64_t other_size(const Value& v) {
  return v.kind == Kind::kIp     ? ip_of(v).width()
         : v.kind == Kind::kCidr ? cidr_of(v).ip.width()
                                 : actual_size(v);
}
std::uint64_t k_contains_ip(Args a, std::size_t, const Value&) {
  return ceil_of(static_cast<double>(2 * actual_size(a[0])) * 0.1);
}
std::uint64_t k_contains_cidr(Args a, std::size_t n, const Value& r) {
  return k_contains_ip(a, n, r) + tenth(a[0]) + 1;
}
// The address is read first.
template <CostRule kRule>
std::uint64_t k_of_text(Args a, std::size_t n, const Value& r) {
  return kRule(a, n, r) + tenth(a[1]);
}
std::uint64_t k_ip(Args a, std::size_t, const Value&) {
  return a[0].kind == Kind::kCidr ? 1 : tenth(other_size(a[0]));
}
std::uint64_t k_validate(Args a, std::size_t n, const Value&) {
  if (n < 2 || a[0].kind != Kind::kFormat) return 1;
  return pattern_cost(actual_size(a[1]), format_of(a[0]).longest_pattern);
}

struct Row {
  std::string_view function;
  CostRule rule;
};
constexpr Row kRules[] = {{"check", k_check},
                          {"serviceAccount", k_one},
                          {"path", k_one},
                          {"group", k_one},
                          {"resource", k_one},
                          {"subresource", k_one},
                          {"namespace", k_one},
                          {"name", k_one},
                          {"allowed", k_one},
                          {"reason", k_one},
                          {"error", k_one},
                          {"errored", k_one},
                          {"fieldSelector", k_selector},
                          {"labelSelector", k_selector},
                          {"isSorted", k_walk},
                          {"sum", k_walk},
                          {"max", k_walk},
                          {"min", k_walk},
                          {"indexOf", k_walk},
                          {"lastIndexOf", k_walk},
                          {"includes", k_walk},
                          {"url", k_tenth},
                          {"lowerAscii", k_tenth},
                          {"upperAscii", k_tenth},
                          {"substring", k_tenth},
                          {"trim", k_tenth},
                          {"jsonpatch.escapeKey", k_tenth},
                          {"replace", k_fifth},
                          {"split", k_fifth},
                          {"join", k_join},
                          {"find", k_find},
                          {"findAll", k_find},
                          {"cidr", k_tenth},
                          {"isIP", k_tenth},
                          {"isCIDR", k_tenth},
                          {"ip", k_ip},
                          {"ip.isCanonical", k_fifth},
                          {"masked", k_one},
                          {"prefixLength", k_one},
                          {"family", k_one},
                          {"isUnspecified", k_one},
                          {"isLoopback", k_one},
                          {"isLinkLocalMulticast", k_one},
                          {"isLinkLocalUnicast", k_one},
                          {"isGlobalUnicast", k_one},
                          {"containsIP", k_contains_ip},
                          {"containsCIDR", k_contains_cidr},
                          {"quantity", k_tenth},
                          {"isQuantity", k_tenth},
                          {"semver", k_tenth},
                          {"isSemver", k_tenth},
                          {"validate", k_validate},
                          {"format.named", k_one},
                          {"sign", k_one},
                          {"asInteger", k_one},
                          {"isInteger", k_one},
                          {"asApproximateFloat", k_one},
                          {"isGreaterThan", k_one},
                          {"isLessThan", k_one},
                          {"compareTo", k_one},
                          {"add", k_one},
                          {"sub", k_one},
                          {"major", k_one},
                          {"minor", k_one},
                          {"patch", k_one},
                          {"getScheme", k_one},
                          {"getHostname", k_one},
                          {"getHost", k_one},
                          {"getPort", k_one},
                          {"getEscapedPath", k_one},
                          {"getQuery", k_one}};

// Extension functions that cost one in Kubernetes' version of the library.
constexpr std::string_view kUncounted[] = {"charAt", "reverse"};

}  // namespace

// A text of one to ten bytes has one to ten code points, so they need not be counted.
std::uint64_t text_cost(const Value& text) {
  if (text.size <= 10) return text.size == 0 ? 0 : 1;
  return tenth(code_points(text.string()));
}

std::uint64_t equality_cost(const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) {
    const std::uint32_t bytes = std::min(a.size, b.size);
    if (bytes <= 10) return bytes == 0 ? 0 : 1;
  } else if (a.kind < Kind::kString || b.kind < Kind::kString) {
    if (a.kind < Kind::kString && b.kind < Kind::kString) return 1;
  }
  return tenth(std::min(actual_size(a), actual_size(b)));
}

std::uint64_t self_compare_cost(const Value& list) {
  if (list.kind != Kind::kList) return 1;
  const std::uint64_t size = list.size;
  double factor = 2.0;
  if (size > 0) {
    const Kind first = list_at(list, 0).kind;
    if (first == Kind::kString || first == Kind::kBytes) factor += 0.1;
  }
  return allocating(factor, size * size);
}

std::optional<CostRule> kubernetes_rule(std::string_view function, std::string_view overload_id) {
  if (overload_id == "cidr_contains_ip_string") return k_of_text<k_contains_ip>;
  if (overload_id == "cidr_contains_cidr_string") return k_of_text<k_contains_cidr>;
  if (function == "reverse" && overload_id != "string_reverse") return std::nullopt;
  if (std::ranges::find(kUncounted, function) != std::end(kUncounted)) return nullptr;
  const auto* row = std::ranges::find(kRules, function, &Row::function);
  if (row == std::end(kRules)) return std::nullopt;
  return row->rule;
}

namespace rule {
std::uint64_t first_tenth(Args a, std::size_t, const Value&) {
  return tenth(a[0]);
}
std::uint64_t second_tenth(Args a, std::size_t, const Value&) {
  return tenth(a[1]);
}
std::uint64_t second_size(Args a, std::size_t, const Value&) {
  return actual_size(a[1]);
}
std::uint64_t smaller_tenth(Args a, std::size_t, const Value&) {
  return equality_cost(a[0], a[1]);
}
std::uint64_t sum_tenth(Args a, std::size_t, const Value&) {
  return tenth(actual_size(a[0]) + actual_size(a[1]));
}
std::uint64_t matches(Args a, std::size_t, const Value&) {
  return pattern_cost(actual_size(a[0]), actual_size(a[1]));
}
std::uint64_t contains(Args a, std::size_t, const Value&) {
  return tenth(a[0]) * tenth(a[1]);
}
std::uint64_t made_text(Args a, std::size_t, const Value& r) {
  return 1 + tenth(a[0]) + actual_size(r);
}
static std::uint64_t scan_cost(Args a) {
  return ceil_of(static_cast<double>(actual_size(a[0]) * actual_size(a[1])) * 0.1);
}
std::uint64_t search(Args a, std::size_t, const Value&) {
  return 1 + scan_cost(a);
}
std::uint64_t replace(Args a, std::size_t, const Value& r) {
  const std::uint64_t area = std::max<std::uint64_t>(actual_size(a[0]), 1) *
                             std::max<std::uint64_t>(actual_size(a[1]), 1);
  return 1 + tenth(area) + actual_size(r);
}
std::uint64_t one_character(Args a, std::size_t, const Value&) {
  return 2 + tenth(a[0]);
}
std::uint64_t split(Args a, std::size_t, const Value& r) {
  return 11 + tenth(actual_size(a[0]) + 1) + actual_size(r);
}
std::uint64_t join(Args a, std::size_t, const Value& r) {
  return 1 + tenth(actual_size(a[0]) + 1) + actual_size(r);
}
std::uint64_t made_list(Args, std::size_t, const Value& r) {
  return allocating(1, actual_size(r));
}
std::uint64_t flatten(Args a, std::size_t n, const Value&) {
  const double depth = n == 2 && a[1].kind == Kind::kInt ? static_cast<double>(a[1].integer) : 1.0;
  return allocating(depth < 0 ? 1.0 : depth, actual_size(a[0]));
}
std::uint64_t self_compare(Args a, std::size_t, const Value&) {
  return self_compare_cost(a[0]);
}
std::uint64_t product(Args a, std::size_t, const Value&) {
  return 1 + actual_size(a[0]) * actual_size(a[1]);
}
std::uint64_t product_twice(Args a, std::size_t, const Value&) {
  return 1 + 2 * actual_size(a[0]) * actual_size(a[1]);
}
}  // namespace rule

}  // namespace cardea::cel

#include "cel/cost/estimate_calls.h"

#include <algorithm>
#include <span>

#include "cel/syntax/operators.h"

namespace cardea::cel {
namespace {

constexpr double kTraversal = 0.1;  // per character
constexpr double kPattern = 0.25;   // per character of a regular expression
constexpr std::uint64_t kMakeList = 10, kMakeStruct = 40;
constexpr std::uint64_t kCheck = 350'000;
constexpr double kNameFormatPattern = 128;
constexpr std::uint64_t kFormatSize = 64;

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// Functions that make Kubernetes' types, and that read them.
constexpr std::string_view kNominal[] = {"serviceAccount",
                                         "path",
                                         "group",
                                         "resource",
                                         "subresource",
                                         "namespace",
                                         "name",
                                         "allowed",
                                         "reason",
                                         "error",
                                         "errored",
                                         "masked",
                                         "prefixLength",
                                         "family",
                                         "isUnspecified",
                                         "isLoopback",
                                         "isLinkLocalMulticast",
                                         "isLinkLocalUnicast",
                                         "isGlobalUnicast",
                                         "format.named",
                                         "sign",
                                         "asInteger",
                                         "isInteger",
                                         "asApproximateFloat",
                                         "isGreaterThan",
                                         "isLessThan",
                                         "compareTo",
                                         "add",
                                         "sub",
                                         "major",
                                         "minor",
                                         "patch",
                                         "getScheme",
                                         "getHostname",
                                         "getHost",
                                         "getPort",
                                         "getEscapedPath",
                                         "getQuery"};
constexpr std::string_view kListWalks[] = {"isSorted", "sum",     "max",
                                           "min",      "indexOf", "lastIndexOf"};
constexpr std::string_view kTextWalks[] = {"lowerAscii", "upperAscii", "substring", "trim"};
constexpr std::string_view kTextParsers[] = {"cidr",       "isIP",   "isCIDR",  "quantity",
                                             "isQuantity", "semver", "isSemver"};

std::uint64_t traversal(const SizeRange& size, double times = 1) {
  return scale_capped(size.max, times * kTraversal);
}
// One more than the length, so that an empty text does not make every pattern free.
std::uint64_t pattern_match(const SizeRange& text, const SizeRange& pattern) {
  return multiply_capped(traversal(text + SizeRange{1, 1}), scale_capped(pattern.max, kPattern));
}

class CallPricer {
 public:
  CallPricer(const SizeSource& sizes, std::string_view function, std::string_view overload,
             Measured* target, std::vector<Measured>& args)
      : sizes_(sizes), function_(function), overload_(overload), target_(target), args_(args) {}

  CallPrice price() {
    if (const auto p = of_extension()) return *p;
    if (const auto p = of_kubernetes()) return *p;
    return of_standard();
  }

 private:
  using Maybe = std::optional<CallPrice>;
  SizeRange target_size() { return sizes_.size_or_unknown(*target_); }
  SizeRange arg_size(std::size_t i) { return sizes_.size_or_unknown(args_[i]); }

  static CallPrice made_list(const SizeRange& size, double factor) {
    return {add_capped(scale_capped(size.max, factor), 1 + kMakeList), size, {}};
  }

  static std::uint64_t literal_or(const Measured& m, std::uint64_t otherwise) {
    if (m.expr == nullptr || m.expr->kind != Expr::Kind::kLiteral ||
        m.expr->literal.kind != Kind::kInt)
      return otherwise;
    return m.expr->literal.integer < 0 ? 0 : static_cast<std::uint64_t>(m.expr->literal.integer);
  }

  Maybe of_extension() {
    if (overload_ == "list_slice") {
      const std::uint64_t start = literal_or(args_[0], 0),
                          end = literal_or(args_[1], target_size().max);
      return made_list({end - start, end - start}, 1);
    }
    if (overload_ == "list_flatten") return made_list(target_size(), 1);
    if (overload_ == "list_flatten_int")
      return made_list(target_size(), static_cast<double>(literal_or(args_[0], kUnbounded)));
    if (overload_ == "lists_range") {
      const std::uint64_t n = literal_or(args_[0], kUnbounded);
      return made_list({n, n}, 1);
    }
    if (overload_ == "list_reverse") return made_list(target_size(), 1);
    if (overload_ == "list_distinct") return made_list(target_size() * target_size(), 2);
    if (overload_.starts_with("list_") && overload_.ends_with("_sort"))
      return sorted(target_size());
    if (overload_.starts_with("list_") && overload_.ends_with("_sortByAssociatedKeys"))
      return sorted(arg_size(0));
    if (overload_.starts_with("list_sets_"))
      return CallPrice{add_capped(scale_capped((arg_size(0) * arg_size(1)).max,
                                               overload_ == "list_sets_equivalent_list" ? 2 : 1),
                                  1),
                       {},
                       {}};
    return std::nullopt;
  }
  CallPrice sorted(const SizeRange& size) {
    const bool text = overload_.starts_with("list_string_") || overload_.starts_with("list_bytes_");
    return made_list(size * size, text ? 2 + kTraversal : 2);
  }

  Maybe of_kubernetes() {
    if (function_ == "check") return CallPrice{kCheck, {}, {}};
    if (is_one_of(function_, kNominal)) return CallPrice{1, {}, {}};
    if (function_ == op::kEqual && args_.size() == 2) return equality();
    if (function_ == "ip" && overload_ == "cidr_ip") return CallPrice{1, {}, {}};
    if (target_ != nullptr)
      if (const Maybe p = of_method()) return p;
    return args_.empty() ? std::nullopt : of_function();
  }

  Maybe of_method() {
    if (is_one_of(function_, kListWalks)) return list_walk();
    if (is_one_of(function_, kTextWalks))
      return CallPrice{traversal(target_size()), target_size(), {}};
    if (function_ == "replace" && args_.size() >= 2) return replaced();
    if (function_ == "split") return split();
    if (function_ == "join") return joined();
    if ((function_ == "find" || function_ == "findAll") && !args_.empty())
      return CallPrice{
          pattern_match(target_size(), arg_size(0)), SizeRange{0, target_size().max}, {}};
    return std::nullopt;
  }

  Maybe of_function() {
    if (function_ == "fieldSelector" || function_ == "labelSelector") {
      if (args_.size() != 1) return std::nullopt;
      const std::uint64_t requirements = scale_capped(arg_size(0).max, 0.5);
      return CallPrice{add_capped(add_capped(kMakeList, traversal(arg_size(0))),
                                  scale_capped(requirements, kMakeList + kMakeStruct)),
                       {},
                       {}};
    }
    if ((function_ == "url" || function_ == "jsonpatch.escapeKey") && args_.size() == 1)
      return CallPrice{traversal(arg_size(0)), arg_size(0), {}};
    if (is_one_of(function_, kTextParsers) || function_ == "ip")
      return CallPrice{traversal(arg_size(0)), {}, {}};
    if (function_ == "ip.isCanonical") return CallPrice{traversal(arg_size(0), 2), {}, {}};
    // Addresses have at most sixteen bytes. Both are read, and a network is read twice.
    if (function_ == "containsIP")
      return CallPrice{add_capped(4, parsed_from(0, "cidr_contains_ip_string")), {}, {}};
    if (function_ == "containsCIDR")
      return CallPrice{add_capped(4 + 2 + 1, parsed_from(0, "cidr_contains_cidr_string")), {}, {}};
    if (function_ == "validate")
      return CallPrice{scale_capped(traversal(arg_size(0)), kNameFormatPattern * kPattern), {}, {}};
    return std::nullopt;
  }
  std::uint64_t parsed_from(std::size_t arg, std::string_view overload) {
    return overload_ == overload ? traversal(arg_size(arg)) : 0;
  }

  Maybe list_walk() {
    const Type* type = target_->type;
    if (type == nullptr || type->params.empty()) return CallPrice{traversal(target_size()), {}, {}};
    std::uint64_t each = 1;
    if (type->params[0]->kind == Type::kString || type->params[0]->kind == Type::kBytes)
      each = add_capped(each, traversal(element_size()));
    return CallPrice{multiply_capped(target_size().max, each), {}, {}};
  }
  SizeRange element_size() {
    if (target_->path.empty()) return {};
    DataPath items = DataPath(target_->path[0]);
    for (std::size_t i = 1; i < target_->path.size(); ++i) items = items.then(target_->path[i]);
    return sizes_.by_path(items.then("@items")).value_or(SizeRange{});
  }

  Maybe replaced() {
    const SizeRange text = target_size(), from = arg_size(0), to = arg_size(1);
    SizeRange count{0, 0}, kept{0, 0};
    if (from.min == 0) {
      count.max = add_capped(text.max, 1);
      kept.max = text.max;
    } else if (to.max <= from.min) {
      kept.max = text.max;
    } else {
      count.max = divided(text.max, from.min);
    }
    if (from.max == 0) {
      count.min = add_capped(text.min, 1);
      kept.min = text.min;
    } else if (from.max <= to.min) {
      kept.min = text.min;
    } else {
      count.min = divided(text.min, from.max);
    }
    return CallPrice{traversal(text, 2), count * to + kept, {}};
  }
  static std::uint64_t divided(std::uint64_t a, std::uint64_t b) {
    const double quotient = std::ceil(static_cast<double>(a) / static_cast<double>(b));
    // On the machines on which Kubernetes runs, a conversion that does not fit gives this value.
    return quotient >= 18446744073709551616.0 ? std::uint64_t{1} << 63
                                              : static_cast<std::uint64_t>(quotient);
  }

  Maybe split() {
    SizeRange parts{0, target_size().max};
    if (args_.size() > 1 && args_[1].expr != nullptr &&
        args_[1].expr->kind == Expr::Kind::kLiteral && args_[1].expr->literal.kind == Kind::kInt)
      parts.max = static_cast<std::uint64_t>(args_[1].expr->literal.integer);
    return CallPrice{traversal(target_size(), 2), parts, {}};
  }

  Maybe joined() {
    const SizeRange list = target_size();
    SizeRange text{0, 0};
    if (target_->type != nullptr && !target_->type->params.empty()) text = list * element_size();
    if (!args_.empty())
      text = text + arg_size(0) *
                        SizeRange{list.min > 0 ? list.min - 1 : 0, list.max > 0 ? list.max - 1 : 0};
    return CallPrice{traversal(text), text, {}};
  }

  Maybe equality() {
    const Type* a = args_[0].type;
    const Type* b = args_[1].type;
    if (a == nullptr || b == nullptr || a->kind != Type::kOpaque || !same_type(a, b))
      return std::nullopt;
    if (a->name == "kubernetes.NamedFormat")
      return CallPrice{scale_capped(kFormatSize, kTraversal), {}, {}};
    if (a->name == "kubernetes.URL")
      return CallPrice{traversal(sizes_.size_of(args_[1]).value_or(SizeRange{1, 1})), {}, {}};
    if (a->name.starts_with("kubernetes.") || a->name.starts_with("net."))
      return CallPrice{1, {}, {}};
    return std::nullopt;
  }

  CallPrice of_standard() {
    const std::size_t n = args_.size();
    if (overload_ == "string_format" && target_ != nullptr)
      return {traversal(target_size()), {}, {}};
    if (overload_ == "string_to_bytes" && n == 1)
      return {traversal(arg_size(0)), SizeRange{arg_size(0).min, arg_size(0).max * 4}, {}};
    if (overload_ == "bytes_to_string" && n == 1)
      return {traversal(arg_size(0)), SizeRange{arg_size(0).min / 4, arg_size(0).max}, {}};
    if (overload_ == "strings_quote" && n == 1)
      return {traversal(arg_size(0)), SizeRange{arg_size(0).min + 2, arg_size(0).max * 2 + 2}, {}};
    if ((overload_ == "starts_with_string" || overload_ == "ends_with_string") && n == 1)
      return {traversal(arg_size(0)), {}, {}};
    if (overload_ == "in_list" && n == 2) return {scale_capped(arg_size(1).max, 1), {}, {}};
    if (overload_ == "matches_string" && target_ != nullptr && n == 1)
      return {pattern_match(target_size(), arg_size(0)), {}, {}};
    if (overload_ == "contains_string" && target_ != nullptr && n == 1)
      return {multiply_capped(traversal(target_size()), traversal(arg_size(0))), {}, {}};
    if ((overload_ == "add_string" || overload_ == "add_bytes" || overload_ == "add_list") &&
        n == 2)
      return sum();
    if (is_comparison())
      return {scale_capped(std::min(arg_size(0).max, arg_size(1).max), kTraversal), {}, {}};
    return {};
  }

  CallPrice sum() {
    const SizeRange size = arg_size(0) + arg_size(1);
    std::optional<EntrySizes> entries;
    if (args_[0].entries && args_[1].entries)
      entries = EntrySizes{args_[0].entries->is_map,
                           args_[0].entries->key.joined(args_[1].entries->key),
                           args_[0].entries->value.joined(args_[1].entries->value)};
    return {overload_ == "add_list" ? 1 : traversal(size), size, entries};
  }

  bool is_comparison() const {
    if (args_.size() != 2) return false;
    if (function_ == op::kEqual || function_ == op::kNotEqual) return true;
    return (overload_.starts_with("less_") || overload_.starts_with("greater_")) &&
           (overload_.ends_with("_string") || overload_.ends_with("_bytes"));
  }

  const SizeSource& sizes_;
  std::string_view function_, overload_;
  Measured* target_;
  std::vector<Measured>& args_;
};

bool is_scalar(const Type* type) {
  switch (type->kind) {
    case Type::kBool:
    case Type::kInt:
    case Type::kUint:
    case Type::kDouble:
    case Type::kTimestamp:
    case Type::kDuration:
      return true;
    case Type::kOptional:
      return is_scalar(type->params[0]);
    default:
      return false;
  }
}

}  // namespace

std::optional<SizeRange> SizeSource::size_of(Measured& m) const {
  if (m.computed) return m.computed;
  if (m.written) return m.written;
  if (const auto found = by_path(m.path)) return m.computed = found;
  if (m.type != nullptr && is_scalar(m.type)) return SizeRange{1, 1};
  return m.local;
}

CallPrice call_price(const SizeSource& sizes, std::string_view function, std::string_view overload,
                     Measured* target, std::vector<Measured>& args) {
  return CallPricer(sizes, function, overload, target, args).price();
}

}  // namespace cardea::cel

#include <re2/re2.h>

#include <algorithm>

#include "base/names.h"
#include "base/strings.h"
#include "cel/eval/frame.h"
#include "cel/eval/opaque.h"
#include "cel/eval/time.h"
#include "cel/lib/libraries.h"
#include "cel/lib/url.h"

namespace cardea::cel {
namespace {

using Args = const Value*;

void add(Frame& f, ListBuilder& out, const Problems& problems) {
  for (const std::string& p : problems) out.add(Value::of_text(f.arena.copy(p)));
}
// A generated name gets a suffix after its prefix, so the prefix may end with a dash.
std::string without_trailing_dash(std::string_view s) {
  if (s.size() > 1 && s.ends_with('-')) return cat(s.substr(0, s.size() - 2), "a");
  return std::string(s);
}
template <Problems (*kCheck)(std::string_view)>
void whole(Frame& f, std::string_view s, ListBuilder& out) {
  add(f, out, kCheck(s));
}
template <Problems (*kCheck)(std::string_view)>
void prefix(Frame& f, std::string_view s, ListBuilder& out) {
  add(f, out, kCheck(without_trailing_dash(s)));
}
void uri(Frame& f, std::string_view s, ListBuilder& out) {
  std::string why;
  if (!parse_url(f.arena, s, why)) out.add(Value::of_text(f.arena.copy(why)));
}
void uuid(Frame&, std::string_view s, ListBuilder& out) {
  static const RE2 kPattern("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}");
  if (!RE2::FullMatch(re2::StringPiece(s.data(), s.size()), kPattern))
    out.add(Value::of_text("does not match the UUID format"));
}
void bytes(Frame&, std::string_view s, ListBuilder& out) {
  if (s.empty() || !base64_decode(s)) out.add(Value::of_text("invalid base64"));
}
void date(Frame&, std::string_view s, ListBuilder& out) {
  if (s.size() != 10 || !parse_timestamp(cat(s, "T00:00:00Z")))
    out.add(Value::of_text("invalid date"));
}
// Like date-time in OpenAPI: RFC 3339 and its relaxed variants, also with a space, and without the
// colon in the zone.
void date_time(Frame&, std::string_view s, ListBuilder& out) {
  static const RE2 kPattern(
      R"(\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2}))");
  std::string text(s);
  std::ranges::transform(text, text.begin(), [](char c) {
    return c == 't' ? 'T' : c == 'z' ? 'Z' : c;
  });
  if (!RE2::FullMatch(text, kPattern) || !parse_timestamp(text))
    out.add(Value::of_text("invalid datetime"));
}

constexpr Format kFormats[] = {{"dns1123Label", 30, whole<dns_label_problems>},
                               {"dns1123Subdomain", 60, whole<dns_subdomain_problems>},
                               {"dns1035Label", 30, whole<dns_1035_label_problems>},
                               {"qualifiedName", 60, whole<label_key_problems>},
                               {"dns1123LabelPrefix", 30, prefix<dns_label_problems>},
                               {"dns1123SubdomainPrefix", 60, prefix<dns_subdomain_problems>},
                               {"dns1035LabelPrefix", 30, prefix<dns_1035_label_problems>},
                               {"labelValue", 40, whole<label_value_problems>},
                               {"uri", 1103, uri},
                               {"uuid", 70, uuid},
                               {"byte", 84, bytes},
                               {"date", 71, date},
                               {"datetime", 71, date_time}};

template <std::size_t kIndex>
Value constant(Frame&, Args, std::size_t) {
  return Value::of_opaque(Kind::kFormat, &kFormats[kIndex]);
}
Value named(Frame& f, Args a, std::size_t) {
  const auto* found = std::ranges::find(kFormats, a[0].string(), &Format::name);
  return found == std::end(kFormats) ? Value::none()
                                     : f.some(Value::of_opaque(Kind::kFormat, found));
}
Value validate(Frame& f, Args a, std::size_t) {
  ListBuilder messages(f.arena);
  format_of(a[0]).validate(f, a[1].string(), messages);
  return messages.size() == 0 ? Value::none() : f.some(messages.build());
}

#define F "kubernetes.NamedFormat"
#define CEL_FORMAT(name, index) {"format." name, "format." name, "() " F, constant<index>}
constexpr OverloadRow kRows[] = {
    {"validate", "format-validate", F ".(string) optional(list(string))", validate},
    {"format.named", "format-named", "(string) optional(" F ")", named},
    CEL_FORMAT("dns1123Label", 0),
    CEL_FORMAT("dns1123Subdomain", 1),
    CEL_FORMAT("dns1035Label", 2),
    CEL_FORMAT("qualifiedName", 3),
    CEL_FORMAT("dns1123LabelPrefix", 4),
    CEL_FORMAT("dns1123SubdomainPrefix", 5),
    CEL_FORMAT("dns1035LabelPrefix", 6),
    CEL_FORMAT("labelValue", 7),
    CEL_FORMAT("uri", 8),
    CEL_FORMAT("uuid", 9),
    CEL_FORMAT("byte", 10),
    CEL_FORMAT("date", 11),
    CEL_FORMAT("datetime", 12),
};

}  // namespace

std::span<const OverloadRow> format_overloads() {
  return kRows;
}

}  // namespace cardea::cel

#include "cel/eval/opaque.h"

#include <cstring>

#include "base/strings.h"

namespace cardea::cel {
namespace {

bool same_ip(const Ip& a, const Ip& b) {
  return a.six == b.six && std::memcmp(a.bytes, b.bytes, a.width()) == 0;
}

template <typename T>
Value copied(Arena& arena, const Value& v, T item) {
  Value out = v;
  out.opaque = arena.make<T>(item);
  return out;
}

}  // namespace

bool equal_opaque(const Value& a, const Value& b) {
  switch (a.kind) {
    case Kind::kIp:
      return same_ip(ip_of(a), ip_of(b));
    case Kind::kCidr:
      return same_ip(cidr_of(a).ip, cidr_of(b).ip) && cidr_of(a).prefix == cidr_of(b).prefix;
    case Kind::kUrl:
      return url_of(a).text == url_of(b).text;
    case Kind::kQuantity:
      return same_amount(amount_of(a), amount_of(b));
    case Kind::kSemver:
      return compare_semver(semver_of(a), semver_of(b)) == 0;
    case Kind::kFormat:
      return a.opaque == b.opaque;
    default:
      return false;
  }
}

Value copy_opaque(Arena& arena, const Value& v) {
  switch (v.kind) {
    case Kind::kIp:
      return copied(arena, v, ip_of(v));
    case Kind::kCidr:
      return copied(arena, v, cidr_of(v));
    case Kind::kUrl: {
      Url url = url_of(v);
      for (std::string_view* part : {&url.text, &url.scheme, &url.user, &url.host, &url.path,
                                     &url.escaped_path, &url.query, &url.fragment})
        *part = arena.copy(*part);
      return copied(arena, v, url);
    }
    case Kind::kQuantity: {
      Amount amount = amount_of(v);
      amount.text = arena.copy(amount.text);
      return copied(arena, v, amount);
    }
    case Kind::kSemver: {
      Semver s = semver_of(v);
      s.prerelease = arena.copy(s.prerelease);
      s.build = arena.copy(s.build);
      return copied(arena, v, s);
    }
    default:
      return v;
  }
}

std::string print_opaque(const Value& v) {
  switch (v.kind) {
    case Kind::kIp:
      return cat("ip(", quoted(print_ip(ip_of(v))), ")");
    case Kind::kCidr:
      return cat("cidr(", quoted(print_cidr(cidr_of(v))), ")");
    case Kind::kUrl:
      return cat("url(", quoted(url_of(v).text), ")");
    case Kind::kQuantity:
      return cat("quantity(", quoted(amount_of(v).text), ")");
    case Kind::kSemver:
      return cat("semver(", quoted(print_semver(semver_of(v))), ")");
    case Kind::kFormat:
      return cat("format.", format_of(v).name, "()");
    default:
      return "";
  }
}

}  // namespace cardea::cel

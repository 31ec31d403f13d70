#include "impersonation/headers.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/strings.h"

namespace cardea::impersonation {
namespace {

using authz::User;

constexpr std::string_view kPrefix = "impersonate-";
// What comes after it.
constexpr std::string_view kUser = "user", kUid = "uid", kGroup = "group", kExtra = "extra-";

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// Whether a name begins with kPrefix, several letters at a time: every header of every request is
// looked at, some twice.
bool is_ours(std::string_view name) {
  constexpr char kSmall[] = "        ";  // turns a letter into the small one, and takes nothing
                                         // else for a letter
  static_assert(kPrefix.size() == 12);
  if (name.size() < kPrefix.size() || name[kPrefix.size() - 1] != '-') return false;
  std::uint64_t first, small, wanted_first;
  std::uint32_t last, wanted_last;
  std::memcpy(&first, name.data(), 8);
  std::memcpy(&small, kSmall, 8);
  std::memcpy(&wanted_first, kPrefix.data(), 8);
  std::memcpy(&last, name.data() + 8, 4);
  std::memcpy(&wanted_last, kPrefix.data() + 8, 4);
  return (first | small) == wanted_first &&
         (last | static_cast<std::uint32_t>(small)) == wanted_last;
}

// The key as it arrives is lower-cased, then decoded; one that cannot be decoded stays.
std::string extra_key(std::string_view rest_of_name) {
  std::string key = lower(rest_of_name.substr(kExtra.size()));
  return percent_decode(key).value_or(key);
}

std::string shown_list(const std::vector<std::string>& list) {
  std::vector<std::string> parts;
  for (const std::string& text : list) parts.push_back(quoted(text));
  return cat("[]string{", join(parts, ", "), "}");
}

// As Go prints the value of its type.
std::string shown(const User& user) {
  std::vector<std::string> extra;
  for (const auto& [key, values] : user.extra)
    extra.push_back(cat(quoted(key), ":", shown_list(values)));
  return cat("&user.DefaultInfo{Name:\"\", UID:", quoted(user.uid),
             ", Groups:", user.groups.empty() ? "[]string(nil)" : shown_list(user.groups),
             ", Extra:",
             user.extra.empty() ? "map[string][]string(nil)"
                                : cat("map[string][]string{", join(extra, ", "), "}"),
             "}");
}

// As Go prints a list of references to what is to be impersonated: kind, namespace, name, uid,
// version, resource version and path of a field.
std::string shown_references(const User& user) {
  std::vector<std::string> out;
  for (const std::string& g : user.groups) out.push_back(cat("{Group  ", g, "    }"));
  for (const auto& [key, values] : user.extra)
    for (const std::string& v : values)
      out.push_back(cat("{UserExtra  ", v, "  authentication.k8s.io/v1  ", key, "}"));
  if (!user.uid.empty()) out.push_back(cat("{UID  ", user.uid, "  authentication.k8s.io/v1  }"));
  return cat("[", join(out, " "), "]");
}

// Every request has this looked at: no list is made of the list.
bool names_our_headers(std::string_view list) {
  for (;;) {
    std::size_t comma = list.find(',');
    if (is_ours(trim(list.substr(0, comma)))) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

// Most headers are neither impersonation headers nor `Connection`; their first letter shows it.
bool may_matter(std::string_view name) {
  if (name.empty()) return false;
  char first = static_cast<char>(name[0] | 0x20);
  return first == 'i' || first == 'c';
}

}  // namespace

Result<std::optional<User>> requested_user(const http::Headers& headers, bool is_constrained) {
  User asked;
  bool has_name = false, has_uid = false, has_parts = false;
  for (http::Header h : headers) {
    if (!may_matter(h.name)) continue;
    if (equals_ignoring_case(h.name, "connection")) {
      if (names_our_headers(h.value))
        return fail(bad_request("the header Connection must not name an impersonation header"));
      continue;
    }
    if (!is_ours(h.name)) continue;
    std::string_view rest = h.name.substr(kPrefix.size());
    if (!is_valid_utf8(h.value))
      return fail(bad_request(cat("the header ", h.name, " must be valid UTF-8")));
    if (equals_ignoring_case(rest, kUser)) {
      if (has_name) return fail(bad_request("the header Impersonate-User may be given once"));
      if (h.value.empty()) return fail(bad_request("the header Impersonate-User is empty"));
      has_name = true;
      asked.name = h.value;
    } else if (equals_ignoring_case(rest, kUid)) {
      if (std::exchange(has_uid, true)) continue;  // the first counts, even an empty one
      asked.uid = h.value;
      has_parts |= !h.value.empty();
    } else if (equals_ignoring_case(rest, kGroup)) {
      asked.groups.emplace_back(h.value);
      has_parts = true;
    } else if (starts_with_ignoring_case(rest, kExtra)) {
      std::string key = extra_key(rest);
      if (!is_valid_utf8(key))
        return fail(bad_request(cat("the header ", h.name, " must be valid UTF-8")));
      asked.extra[std::move(key)].emplace_back(h.value);
      has_parts = true;
    }
  }
  if (!has_name && has_parts) {
    if (is_constrained)
      return fail(
          bad_request(cat("requested ", shown(asked), " without impersonating a user name")));
    return fail(
        bad_request(cat("requested ", shown_references(asked), " without impersonating a user")));
  }
  if (!has_name) return std::nullopt;
  return asked;
}

void remove_headers(http::Headers& headers) {
  // Once through, however many there are.
  http::Headers kept;
  kept.reserve(headers.memory());
  for (http::Header h : headers)
    if (!is_ours(h.name)) kept.add(h.name, h.value);
  headers = std::move(kept);
}

}  // namespace cardea::impersonation

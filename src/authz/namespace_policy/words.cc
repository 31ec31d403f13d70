#include "authz/namespace_policy/words.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace cardea::authz::namespace_policy {
namespace {

constexpr std::string_view kVerbs[] = {"exec",
                                       "watch",
                                       "list",
                                       "get",
                                       "create",
                                       "update",
                                       "delete",
                                       "proxy",
                                       "permission-request",
                                       "patch",
                                       "deletecollection",
                                       "bind",
                                       "escalate",
                                       "impersonate",
                                       "approve",
                                       "sign",
                                       "attest",
                                       "use",
                                       "deny",
                                       "head",
                                       "post",
                                       "put",
                                       "options"};
constexpr auto kHashes = [] {
  std::array<std::uint64_t, std::size(kVerbs)> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = word_hash(kVerbs[i]);
  return out;
}();

constexpr std::uint64_t bit(std::string_view verb) {
  for (std::size_t i = 0; i < std::size(kVerbs); ++i)
    if (kVerbs[i] == verb) return verb_bit(static_cast<int>(i));
  return 0;
}
constexpr std::uint64_t kExec = bit("exec"), kProxy = bit("proxy"),
                        kAsk = bit("permission-request"), kCreate = bit("create"),
                        kGet = bit("get"), kUpdate = bit("update"), kDelete = bit("delete"),
                        kPatch = bit("patch"), kDeleteAll = bit("deletecollection");

bool ends_with_reviews(std::string_view resource) {
  constexpr std::string_view kEnd = "accessreviews";
  return resource.size() >= kEnd.size() &&
         equals_ignoring_case(resource.substr(resource.size() - kEnd.size()), kEnd);
}

// Reviews that answer a part of another review's question. Questions of users about themselves
// are not part of it.
constexpr struct {
  std::string_view form, whole;
} kReviewForms[] = {{"localresourceaccessreviews", "resourceaccessreviews"},
                    {"localsubjectaccessreviews", "subjectaccessreviews"},
                    {"batchsubjectaccessreviews", "subjectaccessreviews"},
                    {"accessexplanationreviews", "subjectaccessreviews"},
                    {"impersonationreviews", "subjectaccessreviews"},
                    {"subjectrulesreviews", "subjectaccessreviews"}};

}  // namespace

int verb_number(std::string_view verb) {
  std::uint64_t hash = word_hash(verb);
  for (std::size_t i = 0; i < kHashes.size(); ++i)
    if (kHashes[i] == hash) return equals_ignoring_case(kVerbs[i], verb) ? static_cast<int>(i) : -1;
  return -1;
}

const std::vector<std::string_view>& well_known_verbs() {
  static const std::vector<std::string_view> all(std::begin(kVerbs), std::end(kVerbs));
  return all;
}

bool same_verb(std::string_view a, std::string_view b) {
  const std::size_t parameter = std::min(a.find('('), a.size());
  return a.substr(parameter) == b.substr(std::min(parameter, b.size())) &&
         equals_ignoring_case(a, b);
}

std::string stored_verb(std::string_view verb) {
  const std::size_t colon = verb.find(':');
  const std::string_view head = verb.substr(verb.starts_with('-') ? 1 : 0, 9);
  if (colon == std::string_view::npos || !equals_ignoring_case(head, "granular:"))
    return lower(verb);
  return cat(lower(verb.substr(0, colon)), verb.substr(colon));
}

std::uint64_t verb_bits_of(const Attributes& a) {
  const std::uint64_t own = verb_bit(verb_number(a.verb));
  std::uint64_t bits = own;
  if (!a.is_resource_request) return bits;
  if (own == kPatch) bits |= kUpdate;
  if (own == kDeleteAll) bits |= kDelete;
  bool connects = (own & (kCreate | kGet)) != 0;
  if (!a.subresource.empty()) {
    if (connects && equals_ignoring_case(a.subresource, "exec") &&
        equals_ignoring_case(a.resource, "pods"))
      bits |= kExec;
    if (equals_ignoring_case(a.subresource, "proxy")) bits |= kProxy;
  }
  if (own == kCreate && ends_with_reviews(a.resource)) bits |= kAsk;
  return bits;
}

RequestWords::RequestWords(const Attributes& a, const KindNames* kinds)
    : attributes(a), verb_bits(verb_bits_of(a)), kinds_(kinds) {
  verb = verb_number(a.verb) < 0 ? word_hash(a.verb) : 0;
  plain = full = kind_plain = kind_full = group = name = 0;
  if (!a.is_resource_request) return;
  auto with_subresource = [&](std::uint64_t h) {
    return a.subresource.empty() ? h : word_hash(a.subresource, word_hash("/", h));
  };
  if (kinds) kind = kinds->kind_of(a.api_group, a.resource);
  plain = word_hash(a.resource);
  full = with_subresource(plain);
  kind_plain = kind.empty() ? plain : word_hash(kind);
  kind_full = kind.empty() ? full : with_subresource(kind_plain);
  group = word_hash(a.api_group);
  name = a.name.empty() ? 0 : word_hash(a.name);
}

bool RequestWords::spells(std::string_view word, std::string_view resource,
                          bool with_subresource) const {
  if (!with_subresource || attributes.subresource.empty())
    return equals_ignoring_case(word, resource);
  return word.size() == resource.size() + 1 + attributes.subresource.size() &&
         equals_ignoring_case(word.substr(0, resource.size()), resource) &&
         word[resource.size()] == '/' &&
         equals_ignoring_case(word.substr(resource.size() + 1), attributes.subresource);
}

bool RequestWords::is_named(std::uint64_t hash, std::string_view word) const {
  if (hash == full && spells(word, attributes.resource, true)) return true;
  return hash == kind_full && !kind.empty() && spells(word, kind, true);
}

bool RequestWords::is_excluded() const {
  if (!kinds_ || !attributes.is_resource_request || !attributes.verb.starts_with("granular:"))
    return false;
  if (!is_excluded_)
    is_excluded_ = kinds_->is_excluded(attributes.api_group, attributes.resource, attributes.verb);
  return *is_excluded_;
}

bool RequestWords::is_act() const {
  // An ephemeral container runs in the pod of somebody else, as a command of exec does.
  constexpr std::string_view kStreamsOfPods[] = {"exec", "attach", "portforward", "log",
                                                 "ephemeralcontainers"};
  const std::string_view part = attributes.subresource;
  return (verb_bits & kCreate) != 0 || equals_ignoring_case(part, "proxy") ||
         (equals_ignoring_case(attributes.resource, "pods") &&
          std::ranges::any_of(kStreamsOfPods,
                              [&](std::string_view s) { return equals_ignoring_case(s, part); }));
}

bool RequestWords::is_form_of(std::string_view word) const {
  if (!attributes.resource.ends_with("reviews")) return false;
  for (const auto& row : kReviewForms) {
    if (row.form != attributes.resource) continue;
    // By the resource or by its kind.
    if (equals_ignoring_case(word, row.whole) ||
        equals_ignoring_case(word, row.whole.substr(0, row.whole.size() - 1)))
      return true;
  }
  return false;
}

bool RequestWords::is_under(std::uint64_t hash, std::string_view word) const {
  if (is_named(hash, word)) return true;
  if (hash == plain && spells(word, attributes.resource, false)) return true;
  return hash == kind_plain && !kind.empty() && spells(word, kind, false);
}

}  // namespace cardea::authz::namespace_policy

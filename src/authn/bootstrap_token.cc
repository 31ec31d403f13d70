#include "authn/bootstrap_token.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/strings.h"
#include "base/time_parse.h"
#include "catalog/catalog.h"
#include "crypto/equal.h"
#include "json/parse.h"

namespace cardea::authn {
namespace {

using json::Value;

constexpr std::string_view kGroup = "system:bootstrappers";

bool is_small_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

struct BootstrapToken {
  std::string_view id, secret;
};

std::optional<BootstrapToken> read_token(std::string_view text) {
  constexpr std::size_t kId = 6, kSecret = 16;
  if (text.size() != kId + 1 + kSecret || text[kId] != '.') return std::nullopt;
  BootstrapToken token{text.substr(0, kId), text.substr(kId + 1)};
  if (!std::ranges::all_of(token.id, is_small_or_digit) ||
      !std::ranges::all_of(token.secret, is_small_or_digit))
    return std::nullopt;
  return token;
}

// A value of a Secret; empty when it is absent or not base64.
std::string datum(const Value& secret, std::string_view key) {
  return base64_decode(secret["data"][key].as_string()).value_or("");
}

// Such as `system:bootstrappers:kubeadm:default-node-token`: no token may bring another group.
bool is_bootstrap_group(std::string_view group) {
  constexpr std::size_t kLongest = 256;
  if (!group.starts_with(kGroup)) return false;
  group.remove_prefix(kGroup.size());
  if (!group.starts_with(':')) return false;
  group.remove_prefix(1);
  if (group.empty() || group.size() > kLongest || !is_small_or_digit(group.back())) return false;
  return std::ranges::all_of(group,
                             [](char c) { return is_small_or_digit(c) || c == ':' || c == '-'; });
}

// The default group and those of the Secret, sorted; nullopt when one of them is not allowed.
std::optional<std::vector<std::string>> groups_of(const Value& secret) {
  std::set<std::string> groups{std::string(kGroup)};
  const std::string extra = datum(secret, "auth-extra-groups");
  if (!extra.empty())
    for (std::string_view group : split(extra, ',')) {
      if (!is_bootstrap_group(group)) return std::nullopt;
      groups.emplace(group);
    }
  return std::vector<std::string>(groups.begin(), groups.end());
}

class BootstrapTokens : public Authenticator {
 public:
  BootstrapTokens(const store::Store& store, const Clock& clock, std::vector<std::string> audiences)
      : store_(store),
        clock_(clock),
        audiences_(std::move(audiences)),
        prefix_(cat(catalog::Catalog::builtin()->find("", "v1", "secrets")->storage_prefix,
                    "kube-system/bootstrap-token-")) {}

  std::optional<Outcome> authenticate(const Credentials& c) const override {
    const auto token = read_token(c.token);
    if (!token) return unknown();
    std::vector<std::string> audiences = served_audiences(c, audiences_);
    if (c.audiences && audiences.empty()) return unknown();
    store::RecordPtr record = store_.get(cat(prefix_, token->id));
    if (!record) return unknown();
    auto secret = json::parse(record->value());
    if (!secret || !is_good(*secret, *token)) return unknown();
    auto groups = groups_of(*secret);
    if (!groups) return unknown();
    Identity identity{.user = {.name = cat("system:bootstrap:", token->id)},
                      .authenticator = "bootstrap-token"};
    identity.user.groups = std::move(*groups);
    identity.audiences = std::move(audiences);
    return Outcome(std::move(identity));
  }

 private:
  static Outcome unknown() { return std::optional<Identity>(); }

  bool is_good(const Value& secret, const BootstrapToken& token) const {
    return secret["type"].as_string() == "bootstrap.kubernetes.io/token" &&
           secret["metadata"]["deletionTimestamp"].is_null() &&
           crypto::equal_in_constant_time(datum(secret, "token-secret"), token.secret) &&
           datum(secret, "token-id") == token.id && !has_expired(secret) &&
           datum(secret, "usage-bootstrap-authentication") == "true";
  }

  // An expiration that cannot be read has passed.
  bool has_expired(const Value& secret) const {
    const std::string_view given = secret["data"]["expiration"].as_string();
    if (given.empty()) return false;
    const auto text = base64_decode(given);
    if (!text) return true;
    auto at = parse_rfc3339(*text);
    return !at || to_time_point(*at) <= clock_.now();
  }

  const store::Store& store_;
  const Clock& clock_;
  const std::vector<std::string> audiences_;
  const std::string prefix_;
};

}  // namespace

std::unique_ptr<Authenticator> bootstrap_token_authenticator(const store::Store& store,
                                                             const Clock& clock,
                                                             std::vector<std::string> audiences) {
  return std::make_unique<BootstrapTokens>(store, clock, std::move(audiences));
}

}  // namespace cardea::authn

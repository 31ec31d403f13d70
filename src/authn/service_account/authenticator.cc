#include <algorithm>
#include <array>

#include "authn/jwt/jwt.h"
#include "authn/jwt/token_memory.h"
#include "authn/service_account/tokens.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "catalog/catalog.h"
#include "json/parse.h"
#include "store/store.h"

namespace cardea::authn {
namespace {

using json::Value;

// Clocks of several servers differ by this much at most: what was issued "in the future" by less is
// good.
constexpr std::int64_t kLeewaySeconds = 60;
constexpr std::string_view kClaim = "kubernetes.io/serviceaccount/";
constexpr std::string_view kExtra = "authentication.kubernetes.io/";

Error refuse(std::string why) {
  return Error::of(Reason::kUnauthorized, std::move(why));
}

// An object that must be there, with this uid, for the token to be good.
struct Bond {
  enum class Kind : std::uint8_t { kAccount, kSecret, kPod, kNode };
  Kind kind;
  std::string name, uid, key;
  store::Revision good_at = 0;  // the revision of the record that was found good; another one has
                                // to be read
};

// A token whose signature is good, read once.
struct Verified {
  bool is_legacy = false;
  std::int64_t expires = 0, not_before = 0, issued = 0;
  std::int64_t warn_after = 0;  // from here on an extended token counts as stale
  std::vector<std::string> audiences;
  std::vector<Bond> bonds;
  Identity identity;
};

std::string list_text(const std::vector<std::string>& texts) {
  std::vector<std::string> shown;
  for (const std::string& t : texts) shown.push_back(quoted(t));
  return cat("[", join(shown, " "), "]");
}

// A claim that must be a string; the default is for absent ones.
Result<std::string> text_claim(const Value& from, std::string_view name) {
  const Value& v = from[name];
  if (v.is_null()) return std::string();
  if (!v.is_string()) return fail(refuse(cat("the claim `", name, "` is not a string")));
  return std::string(v.as_string());
}

Result<std::int64_t> time_claim(const Value& claims, std::string_view name) {
  const Value& v = claims[name];
  if (v.is_null()) return 0;
  if (!v.is_number()) return fail(refuse(cat("the claim `", name, "` is not a number")));
  return v.as_int();
}

Result<std::vector<std::string>> audience_claim(const Value& claims) {
  const Value& v = claims["aud"];
  std::vector<std::string> out;
  if (v.is_string()) out.emplace_back(v.as_string());
  for (const Value& one : v.items()) {
    if (!one.is_string()) return fail(refuse("the claim `aud` is not a list of strings"));
    out.emplace_back(one.as_string());
  }
  return out;
}

class ServiceAccountAuthenticator : public Authenticator {
 public:
  ServiceAccountAuthenticator(std::shared_ptr<const ServiceAccountTokens> tokens,
                              const store::Store& store, const Clock& clock)
      : tokens_(std::move(tokens)), store_(store), clock_(clock) {
    auto builtin = catalog::Catalog::builtin();
    constexpr std::string_view kResources[] = {"serviceaccounts", "secrets", "pods", "nodes"};
    for (std::size_t i = 0; i < prefixes_.size(); ++i)
      prefixes_[i] = builtin->find("", "v1", kResources[i])->storage_prefix;
  }

  std::optional<Outcome> authenticate(const Credentials& c) const override {
    if (c.token.empty()) return Outcome(std::optional<Identity>());
    Verified* known = memory_.find(c.token);
    if (!known) {
      const auto& jwt = parse_jwt_once(c.token);
      if (!jwt || !is_our_issuer(jwt->issuer())) return Outcome(std::optional<Identity>());
      auto verified = verify(*jwt);
      if (!verified) return Outcome(fail(verified.error()));
      known = memory_.keep(c.token, std::move(*verified));
    }
    return admit(*known, c);
  }

 private:
  bool is_our_issuer(std::string_view issuer) const {
    const auto& ours = tokens_->options().issuers;
    return issuer == kLegacyIssuer || std::ranges::find(ours, issuer) != ours.end();
  }

  // What never changes about a token.
  Result<Verified> verify(const Jwt& jwt) const {
    const PublicKey* key = tokens_->verifier_of(jwt);
    if (!key)
      return fail(refuse("the signature of the service account token is not by one of our keys"));
    Verified out;
    out.is_legacy = jwt.issuer() == kLegacyIssuer;
    out.identity = {.authenticator = "service-account",
                    .issuer = std::string(jwt.issuer()),
                    .key_id = key->id()};
    if (auto ok = out.is_legacy ? read_legacy(jwt.claims, out) : read_bound(jwt.claims, out); !ok)
      return fail(ok.error());
    return out;
  }

  void add_bond(Verified& out, Bond::Kind kind, std::string_view namespace_name, std::string name,
                std::string uid) const {
    const std::string& prefix = prefixes_[static_cast<std::size_t>(kind)];
    std::string key = kind == Bond::Kind::kNode ? cat(prefix, name)
                                                : cat(prefix, namespace_name, "/", name);
    out.bonds.push_back({kind, std::move(name), std::move(uid), std::move(key)});
  }

  void name_user(Verified& out, std::string_view namespace_name, std::string_view account,
                 std::string_view uid) const {
    out.identity.user = {
        .name = cat("system:serviceaccount:", namespace_name, ":", account),
        .uid = std::string(uid),
        .groups = {"system:serviceaccounts", cat("system:serviceaccounts:", namespace_name)}};
  }

  Result<void> read_bound(const Value& claims, Verified& out) const {
    const Value& about = claims["kubernetes.io"];
    auto space = text_claim(about, "namespace");
    auto account = text_claim(about["serviceaccount"], "name");
    auto uid = text_claim(about["serviceaccount"], "uid");
    auto subject = text_claim(claims, "sub");
    auto id = text_claim(claims, "jti");
    auto audiences = audience_claim(claims);
    auto expires = time_claim(claims, "exp"), not_before = time_claim(claims, "nbf"),
         issued = time_claim(claims, "iat");
    auto warn_after = time_claim(about, "warnafter");
    for (const auto* text : {&space, &account, &uid, &subject, &id})
      if (!*text) return fail(text->error());
    for (const auto* time : {&expires, &not_before, &issued, &warn_after})
      if (!*time) return fail(time->error());
    if (!audiences) return fail(audiences.error());
    if (space->empty() || account->empty() || uid->empty())
      return fail(refuse("the token names no service account"));
    name_user(out, *space, *account, *uid);
    if (*subject != out.identity.user.name) return fail(refuse("sub claim is invalid"));
    if (*expires == 0) return fail(refuse("the token has no expiry"));
    out.expires = *expires;
    out.not_before = *not_before;
    out.issued = *issued;
    out.warn_after = *warn_after;
    out.audiences = std::move(*audiences);
    add_bond(out, Bond::Kind::kAccount, *space, *account, *uid);
    auto& extra = out.identity.user.extra;
    if (!id->empty()) {
      out.identity.credential_id = "JTI=" + *id;
      extra[std::string(kCredentialIdExtra)] = {out.identity.credential_id};
    }
    return read_bonds(about, *space, out);
  }

  Result<void> read_bonds(const Value& about, std::string_view space, Verified& out) const {
    struct Row {
      const char* claim;
      Bond::Kind kind;
    };
    constexpr Row kRows[] = {
        {"secret", Bond::Kind::kSecret}, {"pod", Bond::Kind::kPod}, {"node", Bond::Kind::kNode}};
    for (const Row& row : kRows) {
      const Value& ref = about[row.claim];
      if (ref.is_null()) continue;
      auto name = text_claim(ref, "name"), uid = text_claim(ref, "uid");
      if (!name || !uid || name->empty())
        return fail(refuse(cat("the claim about a ", row.claim, " is malformed")));
      // The node of a bound pod is reported but not checked: the pod is checked instead.
      bool only_told = row.kind == Bond::Kind::kNode && about.has("pod");
      if (!only_told && uid->empty())
        return fail(refuse(cat("the claim about a ", row.claim, " has no uid")));
      if (row.kind != Bond::Kind::kSecret) {
        out.identity.user.extra[cat(kExtra, row.claim, "-name")] = {*name};
        if (!uid->empty()) out.identity.user.extra[cat(kExtra, row.claim, "-uid")] = {*uid};
      }
      if (!only_told) add_bond(out, row.kind, space, std::move(*name), std::move(*uid));
    }
    return {};
  }

  // Tokens without expiry that lie in a Secret, which holds a copy.
  Result<void> read_legacy(const Value& claims, Verified& out) const {
    struct Row {
      std::string_view name, shown;
      std::string value;
    };
    Row rows[] = {{"namespace", "namespace", ""},
                  {"secret.name", "secretName", ""},
                  {"service-account.name", "serviceAccountName", ""},
                  {"service-account.uid", "serviceAccountUID", ""}};
    for (Row& row : rows) {
      auto text = text_claim(claims, cat(kClaim, row.name));
      if (!text) return fail(text.error());
      if (text->empty()) return fail(refuse(cat(row.shown, " claim is missing")));
      row.value = std::move(*text);
    }
    name_user(out, rows[0].value, rows[2].value, rows[3].value);
    auto subject = text_claim(claims, "sub");
    if (!subject) return fail(subject.error());
    if (*subject != out.identity.user.name)
      return fail(refuse(subject->empty() ? "sub claim is missing" : "sub claim is invalid"));
    auto expires = time_claim(claims, "exp"), not_before = time_claim(claims, "nbf");
    if (!expires || !not_before) return fail(refuse("a time of the token is malformed"));
    out.expires = *expires;
    out.not_before = *not_before;
    out.audiences = tokens_->options().audiences;
    add_bond(out, Bond::Kind::kSecret, rows[0].value, rows[1].value, "");
    add_bond(out, Bond::Kind::kAccount, rows[0].value, rows[2].value, rows[3].value);
    return {};
  }

  // The facts that may differ with every request: the time, the audiences of the token, the
  // objects it is bound to.
  Outcome admit(Verified& token, const Credentials& c) const {
    const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                                 clock_.now().time_since_epoch())
                                 .count();
    if (token.expires != 0 && token.expires < now)
      return fail(refuse("service account token has expired"));
    if (token.not_before > now + kLeewaySeconds)
      return fail(refuse("service account token is not valid yet"));
    if (token.issued > now + kLeewaySeconds)
      return fail(refuse("service account token is issued in the future"));
    const std::vector<std::string>& asked = c.audiences ? *c.audiences
                                                        : tokens_->options().audiences;
    std::vector<std::string> served;
    for (const std::string& a : token.audiences)
      if (std::ranges::find(asked, a) != asked.end()) served.push_back(a);
    if (served.empty())
      return fail(refuse(cat("token audiences ", list_text(token.audiences),
                             " is invalid for the target audiences ", list_text(asked))));
    for (Bond& bond : token.bonds)
      if (auto ok = check(bond, token.is_legacy, c.token, now); !ok) return fail(ok.error());
    Identity identity = token.identity;
    identity.audiences = std::move(served);
    if (token.is_legacy)
      identity.annotations.emplace_back("authentication.k8s.io/legacy-token", identity.user.name);
    if (token.warn_after != 0 && now > token.warn_after)
      identity.annotations.emplace_back(
          "authentication.k8s.io/stale-token",
          cat("subject: ", identity.user.name,
              ", seconds after warning threshold: ", now - token.warn_after));
    return identity;
  }

  Result<void> check(Bond& bond, bool is_legacy, std::string_view token, std::int64_t now) const {
    store::RecordPtr record = store_.get(bond.key);
    if (!record) return fail(gone(bond, is_legacy));
    if (record->mod_revision == bond.good_at) return {};
    auto object = json::parse(record->value());
    if (!object) return fail(internal_error("an object in the store cannot be read"));
    const Value& meta = (*object)["metadata"];
    if (bond.kind == Bond::Kind::kSecret && is_legacy) {
      if (auto ok = check_copy(*object, token); !ok) return ok;
    } else if (std::string_view uid = meta["uid"].as_string(); uid != bond.uid) {
      return fail(other_uid(bond, uid, is_legacy));
    }
    std::string_view deleted = meta["deletionTimestamp"].as_string();
    if (deleted.empty()) {
      bond.good_at = record->mod_revision;
      return {};
    }
    // A pod that ends in grace keeps its token until the time it was given is over.
    auto at = parse_rfc3339(deleted);
    if (is_legacy || !at || at->seconds <= now) return fail(gone(bond, is_legacy));
    return {};
  }

  static Result<void> check_copy(const Value& secret, std::string_view token) {
    auto copy = base64_decode(secret["data"]["token"].as_string());
    if (!copy || *copy != token) return fail(refuse("Token does not match server's copy"));
    if (secret["metadata"]["labels"].has("kubernetes.io/legacy-token-invalid-since"))
      return fail(refuse("the token of this secret has been marked invalid"));
    return {};
  }

  static Error gone(const Bond& bond, bool is_legacy) {
    if (bond.kind == Bond::Kind::kAccount)
      return refuse(cat("serviceaccounts ", quoted(bond.name), " not found"));
    return refuse(is_legacy ? "Token has been invalidated"
                            : "service account token has been invalidated");
  }

  static Error other_uid(const Bond& bond, std::string_view uid, bool is_legacy) {
    switch (bond.kind) {
      case Bond::Kind::kAccount:
        return refuse(cat(is_legacy ? "ServiceAccount" : "service account", " UID (", uid,
                          ") does not match claim (", bond.uid, ")"));
      case Bond::Kind::kSecret:
        return refuse(cat("secret UID (", uid,
                          ") does not match service account secret ref claim (", bond.uid, ")"));
      case Bond::Kind::kPod:
        return refuse(cat("pod UID (", uid, ") does not match service account pod ref claim (",
                          bond.uid, ")"));
      case Bond::Kind::kNode:
        return refuse(cat("node UID (", uid, ") does not match service account node ref claim (",
                          bond.uid, ")"));
    }
    return refuse("service account token has been invalidated");
  }

  std::shared_ptr<const ServiceAccountTokens> tokens_;
  const store::Store& store_;
  const Clock& clock_;
  std::array<std::string, 4> prefixes_;  // by Bond::Kind
  TokenMemory<Verified> memory_;
};

}  // namespace

std::unique_ptr<Authenticator> service_account_authenticator(
    std::shared_ptr<const ServiceAccountTokens> tokens, const store::Store& store,
    const Clock& clock) {
  return std::make_unique<ServiceAccountAuthenticator>(std::move(tokens), store, clock);
}

}  // namespace cardea::authn

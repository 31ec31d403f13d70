#include "authn/authenticator.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"

namespace cardea::authn {
namespace {

using authz::User;

Outcome known(User user, std::string authenticator) {
  return std::optional(Identity{.user = std::move(user), .authenticator = std::move(authenticator)});
}
Outcome not_mine() { return std::optional<Identity>(); }
Outcome wrong_token() { return fail(Error::of(Reason::kUnauthorized, "invalid bearer token")); }

class CertificateAuthenticator : public Authenticator {
 public:
  std::optional<Outcome> authenticate(const Credentials& c) const override {
    if (!c.certificate || c.certificate->common_name.empty()) return not_mine();
    User user{.name = c.certificate->common_name, .groups = c.certificate->organizations};
    if (!c.certificate->der_sha256.empty())
      user.extra["authentication.kubernetes.io/credential-id"] = {"X509SHA256=" + c.certificate->der_sha256};
    return known(std::move(user), "x509");
  }
};

class TokenFileAuthenticator : public Authenticator {
 public:
  using Users = std::unordered_map<std::string, User, StringHash, std::equal_to<>>;
  explicit TokenFileAuthenticator(Users users) : users_(std::move(users)) {}

  std::optional<Outcome> authenticate(const Credentials& c) const override {
    if (c.token.empty()) return not_mine();
    auto found = users_.find(c.token);
    if (found == users_.end()) return wrong_token();
    return known(found->second, "token-file");
  }

 private:
  Users users_;
};

// A bearer token that nobody knew is a wrong credential, not an absent one.
class AnonymousAuthenticator : public Authenticator {
 public:
  std::optional<Outcome> authenticate(const Credentials& c) const override {
    if (!c.token.empty()) return wrong_token();
    return known({.name = std::string(authz::kAnonymousUser), .groups = {std::string(authz::kUnauthenticatedGroup)}}, "anonymous");
  }
};

// One line of comma-separated values with double quotes; nullopt when a quote is left open.
std::optional<std::vector<std::string>> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted_field = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quoted_field) {
      if (c != '"') fields.back() += c;
      else if (i + 1 < line.size() && line[i + 1] == '"') fields.back() += line[++i];
      else quoted_field = false;
    } else if (c == '"') {
      quoted_field = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted_field) return std::nullopt;
  return fields;
}

}  // namespace

std::unique_ptr<Authenticator> certificate_authenticator() { return std::make_unique<CertificateAuthenticator>(); }
std::unique_ptr<Authenticator> anonymous_authenticator() { return std::make_unique<AnonymousAuthenticator>(); }

Result<std::unique_ptr<Authenticator>> token_file_authenticator(std::string_view csv) {
  TokenFileAuthenticator::Users users;
  int line_number = 0;
  for (std::string_view line : split(csv, '\n')) {
    ++line_number;
    line = trim(line);
    if (line.empty()) continue;
    auto fields = csv_fields(line);
    if (!fields || fields->size() < 3)
      return fail(bad_request(cat("token file line ", line_number, ": expected token, user name, user uid")));
    std::string token(trim((*fields)[0]));
    if (token.empty()) continue;  // as Kubernetes: warned about and skipped
    User user{.name = std::string(trim((*fields)[1])), .uid = std::string(trim((*fields)[2]))};
    if (fields->size() > 3)
      for (std::string_view group : split((*fields)[3], ','))
        if (!trim(group).empty()) user.groups.emplace_back(trim(group));
    users[token] = std::move(user);
  }
  return std::make_unique<TokenFileAuthenticator>(std::move(users));
}

std::string_view bearer_token(std::string_view authorization) {
  auto parts = split(trim(authorization), ' ');
  if (parts.size() < 2 || !equals_ignoring_case(parts[0], "bearer")) return {};
  return parts[1];
}

Task<Outcome> Authenticator::authenticate_waiting(Credentials) const { co_return not_mine(); }

namespace {

// Takes one authenticator's answer; a value ends the asking.
std::optional<Result<Identity>> take(Outcome answer, bool& refused) {
  if (!answer) {
    refused = true;
    return std::nullopt;
  }
  if (!*answer) return std::nullopt;
  Identity identity = std::move(**answer);
  User& user = identity.user;
  bool anonymous = user.name == authz::kAnonymousUser;
  // INVARIANT: wrong credentials never fall back to anonymous.
  if (anonymous && refused) return fail(Error::of(Reason::kUnauthorized, "Unauthorized"));
  if (!anonymous && !user.in_group(authz::kAuthenticatedGroup)) user.groups.emplace_back(authz::kAuthenticatedGroup);
  return identity;
}

}  // namespace

std::optional<Result<Identity>> AuthenticatorChain::decide(const Credentials& credentials) const {
  bool refused = false;
  for (const auto& authenticator : authenticators_) {
    auto answer = authenticator->authenticate(credentials);
    if (!answer) return std::nullopt;
    if (auto end = take(std::move(*answer), refused)) return end;
  }
  return fail(Error::of(Reason::kUnauthorized, "Unauthorized"));
}

Task<Result<Identity>> AuthenticatorChain::authenticate(Credentials credentials) const {
  bool refused = false;
  for (const auto& authenticator : authenticators_) {
    auto answer = authenticator->authenticate(credentials);
    if (!answer) {
      Outcome waited = co_await authenticator->authenticate_waiting(credentials);
      answer = std::move(waited);
    }
    if (auto end = take(std::move(*answer), refused)) co_return std::move(*end);
  }
  co_return fail(Error::of(Reason::kUnauthorized, "Unauthorized"));
}

}  // namespace cardea::authn

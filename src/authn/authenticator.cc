#include "authn/authenticator.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"

namespace cardea::authn {
namespace {

using authz::User;

class CertificateAuthenticator : public Authenticator {
 public:
  Result<std::optional<User>> authenticate(const Credentials& c) const override {
    if (!c.certificate || c.certificate->common_name.empty()) return std::nullopt;
    User user{.name = c.certificate->common_name, .groups = c.certificate->organizations};
    if (!c.certificate->der_sha256.empty())
      user.extra["authentication.kubernetes.io/credential-id"] = {"X509SHA256=" + c.certificate->der_sha256};
    return user;
  }
};

// The token of `Authorization: Bearer x`; empty when there is none.
std::string_view bearer_token(std::string_view authorization) {
  auto parts = split(trim(authorization), ' ');
  if (parts.size() < 2 || !equals_ignoring_case(parts[0], "bearer")) return {};
  return parts[1];
}

class TokenFileAuthenticator : public Authenticator {
 public:
  using Users = std::unordered_map<std::string, User, StringHash, std::equal_to<>>;
  explicit TokenFileAuthenticator(Users users) : users_(std::move(users)) {}

  Result<std::optional<User>> authenticate(const Credentials& c) const override {
    std::string_view token = bearer_token(c.authorization);
    if (token.empty()) return std::nullopt;
    auto found = users_.find(token);
    if (found == users_.end()) return fail(Error::of(Reason::kUnauthorized, "invalid bearer token"));
    return found->second;
  }

 private:
  Users users_;
};

// A bearer token that nobody knew is a wrong credential, not an absent one.
class AnonymousAuthenticator : public Authenticator {
 public:
  Result<std::optional<User>> authenticate(const Credentials& c) const override {
    if (!bearer_token(c.authorization).empty())
      return fail(Error::of(Reason::kUnauthorized, "invalid bearer token"));
    return User{.name = std::string(authz::kAnonymousUser), .groups = {std::string(authz::kUnauthenticatedGroup)}};
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

Result<User> AuthenticatorChain::authenticate(const Credentials& credentials) const {
  bool refused = false;
  for (const auto& authenticator : authenticators_) {
    auto answer = authenticator->authenticate(credentials);
    if (!answer) {
      refused = true;
      continue;
    }
    if (!*answer) continue;
    User user = std::move(**answer);
    bool anonymous = user.name == authz::kAnonymousUser;
    // INVARIANT: wrong credentials never fall back to anonymous.
    if (anonymous && refused) break;
    if (!anonymous && !user.in_group(authz::kAuthenticatedGroup))
      user.groups.emplace_back(authz::kAuthenticatedGroup);
    return user;
  }
  return fail(Error::of(Reason::kUnauthorized, "Unauthorized"));
}

}  // namespace cardea::authn

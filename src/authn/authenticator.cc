#include "authn/authenticator.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "http/websocket.h"

namespace cardea::authn {
namespace {

using authz::User;

Outcome known(User user, std::string authenticator) {
  return std::optional(
      Identity{.user = std::move(user), .authenticator = std::move(authenticator)});
}
Outcome not_mine() {
  return std::optional<Identity>();
}
Outcome wrong_token() {
  return fail(Error::of(Reason::kUnauthorized, "invalid bearer token"));
}

class CertificateAuthenticator : public Authenticator {
 public:
  std::optional<Outcome> authenticate(const Credentials& c) const override {
    if (!c.certificate) return not_mine();
    if (!c.is_client)
      return fail(
          Error::of(Reason::kUnauthorized,
                    "the client certificate is not signed by a client CA, or not any more"));
    if (c.certificate->common_name.empty()) return not_mine();
    User user{.name = c.certificate->common_name,
              .uid = c.certificate->uid,
              .groups = c.certificate->organizations};
    Outcome outcome = known(std::move(user), "x509");
    (*outcome)->issuer = c.certificate->issuer;
    if (!c.certificate->der_sha256.empty()) {
      (*outcome)->credential_id = "X509SHA256=" + c.certificate->der_sha256;
      (*outcome)->user.extra[std::string(kCredentialIdExtra)] = {(*outcome)->credential_id};
    }
    return outcome;
  }
};

class TokenFileAuthenticator : public Authenticator {
 public:
  using Users = std::unordered_map<std::string, User, StringHash, std::equal_to<>>;
  TokenFileAuthenticator(Users users, std::vector<std::string> audiences)
      : users_(std::move(users)), audiences_(std::move(audiences)) {}

  std::optional<Outcome> authenticate(const Credentials& c) const override {
    if (c.token.empty()) return not_mine();
    auto found = users_.find(c.token);
    if (found == users_.end()) return not_mine();
    std::vector<std::string> audiences = served_audiences(c, audiences_);
    if (c.audiences && audiences.empty()) return not_mine();
    Outcome outcome = known(found->second, "token-file");
    (*outcome)->audiences = std::move(audiences);
    return outcome;
  }

 private:
  Users users_;
  std::vector<std::string> audiences_;
};

// An unknown bearer token is a wrong credential, not an absent one.
class AnonymousAuthenticator : public Authenticator {
 public:
  std::optional<Outcome> authenticate(const Credentials& c) const override {
    if (!c.token.empty()) return wrong_token();
    return known({.name = std::string(authz::kAnonymousUser),
                  .groups = {std::string(authz::kUnauthenticatedGroup)}},
                 "anonymous");
  }
};

// One line of comma-separated values with double quotes; nullopt when a quote is left open.
std::optional<std::vector<std::string>> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted_field = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quoted_field) {
      if (c != '"')
        fields.back() += c;
      else if (i + 1 < line.size() && line[i + 1] == '"')
        fields.back() += line[++i];
      else
        quoted_field = false;
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

std::unique_ptr<Authenticator> certificate_authenticator() {
  return std::make_unique<CertificateAuthenticator>();
}
std::unique_ptr<Authenticator> anonymous_authenticator() {
  return std::make_unique<AnonymousAuthenticator>();
}

std::vector<std::string> served_audiences(const Credentials& c,
                                          const std::vector<std::string>& own) {
  if (!c.audiences) return own;
  std::vector<std::string> served;
  for (const std::string& audience : *c.audiences)
    if (std::ranges::find(own, audience) != own.end()) served.push_back(audience);
  return served;
}

Result<std::unique_ptr<Authenticator>> token_file_authenticator(
    std::string_view csv, std::vector<std::string> audiences) {
  TokenFileAuthenticator::Users users;
  int line_number = 0;
  for (std::string_view line : split(csv, '\n')) {
    ++line_number;
    line = trim(line);
    if (line.empty()) continue;
    auto fields = csv_fields(line);
    if (!fields || fields->size() < 3)
      return fail(bad_request(
          cat("token file line ", line_number, ": expected token, user name, user uid")));
    std::string token(trim((*fields)[0]));
    if (token.empty()) continue;  // as Kubernetes: warned about and skipped
    User user{.name = std::string(trim((*fields)[1])), .uid = std::string(trim((*fields)[2]))};
    if (fields->size() > 3)
      for (std::string_view group : split((*fields)[3], ','))
        if (!trim(group).empty()) user.groups.emplace_back(trim(group));
    users[token] = std::move(user);
  }
  return std::make_unique<TokenFileAuthenticator>(std::move(users), std::move(audiences));
}

std::string_view bearer_token(std::string_view authorization) {
  auto parts = split(trim(authorization), ' ');
  if (parts.size() < 2 || !equals_ignoring_case(parts[0], "bearer")) return {};
  return parts[1];
}

namespace {

// How a browser, which cannot set headers, brings a token to a WebSocket.
constexpr std::string_view kTokenProtocol = "base64url.bearer.authorization.k8s.io.";

constexpr std::string_view kProtocols = "sec-websocket-protocol";

// The client's protocols, with the one that has the token or without.
std::vector<std::string> offered_protocols(const http::Headers& headers, bool with_token) {
  std::vector<std::string> found;
  for (std::string_view line : headers.get_all(kProtocols))
    for (std::string_view protocol : split(line, ','))
      if (trim(protocol).starts_with(kTokenProtocol) == with_token)
        found.emplace_back(trim(protocol));
  return found;
}

Result<std::string_view> websocket_token(const http::Headers& headers, std::string& storage) {
  if (!http::asks_for_websocket(headers)) return std::string_view();
  const auto offered = offered_protocols(headers, true);
  if (offered.empty()) return std::string_view();
  auto refused = [](std::string_view why) {
    return fail(Error::of(Reason::kUnauthorized, std::string(why)));
  };
  if (offered.size() > 1) return refused("multiple base64.bearer.authorization tokens specified");
  auto token = base64_url_decode(std::string_view(offered[0]).substr(kTokenProtocol.size()));
  if (!token) return refused("invalid base64.bearer.authorization token encoding");
  if (!is_valid_utf8(*token)) return refused("invalid base64.bearer.authorization token");
  // The answer names a protocol, and must not name this one.
  if (!token->empty() && offered_protocols(headers, false).empty())
    return refused("missing additional subprotocol");
  storage = std::move(*token);
  return std::string_view(storage);
}

void forget_websocket_token(http::Headers& headers) {
  if (!headers.has(kProtocols) || offered_protocols(headers, true).empty()) return;
  const std::string left = join(offered_protocols(headers, false), ",");
  headers.set(kProtocols, left);
}

}  // namespace

Result<std::string_view> request_token(const http::Headers& headers, std::string& storage) {
  bool seen = false;
  std::string_view authorization;
  for (auto header : headers) {
    if (!equals_ignoring_case(header.name, "authorization")) continue;
    if (seen) return fail(Error::of(Reason::kUnauthorized, "more than one Authorization header"));
    seen = true;
    authorization = header.value;
  }
  if (std::string_view token = bearer_token(authorization); !token.empty()) return token;
  return websocket_token(headers, storage);
}

Task<Outcome> Authenticator::authenticate_waiting(Credentials) const {
  co_return not_mine();
}

namespace {

// What others say against a token may quote it.
std::string without(std::string text, std::string_view secret) {
  constexpr std::string_view kInstead = "(the token)";
  if (secret.empty()) return text;
  for (std::size_t at = text.find(secret); at != text.npos;
       at = text.find(secret, at + kInstead.size()))
    text.replace(at, secret.size(), kInstead);
  return text;
}

// The errors about the credentials so far.
struct Refusals {
  bool any = false;
  std::vector<std::string> texts;  // kept only when it is needed

  std::string text(std::string_view token) const {
    std::vector<std::string> all;
    if (!token.empty()) all.push_back("invalid bearer token");
    for (const std::string& t : texts)
      if (std::ranges::find(all, t) == all.end()) all.push_back(without(t, token));
    if (all.empty()) return "no authenticator knows the credentials";
    return all.size() == 1 ? all[0] : cat("[", join(all, ", "), "]");
  }
};

// Takes one authenticator's answer; a value ends the asking.
std::optional<Result<Identity>> take(Outcome answer, Refusals& refusals, bool wants_texts) {
  if (!answer) {
    refusals.any = true;
    if (wants_texts) refusals.texts.push_back(std::move(answer.error().message));
    return std::nullopt;
  }
  if (!*answer) return std::nullopt;
  Identity identity = std::move(**answer);
  User& user = identity.user;
  bool anonymous = user.name == authz::kAnonymousUser;
  // INVARIANT: wrong credentials never fall back to anonymous.
  if (anonymous && refusals.any) return std::nullopt;
  if (!anonymous && !user.in_group(authz::kAuthenticatedGroup) &&
      !user.in_group(authz::kUnauthenticatedGroup))
    user.groups.emplace_back(authz::kAuthenticatedGroup);
  return identity;
}

Result<Identity> nobody(const Credentials& credentials, Refusals& refusals, std::string* why,
                        const AuthenticatorChain::NoteRefusal& note) {
  // Whoever asks in a TokenReview gets the texts as they are.
  if (note && credentials.headers && !credentials.token.empty())
    note(credentials.token, refusals.texts);
  if (why) *why = refusals.text(credentials.token);
  return fail(Error::of(Reason::kUnauthorized, "Unauthorized"));
}

}  // namespace

std::optional<Result<Identity>> AuthenticatorChain::decide(const Credentials& credentials,
                                                           std::string* why) const {
  Refusals refusals;
  for (const auto& authenticator : authenticators_) {
    auto answer = authenticator->authenticate(credentials);
    if (!answer) return std::nullopt;
    if (auto end = take(std::move(*answer), refusals, why || note_refusal_)) return end;
  }
  return nobody(credentials, refusals, why, note_refusal_);
}

void AuthenticatorChain::forget(http::Headers& headers) const {
  headers.remove("authorization");
  forget_websocket_token(headers);
  if (forget_) forget_(headers);
}

Task<Result<Identity>> AuthenticatorChain::authenticate(Credentials credentials,
                                                        std::string* why) const {
  Refusals refusals;
  for (const auto& authenticator : authenticators_) {
    auto answer = authenticator->authenticate(credentials);
    if (!answer) {
      Outcome waited = co_await authenticator->authenticate_waiting(credentials);
      answer = std::move(waited);
    }
    if (auto end = take(std::move(*answer), refusals, why || note_refusal_))
      co_return std::move(*end);
  }
  co_return nobody(credentials, refusals, why, note_refusal_);
}

}  // namespace cardea::authn

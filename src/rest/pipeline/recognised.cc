#include "rest/pipeline/recognised.h"

#include "rest/call.h"

namespace cardea::rest::pipeline {
namespace {

// The credentials of a request, and the memory that they point to.
struct Presented {
  authn::CertificateIdentity certificate;
  std::string decoded;
  authn::Credentials credentials;
};

Result<void> read_credentials(http::Request& request, Presented& out) {
  auto token = authn::request_token(request.headers, out.decoded);
  if (!token) return fail(token.error());
  out.credentials.token = *token;
  out.credentials.path = request.path;
  out.credentials.headers = &request.headers;
  if (request.peer && request.peer->certificate) {
    const net::PeerCertificate& c = *request.peer->certificate;
    net::CertificateTrust trust = c.trust();
    out.certificate = {c.common_name, c.organizations, c.sha256, c.uid, c.issuer};
    out.credentials.certificate = &out.certificate;
    out.credentials.is_client = trust.client;
    out.credentials.is_front_proxy = trust.front_proxy;
  }
  return {};
}

}  // namespace

Task<Result<Recognised>> recognise(const authn::AuthenticatorChain& authenticators,
                                   http::Exchange& exchange, std::string* why) {
  http::Request& request = exchange.request();
  Presented presented;
  request.from_stranger = true;  // until a user is recognised
  if (auto ok = read_credentials(request, presented); !ok) {
    if (why) *why = ok.error().message;
    co_return fail(Error::of(Reason::kUnauthorized, "Unauthorized"));
  }
  std::optional<Result<authn::Identity>> answer = authenticators.decide(presented.credentials, why);
  if (!answer) {
    Result<authn::Identity> waited = co_await authenticators.authenticate(presented.credentials,
                                                                          why);
    answer = std::move(waited);
    bool back = co_await continue_on(exchange.loop());
    (void)back;
  }
  authenticators.forget(request.headers);
  if (!*answer) co_return fail(answer->error());
  request.from_stranger = (*answer)->user.name == authz::kAnonymousUser;
  co_return Recognised{std::move(**answer)};
}

}  // namespace cardea::rest::pipeline

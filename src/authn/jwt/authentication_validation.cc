#include "authn/jwt/authentication_validation.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/strings.h"
#include "cel/lib/url.h"
#include "crypto/freed.h"
#include "json/print.h"

namespace cardea::authn {
namespace {

using json::FieldErrors;

void check_url(const std::string& url, const std::vector<std::string>& disallowed,
               const std::string& path, FieldErrors& errors) {
  if (std::ranges::find(disallowed, url) != disallowed.end()) {
    const std::set<std::string> sorted(disallowed.begin(), disallowed.end());
    errors.push_back(json::invalid(path, url,
                                   cat("URL must not overlap with disallowed issuers: [",
                                       join({sorted.begin(), sorted.end()}, " "), "]")));
  }
  cel::Arena arena;
  std::string why;
  const auto parsed = cel::parse_url(arena, url, why);
  if (!parsed && !why.ends_with("invalid URI for request")) {
    errors.push_back(json::invalid(path, url, why));
    return;
  }
  // What has neither a scheme nor a leading slash is a relative reference.
  const std::string scheme = parsed ? lower(parsed->scheme) : "";
  if (scheme != "https") errors.push_back(json::invalid(path, url, "URL scheme must be https"));
  const std::string_view rest = std::string_view(url).substr(
      std::min(url.size(), url.find("//") == url.npos ? url.size() : url.find("//") + 2));
  if (rest.substr(0, rest.find_first_of("/?#")).find('@') != rest.npos)
    errors.push_back(json::invalid(path, url, "URL must not contain a username or password"));
  const std::string_view before_fragment = std::string_view(url).substr(0, url.find('#'));
  if (const auto query = before_fragment.find('?');
      query != before_fragment.npos && query + 1 < before_fragment.size())
    errors.push_back(json::invalid(path, url, "URL must not contain a query"));
  if (before_fragment.size() + 1 < url.size())
    errors.push_back(json::invalid(path, url, "URL must not contain a fragment"));
}

std::string_view without_slashes(std::string_view url) {
  while (url.ends_with('/')) url.remove_suffix(1);
  return url;
}

void check_audiences(const IssuerConfig& issuer, const std::string& path, FieldErrors& errors) {
  const std::string audiences = path + "audiences";
  if (issuer.audiences.empty()) {
    errors.push_back(json::required(audiences, cat("at least one ", audiences, " is required")));
    return;
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < issuer.audiences.size(); ++i) {
    const std::string& audience = issuer.audiences[i];
    const std::string here = cat(audiences, "[", i, "]");
    if (audience.empty()) errors.push_back(json::required(here));
    if (!seen.insert(audience).second) errors.push_back(json::duplicate(here, audience));
  }
  const std::string& policy = issuer.audience_match_policy;
  if (issuer.audiences.size() > 1 && policy != "MatchAny")
    errors.push_back(json::invalid(path + "audienceMatchPolicy", policy,
                                   "audienceMatchPolicy must be MatchAny for multiple audiences"));
  if (issuer.audiences.size() == 1 && !policy.empty() && policy != "MatchAny")
    errors.push_back(
        json::invalid(path + "audienceMatchPolicy", policy,
                      "audienceMatchPolicy must be empty or MatchAny for single audience"));
}

void check_issuer(const IssuerConfig& issuer, const ValidationContext& context,
                  const std::string& path, FieldErrors& errors) {
  if (issuer.url.empty())
    errors.push_back(json::required(path + "url"));
  else
    check_url(issuer.url, context.disallowed_issuers, path + "url", errors);
  if (!issuer.discovery_url.empty()) {
    if (!issuer.url.empty() && without_slashes(issuer.url) == without_slashes(issuer.discovery_url))
      errors.push_back(json::invalid(path + "discoveryURL", issuer.discovery_url,
                                     "discoveryURL must be different from URL"));
    check_url(issuer.discovery_url, {}, path + "discoveryURL", errors);
  }
  check_audiences(issuer, path, errors);
  if (!issuer.certificate_authority.empty())
    if (auto bundle = certificates_of(issuer.certificate_authority); !bundle)
      errors.push_back(
          json::invalid(path + "certificateAuthority", "<omitted>", bundle.error().message));
  if (const std::string& egress = issuer.egress_selector_type; !egress.empty()) {
    if (!context.egress_selectors)
      errors.push_back(json::invalid(
          path + "egressSelectorType", egress,
          "egress selector is not supported when "
          "StructuredAuthenticationConfigurationEgressSelector feature gate is disabled"));
    else if (egress != "controlplane" && egress != "cluster")
      errors.push_back(json::invalid(path + "egressSelectorType", egress,
                                     "egress selector must be either controlplane or cluster"));
  }
}

}  // namespace

FieldErrors validate(const JwtConfig& config, const ValidationContext& context,
                     const std::string& path, std::vector<ClaimRules>& rules) {
  FieldErrors errors;
  check_issuer(config.issuer, context, path + "issuer.", errors);
  rules.push_back(ClaimRules::compile(config, path, errors));
  return errors;
}

FieldErrors validate(const AuthenticationConfig& config, const ValidationContext& context,
                     std::vector<ClaimRules>* rules) {
  if (config.jwt.size() > kMaxJwtAuthenticators)
    return {json::too_many("jwt", static_cast<int>(config.jwt.size()),
                           static_cast<int>(kMaxJwtAuthenticators))};
  FieldErrors errors;
  std::vector<ClaimRules> own;
  if (!rules) rules = &own;
  std::set<std::string_view> urls, discoveries;
  for (std::size_t i = 0; i < config.jwt.size(); ++i) {
    const JwtConfig& jwt = config.jwt[i];
    const std::string path = cat("jwt[", i, "].");
    FieldErrors found = validate(jwt, context, path, *rules);
    errors.insert(errors.end(), found.begin(), found.end());
    if (!urls.insert(jwt.issuer.url).second)
      errors.push_back(json::duplicate(path + "issuer.url", jwt.issuer.url));
    if (!jwt.issuer.discovery_url.empty() && !discoveries.insert(jwt.issuer.discovery_url).second)
      errors.push_back(json::duplicate(path + "issuer.discoveryURL", jwt.issuer.discovery_url));
  }
  if (config.anonymous && !config.anonymous->enabled && !config.anonymous->paths.empty()) {
    json::Value conditions = json::Value::array();
    for (const std::string& p : config.anonymous->paths)
      conditions.push_back(json::Value::object({{"Path", p}}));
    errors.push_back(json::invalid("anonymous.conditions", conditions,
                                   "enabled should be set to true when conditions are defined"));
  }
  return errors;
}

Result<net::Dialer*> egress_of(const JwtConfig& config, const EgressDialers& there) {
  const std::string& egress = config.issuer.egress_selector_type;
  if (egress.empty()) return nullptr;
  if (const auto found = there.find(egress); found != there.end()) return found->second;
  return fail(bad_request(cat("oidc: egress lookup for ", quoted(egress), " is not configured")));
}

std::string message_of(const FieldErrors& errors) {
  std::vector<std::string> messages;
  for (const json::FieldError& error : errors)
    if (std::string text = error.message(); std::ranges::find(messages, text) == messages.end())
      messages.push_back(std::move(text));
  return messages.size() == 1 ? messages[0] : cat("[", join(messages, ", "), "]");
}

Result<std::string> certificates_of(std::string_view pem) {
  crypto::BioPtr from(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  crypto::BioPtr to(BIO_new(BIO_s_mem()));
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* der = nullptr;
  long size = 0;
  bool any = false, broken = false;
  while (PEM_read_bio(from.get(), &name, &header, &der, &size) == 1) {
    if (std::string_view(name) == PEM_STRING_X509 && *header == '\0') {
      const unsigned char* at = der;
      crypto::X509Ptr certificate(d2i_X509(nullptr, &at, size));
      if (!certificate || PEM_write_bio_X509(to.get(), certificate.get()) != 1) broken = true;
      any = true;
    }
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(der);
  }
  ERR_clear_error();
  if (!any) return fail(bad_request("data does not contain any valid RSA or ECDSA certificates"));
  if (broken) return fail(bad_request("x509: malformed certificate"));
  char* text = nullptr;
  const long length = BIO_get_mem_data(to.get(), &text);
  return std::string(text, static_cast<std::size_t>(length));
}

}  // namespace cardea::authn

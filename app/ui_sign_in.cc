#include "app/ui_sign_in.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "http/url.h"
#include "json/print.h"
#include "json/value.h"

namespace cardea::app {

using json::Value;

std::string origin_of(const std::string& url) {
  const auto parsed = http::parse_url(url);
  if (!parsed || !parsed->tls) return "";
  // It becomes a part of a header: nothing that could end the policy's directive.
  const bool is_plain = std::ranges::all_of(parsed->authority, [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
  });
  return is_plain ? cat("https://", parsed->authority) : "";
}

std::string UiSignIn::document() const {
  Value words = Value::array({"openid"}), list = Value::array();
  for (const std::string& scope : scopes) words.push_back(scope);
  for (const Issuer& issuer : issuers)
    list.push_back(
        Value::object({{"issuer", issuer.url}, {"clientId", issuer.client_id}, {"scopes", words}}));
  return json::print(Value::object({{"issuers", std::move(list)}}));
}

UiSignIn ui_sign_in(const authn::IssuerSet& issuers, const std::vector<std::string>& clients,
                    const std::vector<std::string>& scopes) {
  UiSignIn out{.scopes = scopes};
  for (const auto& issuer : issuers.issuers()) {
    const authn::IssuerConfig& config = issuer->config().issuer;
    const auto client = std::ranges::find_first_of(clients, config.audiences);
    const std::string origin = origin_of(config.url);
    if (client != clients.end() && !origin.empty())
      out.issuers.push_back({config.url, origin, *client});
  }
  return out;
}

}  // namespace cardea::app

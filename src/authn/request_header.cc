#include "authn/request_header.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::authn {
namespace {

class RequestHeaderAuthenticator : public Authenticator {
 public:
  explicit RequestHeaderAuthenticator(RequestHeaderOptions options)
      : options_(std::move(options)) {}

  std::optional<Outcome> authenticate(const Credentials& c) const override {
    if (!c.headers || !c.certificate || !c.is_front_proxy)
      return Outcome(std::optional<Identity>());
    const std::vector<std::string>& names = options_.allowed_names;
    if (!names.empty() && std::ranges::find(names, c.certificate->common_name) == names.end())
      return Outcome(fail(Error::of(
          Reason::kUnauthorized,
          cat("a front proxy called ", quoted(c.certificate->common_name), " is not allowed"))));
    authz::User user{.name = first_of(*c.headers, options_.username_headers)};
    if (user.name.empty()) return Outcome(std::optional<Identity>());
    user.uid = first_of(*c.headers, options_.uid_headers);
    for (const std::string& name : options_.group_headers)
      for (std::string_view group : c.headers->get_all(name))
        if (!group.empty()) user.groups.emplace_back(group);
    add_extra(*c.headers, user);
    return Outcome(Identity{.user = std::move(user),
                            .authenticator = "request-header",
                            .issuer = c.certificate->common_name});
  }

 private:
  static std::string first_of(const http::Headers& headers, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (std::string_view value = headers.get(name); !value.empty()) return std::string(value);
    return "";
  }

  void add_extra(const http::Headers& headers, authz::User& user) const {
    for (const std::string& prefix : options_.extra_prefixes)
      for (auto header : headers) {
        if (header.name.size() < prefix.size() ||
            !equals_ignoring_case(header.name.substr(0, prefix.size()), prefix))
          continue;
        std::string key = lower(header.name.substr(prefix.size()));
        if (auto plain = percent_decode(key)) key = std::move(*plain);
        user.extra[key].emplace_back(header.value);
      }
  }

  RequestHeaderOptions options_;
};

}  // namespace

std::unique_ptr<Authenticator> request_header_authenticator(RequestHeaderOptions options) {
  return std::make_unique<RequestHeaderAuthenticator>(std::move(options));
}

void strip_request_headers(const RequestHeaderOptions& options, http::Headers& headers) {
  for (const auto* names :
       {&options.username_headers, &options.uid_headers, &options.group_headers})
    for (const std::string& name : *names) headers.remove(name);
  std::vector<std::string> extra;
  for (auto header : headers)
    for (const std::string& prefix : options.extra_prefixes)
      if (header.name.size() >= prefix.size() &&
          equals_ignoring_case(header.name.substr(0, prefix.size()), prefix))
        extra.emplace_back(header.name);
  for (const std::string& name : extra) headers.remove(name);
}

}  // namespace cardea::authn

#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "authn/jwt/signature.h"
#include "json/value.h"

namespace cardea::conformance {

// An issuer over TLS in this process: documents by path; some of them require a bearer token.
class TestIssuer {
 public:
  TestIssuer();
  ~TestIssuer();
  void serve(const std::string& path, std::string body, std::string bearer = "");
  void clear();
  const std::string& url() const { return url_; }  // https://127.0.0.1:port
  const std::string& ca() const { return ca_; }    // PEM

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string url_, ca_;
};

// A compact token with `claims`. Members of `header` replace the default ones (alg and kid); null
// removes one.
std::string sign_token(const authn::SigningKey& key, std::string_view alg,
                       const json::Value& claims, const json::Value& header = {});

}  // namespace cardea::conformance

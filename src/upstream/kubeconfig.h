#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/proxy_dialer.h"
#include "net/tls.h"

namespace cardea::upstream {

// The address and credentials of a webhook: one context of a kubeconfig file, with the files it
// names read in.
struct Endpoint {
  std::string server;           // "https://host:port/path"
  std::string tls_server_name;  // the name that the certificate must contain; empty: the host of
                                // `server`
  net::TlsClientConfig tls;
  std::string token;       // sent as a bearer token
  std::string token_file;  // the file of the token, read again when it changes
  std::string username, password;
  std::optional<http::Proxy> proxy = {};  // the file's own
  std::string space = {};                 // the namespace of the context; empty: none
};

// Reads the current context, or `context` when it is not empty. Files are relative to `folder`.
// Unsupported features (exec and auth-provider plugins) are an error, so that no call
// is made without credentials.
Result<Endpoint> parse_kubeconfig(std::string_view text, const std::string& folder,
                                  std::string_view context = {});
Result<Endpoint> read_kubeconfig(const std::string& path, std::string_view context = {});

// The API server of the surrounding cluster, found as pods find it: by environment variables
// and the mounted service account.
Result<Endpoint> in_cluster_endpoint();

}  // namespace cardea::upstream

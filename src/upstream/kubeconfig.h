#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/tls.h"

namespace cardea::upstream {

// Where a webhook is and how to speak to it: one context of a kubeconfig file, with the files it
// names read in.
struct Endpoint {
  std::string server;           // "https://host:port/path"
  std::string tls_server_name;  // what the certificate must carry; empty: the host of `server`
  net::TlsClientConfig tls;
  std::string token;       // sent as a bearer token
  std::string token_file;  // where it comes from, to be read again when it changes
  std::string username, password;
};

// Reads the current context, or `context` when it is not empty. Files are relative to `folder`.
// What we cannot do (exec and auth-provider plugins, proxies) is an error rather than a call
// without credentials.
Result<Endpoint> parse_kubeconfig(std::string_view text, const std::string& folder,
                                  std::string_view context = {});
Result<Endpoint> read_kubeconfig(const std::string& path, std::string_view context = {});

// The API server of the cluster this runs in, as pods find it: by environment variables and the
// mounted service account.
Result<Endpoint> in_cluster_endpoint();

}  // namespace cardea::upstream

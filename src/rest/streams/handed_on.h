#pragma once
#include <string>
#include <string_view>

#include "http/message.h"

namespace cardea::rest {

// The headers of requests and answers that go through the server to another one and back. No I/O.

// Of a request. Credentials and the names of users stay here: Authorization, X-Remote-*,
// Impersonate-*, tokens in a WebSocket's subprotocols; and so does what is about the client's
// connection, except the wish for another protocol when `is_upgrade`. The client's address is
// added to X-Forwarded-For.
http::Headers headers_for_backend(const http::Request& request, bool is_upgrade);

// Of an answer: without what is about the other connection. Permissions for other origins (CORS)
// are not the backend's to give.
http::Headers headers_for_client(const http::Headers& headers, bool is_upgrade);

// Where a proxied request came in, for links that lead back to it.
struct ProxiedAt {
  std::string host;     // of the client's request
  std::string prefix;   // "/api/v1/namespaces/a/services/b/proxy"
  std::string backend;  // "10.0.0.7:8080": links to it are ours, too
};
// The Location of an answer as the client must see it: paths of the backend get the prefix, as in
// kube-apiserver without a host; links to other hosts and relative ones stay.
std::string location_for_client(std::string_view location, const ProxiedAt& at);

}  // namespace cardea::rest

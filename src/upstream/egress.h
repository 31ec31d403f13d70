#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/proxy_dialer.h"
#include "net/dialer.h"

namespace cardea::upstream {

// How servers of one network are reached: through a proxy, or straight.
struct Egress {
  std::optional<http::Proxy> cluster;        // nodes, pods, services
  std::optional<http::Proxy> control_plane;  // webhooks with a URL
  bool names_cluster = false;                // the file says how, be it straight
  bool names_control_plane = false;
};

// A dialer of its own for each purpose: names that are never found then keep nobody else waiting.
std::unique_ptr<net::Dialer> dialer_through(const std::optional<http::Proxy>& proxy);

// Reads the file of --egress-selector-config-file. HTTPConnect (over TCP, with or without TLS, or
// a Unix socket) and Direct are served. What is not (GRPC, a proxy to etcd) is an error: a
// connection that goes straight where the file demands a proxy would be worse than no start.
// `read` reads the files that it names.
Result<Egress> parse_egress(
    std::string_view text, const std::function<Result<std::string>(const std::string& path)>& read);

}  // namespace cardea::upstream

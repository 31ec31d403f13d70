#include "upstream/proxy_environment.h"

#include <arpa/inet.h>

#include <cstdlib>
#include <cstring>

#include "base/strings.h"

namespace cardea::upstream {
namespace {

// Its 16 bytes, an IPv4 address as the IPv6 one that stands for it; empty: not an address.
std::string address_bytes(std::string_view text) {
  const std::string host(text);
  char bytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '\xff', '\xff'};
  if (::inet_pton(AF_INET, host.c_str(), bytes + 12) == 1 ||
      ::inet_pton(AF_INET6, host.c_str(), bytes) == 1)
    return {bytes, sizeof bytes};
  return {};
}

bool is_in(std::string_view address, std::string_view network, int prefix) {
  const auto whole = static_cast<std::size_t>(prefix / 8);
  if (address.size() != network.size() || address.substr(0, whole) != network.substr(0, whole))
    return false;
  const int rest = prefix % 8;
  return rest == 0 || ((address[whole] ^ network[whole]) & 0xff) >> (8 - rest) == 0;
}

std::string_view without_brackets(std::string_view host) {
  const bool has = host.size() > 1 && host.front() == '[' && host.back() == ']';
  return has ? host.substr(1, host.size() - 2) : host;
}

std::string variable(const char* upper_case, const char* lower_case) {
  const char* value = std::getenv(upper_case);
  if (!value || !*value) value = std::getenv(lower_case);
  return value ? value : "";
}

}  // namespace

NoProxy::NoProxy(std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view one = trim(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    if (one.empty()) continue;
    if (one == "*") {
      all_ = true;
      continue;
    }
    Entry entry;
    if (const std::size_t slash = one.find('/'); slash != std::string_view::npos) {
      entry.name = address_bytes(one.substr(0, slash));
      const auto bits = parse_int(one.substr(slash + 1));
      const bool is_v4 = one.find(':') == std::string_view::npos;
      if (entry.name.empty() || !bits || *bits < 0 || *bits > (is_v4 ? 32 : 128)) continue;
      entry.prefix = static_cast<int>(*bits) + (is_v4 ? 96 : 0);
      entries_.push_back(std::move(entry));
      continue;
    }
    if (address_bytes(one).empty())
      if (const std::size_t colon = one.rfind(':'); colon != std::string_view::npos)
        if (const auto port = parse_int(one.substr(colon + 1));
            port && *port > 0 && *port < 65536) {
          entry.port = static_cast<std::uint16_t>(*port);
          one = one.substr(0, colon);
        }
    if (std::string bytes = address_bytes(without_brackets(one)); !bytes.empty()) {
      entry.name = std::move(bytes);
      entry.prefix = 128;
    } else {
      if (one.starts_with("*.")) one.remove_prefix(1);
      entry.only_below = one.starts_with('.');
      entry.name = lower(entry.only_below ? one.substr(1) : one);
    }
    entries_.push_back(std::move(entry));
  }
}

bool NoProxy::holds(std::string_view host, std::uint16_t port) const {
  std::string name = lower(without_brackets(host));
  if (name.ends_with('.')) name.pop_back();
  const std::string address = address_bytes(name);
  if (all_ || name == "localhost" || is_in(address, address_bytes("127.0.0.0"), 96 + 8) ||
      (!address.empty() && address == address_bytes("::1")))
    return true;
  for (const Entry& entry : entries_) {
    if (entry.port != 0 && entry.port != port) continue;
    if (entry.prefix >= 0) {
      if (is_in(address, entry.name, entry.prefix)) return true;
    } else if ((!entry.only_below && name == entry.name) || name.ends_with("." + entry.name)) {
      return true;
    }
  }
  return false;
}

Result<std::unique_ptr<net::Dialer>> dialer_of_environment() {
  const std::string proxy = variable("HTTPS_PROXY", "https_proxy");
  if (proxy.empty()) return std::make_unique<net::Dialer>();
  auto parsed = http::parse_proxy(proxy);
  if (!parsed) return fail(bad_request(cat("HTTPS_PROXY: ", parsed.error().message)));
  return std::make_unique<http::ProxyDialer>(
      [only = std::make_shared<const http::Proxy>(std::move(*parsed)),
       without = NoProxy(variable("NO_PROXY", "no_proxy"))](
          const std::string& host, std::uint16_t port) -> std::shared_ptr<const http::Proxy> {
        return without.holds(host, port) ? nullptr : only;
      });
}

}  // namespace cardea::upstream

#include "app/machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>

namespace cardea::app {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || (one->ifa_flags & IFF_LOOPBACK)) continue;
    char text[INET6_ADDRSTRLEN];
    if (one->ifa_addr->sa_family == AF_INET) {
      const auto* in = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
      ::inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
      out.emplace_back(text);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      const auto* in = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
      ::inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text);
      out.emplace_back(text);
    }
  }
  ::freeifaddrs(all);
  std::erase_if(out, [](const std::string& address) { return !is_for_others(address); });
  std::ranges::stable_partition(out, [](const std::string& a) { return !a.contains(':'); });
  return out;
}

bool is_address(const std::string& text) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, text.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

bool is_everywhere(const std::string& address) {
  return address == "0.0.0.0" || address == "::";
}

bool is_for_others(const std::string& address) {
  if (address.empty() || is_everywhere(address)) return false;
  in6_addr six{};
  if (::inet_pton(AF_INET6, address.c_str(), &six) == 1)
    return !IN6_IS_ADDR_LOOPBACK(&six) && !IN6_IS_ADDR_LINKLOCAL(&six);
  return !address.starts_with("127.") && !address.starts_with("169.254.");
}

}  // namespace cardea::app

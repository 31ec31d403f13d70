#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/kinds/ip.h"

namespace cardea::rest {

// Which addresses the server connects to because an object names them: a Node, a Pod, endpoints.
//
// Who may write such an object must not be able to make the server call its neighbours on the same
// machine, or the metadata service of a cloud, which trusts the machine. So loopback, link-local,
// unspecified, multicast and broadcast addresses are refused, and the metadata services that have
// other addresses. The machine's other addresses are not known here, and are admitted: a server
// reached by one of them asks for credentials. A value; shared between threads.
class AddressRules {
 public:
  // `exceptions` are addresses or networks ("127.0.0.0/8") that are allowed nevertheless.
  static Result<AddressRules> make(const std::vector<std::string>& exceptions);

  // `address` is an IP address. What is none is refused.
  bool admits(std::string_view address) const;

 private:
  std::vector<catalog::Cidr> exceptions_;
};

// Is it fit to be the host of a URL: an address, or a name of letters, digits, `-`, `_` and dots?
bool is_plain_host(std::string_view host);

}  // namespace cardea::rest

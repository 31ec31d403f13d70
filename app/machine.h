#pragma once
#include <string>
#include <vector>

namespace cardea::app {

// This machine, as its system describes it.

std::string host_name();

// The addresses of its interfaces, the first IPv4 address first. Loopback addresses are left out,
// and addresses of one link, which clients cannot use without naming the link.
std::vector<std::string> own_addresses();

bool is_address(const std::string& text);        // IPv4 or IPv6
bool is_everywhere(const std::string& address);  // 0.0.0.0 or ::
// Whether other machines can find a server at this address: not at a loopback address, or one of a
// link, or one that stands for all.
bool is_for_others(const std::string& address);

}  // namespace cardea::app

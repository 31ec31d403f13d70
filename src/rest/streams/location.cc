#include "rest/streams/location.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/kinds/ip.h"
#include "rest/streams/address_rules.h"

namespace cardea::rest {

using json::Value;

namespace {

constexpr std::uint16_t kKubeletPort = 10250;

Error not_allowed() {
  return bad_request("address not allowed");
}
Error unavailable(std::string message) {
  return Error::of(Reason::kServiceUnavailable, std::move(message));
}

// As Go prints a list of structs.
std::string addresses_text(const Value& node) {
  std::vector<std::string> known;
  for (const Value& a : node["status"]["addresses"].items())
    known.push_back(cat("{", a["type"].as_string(), " ", a["address"].as_string(), "}"));
  return cat("[", join(known, " "), "]");
}

Result<std::string> preferred_address(const Value& node, const std::vector<std::string>& types) {
  for (const std::string& type : types)
    for (const Value& a : node["status"]["addresses"].items())
      if (a["type"].as_string() == type) {
        std::string host(a["address"].as_string());
        if (!is_plain_host(host)) return fail(not_allowed());
        return host;
      }
  // No reason: the server does not know what to say about it.
  return fail(Error{Reason::kUnknown,
                    cat("no preferred addresses found; known addresses: ", addresses_text(node)),
                    nullptr, 500});
}

Result<std::uint16_t> port_number(std::string_view text) {
  const auto number = parse_int(text);
  if (!number || *number < 1 || *number > 65535)
    return fail(bad_request(cat("invalid port ", quoted(text))));
  return static_cast<std::uint16_t>(*number);
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

std::string escaped(std::string_view text, std::string_view plain) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c) || plain.find(c) != plain.npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

bool is_of_pod(const Value& address, std::string_view namespace_name,
               const std::function<Value(std::string_view)>& find_pod) {
  const Value& target = address["targetRef"];
  if (!target.is_object() || target["namespace"].as_string() != namespace_name) return false;
  const Value pod = find_pod(target["name"].as_string());
  for (const Value& ip : pod["status"]["podIPs"].items())
    if (ip["ip"].as_string() == address["ip"].as_string()) return true;
  return false;
}

}  // namespace

std::string Place::url() const {
  const bool is_v6 = host.find(':') != host.npos;
  return cat(scheme, "://", is_v6 ? "[" : "", host, is_v6 ? "]" : "", ":", port);
}

Result<Place> kubelet_of(const Value& node, const std::vector<std::string>& address_types) {
  auto host = preferred_address(node, address_types);
  if (!host) return fail(host.error());
  const auto port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_int();
  return Place{.scheme = "https",
               .host = std::move(*host),
               .port = port > 0 && port < 65536 ? static_cast<std::uint16_t>(port) : kKubeletPort};
}

Result<std::string> container_of(const Value& pod, std::string_view wanted) {
  const std::string_view name = pod["metadata"]["name"].as_string();
  std::vector<std::string> all;
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"})
    for (const Value& c : pod["spec"][list].items()) all.emplace_back(c["name"].as_string());
  if (!wanted.empty()) {
    if (std::ranges::find(all, wanted) != all.end()) return std::string(wanted);
    return fail(bad_request(cat("container ", wanted, " is not valid for pod ", name)));
  }
  const Value& containers = pod["spec"]["containers"];
  if (containers.size() == 1) return std::string(containers.items()[0]["name"].as_string());
  return fail(bad_request(cat("a container name must be specified for pod ", name,
                              ", choose one of: [", join(all, " "), "]")));
}

Result<ProxyName> proxy_name(std::string_view text, std::string_view kind) {
  auto parts = split(text, ':');
  ProxyName out{.scheme = "http", .name = {}, .port = {}};
  bool fits = parts.size() < 4;
  if (parts.size() == 3) {
    fits = parts[0].empty() || parts[0] == "http" || parts[0] == "https";
    if (!parts[0].empty()) out.scheme = parts[0];
    parts.erase(parts.begin());
  }
  if (!fits || parts[0].empty())
    return fail(bad_request(cat("invalid ", kind, " request ", quoted(text))));
  out.name = parts[0];
  if (parts.size() > 1) out.port = parts[1];
  return out;
}

Result<Place> pod_place(const Value& pod, const ProxyName& name) {
  const std::string_view ip = pod["status"]["podIP"].as_string();
  if (!catalog::parse_ip(ip)) return fail(not_allowed());
  Place out{.scheme = name.scheme,
            .host = std::string(ip),
            .port = static_cast<std::uint16_t>(name.scheme == "https" ? 443 : 80),
            .trust = Place::Trust::kOther};
  if (!name.port.empty()) {
    auto port = port_number(name.port);
    if (!port) return fail(port.error());
    out.port = *port;
    return out;
  }
  for (const Value& container : pod["spec"]["containers"].items())
    if (container["ports"].size() > 0) {
      out.port = static_cast<std::uint16_t>(
          container["ports"].items()[0]["containerPort"].as_int());
      break;
    }
  return out;
}

Result<Place> node_place(const Value& node, const ProxyName& name,
                         const std::vector<std::string>& address_types) {
  auto kubelet = kubelet_of(node, address_types);
  if (!kubelet || name.port.empty() || name.port == std::to_string(kubelet->port)) return kubelet;
  auto port = port_number(name.port);
  if (!port) return fail(port.error());
  return Place{
      .scheme = name.scheme, .host = kubelet->host, .port = *port, .trust = Place::Trust::kOther};
}

Result<std::string> service_port(const Value& service, const ProxyName& name) {
  const auto number = parse_int(name.port);
  if (!number) return name.port;
  for (const Value& port : service["spec"]["ports"].items())
    if (port["port"].as_int() == *number) return std::string(port["name"].as_string());
  return fail(
      unavailable(cat("no service port ", *number, " found for service ", quoted(name.name))));
}

Result<Place> service_place(const Value& endpoints, const ProxyName& name,
                            std::string_view port_name, std::string_view namespace_name,
                            const std::function<Value(std::string_view)>& find_pod,
                            const std::function<std::size_t(std::size_t)>& draw) {
  const auto none = [&](std::string_view what) {
    return fail(unavailable(cat("no endpoints available for service ", quoted(what))));
  };
  const auto& subsets = endpoints["subsets"];
  if (subsets.size() == 0) return none(name.name);
  const std::size_t first = draw(subsets.size());
  for (std::size_t s = 0; s < subsets.size(); ++s) {
    const Value& subset = subsets.items()[(first + s) % subsets.size()];
    const auto& addresses = subset["addresses"];
    if (addresses.size() == 0) continue;
    for (const Value& port : subset["ports"].items()) {
      if (port["name"].as_string() != port_name) continue;
      const std::size_t start = draw(addresses.size());
      for (std::size_t a = 0; a < addresses.size(); ++a) {
        const Value& address = addresses.items()[(start + a) % addresses.size()];
        if (!is_of_pod(address, namespace_name, find_pod)) continue;
        return Place{.scheme = name.scheme,
                     .host = std::string(address["ip"].as_string()),
                     .port = static_cast<std::uint16_t>(port["port"].as_int()),
                     .trust = Place::Trust::kOther};
      }
    }
  }
  return none(name.name);
}

std::string clean_path(std::string_view path) {
  std::vector<std::string_view> kept;
  for (std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..")
      kept.push_back(part);
    else if (!kept.empty())
      kept.pop_back();
  }
  std::string out;
  for (std::string_view part : kept) out += cat("/", part);
  if (path.ends_with('/')) out += '/';
  return out;
}

std::string escape_path(std::string_view path) {
  return escaped(path, "/!$&'()*+,;=:@");
}

std::string escape_query(std::string_view value) {
  std::string out = escaped(value, " ");
  std::ranges::replace(out, ' ', '+');
  return out;
}

std::string query_of(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string out;
  for (const auto& [key, value] : parameters)
    out += cat(out.empty() ? "" : "&", escape_query(key), "=", escape_query(value));
  return out;
}

}  // namespace cardea::rest

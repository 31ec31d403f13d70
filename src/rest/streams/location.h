#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace cardea::rest {

// Where a stream goes, from the objects that name the place. No I/O; errors are in kube-apiserver's
// words.

// A server and how it is trusted.
struct Place {
  enum class Trust : std::uint8_t {
    kKubelet,           // by the CA of kubelets; it gets the server's client certificate
    kUncheckedKubelet,  // its certificate is not checked, because the client said so
    kOther,             // a pod, a service, another port of a node: nothing is checked
  };
  std::string scheme;  // "https" or "http"
  std::string host;
  std::uint16_t port = 0;
  Trust trust = Trust::kKubelet;

  std::string url() const;  // "https://10.0.0.7:10250"; the address of IPv6 is in brackets
};

// The kubelet of a node: the first address of the first type that the node has.
Result<Place> kubelet_of(const json::Value& node, const std::vector<std::string>& address_types);

// The container that a request without a name means, or the named one, if the pod has it.
Result<std::string> container_of(const json::Value& pod, std::string_view wanted);

// The name of a proxy's target as a path has it: NAME, NAME:PORT or SCHEME:NAME:PORT.
struct ProxyName {
  std::string scheme, name, port;  // the scheme is "http" unless it says otherwise
};
// `kind` is for the error: "pod", "node", "service".
Result<ProxyName> proxy_name(std::string_view text, std::string_view kind);

// The address of a pod, at the wanted port or at its first one.
Result<Place> pod_place(const json::Value& pod, const ProxyName& name);
// A node's kubelet, or another port of the node.
Result<Place> node_place(const json::Value& node, const ProxyName& name,
                         const std::vector<std::string>& address_types);

// The name of the service's port that a proxy's target means: a number is looked for in the
// service.
Result<std::string> service_port(const json::Value& service, const ProxyName& name);

// One of the addresses behind a service, at the port with this name. An address counts when it is
// that of the pod that it names, which `find_pod` finds (null: there is none). `draw` gives a
// number below its argument.
Result<Place> service_place(const json::Value& endpoints, const ProxyName& name,
                            std::string_view port_name, std::string_view namespace_name,
                            const std::function<json::Value(std::string_view)>& find_pod,
                            const std::function<std::size_t(std::size_t)>& draw);

// A path as kube-apiserver hands it on: without empty and dot segments, which could mean another
// path to the one who checks it than to the one who serves it. A slash at the end stays.
std::string clean_path(std::string_view path);

std::string escape_path(std::string_view path);    // for a URL: slashes stay
std::string escape_query(std::string_view value);  // for a value: blanks become +

// `a=1&b=2`, in the order given.
std::string query_of(const std::vector<std::pair<std::string, std::string>>& parameters);

}  // namespace cardea::rest

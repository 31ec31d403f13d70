#pragma once
#include <memory>
#include <string>

#include "authn/jwt/authentication_validation.h"
#include "base/result.h"
#include "net/dialer.h"
#include "upstream/egress.h"

namespace cardea::app {

// How the server reaches others. Each purpose has a dialer of its own: nodes and services choose
// their names, so a name that is never found must not keep webhooks waiting.
struct Ways {
  std::unique_ptr<net::Dialer> issuers;   // that name no egress selector
  std::unique_ptr<net::Dialer> webhooks;  // with a URL
  std::unique_ptr<net::Dialer> service_webhooks;
  std::unique_ptr<net::Dialer> backends;  // kubelets, pods, services
  std::unique_ptr<net::Dialer> aggregation;
  std::unique_ptr<net::Dialer> control_plane_issuers;  // null: the file does not name it
  std::unique_ptr<net::Dialer> cluster_issuers;        // the same

  authn::EgressDialers egress() const;
};

// By --egress-selector-config-file, and where that says nothing about calls to the outside by the
// environment's HTTPS_PROXY. `egress_file` may be empty.
Result<Ways> make_ways(const std::string& egress_file);

}  // namespace cardea::app

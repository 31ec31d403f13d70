#include "app/ways.h"

#include "base/strings.h"
#include "net/file_watch.h"
#include "upstream/proxy_environment.h"

namespace cardea::app {

authn::EgressDialers Ways::egress() const {
  authn::EgressDialers out;
  if (control_plane_issuers) out.emplace("controlplane", control_plane_issuers.get());
  if (cluster_issuers) out.emplace("cluster", cluster_issuers.get());
  return out;
}

Result<Ways> make_ways(const std::string& egress_file) {
  upstream::Egress egress;
  if (!egress_file.empty()) {
    auto text = net::read_whole_file(egress_file);
    if (!text) return fail(text.error());
    auto parsed = upstream::parse_egress(*text, net::read_whole_file);
    if (!parsed) return fail(bad_request(cat("`", egress_file, "`: ", parsed.error().message)));
    egress = std::move(*parsed);
  }
  auto issuers = upstream::dialer_of_environment();
  if (!issuers) return fail(issuers.error());
  auto webhooks = upstream::dialer_of_environment();
  if (!webhooks) return fail(webhooks.error());
  Ways out{.issuers = std::move(*issuers),
           .webhooks = egress.names_control_plane ? upstream::dialer_through(egress.control_plane)
                                                  : std::move(*webhooks),
           .service_webhooks = upstream::dialer_through(egress.cluster),
           .backends = upstream::dialer_through(egress.cluster),
           .aggregation = upstream::dialer_through(egress.cluster),
           .control_plane_issuers = {},
           .cluster_issuers = {}};
  if (egress.names_control_plane)
    out.control_plane_issuers = upstream::dialer_through(egress.control_plane);
  if (egress.names_cluster) out.cluster_issuers = upstream::dialer_through(egress.cluster);
  return out;
}

}  // namespace cardea::app

#include "rest/controllers/controllers.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::rest {
namespace {

struct Row {
  std::string_view name;
  std::unique_ptr<Controller> (*make)(const ControllerContext&, const std::string& ca);
};

constexpr Row kControllers[] = {
    {"namespace-controller",
     [](const ControllerContext& c, const std::string&) { return namespace_controller(c); }},
    {"garbage-collector-controller",
     [](const ControllerContext& c, const std::string&) { return garbage_collector(c); }},
    {"clusterrole-aggregation-controller",
     [](const ControllerContext& c, const std::string&) { return cluster_role_aggregation(c); }},
    {"resourcequota-controller",
     [](const ControllerContext& c, const std::string&) { return resource_quota_controller(c); }},
    {"serviceaccount-controller",
     [](const ControllerContext& c, const std::string&) { return service_account_controller(c); }},
    {"validatingadmissionpolicy-status-controller",
     [](const ControllerContext& c, const std::string&) { return admission_policy_status(c); }},
    {"service-cidr-controller",
     [](const ControllerContext& c, const std::string&) { return service_cidr_controller(c); }},
    {"root-ca-certificate-publisher-controller",
     [](const ControllerContext& c, const std::string& ca) { return root_ca_publisher(c, ca); }},
};

bool names(const std::vector<std::string>& list, std::string_view what) {
  return std::ranges::find(list, what) != list.end();
}

}  // namespace

std::vector<std::string> known_controllers() {
  std::vector<std::string> out;
  for (const Row& row : kControllers) out.emplace_back(row.name);
  return out;
}

Result<std::vector<std::string>> select_controllers(const std::vector<std::string>& wanted) {
  std::vector<std::string> known = known_controllers();
  for (const std::string& w : wanted) {
    std::string_view name = w.starts_with('-') ? std::string_view(w).substr(1)
                                               : std::string_view(w);
    if (w.empty() || w == "*" || names(known, name)) continue;
    return fail(bad_request(cat("unknown controller `", name, "`; known are ", join(known, ", "))));
  }
  std::vector<std::string> out;
  for (std::string& name : known) {
    bool left_out = names(wanted, cat("-", name));
    if (names(wanted, name) && left_out)
      return fail(bad_request(cat("controller `", name, "` is both named and left out")));
    if (names(wanted, name) || (names(wanted, "*") && !left_out)) out.push_back(std::move(name));
  }
  return out;
}

std::vector<std::string> named_controllers(const std::vector<std::string>& wanted) {
  std::vector<std::string> out;
  for (std::string& name : known_controllers())
    if (names(wanted, name)) out.push_back(std::move(name));
  return out;
}

Controllers::Controllers(const ControllerContext& context, Settings settings) {
  controllers_.push_back(api_service_availability(context));
  controllers_.push_back(local_api_services(context));
  if (settings.event_ttl.count() > 0)
    controllers_.push_back(event_expiry(context, settings.event_ttl));
  controllers_.push_back(access_policy_status(context));
  if (settings.keeps_dra_admin_policy) controllers_.push_back(dra_admin_policy_keeper(context));
  controllers_.push_back(flow_control_config(context));
  controllers_.push_back(address_repair(context));
  std::vector<Controller*> all, replaceable;
  for (const auto& c : controllers_) all.push_back(c.get());
  const std::string holder = settings.identity.holder;
  if (!settings.authentication.empty())
    controllers_.push_back(authentication_publisher(context, std::move(settings.authentication)));
  if (!settings.identity.name.empty())
    controllers_.push_back(identity_lease(context, std::move(settings.identity)));
  if (!settings.address.empty())
    controllers_.push_back(server_endpoints(context, std::move(settings.address), settings.port));
  for (const Row& row : kControllers) {
    if (!names(settings.names, row.name)) continue;
    controllers_.push_back(row.make(context, settings.ca));
    all.push_back(controllers_.back().get());
    if (!names(settings.lasting, row.name)) replaceable.push_back(controllers_.back().get());
  }
  // First: what steps aside at once starts nothing.
  controllers_.insert(controllers_.begin(), outside_manager(context, std::move(replaceable)));
  if (settings.is_elected)
    controllers_.insert(controllers_.begin(), elected(context, std::move(all), holder));
}

Result<void> Controllers::start() {
  for (auto& c : controllers_)
    if (auto ok = c->start(); !ok) return ok;
  return {};
}

void Controllers::stop() {
  for (auto& c : controllers_) c->stop();
}

}  // namespace cardea::rest

#include "app/feature_gates.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::app {
namespace {

struct Gate {
  std::string_view name;
  bool is_on;      // by default
  bool is_locked;  // it cannot be changed
  bool is_built;   // this version has what the gate opens
};

constexpr Gate kGates[] = {
    {"AnonymousAuthConfigurableEndpoints", true, true, true},
    {"ConditionalAuthorization", true, false, true},
    {"ConstrainedImpersonation", true, false, true},
    {"FineGrainedAuthorization", true, false, true},
    {"NodeConditionalAuthorization", false, false, true},
    {"StructuredAuthenticationConfiguration", true, true, true},
    {"StructuredAuthenticationConfigurationEgressSelector", true, false, true},
    {"StructuredAuthenticationConfigurationJWKSMetrics", true, false, true},
};

const Gate* find(std::string_view name) {
  const Gate* gate = std::ranges::find(kGates, name, &Gate::name);
  return gate == std::end(kGates) ? nullptr : gate;
}

}  // namespace

Result<FeatureGates> FeatureGates::parse(const std::vector<std::string>& entries) {
  FeatureGates out;
  for (const std::string& entry : entries) {
    auto equals = entry.find('=');
    std::string name(trim(std::string_view(entry).substr(0, equals)));
    if (equals == std::string::npos)
      return fail(
          bad_request(cat("`", entry, "` should be `", entry, "=true` or `", entry, "=false`")));
    std::string value = lower(trim(std::string_view(entry).substr(equals + 1)));
    const Gate* gate = find(name);
    if (!gate) return fail(bad_request(cat("unknown feature gate `", name, "`")));
    if (value != "true" && value != "false")
      return fail(bad_request(cat("`", entry, "`: the value must be true or false")));
    bool wanted = value == "true";
    if (gate->is_locked && wanted != gate->is_on)
      return fail(bad_request(
          cat("feature gate `", name, "` is locked to ", gate->is_on ? "true" : "false")));
    auto [at, is_new] = out.set_.emplace(name, wanted);
    if (!is_new && at->second != wanted)
      return fail(bad_request(cat("feature gate `", name, "` is set both ways")));
    if (is_new && wanted && !gate->is_built)
      out.warnings_.push_back(cat("feature gate ", name, " is not built yet and stays off"));
  }
  return out;
}

bool FeatureGates::on(std::string_view name) const {
  const Gate* gate = find(name);
  CARDEA_CHECK(gate != nullptr);
  if (!gate->is_built) return false;
  auto found = set_.find(name);
  return found == set_.end() ? gate->is_on : found->second;
}

std::string FeatureGates::help() {
  std::string out;
  for (const Gate& gate : kGates)
    out += cat(out.empty() ? "  " : "\n  ", gate.name, "=", gate.is_on ? "true" : "false",
               gate.is_locked ? " (locked)" : "", gate.is_built ? "" : " (not built yet)");
  return out;
}

}  // namespace cardea::app

#include "app/runtime_config.h"

#include <algorithm>

#include "base/strings.h"

namespace cardea::app {
namespace {

// Keys for many versions at once. They are about Kubernetes' own groups.
constexpr std::string_view kWide[] = {"api/all", "api/ga", "api/beta", "api/alpha"};

bool is_wide(std::string_view key) {
  return std::ranges::find(kWide, key) != std::end(kWide);
}

std::string_view maturity(std::string_view version) {
  return version.contains("alpha") ? "api/alpha" : version.contains("beta") ? "api/beta" : "api/ga";
}

// `apps/v1`; the core group is `api/v1`.
std::string version_key(const catalog::Resource& r) {
  return cat(r.group.empty() ? "api" : r.group, "/", r.version);
}

bool is_about(std::string_view key, const catalog::Resource& r) {
  if (key == "api/all") return r.has_protobuf;
  if (is_wide(key)) return r.has_protobuf && key == maturity(r.version);
  return key == version_key(r) || key == cat(version_key(r), "/", r.name);
}

// Wide keys, then versions, then resources.
int narrowness(std::string_view key) {
  if (key == "api/all") return 0;
  return is_wide(key) ? 1 : static_cast<int>(1 + std::ranges::count(key, '/'));
}

enum class Known { kNo, kGroup, kYes };

Known find(std::string_view key, const catalog::Catalog& catalog) {
  const std::string_view group = key.substr(0, key.find('/'));
  Known found = Known::kNo;
  for (const catalog::Group& g : catalog.groups())
    for (const catalog::Version& v : g.versions)
      for (const catalog::Resource* r : v.resources) {
        if (is_about(key, *r)) return Known::kYes;
        if (group == (r->group.empty() ? "api" : r->group)) found = Known::kGroup;
      }
  return found;
}

}  // namespace

Result<RuntimeConfig> RuntimeConfig::parse(const std::vector<std::string>& entries,
                                           const catalog::Catalog& known) {
  auto wrong = [](const std::string& entry, std::string_view why) {
    return fail(bad_request(cat("--runtime-config `", entry, "` ", why)));
  };
  RuntimeConfig out;
  for (const std::string& entry : entries) {
    const auto equals = entry.find('=');
    std::string key = entry.substr(0, equals);
    const std::string value = equals == entry.npos ? "true" : entry.substr(equals + 1);
    if (value != "true" && value != "false" && !value.empty())
      return wrong(entry, "must be KEY=true or KEY=false");
    const bool is_on = value != "false";
    if (key == "v1") key = "api/v1";
    const Known what = is_wide(key) ? Known::kYes : find(key, known);
    if (what == Known::kNo) return wrong(entry, "names a group that this server does not know");
    if (what == Known::kGroup && is_on)
      return wrong(entry, "names a version or a resource that this server cannot serve");
    out.entries_.push_back({std::move(key), is_on});
  }
  std::ranges::stable_sort(out.entries_, {}, [](const Entry& e) { return narrowness(e.key); });
  return out;
}

bool RuntimeConfig::is_off(const catalog::Resource& resource) const {
  bool is_on = true;
  for (const Entry& entry : entries_)
    if (is_about(entry.key, resource)) is_on = entry.is_on;
  return !is_on;
}

}  // namespace cardea::app

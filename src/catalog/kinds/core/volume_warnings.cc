#include "catalog/kinds/core/volume_warnings.h"

#include "catalog/kinds/check.h"
#include "catalog/kinds/core/resources.h"

namespace cardea::catalog {
namespace {

using json::Value;
using std::string_view;

struct Hint {
  string_view key, text;
};

constexpr Hint kNodeLabels[] = {
    {"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
    {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
    {"failure-domain.beta.kubernetes.io/region",
     "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
    {"failure-domain.beta.kubernetes.io/zone",
     "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
    {"beta.kubernetes.io/instance-type",
     "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
    {"app.kubernetes.io/created-by", "deprecated since v1.9"},
    {"scheduler.alpha.kubernetes.io/preferAvoidPods",
     "deprecated since v1.22; use Taints and Tolerations instead"},
    {"node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"},
};

struct SourceHint {
  string_view key, reported_as, text;
};
constexpr SourceHint kSources[] = {
    {"photonPersistentDisk", "photonPersistentDisk",
     "deprecated in v1.11, non-functional in v1.16+"},
    {"gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
    {"scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    {"flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"},
    {"storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
    {"quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    {"glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    {"cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    {"rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"},
};

}  // namespace

string_view deprecated_node_label(string_view key) {
  auto at = std::ranges::find(kNodeLabels, key, &Hint::key);
  return at == std::end(kNodeLabels) ? "" : at->text;
}

void warn_about_node_selector_term(const Value& term, bool check_values, const Path& path,
                                   std::vector<std::string>& out) {
  each(term, "matchExpressions", path, [&](const Value& expression, const Path& at) {
    string_view key = text(expression, "key"), hint = deprecated_node_label(key);
    if (!hint.empty()) out.push_back(cat((at / "key").text(), ": ", key, " is ", hint));
    if (!check_values) return;
    each(expression, "values", at, [&](const Value& value, const Path& value_path) {
      for (const std::string& message : label_value(value.as_string()))
        out.push_back(cat(value_path.text(), ": ", value.as_string(), " is invalid, ", message));
    });
  });
}

void warn_about_volume_source(const Value& holder, const Path& path,
                              std::vector<std::string>& out) {
  for (const SourceHint& hint : kSources)
    if (present(holder, hint.key))
      out.push_back(cat((path / hint.reported_as).text(), ": ", hint.text));
}

void warn_about_fraction(const Value& quantity, const Path& path, std::vector<std::string>& out) {
  if (!quantity.is_null() && quantity_of(quantity).milli_value() % 1000 != 0)
    out.push_back(cat(path.text(), ": fractional byte value ", quoted(show_quantity(quantity)),
                      " is invalid, must be an integer"));
}

void warn_about_claim_spec(const Value& spec, const Path& path, std::vector<std::string>& out) {
  for (const char* key : {"requests", "limits"})
    warn_about_fraction(spec["resources"][key]["storage"],
                        (path / "resources" / key).key("storage"), out);
}

}  // namespace cardea::catalog

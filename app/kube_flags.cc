#include "app/kube_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/command_line.h"
#include "base/strings.h"

namespace cardea::app {
namespace {

enum class Form { kText, kSwitch };
enum class Fate { kAccepted, kRefused };

struct Row {
  std::string_view name;
  Form form;
  Fate fate;
  std::string_view why;       // ends the sentence "--NAME has no effect: ..."
  std::string_view harmless;  // values, separated by blanks, that say what Cardea does anyway
};

constexpr auto kText = Form::kText;
constexpr auto kSwitch = Form::kSwitch;
constexpr auto kAccepted = Fate::kAccepted;
constexpr auto kRefused = Fate::kRefused;

constexpr std::string_view
    kEtcd = "all objects are in one store: that of --etcd-servers, or of --data-dir";
constexpr std::string_view kNoPools = "each object is written once, by the store";
constexpr std::string_view kMetrics = "every metric is shown, with all of its labels";
constexpr std::string_view kEmulation = "Cardea serves one version of Kubernetes' API";
constexpr std::string_view kLogs = "the log has one stream, which is not buffered";
constexpr std::string_view kCoordinated = "Cardea elects no leaders for other programs";
constexpr std::string_view kPeers = "requests are not handed on to other replicas";

constexpr Row kRows[] = {
    // Storage.
    {"--etcd-servers-overrides", kText, kRefused, kEtcd, ""},
    {"--etcd-count-metric-poll-period", kText, kAccepted, kEtcd, "1m0s 1m"},
    {"--etcd-db-metric-poll-interval", kText, kAccepted, kEtcd, "30s"},
    {"--etcd-readycheck-timeout", kText, kAccepted, kEtcd, "2s"},
    {"--lease-reuse-duration-seconds", kText, kAccepted, kEtcd, "60"},
    {"--storage-backend", kText, kRefused, kEtcd, ""},
    {"--storage-media-type", kText, kAccepted,
     "objects are JSON in --data-dir; in etcd they are as kube-apiserver writes them", ""},
    {"--storage-initialization-timeout", kText, kAccepted, "the store opens at once", "1m0s 1m"},
    {"--watch-cache", kSwitch, kAccepted, "reads and watches are always served from memory",
     "true"},
    {"--watch-cache-sizes", kText, kAccepted, "the store decides how much history it keeps", ""},
    {"--delete-collection-workers", kText, kAccepted, kNoPools, "1"},
    {"--enable-garbage-collector", kSwitch, kRefused,
     "--controllers=*,-garbage-collector-controller leaves the garbage collector out", "true"},

    // Serving.
    {"--cert-dir", kText, kAccepted, "certificates that the server makes are in --data-dir",
     "/var/run/kubernetes"},
    {"--permit-address-sharing", kSwitch, kAccepted, "the address is not shared", "false"},
    {"--permit-port-sharing", kSwitch, kAccepted, "the port is not shared", "false"},
    {"--tls-curve-preferences", kText, kRefused, "OpenSSL's own list of key exchanges is used", ""},
    {"--cors-allowed-origins", kText, kAccepted,
     "pages of other origins may not read answers of this server", ""},
    {"--strict-transport-security-directives", kText, kAccepted,
     "the server sends no Strict-Transport-Security header", ""},
    {"--livez-grace-period", kText, kAccepted, "the server listens only when it is alive", "0s 0"},
    {"--max-connection-bytes-per-sec", kText, kAccepted, "the rate is not limited", "0"},
    {"--shutdown-send-retry-after", kSwitch, kAccepted,
     "a server that stops finishes its requests and accepts no new ones", "false"},
    {"--shutdown-watch-termination-grace-period", kText, kAccepted,
     "watches end at once when the server stops", "0s 0"},
    {"--debug-socket-path", kText, kAccepted, "there is no such socket", ""},
    {"--profiling", kSwitch, kAccepted,
     "there are no profiles; /debug/pprof says what there is instead", "false"},
    {"--contention-profiling", kSwitch, kAccepted, "there is no such profile", "false"},
    {"--enable-logs-handler", kSwitch, kAccepted, "/logs is not served", "false"},

    // Authentication and admission.
    {"--authorization-policy-file", kText, kRefused, "the mode ABAC is not served", ""},
    {"--admission-control", kText, kRefused,
     "kube-apiserver replaced it long ago; use --enable-admission-plugins and "
     "--disable-admission-plugins",
     ""},
    {"--service-account-signing-endpoint", kText, kRefused,
     "keys that sign tokens are files; use --service-account-signing-key-file", ""},

    // The cluster.
    {"--runtime-config-emulation-forward-compatible", kSwitch, kAccepted, kEmulation, "false"},
    {"--emulated-version", kText, kRefused, kEmulation, "1.36 kube=1.36"},
    {"--emulation-forward-compatible", kSwitch, kAccepted, kEmulation, "false"},
    {"--min-compatibility-version", kText, kAccepted, kEmulation, ""},
    {"--endpoint-reconciler-type", kText, kAccepted,
     "the Endpoints of default/kubernetes name this server", "lease master-count"},
    {"--kubernetes-service-node-port", kText, kRefused,
     "the Service default/kubernetes has a cluster IP only", "0"},
    {"--peer-advertise-ip", kText, kAccepted, kPeers, ""},
    {"--peer-advertise-port", kText, kAccepted, kPeers, ""},
    {"--peer-ca-file", kText, kAccepted, kPeers, ""},
    {"--coordinated-leadership-lease-duration", kText, kAccepted, kCoordinated, "15s"},
    {"--coordinated-leadership-renew-deadline", kText, kAccepted, kCoordinated, "10s"},
    {"--coordinated-leadership-retry-period", kText, kAccepted, kCoordinated, "2s"},

    // Logs, metrics and traces.
    {"--log-flush-frequency", kText, kAccepted, kLogs, "5s"},
    {"--log-json-info-buffer-size", kText, kAccepted, kLogs, "0"},
    {"--log-json-split-stream", kSwitch, kAccepted, kLogs, "false"},
    {"--log-text-info-buffer-size", kText, kAccepted, kLogs, "0"},
    {"--log-text-split-stream", kSwitch, kAccepted, kLogs, "false"},
    {"--vmodule", kText, kAccepted, "--v holds for the whole server", ""},
    {"--allow-metric-labels", kText, kAccepted, kMetrics, ""},
    {"--allow-metric-labels-manifest", kText, kAccepted, kMetrics, ""},
    {"--disabled-metrics", kText, kAccepted, kMetrics, ""},
    {"--show-hidden-metrics-for-version", kText, kAccepted, kMetrics, ""},
};

bool is_harmless(const Row& row, std::string_view value) {
  const auto words = split(row.harmless, ' ');
  return std::ranges::find(words, value) != words.end();
}

}  // namespace

void KubeFlags::declare(CommandLine& line) {
  for (const Row& row : kRows) {
    std::string& value = values_.emplace_back();
    // No group: the help is long enough without them.
    line.parser().add_option(std::string(row.name), value)->allow_extra_args(false)->group("");
    if (row.form == kSwitch) line.takes_switch(row.name);
  }
}

Result<std::vector<std::string>> KubeFlags::warnings() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Row& row = kRows[i];
    if (values_[i].empty() || is_harmless(row, values_[i])) continue;
    if (row.fate == kRefused) return fail(bad_request(cat(row.name, " is refused: ", row.why)));
    out.push_back(cat(row.name, " has no effect: ", row.why));
  }
  return out;
}

}  // namespace cardea::app

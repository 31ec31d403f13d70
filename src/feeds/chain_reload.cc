#include "feeds/chain_reload.h"

#include "base/strings.h"
#include "crypto/digest.h"

namespace cardea::feeds {
namespace {

double seconds(const Clock& clock) {
  return std::chrono::duration<double>(clock.now().time_since_epoch()).count();
}

}  // namespace

ChainReload::ChainReload(Parts parts, authz::AuthorizationConfig config, std::string_view text)
    : parts_(std::move(parts)),
      config_(std::move(config)),
      required_types_(config_.built_in_types()) {
  show_hash(text);
}

void ChainReload::show_hash(std::string_view text) {
  Gauge& now = parts_.metrics.gauge({"apiserver_authorization_config_controller_last_config_info",
                                     "The configuration file in use, by its hash."},
                                    {{"apiserver_id_hash", crypto::sha256_name(parts_.server_id)},
                                     {"hash", crypto::sha256_name(text)}});
  if (hash_ && hash_ != &now) hash_->hide();
  hash_ = &now;
  hash_->set(1);
}

void ChainReload::count(const char* status) {
  MetricRegistry::Labels labels = {{"status", status},
                                   {"apiserver_id_hash", crypto::sha256_name(parts_.server_id)}};
  parts_.metrics
      .counter({"apiserver_authorization_config_controller_automatic_reloads_total",
                "Changed configuration files, by what came of them."},
               labels)
      .add();
  parts_.metrics
      .gauge({"apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
              "When a configuration file was last taken over or refused."},
             labels)
      .set(seconds(parts_.clock));
}

void ChainReload::failed(const std::string& why) {
  count("failure");
  parts_.log(cat("the changed authorization configuration is not taken over: ", why));
}

void ChainReload::take(const Result<std::string>& text) {
  if (!text) return failed(text.error().message);
  auto config = authz::load_authorization_config(*text, required_types_, parts_.types);
  if (!config) return failed(config.error().message);
  if (*config == config_) return;
  auto chain = parts_.build(*config);
  if (!chain) return failed(chain.error().message);
  parts_.chain.set(std::move(*chain));
  config_ = std::move(*config);
  show_hash(*text);
  count("success");
  parts_.log("the changed authorization configuration was taken over");
}

}  // namespace cardea::feeds

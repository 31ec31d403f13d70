#include "app/storage.h"

#include <algorithm>
#include <filesystem>

#include "app/data_directory.h"
#include "base/strings.h"
#include "rest/at_rest/kubernetes_encoding.h"
#include "rest/controllers/controllers.h"
#include "rest/policy_keys.h"
#include "store/etcd/etcd_store.h"

namespace cardea::app {
namespace {

Result<void> read_into(const std::string& path, std::string& to) {
  if (path.empty()) return {};
  auto text = read_file(path);
  if (!text) return fail(text.error());
  to = std::move(*text);
  return {};
}

}  // namespace

Result<std::unique_ptr<store::Store>> open_etcd(const StorageOptions& o,
                                                std::chrono::nanoseconds event_ttl,
                                                std::function<void(const std::string&)> notice) {
  store::EtcdOptions etcd{
      .endpoints = o.etcd_servers,
      .prefix = o.etcd_prefix,
      .marked = rest::policy_prefixes(),
      .guarded = rest::admission_prefixes(),
      .leased = {{"/registry/events/", std::chrono::ceil<std::chrono::seconds>(event_ttl)},
                 {std::string(rest::kLiveServers), rest::kServerTerm}},
      .compaction_interval = o.etcd_compaction_interval,
      .confirm_interval = std::max(o.authorization_staleness / 3, std::chrono::milliseconds(20)),
      .notice = notice};
  if (auto ok = read_into(o.etcd_ca_file, etcd.server_cas); !ok) return fail(ok.error());
  if (auto ok = read_into(o.etcd_certificate_file, etcd.certificate); !ok) return fail(ok.error());
  if (auto ok = read_into(o.etcd_key_file, etcd.key); !ok) return fail(ok.error());
  std::shared_ptr<const rest::Encryption> encryption;
  if (!o.encryption_config.empty()) {
    auto text = read_file(o.encryption_config);
    if (!text) return fail(text.error());
    auto read = rest::Encryption::read(*text);
    if (!read)
      return fail(bad_request(
          cat("--encryption-provider-config=", o.encryption_config, ": ", read.error().message)));
    encryption = std::make_shared<const rest::Encryption>(std::move(*read));
  }
  etcd.encoding = rest::kubernetes_encoding(std::move(encryption), std::move(notice));
  return store::open_etcd_store(std::move(etcd));
}

std::string store_folder(const std::string& data_dir) {
  return (std::filesystem::path(data_dir) / "store").string();
}

}  // namespace cardea::app

#include "app/storage.h"

#include <algorithm>
#include <filesystem>

#include "app/data_directory.h"
#include "base/strings.h"
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

Result<std::shared_ptr<const rest::Encryption>> read_encryption(std::string_view text,
                                                                const Notice& notice) {
  auto make_kms = [&notice](const rest::KmsSettings& kms) -> Result<std::shared_ptr<rest::Kms>> {
    auto client = rest::make_kms_client(kms.endpoint, kms.timeout);
    if (!client) return fail(client.error());
    return std::make_shared<rest::Kms>(kms.name, std::move(*client), notice);
  };
  auto read = rest::Encryption::read(text, make_kms);
  if (!read) return fail(read.error());
  return std::make_shared<const rest::Encryption>(std::move(*read));
}

// Called when the file may have changed, and now and then.
class EncryptionReload {
 public:
  EncryptionReload(std::string path, std::string used,
                   std::shared_ptr<rest::CurrentEncryption> current, Notice notice)
      : path_(std::move(path)),
        used_(std::move(used)),
        current_(std::move(current)),
        notice_(std::move(notice)) {}

  void operator()() {
    auto text = net::read_whole_file(path_);
    if (!text) return refuse(text.error().message);
    if (*text == used_) return;
    auto next = read_encryption(*text, notice_);
    if (!next) return refuse(next.error().message);
    if (std::string trouble = (*next)->trouble(); !trouble.empty()) return refuse(trouble);
    current_->set(std::move(*next));
    used_ = std::move(*text);
    refused_.clear();
    notice_(cat("the changed `", path_, "` is in use"));
  }

 private:
  void refuse(const std::string& why) {
    if (why != refused_)
      notice_(cat("the changed `", path_, "` is not in use, what was before is: ", why));
    refused_ = why;
  }

  std::string path_, used_, refused_;
  std::shared_ptr<rest::CurrentEncryption> current_;
  Notice notice_;
};

}  // namespace

Result<std::shared_ptr<rest::CurrentEncryption>> open_encryption(const StorageOptions& o,
                                                                 const Notice& notice,
                                                                 net::FileWatch* files) {
  if (o.encryption_config.empty()) return std::shared_ptr<rest::CurrentEncryption>();
  auto text = read_file(o.encryption_config);
  if (!text) return fail(text.error());
  auto first = read_encryption(*text, notice);
  if (!first)
    return fail(bad_request(
        cat("--encryption-provider-config=", o.encryption_config, ": ", first.error().message)));
  auto current = std::make_shared<rest::CurrentEncryption>(std::move(*first));
  if (files && o.reloads_encryption)
    files->watch({o.encryption_config},
                 EncryptionReload(o.encryption_config, std::move(*text), current, notice));
  return current;
}

Result<std::unique_ptr<store::Store>> open_etcd(
    const StorageOptions& o, std::chrono::nanoseconds event_ttl,
    std::shared_ptr<const rest::CurrentEncryption> encryption, Notice notice, Loading loading) {
  store::EtcdOptions etcd{
      .endpoints = o.etcd_servers,
      .prefix = o.etcd_prefix,
      .marked = rest::policy_prefixes(),
      .guarded = rest::admission_prefixes(),
      .leased = {{"/registry/events/", std::chrono::ceil<std::chrono::seconds>(event_ttl)},
                 {std::string(rest::kLiveServers), rest::kServerTerm}},
      .compaction_interval = o.etcd_compaction_interval,
      .confirm_interval = std::max(o.authorization_staleness / 3, std::chrono::milliseconds(20)),
      .notice = notice,
      .progress = std::move(loading)};
  if (auto ok = read_into(o.etcd_ca_file, etcd.server_cas); !ok) return fail(ok.error());
  if (auto ok = read_into(o.etcd_certificate_file, etcd.certificate); !ok) return fail(ok.error());
  if (auto ok = read_into(o.etcd_key_file, etcd.key); !ok) return fail(ok.error());
  etcd.encoding = rest::kubernetes_encoding(std::move(encryption), std::move(notice));
  return store::open_etcd_store(std::move(etcd));
}

std::string store_folder(const std::string& data_dir) {
  return (std::filesystem::path(data_dir) / "store").string();
}

}  // namespace cardea::app

#include "app/storage_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/serving_options.h"
#include "base/strings.h"
#include "base/time_parse.h"
#include "http/url.h"

namespace cardea::app {
namespace {

constexpr const char* kGroup = "Storage";

Result<std::chrono::milliseconds> read_duration(std::string_view flag, const std::string& text,
                                                bool may_be_zero) {
  auto given = parse_duration(text);
  if (!given) return fail(bad_request(cat(flag, " `", text, "`: ", given.error().message)));
  const auto out = std::chrono::ceil<std::chrono::milliseconds>(*given);
  if (out.count() < 0 || (out.count() == 0 && !may_be_zero))
    return fail(bad_request(cat(flag, " must be longer than 0")));
  return out;
}

}  // namespace

void declare_storage(CLI::App& app, StorageFlags& f) {
  auto text = [&](const char* name, std::string& to, const char* what, const char* help) {
    app.add_option(name, to, help)->type_name(what)->group(kGroup);
  };
  app.add_option("--etcd-servers", f.servers,
                 "URLs of the members of an etcd cluster that keeps the objects, so that several "
                 "servers can share them (default: the store of --data-dir)")
      ->allow_extra_args(false)
      ->type_name("LIST")
      ->group(kGroup);
  text("--etcd-prefix", f.prefix, "PREFIX",
       "what all keys in etcd begin with (default: /registry)");
  text("--etcd-cafile", f.ca_file, "FILE", "the authorities (PEM) that etcd's certificate is from");
  text("--etcd-certfile", f.certificate_file, "FILE", "this server's certificate (PEM) for etcd");
  text("--etcd-keyfile", f.key_file, "FILE", "the key (PEM) of --etcd-certfile");
  text(
      "--encryption-provider-config", f.encryption, "FILE",
      "which resources are encrypted in etcd, and with which keys: an EncryptionConfiguration with "
      "the providers kms (v2), aesgcm, aescbc, secretbox and identity");
  app.add_flag("--encryption-provider-config-automatic-reload", f.reloads_encryption,
               "reads that file again when it changes")
      ->group(kGroup);
  text("--etcd-compaction-interval", f.compaction, "DURATION",
       "how often one of all servers lets etcd forget old history; 0: never (default: 5m0s)");
  text("--etcd-healthcheck-timeout", f.health, "DURATION",
       "how long etcd may take to answer before /readyz says no (default: 2s)");
  text("--authorization-staleness", f.staleness, "DURATION",
       "how old what this server knows from etcd may be; beyond it requests are refused with 503 "
       "(default: 1s)");
}

Result<StorageOptions> read_storage(const StorageFlags& f) {
  auto wrong = [](std::string why) { return fail(bad_request(std::move(why))); };
  StorageOptions out;
  out.etcd_servers = flatten(f.servers);
  for (const std::string& server : out.etcd_servers) {
    auto url = http::parse_url(server);
    if (!url || url->target != "/")
      return wrong(
          cat("--etcd-servers: `", server, "` is not a URL such as https://10.0.0.1:2379"));
  }
  out.etcd_prefix = f.prefix;
  if (trim(f.prefix).empty() || f.prefix.find_first_not_of('/') == f.prefix.npos)
    return wrong("--etcd-prefix must not be empty");
  out.etcd_ca_file = f.ca_file;
  out.etcd_certificate_file = f.certificate_file;
  out.etcd_key_file = f.key_file;
  if (f.certificate_file.empty() != f.key_file.empty())
    return wrong("--etcd-certfile and --etcd-keyfile need each other");
  out.encryption_config = f.encryption;
  out.reloads_encryption = f.reloads_encryption;
  if (f.reloads_encryption && f.encryption.empty())
    return wrong(
        "--encryption-provider-config-automatic-reload needs --encryption-provider-config");
  if (!f.encryption.empty() && out.etcd_servers.empty())
    return wrong(
        "--encryption-provider-config is refused: the store of --data-dir does not encrypt "
        "objects, so Secrets would be on the disk as they are; put --data-dir on an encrypted file "
        "system");
  auto take = [](std::string_view flag, const std::string& text, bool may_be_zero,
                 std::chrono::milliseconds& to) -> Result<void> {
    auto read = read_duration(flag, text, may_be_zero);
    if (!read) return fail(read.error());
    to = *read;
    return {};
  };
  if (auto ok = take("--etcd-compaction-interval", f.compaction, true,
                     out.etcd_compaction_interval);
      !ok)
    return fail(ok.error());
  if (auto ok = take("--etcd-healthcheck-timeout", f.health, false, out.etcd_health_timeout); !ok)
    return fail(ok.error());
  if (auto ok = take("--authorization-staleness", f.staleness, false, out.authorization_staleness);
      !ok)
    return fail(ok.error());
  return out;
}

}  // namespace cardea::app

#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "app/storage_options.h"
#include "net/file_watch.h"
#include "rest/at_rest/kubernetes_encoding.h"
#include "store/store.h"

namespace cardea::app {

using Notice = std::function<void(const std::string&)>;  // gets what people should know

// What --encryption-provider-config says; null without it. With `files`, which it must not outlive,
// a file that changes is read again: a good one replaces what was before, once its KMS plugins
// answer. A bad one changes nothing.
Result<std::shared_ptr<rest::CurrentEncryption>> open_encryption(const StorageOptions& options,
                                                                 const Notice& notice,
                                                                 net::FileWatch* files);

using Loading = std::function<void(std::uint64_t done, std::uint64_t all)>;

// The store that --etcd-servers names. `loading` is told how far it is, until this returns.
Result<std::unique_ptr<store::Store>> open_etcd(
    const StorageOptions& options, std::chrono::nanoseconds event_ttl,
    std::shared_ptr<const rest::CurrentEncryption> encryption, Notice notice, Loading loading = {});

// The folder of the store in a data folder.
std::string store_folder(const std::string& data_dir);

}  // namespace cardea::app

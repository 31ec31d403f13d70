#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "app/storage_options.h"
#include "store/store.h"

namespace cardea::app {

// The store that --etcd-servers names. `notice` gets what people should know.
Result<std::unique_ptr<store::Store>> open_etcd(const StorageOptions& options,
                                                std::chrono::nanoseconds event_ttl,
                                                std::function<void(const std::string&)> notice);

// The folder of the store in a data folder.
std::string store_folder(const std::string& data_dir);

}  // namespace cardea::app

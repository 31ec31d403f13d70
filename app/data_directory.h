#pragma once
#include <string>
#include <vector>

#include "app/certificates.h"
#include "base/result.h"

namespace cardea::app {

// What a server keeps on disk besides its objects: a CA, its own certificate and the administrator's.
// Made on first use, kept afterwards.
struct DataDirectory {
  std::string path;
  Identity authority;
  Identity server;
  std::string kubeconfig_path;
};

struct DataDirectoryRequest {
  std::string path;
  std::string bind_address;
  std::uint16_t port;
  std::vector<std::string> service_addresses;  // the `kubernetes` service's own address
};

Result<DataDirectory> prepare_data_directory(const DataDirectoryRequest& request);

Result<std::string> read_file(const std::string& path);

}  // namespace cardea::app

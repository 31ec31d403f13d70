#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/certificates.h"
#include "base/result.h"

namespace cardea::app {

// The files of a server besides its objects: a CA, the server's certificate and the
// administrator's; and a CA of its own for what it shows to the API servers behind it. Created on
// first use, kept afterwards; the server's certificate is made anew when it lacks a name that the
// flags ask for, or ends soon.
struct DataDirectory {
  std::string path;
  Identity authority;
  Identity server;
  Identity front_proxy_authority, front_proxy;
  std::string kubeconfig_path;
};

struct DataDirectoryRequest {
  std::string path;
  std::string bind_address;
  std::uint16_t port;
  std::vector<std::string> service_addresses;  // the `kubernetes` service's own address
  std::vector<std::string> names = {};  // further names and addresses of the server's certificate
};

// The common name of `front_proxy`.
inline constexpr char kFrontProxyName[] = "front-proxy-client";

Result<DataDirectory> prepare_data_directory(const DataDirectoryRequest& request);

// The text of a file that only its owner may read; `make` creates the text when the file does
// not exist yet.
Result<std::string> keep_secret(const std::string& path,
                                const std::function<Result<std::string>()>& make);

// Whether anybody but the owner of a file has any right to it.
bool others_can_read(const std::string& path);

// "https://127.0.0.1:6443": where clients on this machine find the server.
std::string own_url(const std::string& bind_address, std::uint16_t port);

Result<std::string> read_file(const std::string& path);

}  // namespace cardea::app

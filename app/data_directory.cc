#include "app/data_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/machine.h"
#include "base/names.h"
#include "base/strings.h"

namespace cardea::app {
namespace {

namespace fs = std::filesystem;

// Whole or not at all: written beside, synced, renamed.
Result<void> write_file(const std::string& path, const std::string& text, mode_t mode) {
  std::string beside = path + ".new";
  int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  bool ok = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
            ::fsync(fd) == 0;
  if (fd >= 0) ::close(fd);
  if (!ok || ::rename(beside.c_str(), path.c_str()) != 0)
    return fail(internal_error(cat("cannot write `", path, "`: ", std::strerror(errno))));
  return {};
}

// Where everybody on the machine can read a key, it is nobody's.
Result<void> check_private(const std::string& path) {
  if (!others_can_read(path)) return {};
  return fail(internal_error(cat("`", path, "` is a private key that others can read: `chmod 600 ",
                                 path, "`, and consider it known")));
}

Result<Identity> load_or(const std::string& stem, auto make, auto is_good) {
  if (fs::exists(stem + ".crt") && fs::exists(stem + ".key")) {
    if (auto ok = check_private(stem + ".key"); !ok) return fail(ok.error());
    auto certificate = read_file(stem + ".crt");
    auto key = read_file(stem + ".key");
    if (!certificate) return fail(certificate.error());
    if (!key) return fail(key.error());
    if (is_good(*certificate)) return Identity{*certificate, *key};
  }
  Result<Identity> made = make();
  if (!made) return made;
  if (auto ok = write_file(stem + ".key", made->key, 0600); !ok) return fail(ok.error());
  if (auto ok = write_file(stem + ".crt", made->certificate, 0644); !ok) return fail(ok.error());
  return made;
}

Result<Identity> load_or(const std::string& stem, auto make) {
  return load_or(stem, make, [](const std::string&) { return true; });
}

// What clients may call the server.
CertificateRequest server_request(const DataDirectoryRequest& request) {
  CertificateRequest out{.common_name = "cardea", .for_server = true};
  out.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                   "kubernetes.default.svc.cluster.local"};
  out.addresses = {"127.0.0.1", "::1"};
  auto add = [&out](const std::string& name) {
    std::vector<std::string>& list = is_address(name) ? out.addresses : out.dns_names;
    if (!name.empty() && std::ranges::find(list, name) == list.end()) list.push_back(name);
  };
  if (std::string host = lower(host_name()); dns_subdomain_problems(host).empty()) add(host);
  for (const std::string& address : request.service_addresses) add(address);
  if (!is_everywhere(request.bind_address)) add(request.bind_address);
  for (const std::string& name : request.names) add(name);
  return out;
}

std::string kubeconfig(const DataDirectoryRequest& request, const Identity& authority,
                       const Identity& admin) {
  return cat("apiVersion: v1\nkind: Config\nclusters:\n- name: cardea\n  cluster:\n    server: ",
             own_url(request.bind_address, request.port),
             "\n    certificate-authority-data: ", base64(authority.certificate),
             "\nusers:\n- name: admin\n  user:\n    client-certificate-data: ",
             base64(admin.certificate), "\n    client-key-data: ", base64(admin.key),
             "\ncontexts:\n- name: cardea\n  context:\n    cluster: cardea\n    user: "
             "admin\ncurrent-context: cardea\n");
}

}  // namespace

Result<std::string> keep_secret(const std::string& path,
                                const std::function<Result<std::string>()>& make) {
  if (fs::exists(path)) {
    if (auto ok = check_private(path); !ok) return fail(ok.error());
    return read_file(path);
  }
  Result<std::string> made = make();
  if (!made) return made;
  if (auto ok = write_file(path, *made, 0600); !ok) return fail(ok.error());
  return made;
}

bool others_can_read(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && (found.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

std::string own_url(const std::string& bind_address, std::uint16_t port) {
  std::string host = bind_address == "0.0.0.0" ? "127.0.0.1" : bind_address;
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = cat("[", host, "]");
  return cat("https://", host, ":", port);
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(bad_request(cat("cannot read `", path, "`: ", std::strerror(errno))));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<DataDirectory> prepare_data_directory(const DataDirectoryRequest& request) {
  std::error_code error;
  fs::create_directories(request.path, error);
  if (error)
    return fail(internal_error(cat("cannot make `", request.path, "`: ", error.message())));
  ::chmod(request.path.c_str(), 0700);
  fs::path dir(request.path);

  // Not the server's own name: OpenSSL takes a certificate whose issuer is called as its subject
  // for self-signed.
  auto authority = load_or((dir / "ca").string(), [] { return make_authority("cardea-ca"); });
  if (!authority) return fail(authority.error());
  const CertificateRequest wanted = server_request(request);
  auto server = load_or((dir / "server").string(),
                        [&] {
                          // Addresses of a machine come and go: a certificate that lacks one is not
                          // replaced for it.
                          CertificateRequest r = wanted;
                          if (is_everywhere(request.bind_address))
                            for (std::string& address : own_addresses())
                              r.addresses.push_back(std::move(address));
                          return issue(*authority, r);
                        },
                        [&](const std::string& certificate) { return fits(certificate, wanted); });
  if (!server) return fail(server.error());
  // A year: whoever copies the key of an administrator does not have it for ever. It is made anew
  // at a start within its last month.
  const CertificateRequest administrator{
      .common_name = "admin", .organizations = {"system:masters"}, .days = 365};
  auto admin = load_or(
      (dir / "admin").string(), [&] { return issue(*authority, administrator); },
      [&](const std::string& certificate) { return fits(certificate, administrator); });
  if (!admin) return fail(admin.error());
  // Not the CA of clients: servers behind this one believe whatever its clients say.
  auto front_authority = load_or((dir / "front-proxy-ca").string(),
                                 [] { return make_authority("cardea-front-proxy-ca"); });
  if (!front_authority) return fail(front_authority.error());
  const CertificateRequest front_request{.common_name = kFrontProxyName, .is_own = true};
  auto front = load_or((dir / "front-proxy-client").string(),
                       [&] { return issue(*front_authority, front_request); },
                       [&](const std::string& c) { return fits(c, front_request); });
  if (!front) return fail(front.error());
  std::string path = (dir / "admin.kubeconfig").string();
  const std::string text = kubeconfig(request, *authority, *admin);
  // On a full disk nothing can be written, and need not be.
  if (auto known = read_file(path); !known || *known != text)
    if (auto ok = write_file(path, text, 0600); !ok) return fail(ok.error());
  return DataDirectory{.path = request.path,
                       .authority = *authority,
                       .server = *server,
                       .front_proxy_authority = *front_authority,
                       .front_proxy = *front,
                       .kubeconfig_path = path};
}

}  // namespace cardea::app

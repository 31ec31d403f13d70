// The HTTP server alone: how fast it answers, and what an open watch costs.
//
//   http_server_bench serve PORT [CERT KEY]   answers 1 KiB to every request, for a load generator
//   http_server_bench watchers COUNT [cert]   opens COUNT TLS watches from another process, prints
//   resident
//                                             (with client certificates) and prints resident memory
//                                             for each and the time one event takes to reach all
#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include "http/server.h"
#include "net/signals.h"

namespace {

using namespace cardea;

class Answers final : public http::Handler {
 public:
  void handle(std::shared_ptr<http::Exchange> exchange) override {
    if (exchange->request().path == "/watch") {
      http::Response head;
      head.headers.add("Content-Type", "application/json");
      auto stream = exchange->stream(std::move(head));
      std::lock_guard lock(mutex_);
      streams_.push_back(std::move(stream));
      return;
    }
    http::Response response;
    response.headers.add("Content-Type", "application/json");
    response.headers.add("Cache-Control", "no-cache, private");
    response.body = http::Body(body_);
    exchange->respond(std::move(response));
  }

  void broadcast(const http::Piece& piece) {
    std::lock_guard lock(mutex_);
    for (auto& stream : streams_) stream->write(piece);
  }
  std::size_t count() {
    std::lock_guard lock(mutex_);
    return streams_.size();
  }
  void finish() {
    std::lock_guard lock(mutex_);
    for (auto& stream : streams_) stream->finish();
    streams_.clear();
  }

 private:
  const http::Piece body_ = http::Piece::of(std::string(1024, 'x'));
  std::mutex mutex_;
  std::vector<std::shared_ptr<http::Stream>> streams_;
};

net::TlsServerConfig self_signed() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("bench"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_sign(certificate, key, EVP_sha256());
  auto text = [](auto write) {
    BIO* out = BIO_new(BIO_s_mem());
    write(out);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out, &bytes);
    std::string pem(bytes, static_cast<std::size_t>(size));
    BIO_free(out);
    return pem;
  };
  net::TlsServerConfig config;
  config.certificates = text([&](BIO* out) { PEM_write_bio_X509(out, certificate); });
  config.key = text(
      [&](BIO* out) { PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(certificate);
  EVP_PKEY_free(key);
  return config;
}

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
  return 0;
}

void raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

struct Client {
  int fd = -1;
  SSL* ssl = nullptr;
};

Client open_watch(SSL_CTX* ctx, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Client client{::socket(AF_INET, SOCK_STREAM, 0), SSL_new(ctx)};
  if (::connect(client.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  SSL_set_fd(client.ssl, client.fd);
  constexpr std::string_view
      kRequest = "GET /watch HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n\r\n";
  if (SSL_connect(client.ssl) != 1) return {};
  SSL_write(client.ssl, kRequest.data(), static_cast<int>(kRequest.size()));
  char head[4096];
  return SSL_read(client.ssl, head, sizeof head) > 0 ? client : Client{};
}

// Opens the watches, reports it by one byte, reads one event on each, reports it again.
int run_clients(std::uint16_t port, int count, int report, const net::TlsServerConfig* identity) {
  SSL_CTX* ctx = SSL_CTX_new(TLS_client_method());
  if (identity) {
    BIO* certificate = BIO_new_mem_buf(identity->certificates.data(), -1);
    BIO* key = BIO_new_mem_buf(identity->key.data(), -1);
    SSL_CTX_use_certificate(ctx, PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr));
    SSL_CTX_use_PrivateKey(ctx, PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr));
  }
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
  std::vector<Client> clients;
  for (int i = 0; i < count; ++i) {
    clients.push_back(open_watch(ctx, port));
    if (!clients.back().ssl) return std::fprintf(stderr, "client %d cannot connect\n", i), 1;
  }
  if (::write(report, "o", 1) != 1) return 1;
  for (auto& client : clients) {
    char event[8192];
    if (SSL_read(client.ssl, event, sizeof event) <= 0) return 1;
  }
  if (::write(report, "e", 1) != 1) return 1;
  ::pause();
  return 0;
}

int watchers(int count, bool with_certificates) {
  raise_descriptor_limit();
  net::TlsServerConfig config = self_signed();
  if (with_certificates) config.client_cas = config.certificates;
  int ports[2];
  int reports[2];
  if (::pipe(ports) != 0 || ::pipe(reports) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    std::uint16_t port = 0;
    if (::read(ports[0], &port, sizeof port) != sizeof port) return 1;
    return run_clients(port, count, reports[1], with_certificates ? &config : nullptr);
  }
  net::Loops loops(2);
  Answers answers;
  http::Server server(loops, answers);
  const auto tls = net::TlsServer::make(config);
  const std::uint16_t port = *server.listen("127.0.0.1", 0, *tls);
  const long before = resident_kib();
  [[maybe_unused]] auto told = ::write(ports[1], &port, sizeof port);
  char byte = 0;
  pollfd waiting{.fd = reports[0], .events = POLLIN, .revents = 0};
  if (::poll(&waiting, 1, 300'000) != 1 || ::read(reports[0], &byte, 1) != 1)
    return ::kill(child, SIGKILL), 1;
  const long after = resident_kib();
  const auto event = http::Piece::of(std::string(1024, 'e'));
  const auto start = std::chrono::steady_clock::now();
  answers.broadcast(event);
  const auto queued = std::chrono::steady_clock::now();
  if (::poll(&waiting, 1, 60'000) != 1 || ::read(reports[0], &byte, 1) != 1)
    return ::kill(child, SIGKILL), 1;
  const auto reached = std::chrono::steady_clock::now();
  const auto ms = [](auto span) { return std::chrono::duration<double, std::milli>(span).count(); };
  std::printf(
      "%d TLS watches: %.1f KiB resident each (%ld -> %ld KiB); one event of 1 KiB queued for all "
      "in %.1f "
      "ms, "
      "read by all in %.1f ms; %ld KiB resident afterwards\n",
      count, static_cast<double>(after - before) / count, before, after, ms(queued - start),
      ms(reached - start), resident_kib());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  answers.finish();
  server.stop(std::chrono::milliseconds(0));
  return 0;
}

int serve(int port, const char* certificate, const char* key) {
  net::Signals signals({SIGINT, SIGTERM});
  net::Loops loops(2);
  Answers answers;
  http::Server server(loops, answers);
  std::shared_ptr<net::TlsServer> tls;
  if (certificate) {
    auto config = net::read_tls_files(certificate, key, "");
    if (!config) return std::fprintf(stderr, "%s\n", config.error().message.c_str()), 1;
    tls = *net::TlsServer::make(*config);
  }
  const auto bound = server.listen("127.0.0.1", static_cast<std::uint16_t>(port), tls);
  if (!bound) return std::fprintf(stderr, "%s\n", bound.error().message.c_str()), 1;
  std::printf("listening on %d\n", *bound);
  std::fflush(stdout);
  signals.wait();
  server.stop(std::chrono::seconds(1));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "serve" && (argc == 3 || argc == 5))
    return serve(std::atoi(argv[2]), argc == 5 ? argv[3] : nullptr, argc == 5 ? argv[4] : nullptr);
  if (mode == "watchers" && (argc == 3 || argc == 4))
    return watchers(std::atoi(argv[2]), argc == 4);
  std::fprintf(stderr, "usage: http_server_bench serve PORT [CERT KEY] | watchers COUNT [cert]\n");
  return 2;
}

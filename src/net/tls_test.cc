#include "net/tls.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "net/listener.h"
#include "net/testing/test_certificates.h"

namespace cardea::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Identity;
using testing::issue;

// Completes the handshake, reports the facts about the peer, then echoes one read.
class Echo final : public Connection::Owner {
 public:
  struct Seen {
    bool shaken = false;
    std::shared_ptr<const Peer> peer;
    std::string protocol;
  };
  Echo(std::unique_ptr<Connection> connection, std::promise<Seen> seen)
      : connection_(std::move(connection)), seen_(std::move(seen)) {
    EXPECT_TRUE(connection_->start(*this).has_value());
    on_ready();
  }

  void on_ready() override {
    if (!reported_) {
      const Io outcome = connection_->handshake();
      if (outcome == Io::kWouldBlock) return;
      reported_ = true;
      if (outcome != Io::kDone) return seen_.set_value({});
      seen_.set_value({true, connection_->peer(), std::string(connection_->protocol())});
    }
    char buffer[64];
    const IoResult got = connection_->read(buffer);
    if (got.status != Io::kDone) return;
    const std::string_view echo(buffer, got.bytes);
    connection_->write({&echo, 1});
  }

 private:
  std::unique_ptr<Connection> connection_;
  std::promise<Seen> seen_;
  bool reported_ = false;
};

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    config_.certificates = server_.certificate_pem();
    config_.key = server_.key_pem();
    config_.client_cas = authority_.certificate_pem();
  }

  // One connection of a client that uses OpenSSL directly. Returns the facts that the server saw.
  Echo::Seen meet(const TlsServer& tls, const Identity* shown, SSL_SESSION** session = nullptr) {
    std::promise<Echo::Seen> seen;
    auto result = seen.get_future();
    std::unique_ptr<Echo> echo;
    auto listener = Listener::open(loops_.at(0), "127.0.0.1", 0, [&](Socket socket) {
      echo = std::make_unique<Echo>(tls.accept(loops_.at(0), std::move(socket)), std::move(seen));
    });
    EXPECT_TRUE(listener.has_value());
    client((*listener)->port(), shown, session);
    auto answer = result.get();
    listener->reset();
    std::promise<void> closed;
    loops_.at(0).post([&] {
      echo.reset();
      closed.set_value();
    });
    closed.get_future().wait();
    return answer;
  }

  void client(std::uint16_t port, const Identity* shown, SSL_SESSION** session) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    SSL_CTX* ctx = SSL_CTX_new(TLS_client_method());
    if (shown) {
      SSL_CTX_use_certificate(ctx, shown->certificate.get());
      SSL_CTX_use_PrivateKey(ctx, shown->key.get());
    }
    constexpr unsigned char kOffered[] = "\x02h2\x08http/1.1";
    SSL_CTX_set_alpn_protos(ctx, kOffered, sizeof kOffered - 1);
    if (max_version_) SSL_CTX_set_max_proto_version(ctx, max_version_);
    SSL* ssl = SSL_new(ctx);
    if (!asked_name_.empty()) SSL_set_tlsext_host_name(ssl, asked_name_.c_str());
    if (session && *session) SSL_set_session(ssl, *session);
    SSL_set_fd(ssl, fd);
    connected_ = SSL_connect(ssl) == 1;
    if (connected_) {
      char buffer[16] = "";
      SSL_write(ssl, "ping", 4);
      EXPECT_EQ(SSL_read(ssl, buffer, sizeof buffer), 4);
      EXPECT_STREQ(buffer, "ping");
      server_name_ = std::string(X509_get_subject_name(SSL_get0_peer_certificate(ssl))
                                     ? issuer_text(SSL_get0_peer_certificate(ssl))
                                     : "");
      resumed_ = SSL_session_reused(ssl) == 1;
      if (session) {
        SSL_SESSION_free(*session);
        *session = SSL_get1_session(ssl);
      }
      SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    ::close(fd);
  }

  static std::string issuer_text(X509* certificate) {
    char text[256] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text,
                              sizeof text);
    return text;
  }

  std::shared_ptr<TlsServer> make() {
    auto made = TlsServer::make(config_);
    EXPECT_TRUE(made.has_value());
    return *made;
  }

  Loops loops_{1};
  Identity authority_ = issue({.subject = {{"CN", "clients"}}, .authority = true});
  Identity server_ = issue({.subject = {{"CN", "first"}}});
  TlsServerConfig config_;
  bool connected_ = false;
  bool resumed_ = false;
  std::string server_name_;
  std::string asked_name_;  // what the client asks for (SNI)
  int max_version_ = 0;     // the client's newest; 0: no limit
};

TEST_F(TlsTest, AClientGetsTheCertificateOfTheNameItAsksFor) {
  auto named = [](std::string common, std::string alternative, std::vector<std::string> names) {
    const Identity made = issue(
        {.subject = {{"CN", common}}, .alternative_names = std::move(alternative)});
    return NamedCertificate{made.certificate_pem(), made.key_pem(), std::move(names)};
  };
  config_.named = {named("carried", "DNS:carried.example,DNS:given.example", {}),
                   named("given", "", {"given.example", "*.wild.example"}),
                   named("whole", "", {"a.wild.example"}), named("common.example", "", {})};
  const auto tls = make();
  auto shown_to = [&](std::string name) {
    asked_name_ = std::move(name);
    meet(*tls, nullptr);
    return server_name_;
  };
  EXPECT_EQ(shown_to("carried.example"), "carried");
  EXPECT_EQ(shown_to("GIVEN.example"), "given") << "a given name goes before a carried one";
  EXPECT_EQ(shown_to("b.wild.example"), "given");
  EXPECT_EQ(shown_to("a.wild.example"), "whole") << "a whole name goes before a wildcard";
  EXPECT_EQ(shown_to("b.a.wild.example"), "first") << "a wildcard stands for one label";
  EXPECT_EQ(shown_to("common.example"), "common.example");
  EXPECT_EQ(shown_to("other.example"), "first");
  EXPECT_EQ(shown_to(""), "first");
}

TEST_F(TlsTest, ANamedCertificateMayHaveAKeyOfAnotherType) {
  const Identity rsa = issue({.subject = {{"CN", "rsa"}}, .rsa = true});
  config_.named = {{rsa.certificate_pem(), rsa.key_pem(), {"rsa.example"}}};
  const auto tls = make();
  asked_name_ = "rsa.example";
  EXPECT_TRUE(meet(*tls, nullptr).shaken);
  EXPECT_EQ(server_name_, "rsa");
}

TEST_F(TlsTest, ANamedCertificateNeedsItsOwnKey) {
  const Identity one = issue({.subject = {{"CN", "one"}}}),
                 two = issue({.subject = {{"CN", "two"}}});
  config_.named = {{one.certificate_pem(), two.key_pem(), {}}};
  EXPECT_FALSE(TlsServer::make(config_).has_value());
}

TEST_F(TlsTest, AClientThatIsTooOldForTheServerIsRefused) {
  config_.min_version = TlsVersion::k13;
  const auto tls = make();
  EXPECT_TRUE(meet(*tls, nullptr).shaken);
  max_version_ = TLS1_2_VERSION;
  EXPECT_FALSE(meet(*tls, nullptr).shaken);
}

TEST_F(TlsTest, OnlyTheChosenSuitesAreUsedForTls12) {
  max_version_ = TLS1_2_VERSION;
  config_.cipher_list = *cipher_list_of({"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"});
  EXPECT_EQ(config_.cipher_list, "ECDHE-ECDSA-AES256-GCM-SHA384");
  EXPECT_TRUE(meet(*make(), nullptr).shaken);
  // The key of the server is not an RSA key.
  config_.cipher_list = *cipher_list_of({"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"});
  EXPECT_FALSE(meet(*make(), nullptr).shaken);
  EXPECT_FALSE(cipher_list_of({"TLS_RSA_WITH_RC4_128_SHA"}).has_value());
  EXPECT_FALSE(cipher_list_of({"TLS_AES_128_GCM_SHA256"}).has_value())
      << "nothing would be left for TLS 1.2";
}

TEST_F(TlsTest, AClientWithoutACertificateIsLetIn) {
  const auto seen = meet(*make(), nullptr);
  ASSERT_TRUE(seen.shaken);
  EXPECT_TRUE(seen.peer->tls);
  EXPECT_EQ(seen.peer->address, "127.0.0.1");
  EXPECT_EQ(seen.peer->certificate, nullptr);
  EXPECT_EQ(seen.protocol, "h2");  // the client offers http/1.1 too
}

TEST_F(TlsTest, ACertificateOfOurClientCaIsVerifiedAndItsSubjectIsRead) {
  const Identity jane = issue(
      {.subject = {{"O", "dev"}, {"O", "ops"}, {"CN", "jane"}}, .serial = 4711}, &authority_);
  const auto seen = meet(*make(), &jane);
  ASSERT_TRUE(seen.shaken);
  ASSERT_NE(seen.peer->certificate, nullptr);
  const PeerCertificate& certificate = *seen.peer->certificate;
  EXPECT_TRUE(certificate.verified);
  EXPECT_EQ(certificate.error, "");
  EXPECT_EQ(certificate.common_name, "jane");
  EXPECT_THAT(certificate.organizations, ElementsAre("dev", "ops"));
  EXPECT_EQ(certificate.serial, "4711");
  EXPECT_EQ(certificate.issuer, "CN=clients");
  EXPECT_FALSE(certificate.der.empty());
  EXPECT_LT(certificate.not_before, certificate.not_after);
}

TEST_F(TlsTest, ACertificateOfAStrangerConnectsButIsNotVerified) {
  const Identity stranger = issue({.subject = {{"CN", "clients"}}, .authority = true});
  const Identity jane = issue({.subject = {{"CN", "jane"}, {"O", "system:masters"}}}, &stranger);
  const auto seen = meet(*make(), &jane);
  ASSERT_TRUE(seen.shaken);
  ASSERT_NE(seen.peer->certificate, nullptr);
  EXPECT_FALSE(seen.peer->certificate->verified);
  EXPECT_NE(seen.peer->certificate->error, "");
}

TEST_F(TlsTest, AnExpiredCertificateConnectsButIsNotVerified) {
  const Identity jane = issue({.subject = {{"CN", "jane"}}, .valid_to_seconds = -60}, &authority_);
  const auto seen = meet(*make(), &jane);
  ASSERT_TRUE(seen.shaken);
  EXPECT_FALSE(seen.peer->certificate->verified);
  EXPECT_THAT(seen.peer->certificate->error, HasSubstr("expired"));
}

TEST_F(TlsTest, AnErrorIsNeverAnAllowWhenASessionOfAnUnverifiedCertificateIsResumed) {
  const Identity stranger = issue({.subject = {{"CN", "jane"}}});
  const auto tls = make();
  SSL_SESSION* session = nullptr;
  EXPECT_FALSE(meet(*tls, &stranger, &session).peer->certificate->verified);
  const auto again = meet(*tls, &stranger, &session);
  EXPECT_TRUE(resumed_);
  ASSERT_NE(again.peer->certificate, nullptr);
  EXPECT_FALSE(again.peer->certificate->verified);
  SSL_SESSION_free(session);
}

TEST_F(TlsTest, AResumedSessionStillKnowsItsVerifiedCertificate) {
  const Identity jane = issue({.subject = {{"CN", "jane"}}}, &authority_);
  const auto tls = make();
  SSL_SESSION* session = nullptr;
  meet(*tls, &jane, &session);
  const auto again = meet(*tls, &jane, &session);
  EXPECT_TRUE(resumed_);
  ASSERT_NE(again.peer->certificate, nullptr);
  EXPECT_TRUE(again.peer->certificate->verified);
  EXPECT_EQ(again.peer->certificate->common_name, "jane");
  SSL_SESSION_free(session);
}

TEST_F(TlsTest, AReloadChangesServerCertificateAndClientCaForNewConnections) {
  const Identity jane = issue({.subject = {{"CN", "jane"}}}, &authority_);
  const auto tls = make();
  SSL_SESSION* session = nullptr;
  EXPECT_TRUE(meet(*tls, &jane, &session).peer->certificate->verified);
  EXPECT_EQ(server_name_, "first");

  const Identity other_authority = issue({.subject = {{"CN", "others"}}, .authority = true});
  const Identity second = issue({.subject = {{"CN", "second"}}});
  config_.certificates = second.certificate_pem();
  config_.key = second.key_pem();
  config_.client_cas = other_authority.certificate_pem();
  ASSERT_TRUE(tls->reload(config_).has_value());
  const auto seen = meet(*tls, &jane, &session);
  EXPECT_FALSE(resumed_);
  EXPECT_EQ(server_name_, "second");
  ASSERT_NE(seen.peer->certificate, nullptr);
  EXPECT_FALSE(seen.peer->certificate->verified);
  SSL_SESSION_free(session);
}

TEST_F(TlsTest, WhatACertificateIsWorthFollowsTheCasOfNowOnAnOldConnection) {
  const Identity jane = issue({.subject = {{"CN", "jane"}}}, &authority_);
  const auto tls = make();
  const auto peer = meet(*tls, &jane).peer;
  EXPECT_TRUE(peer->certificate->trust().client);
  const std::string first = config_.client_cas;
  config_.client_cas = issue({.subject = {{"CN", "others"}}, .authority = true}).certificate_pem();
  ASSERT_TRUE(tls->reload(config_).has_value());
  EXPECT_FALSE(peer->certificate->trust().client);
  config_.client_cas += first;
  ASSERT_TRUE(tls->reload(config_).has_value());
  EXPECT_TRUE(peer->certificate->trust().client);
}

TEST_F(TlsTest, ACertificateTellsClientsAndFrontProxiesApart) {
  const Identity proxies = issue({.subject = {{"CN", "proxies"}}, .authority = true});
  const Identity jane = issue({.subject = {{"CN", "jane"}}}, &authority_);
  const Identity proxy = issue({.subject = {{"CN", "proxy"}}}, &proxies);
  config_.front_proxy_cas = proxies.certificate_pem();
  const auto tls = make();
  auto seen = meet(*tls, &jane).peer->certificate->trust();
  EXPECT_TRUE(seen.client);
  EXPECT_FALSE(seen.front_proxy);
  seen = meet(*tls, &proxy).peer->certificate->trust();
  EXPECT_FALSE(seen.client);
  EXPECT_TRUE(seen.front_proxy);
  config_.front_proxy_cas = authority_.certificate_pem();
  ASSERT_TRUE(tls->reload(config_).has_value());
  SSL_SESSION* session = nullptr;
  for (bool resumed : {false, true}) {
    seen = meet(*tls, &jane, &session).peer->certificate->trust();
    EXPECT_EQ(resumed_, resumed);
    EXPECT_TRUE(seen.client);
    EXPECT_TRUE(seen.front_proxy);
  }
  SSL_SESSION_free(session);
}

TEST_F(TlsTest, AReloadThatCannotBeReadChangesNothing) {
  const auto tls = make();
  auto broken = config_;
  broken.key = issue({.subject = {{"CN", "other"}}}).key_pem();
  const auto outcome = tls->reload(broken);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_THAT(outcome.error().message, HasSubstr("does not belong to the certificate"));
  broken = config_;
  broken.client_cas = "not a certificate";
  EXPECT_FALSE(tls->reload(broken).has_value());
  EXPECT_TRUE(meet(*tls, nullptr).shaken);
  EXPECT_EQ(server_name_, "first");
}

TEST_F(TlsTest, AMissingFileIsNamedInTheError) {
  const auto config = read_tls_files("no/such.crt", "no/such.key", "");
  ASSERT_FALSE(config.has_value());
  EXPECT_THAT(config.error().message, HasSubstr("`no/such.crt`"));
}

TEST(Listener, SaysWhyItCannotListen) {
  Loops loops(1);
  const auto wrong = Listener::open(loops.at(0), "localhost", 0, [](Socket) {});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(wrong.error().message, HasSubstr("`localhost` is not an IP address"));
  const auto first = Listener::open(loops.at(0), "127.0.0.1", 0, [](Socket) {});
  ASSERT_TRUE(first.has_value());
  const auto second = Listener::open(loops.at(0), "127.0.0.1", (*first)->port(), [](Socket) {});
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, HasSubstr("in use"));
}

}  // namespace
}  // namespace cardea::net

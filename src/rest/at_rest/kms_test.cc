#include "rest/at_rest/kms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "base/strings.h"
#include "rest/at_rest/ciphers.h"
#include "rest/at_rest/encryption.h"

namespace cardea::rest {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kAt = "/registry/secrets/default/a";

// A plugin whose keys are names: it "encrypts" by writing the name before the text.
struct Plugin {
  std::mutex lock;
  std::string key_id = "key-1", health = "ok", version = "v2", encrypts_as;
  bool is_away = false, forgets = false;
  int statuses = 0, encrypts = 0, decrypts = 0;
};

class PluginClient : public KmsService {
 public:
  explicit PluginClient(Plugin& plugin) : p_(plugin) {}

  Result<Status> status() override {
    std::lock_guard guard(p_.lock);
    ++p_.statuses;
    if (p_.is_away) return fail(Error::of(Reason::kServiceUnavailable, "connection refused"));
    return Status{p_.version, p_.health, p_.key_id};
  }
  Result<Encrypted> encrypt(std::string_view plaintext, std::string_view) override {
    std::lock_guard guard(p_.lock);
    ++p_.encrypts;
    if (p_.is_away) return fail(Error::of(Reason::kServiceUnavailable, "connection refused"));
    const std::string& id = p_.encrypts_as.empty() ? p_.key_id : p_.encrypts_as;
    return Encrypted{cat(id, "|", plaintext), id, {{"note.example.com", "n"}}};
  }
  Result<std::string> decrypt(const Encrypted& encrypted, std::string_view) override {
    std::lock_guard guard(p_.lock);
    ++p_.decrypts;
    if (p_.is_away) return fail(Error::of(Reason::kServiceUnavailable, "connection refused"));
    if (p_.forgets || !encrypted.ciphertext.starts_with(cat(encrypted.key_id, "|")) ||
        !encrypted.annotations.contains("note.example.com"))
      return fail(bad_request("no such key"));
    return encrypted.ciphertext.substr(encrypted.key_id.size() + 1);
  }

 private:
  Plugin& p_;
};

class KmsTest : public testing::Test {
 protected:
  // Nothing is asked in the background: the test asks.
  std::unique_ptr<Kms> make(std::chrono::milliseconds lifetime = std::chrono::minutes(3)) {
    return std::make_unique<Kms>(
        "plugin", std::make_unique<PluginClient>(plugin_),
        [this](const std::string& line) { told_.push_back(line); },
        KmsTimes{.while_well = std::chrono::hours(1),
                 .while_failing = std::chrono::hours(1),
                 .key_lifetime = lifetime});
  }

  Plugin plugin_;
  std::vector<std::string> told_;
};

TEST_F(KmsTest, ReadsAndWritesWhatKubernetesDoes) {
  // Made by k8s.io/apiserver 0.36.3: the seed is 32 times `s`.
  const std::string seed(32, 's');
  const auto data = base64_decode(
      "iYdgN4kyR4R/xCWyhBmM0oH35zrGoHovwIRAEiayzbl8W4JF8vk1hcSDk35Vlk1w/"
      "48+c53WIHTvzQsKOKz4j0L8oMboP"
      "ys=");
  const auto object = base64_decode(
      "CkeJh2A3iTJHhH/EJbKEGYzSgffnOsagei/AhEASJrLNuXxbgkXy+TWFxIOTflWWTXD/jz5zndYgdO/"
      "NCwo4rPiPQvygx"
      "ug/KxIFa2V5LTEaB3dyYXBwZWQiEgoNYS5leGFtcGxlLmNvbRIBMSIRCg1iLmV4YW1wbGUuY29tEgAoAQ==");
  ASSERT_TRUE(data && object);
  EXPECT_EQ(unseal_with_seed(seed, kAt, *data), "open sesame");
  EXPECT_EQ(unseal_with_seed(seed, "/registry/secrets/default/b", *data), std::nullopt);
  EXPECT_EQ(unseal_with_seed(std::string(32, 't'), kAt, *data), std::nullopt);
  auto decoded = decode_sealed(*object);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->data, *data);
  EXPECT_EQ(decoded->key.key_id, "key-1");
  EXPECT_EQ(decoded->key.ciphertext, "wrapped");
  EXPECT_THAT(decoded->key.annotations, testing::ElementsAre(testing::Pair("a.example.com", "1"),
                                                             testing::Pair("b.example.com", "")));
  EXPECT_EQ(encode(*decoded), *object) << "byte for byte";
}

TEST_F(KmsTest, OpensWhatItSealedAndNothingElse) {
  auto kms = make();
  auto sealed = kms->seal(kAt, "open sesame");
  ASSERT_TRUE(sealed) << sealed.error().message;
  EXPECT_FALSE(sealed->contains("sesame"));
  EXPECT_NE(*sealed, *kms->seal(kAt, "open sesame"));
  auto opened = kms->open(kAt, *sealed);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->value, "open sesame");
  EXPECT_EQ(opened->key_id, "key-1");
  EXPECT_EQ(plugin_.decrypts, 0) << "its own seed is known";
  EXPECT_FALSE(kms->open("/registry/secrets/default/b", *sealed)) << "it is bound to its place";
  for (std::size_t size = 0; size < sealed->size(); ++size)
    EXPECT_FALSE(kms->open(kAt, sealed->substr(0, size))) << size;
}

TEST_F(KmsTest, AsksThePluginOnceForASeedThatItDoesNotKnow) {
  const std::string one = *make()->seal(kAt, "1"), two = *make()->seal(kAt, "2");
  auto kms = make();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(kms->open(kAt, one)->value, "1");
    EXPECT_EQ(kms->open(kAt, two)->value, "2");
  }
  EXPECT_EQ(plugin_.decrypts, 2);
  EXPECT_EQ(plugin_.encrypts, 3) << "one for each server";
}

TEST_F(KmsTest, TakesANewSeedWhenThePluginHasANewKey) {
  auto kms = make();
  const std::string before = *kms->seal(kAt, "x");
  kms->ask_now();
  EXPECT_EQ(plugin_.encrypts, 1) << "the same key, the same seed";
  plugin_.key_id = "key-2";
  EXPECT_EQ(kms->open(kAt, *kms->seal(kAt, "x"))->key_id, "key-1") << "it has not been told yet";
  kms->ask_now();
  EXPECT_EQ(kms->key_id(), "key-2");
  EXPECT_EQ(kms->open(kAt, *kms->seal(kAt, "x"))->key_id, "key-2");
  EXPECT_EQ(kms->open(kAt, before)->value, "x") << "what was written before stays readable";
}

TEST_F(KmsTest, WritesNothingWithAKeyThatWasNotConfirmedForLong) {
  auto kms = make(std::chrono::milliseconds(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  auto sealed = kms->seal(kAt, "x");
  ASSERT_FALSE(sealed);
  EXPECT_EQ(sealed.error().reason, Reason::kServiceUnavailable);
  EXPECT_THAT(sealed.error().message, HasSubstr("nothing was stored"));
}

TEST_F(KmsTest, APluginThatIsAwayIsToldAndWaitedFor) {
  const std::string sealed = *make()->seal(kAt, "x");
  plugin_.is_away = true;
  auto kms = make();
  EXPECT_THAT(kms->trouble(), HasSubstr("connection refused"));
  EXPECT_EQ(told_.size(), 1u);
  kms->ask_now();
  EXPECT_EQ(told_.size(), 1u) << "once for each trouble";
  EXPECT_FALSE(kms->seal(kAt, "x"));
  auto opened = kms->open(kAt, sealed);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().reason, Reason::kServiceUnavailable) << "it may be asked again";
  plugin_.is_away = false;
  kms->ask_now();
  EXPECT_EQ(kms->trouble(), "");
  EXPECT_TRUE(kms->seal(kAt, "x"));
  EXPECT_EQ(kms->open(kAt, sealed)->value, "x");
  plugin_.forgets = true;
  EXPECT_EQ(make()->open(kAt, sealed).error().reason, Reason::kBadRequest) << "its last word";
}

TEST_F(KmsTest, APluginThatIsNotWellGivesNoKey) {
  plugin_.health = "no quorum";
  EXPECT_THAT(make()->trouble(), HasSubstr("no quorum"));
  EXPECT_FALSE(make()->seal(kAt, "x"));
  plugin_.health = "ok";
  plugin_.version = "v1";
  EXPECT_FALSE(make()->seal(kAt, "x"));
  plugin_.version = "v2";
  plugin_.key_id = "";
  EXPECT_FALSE(make()->seal(kAt, "x"));
  plugin_.key_id = std::string(1025, 'k');
  EXPECT_FALSE(make()->seal(kAt, "x"));
  plugin_.key_id = "key-1";
  plugin_.encrypts_as = "key-2";
  EXPECT_FALSE(make()->seal(kAt, "x")) << "it says one key and uses another";
}

class KmsConfiguration : public KmsTest {
 protected:
  Result<Encryption> read(const std::string& providers, bool with_plugin = true) {
    Encryption::MakeKms make_kms = [this](const KmsSettings& settings) {
      settings_ = settings;
      return Result<std::shared_ptr<Kms>>(std::shared_ptr<Kms>(make()));
    };
    return Encryption::read(
        cat("{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: "
            "[{resources: [secrets], providers: ",
            providers, "}]}"),
        with_plugin ? make_kms : Encryption::MakeKms());
  }
  KmsSettings settings_;
};

constexpr char kKms[] = "{kms: {apiVersion: v2, name: cloud, endpoint: \"unix:///run/kms.sock\"}}";

TEST_F(KmsConfiguration, IsAProviderLikeOthers) {
  auto config = read(cat("[", kKms, ", {identity: {}}]"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(settings_.name, "cloud");
  EXPECT_EQ(settings_.endpoint, "unix:///run/kms.sock");
  EXPECT_EQ(settings_.timeout, std::chrono::seconds(3));
  auto sealed = config->seal("secrets", kAt, "x");
  ASSERT_TRUE(sealed);
  EXPECT_THAT(*sealed, StartsWith("k8s:enc:kms:v2:cloud:"));
  EXPECT_EQ(config->open("secrets", kAt, *sealed).value(), "x");
  EXPECT_EQ(config->open("secrets", kAt, "plain").value(), "plain");
  EXPECT_FALSE(config->open("secrets", kAt, cat("k8s:enc:kms:v2:other:", sealed->substr(21))));
  plugin_.is_away = true;
  const std::string foreign = cat("k8s:enc:kms:v2:cloud:",
                                  encode({.data = "d", .key = {"c", "key-1", {}}}));
  EXPECT_EQ(config->open("secrets", kAt, foreign).error().reason, Reason::kServiceUnavailable);
}

TEST_F(KmsConfiguration, SaysWhatIsSealedWithAnOldKey) {
  auto config = read(cat("[", kKms, ", {identity: {}}]"));
  ASSERT_TRUE(config);
  const std::string sealed = *config->seal("secrets", kAt, "x");
  EXPECT_FALSE(config->is_stale("secrets", Encryption::seal_of(sealed)));
  EXPECT_TRUE(config->is_stale("secrets", Encryption::seal_of("plain")));
  EXPECT_TRUE(config->is_stale("secrets", Encryption::seal_of("k8s:enc:aescbc:v1:a:xyz")));
  EXPECT_FALSE(config->is_stale("configmaps", Encryption::seal_of("plain")));
  auto off = read(cat("[{identity: {}}, ", kKms, "]"));
  ASSERT_TRUE(off);
  EXPECT_TRUE(off->is_stale("secrets", Encryption::seal_of(sealed))) << "it would be plain today";
  EXPECT_FALSE(off->is_stale("secrets", Encryption::seal_of("plain")));
  plugin_.key_id = "key-2";
  auto later = read(cat("[", kKms, "]"));
  ASSERT_TRUE(later);
  EXPECT_TRUE(later->is_stale("secrets", Encryption::seal_of(sealed)));
  EXPECT_FALSE(later->is_stale("secrets", Encryption::seal_of(*later->seal("secrets", kAt, "x"))));
}

TEST_F(KmsConfiguration, IsRefusedWhenItMakesNoSense) {
  for (const char* wrong : {
           "[{kms: {name: a, endpoint: \"unix:///s\"}}]",
           "[{kms: {apiVersion: v1, name: a, endpoint: \"unix:///s\"}}]",
           "[{kms: {apiVersion: v2, endpoint: \"unix:///s\"}}]",
           "[{kms: {apiVersion: v2, name: \"a:b\", endpoint: \"unix:///s\"}}]",
           "[{kms: {apiVersion: v2, name: a, endpoint: \"http://s\"}}]",
           "[{kms: {apiVersion: v2, name: a}}]",
           "[{kms: {apiVersion: v2, name: a, endpoint: \"unix:///s\", timeout: 0s}}]",
           "[{kms: {apiVersion: v2, name: a, endpoint: \"unix:///s\", timeout: soon}}]",
           "[{kms: {apiVersion: v2, name: a, endpoint: \"unix:///s\", cachesize: 10}}]",
           "[{kms: {apiVersion: v2, name: a, endpoint: \"unix:///s\"}}, {kms: {apiVersion: v2, "
           "name: a, endpoint: \"unix:///t\"}}]",
       })
    EXPECT_FALSE(read(wrong)) << wrong;
  auto checked = read(cat("[", kKms, "]"), false);
  ASSERT_TRUE(checked) << "a file is checked without its plugin";
  EXPECT_FALSE(checked->seal("secrets", kAt, "x")) << "an error is never plain text";
  EXPECT_FALSE(checked->open("secrets", kAt, "k8s:enc:kms:v2:cloud:x"));
}

}  // namespace
}  // namespace cardea::rest

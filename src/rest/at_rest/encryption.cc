#include "rest/at_rest/encryption.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "base/time_parse.h"
#include "json/yaml.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::size_t kMostConfigBytes = 1u << 20;
constexpr std::string_view kSealedPrefix = "k8s:enc:", kKmsPrefix = "k8s:enc:kms:v2:";

struct Provider {
  std::string_view name;
  Cipher cipher;
};
constexpr Provider kProviders[] = {
    {"aescbc", Cipher::kAesCbc}, {"aesgcm", Cipher::kAesGcm}, {"secretbox", Cipher::kSecretBox}};

std::unexpected<Error> wrong(std::string_view path, std::string_view why) {
  return fail(bad_request(cat(path, ": ", why)));
}

bool covers(std::string_view pattern, std::string_view resource) {
  if (pattern == resource || pattern == "*.*") return true;
  if (!pattern.starts_with("*.")) return false;
  const std::size_t dot = resource.find('.');
  return pattern.substr(2) == (dot == std::string_view::npos ? "" : resource.substr(dot + 1));
}

Result<void> check_members(const Value& object, std::string_view path,
                           std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return wrong(path, "must be an object");
  for (const json::Member& member : object.members())
    if (std::ranges::find(known, member.key()) == known.end())
      return wrong(path, cat("unknown field `", member.key(), "`"));
  return {};
}

// Why no resource can have this name; empty when one could.
std::string wrong_resource(std::string_view name) {
  if (std::ranges::any_of(name, [](char c) { return c >= 'A' && c <= 'Z'; }))
    return "has capital letters";
  if (name == "*") return "must be `*.*` for all resources, or `*.` for those of the core group";
  if (name != "*.*" && name.ends_with(".*")) return "must name a group, not `*`";
  const std::string_view group = name.contains('.') ? name.substr(name.find('.') + 1) : "";
  if (group == "events.k8s.io" || group == "extensions")
    return "is of a group whose objects are stored in another one";
  return "";
}

Result<KmsSettings> read_kms(const Value& settings, const std::string& path) {
  if (auto ok = check_members(settings, path,
                              {"apiVersion", "name", "endpoint", "timeout", "cachesize"});
      !ok)
    return fail(ok.error());
  if (settings["apiVersion"].as_string() != "v2")
    return wrong(cat(path, ".apiVersion"), "must be v2");
  if (!settings["cachesize"].is_null())
    return wrong(cat(path, ".cachesize"), "is not supported in v2");
  KmsSettings out{.name = std::string(settings["name"].as_string()),
                  .endpoint = std::string(settings["endpoint"].as_string())};
  if (out.name.empty() || out.name.contains(':'))
    return wrong(cat(path, ".name"), "must not be empty, and has no `:`");
  if (!out.endpoint.starts_with("unix:///"))
    return wrong(cat(path, ".endpoint"), "must be a socket such as unix:///run/kms.sock");
  if (const std::string_view text = settings["timeout"].as_string(); !text.empty()) {
    const auto given = parse_duration(text);
    if (!given || given->count() <= 0)
      return wrong(cat(path, ".timeout"), "must be a duration above 0, such as 3s");
    out.timeout = std::chrono::ceil<std::chrono::milliseconds>(*given);
  }
  return out;
}

// 0 is kept for values that are not sealed.
std::int64_t number_of(std::string_view prefix, std::string_view key_id = "") {
  return static_cast<std::int64_t>(std::hash<std::string>()(cat(prefix, key_id)) | 1);
}

}  // namespace

Result<Encryption::Rule> Encryption::read_rule(const Value& rule, std::size_t index,
                                               const MakeKms& make_kms) {
  const std::string path = cat("resources[", index, "]");
  if (auto ok = check_members(rule, path, {"resources", "providers"}); !ok) return fail(ok.error());
  Rule out;
  for (const Value& resource : rule["resources"].items()) {
    if (!resource.is_string() || resource.as_string().empty())
      return wrong(cat(path, ".resources"), "must be names of resources");
    std::string name(resource.as_string());
    if (name.ends_with('.') && name != "*.") name.pop_back();  // "secrets." is of the core group
    if (std::string why = wrong_resource(name); !why.empty())
      return wrong(cat(path, ".resources"), cat("`", name, "` ", why));
    if (std::ranges::find(out.resources, name) != out.resources.end())
      return wrong(cat(path, ".resources"), cat("`", name, "` is there twice"));
    out.resources.push_back(std::move(name));
  }
  for (const std::string& one : out.resources)
    for (const std::string& other : out.resources)
      if (one != other && covers(one, other))
        return wrong(cat(path, ".resources"), cat("`", other, "` is covered by `", one, "`"));
  if (out.resources.empty()) return wrong(cat(path, ".resources"), "must not be empty");
  const auto& providers = rule["providers"].items();
  for (std::size_t i = 0; i < providers.size(); ++i) {
    auto keys = read_keys(providers[i], cat(path, ".providers[", i, "]"), make_kms);
    if (!keys) return fail(keys.error());
    std::ranges::move(*keys, std::back_inserter(out.keys));
  }
  if (out.keys.empty()) return wrong(cat(path, ".providers"), "must not be empty");
  return out;
}

Result<std::vector<Encryption::Key>> Encryption::read_keys(const Value& provider,
                                                           const std::string& path,
                                                           const MakeKms& make_kms) {
  if (!provider.is_object() || provider.members().size() != 1)
    return wrong(path, "must have exactly one provider");
  const std::string_view name = provider.members().begin()->key();
  const Value& settings = provider.members().begin()->value;
  const std::string at = cat(path, ".", name);
  std::vector<Key> out;
  if (name == "identity") {
    if (auto ok = check_members(settings, at, {}); !ok) return fail(ok.error());
    out.push_back({});
    return out;
  }
  if (name == "kms") {
    auto kms = read_kms(settings, at);
    if (!kms) return fail(kms.error());
    std::shared_ptr<Kms> plugin;
    if (make_kms) {
      auto made = make_kms(*kms);
      if (!made) return wrong(at, made.error().message);
      plugin = std::move(*made);
    }
    out.push_back(
        {.prefix = cat(kKmsPrefix, kms->name, ":"), .is_kms = true, .kms = std::move(plugin)});
    return out;
  }
  const auto known = std::ranges::find(kProviders, name, &Provider::name);
  if (known == std::end(kProviders)) return wrong(path, cat("unknown provider `", name, "`"));
  if (auto ok = check_members(settings, at, {"keys"}); !ok) return fail(ok.error());
  std::set<std::string_view> names;
  for (const Value& key : settings["keys"].items()) {
    const std::string_view key_name = key["name"].as_string();
    const std::string key_path = cat(at, ".keys");
    if (auto ok = check_members(key, key_path, {"name", "secret"}); !ok) return fail(ok.error());
    if (key_name.empty() || key_name.contains(':') || !names.insert(key_name).second)
      return wrong(key_path, "each key needs a name of its own, without `:`");
    auto secret = base64_decode(key["secret"].as_string());
    if (!secret || !fits_cipher(known->cipher, secret->size()))
      return wrong(key_path, cat("the secret of `", key_name, "` must be ",
                                 known->cipher == Cipher::kSecretBox ? "32" : "16, 24 or 32",
                                 " bytes in base64"));
    out.push_back(
        {cat(kSealedPrefix, name, ":v1:", key_name, ":"), known->cipher, std::move(*secret)});
  }
  if (names.empty()) return wrong(cat(at, ".keys"), "must not be empty");
  return out;
}

Result<Encryption> Encryption::read(std::string_view text, const MakeKms& make_kms) {
  auto config = json::parse_strict_configuration(text, kMostConfigBytes, json::FlowStyle::kAllowed);
  if (!config) return fail(config.error());
  if ((*config)["kind"].as_string() != "EncryptionConfiguration" ||
      (*config)["apiVersion"].as_string() != "apiserver.config.k8s.io/v1")
    return wrong("kind", "must be an EncryptionConfiguration of apiserver.config.k8s.io/v1");
  if (auto ok = check_members(*config, "EncryptionConfiguration",
                              {"kind", "apiVersion", "resources"});
      !ok)
    return fail(ok.error());
  Encryption out;
  std::set<std::string> plugins;
  for (const Value& rule : (*config)["resources"].items()) {
    auto read = read_rule(rule, out.rules_.size(), make_kms);
    if (!read) return fail(read.error());
    // What is covered by an earlier rule would be written as that one says, perhaps in plain text.
    for (const std::string& resource : read->resources)
      for (const Rule& earlier : out.rules_)
        for (const std::string& pattern : earlier.resources)
          if (covers(pattern, resource))
            return wrong(cat("resources[", out.rules_.size(), "].resources"),
                         cat("`", resource, "` is masked by the earlier `", pattern, "`"));
    for (const Key& key : read->keys)
      if (key.is_kms && !plugins.insert(key.prefix).second)
        return wrong(cat("resources[", out.rules_.size(), "].providers"),
                     "each KMS provider needs a name of its own");
    out.rules_.push_back(std::move(*read));
  }
  if (out.rules_.empty()) return wrong("resources", "must not be empty");
  return out;
}

const Encryption::Rule* Encryption::rule_of(std::string_view resource) const {
  for (const Rule& rule : rules_)
    for (const std::string& pattern : rule.resources)
      if (covers(pattern, resource)) return &rule;
  return nullptr;
}

Result<std::string> Encryption::Key::seal(std::string_view etcd_key, std::string_view value) const {
  if (kms) return kms->seal(etcd_key, value);
  auto sealed = is_kms ? std::nullopt : rest::seal(cipher, secret, etcd_key, value);
  if (!sealed) return fail(internal_error("the value cannot be encrypted; nothing was stored"));
  return std::move(*sealed);
}

Result<std::string> Encryption::Key::open(std::string_view etcd_key,
                                          std::string_view sealed) const {
  if (kms) {
    auto opened = kms->open(etcd_key, sealed);
    if (!opened) return fail(opened.error());
    return std::move(opened->value);
  }
  auto opened = is_kms ? std::nullopt : unseal(cipher, secret, etcd_key, sealed);
  if (!opened) return fail(bad_request("none of the configured keys opens it"));
  return std::move(*opened);
}

Result<std::string> Encryption::seal(std::string_view resource, std::string_view etcd_key,
                                     std::string_view value) const {
  const Rule* rule = rule_of(resource);
  if (!rule || rule->keys[0].prefix.empty()) return std::string(value);
  const Key& key = rule->keys[0];
  auto sealed = key.seal(etcd_key, value);
  if (!sealed) return sealed;
  return key.prefix + *sealed;
}

Result<std::string> Encryption::open(std::string_view resource, std::string_view etcd_key,
                                     std::string_view value) const {
  const Rule* rule = rule_of(resource);
  const bool is_sealed = value.starts_with(kSealedPrefix);
  if (!rule) {
    if (is_sealed) return fail(bad_request("it is encrypted, and no key is configured for it"));
    return std::string(value);
  }
  Error why = bad_request(is_sealed ? "none of the configured keys opens it"
                                    : "it is not encrypted, and `identity` is not configured");
  for (const Key& key : rule->keys) {
    if (key.prefix.empty()) {
      if (!is_sealed) return std::string(value);
      continue;
    }
    if (!value.starts_with(key.prefix)) continue;
    auto opened = key.open(etcd_key, value.substr(key.prefix.size()));
    if (opened || opened.error().reason == Reason::kServiceUnavailable) return opened;
    why = opened.error();
  }
  return fail(std::move(why));
}

std::int64_t Encryption::seal_of(std::string_view value) {
  if (!value.starts_with(kSealedPrefix)) return 0;
  // "k8s:enc:PROVIDER:VERSION:KEY:"
  std::size_t end = kSealedPrefix.size();
  for (int part = 0; part < 3 && end != std::string_view::npos && end != 0; ++part)
    end = value.find(':', end) + 1;
  if (end == 0 || end == std::string_view::npos) return 0;
  const std::string_view prefix = value.substr(0, end);
  if (!prefix.starts_with(kKmsPrefix)) return number_of(prefix);
  auto object = decode_sealed(value.substr(end));
  const bool is_of_today = object && object->source == SealedObject::KeySource::kSeed;
  return is_of_today ? number_of(prefix, object->key.key_id) : number_of(prefix);
}

bool Encryption::is_stale(std::string_view resource, std::int64_t seal) const {
  const Rule* rule = rule_of(resource);
  if (!rule || rule->keys[0].prefix.empty()) return seal != 0;
  const Key& key = rule->keys[0];
  if (!key.is_kms) return seal != number_of(key.prefix);
  const std::string key_id = key.kms ? key.kms->key_id() : "";
  // A plugin without a key could not encrypt it anew.
  return !key_id.empty() && seal != number_of(key.prefix, key_id);
}

std::string Encryption::trouble() const {
  for (const Rule& rule : rules_)
    for (const Key& key : rule.keys)
      if (key.kms)
        if (std::string trouble = key.kms->trouble(); !trouble.empty()) return trouble;
  return "";
}

}  // namespace cardea::rest

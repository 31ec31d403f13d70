#include "rest/at_rest/encryption.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "json/yaml.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::size_t kMostConfigBytes = 1u << 20;
constexpr std::string_view kSealedPrefix = "k8s:enc:";

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

}  // namespace

Result<Encryption::Rule> Encryption::read_rule(const Value& rule, std::size_t index) {
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
    const Value& provider = providers[i];
    const std::string at = cat(path, ".providers[", i, "]");
    if (!provider.is_object() || provider.members().size() != 1)
      return wrong(at, "must have exactly one provider");
    const std::string_view name = provider.members().begin()->key();
    const Value& settings = provider.members().begin()->value;
    if (name == "identity") {
      if (auto ok = check_members(settings, cat(at, ".identity"), {}); !ok) return fail(ok.error());
      out.keys.push_back({});
      continue;
    }
    if (name == "kms") return wrong(at, "`kms` is not supported; use aesgcm, aescbc or secretbox");
    const auto known = std::ranges::find(kProviders, name, &Provider::name);
    if (known == std::end(kProviders)) return wrong(at, cat("unknown provider `", name, "`"));
    if (auto ok = check_members(settings, cat(at, ".", name), {"keys"}); !ok)
      return fail(ok.error());
    std::set<std::string_view> names;
    for (const Value& key : settings["keys"].items()) {
      const std::string_view key_name = key["name"].as_string();
      const std::string key_path = cat(at, ".", name, ".keys");
      if (auto ok = check_members(key, key_path, {"name", "secret"}); !ok) return fail(ok.error());
      if (key_name.empty() || key_name.contains(':') || !names.insert(key_name).second)
        return wrong(key_path, "each key needs a name of its own, without `:`");
      auto secret = base64_decode(key["secret"].as_string());
      if (!secret || !fits_cipher(known->cipher, secret->size()))
        return wrong(key_path, cat("the secret of `", key_name, "` must be ",
                                   known->cipher == Cipher::kSecretBox ? "32" : "16, 24 or 32",
                                   " bytes in base64"));
      out.keys.push_back(
          {cat(kSealedPrefix, name, ":v1:", key_name, ":"), known->cipher, std::move(*secret)});
    }
    if (names.empty()) return wrong(cat(at, ".", name, ".keys"), "must not be empty");
  }
  if (out.keys.empty()) return wrong(cat(path, ".providers"), "must not be empty");
  return out;
}

Result<Encryption> Encryption::read(std::string_view text) {
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
  for (const Value& rule : (*config)["resources"].items()) {
    auto read = read_rule(rule, out.rules_.size());
    if (!read) return fail(read.error());
    // What is covered by an earlier rule would be written as that one says, perhaps in plain text.
    for (const std::string& resource : read->resources)
      for (const Rule& earlier : out.rules_)
        for (const std::string& pattern : earlier.resources)
          if (covers(pattern, resource))
            return wrong(cat("resources[", out.rules_.size(), "].resources"),
                         cat("`", resource, "` is masked by the earlier `", pattern, "`"));
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

Result<std::string> Encryption::seal(std::string_view resource, std::string_view etcd_key,
                                     std::string_view value) const {
  const Rule* rule = rule_of(resource);
  if (!rule || rule->keys[0].prefix.empty()) return std::string(value);
  const Key& key = rule->keys[0];
  auto sealed = rest::seal(key.cipher, key.secret, etcd_key, value);
  if (!sealed) return fail(internal_error("the value cannot be encrypted; nothing was stored"));
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
  for (const Key& key : rule->keys) {
    if (key.prefix.empty()) {
      if (!is_sealed) return std::string(value);
      continue;
    }
    if (!value.starts_with(key.prefix)) continue;
    auto opened = unseal(key.cipher, key.secret, etcd_key, value.substr(key.prefix.size()));
    if (opened) return std::move(*opened);
  }
  return fail(bad_request(is_sealed ? "none of the configured keys opens it"
                                    : "it is not encrypted, and `identity` is not configured"));
}

}  // namespace cardea::rest

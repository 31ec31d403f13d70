// cluster_authentication_trust_controller: the ConfigMap from which extension servers learn whose
// certificates and headers to believe. It follows the flags of this server.
#include <algorithm>

#include "base/strings.h"
#include "json/parse.h"
#include "json/print.h"
#include "rest/controllers/controllers.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {
namespace {

using json::Value;

constexpr std::string_view
    kKey = "/registry/configmaps/kube-system/extension-apiserver-authentication";
constexpr std::string_view kSystemConfigMaps = "/api/v1/namespaces/kube-system/configmaps";
constexpr std::string_view kName = "extension-apiserver-authentication";

constexpr std::string_view kPemBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kPemEnd = "-----END CERTIFICATE-----";

// The certificates of a PEM text, each on a line of its own, as their base64.
std::vector<std::string> certificates_in(std::string_view pem) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t begin = pem.find(kPemBegin);
    const std::size_t end = pem.find(kPemEnd);
    if (begin == pem.npos || end == pem.npos || end < begin) return out;
    std::string body(pem.substr(begin + kPemBegin.size(), end - begin - kPemBegin.size()));
    std::erase_if(body, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    out.push_back(std::move(body));
    pem.remove_prefix(end + kPemEnd.size());
  }
}

// `theirs` with what it lacks of `ours`: certificates, or names in a JSON list.
std::string with_ours(const std::string& theirs, const std::string& ours) {
  auto list = json::parse(theirs), own = json::parse(ours);
  if (list && own && list->is_array() && own->is_array()) {
    bool lacks = false;
    for (const Value& name : own->items()) {
      if (std::ranges::find(list->items(), name) != list->items().end()) continue;
      list->push_back(name);
      lacks = true;
    }
    return lacks ? json::print(*list) : theirs;
  }
  const std::vector<std::string> have = certificates_in(theirs), want = certificates_in(ours);
  const bool lacks = have.empty() || std::ranges::any_of(want, [&have](const std::string& one) {
                       return std::ranges::find(have, one) == have.end();
                     });
  return lacks ? cat(ours, ours.ends_with('\n') ? "" : "\n", theirs) : theirs;
}

class AuthenticationPublisher : public Controller {
 public:
  AuthenticationPublisher(ControllerContext context, AuthenticationFacts facts)
      : Controller(std::move(context), "cluster_authentication_trust_controller",
                   {.prefixes = {std::string(kKey)}}),
        facts_(std::move(facts)) {}

 private:
  bool cares(const store::Event& event) const override { return event.record->key() == kKey; }
  void observe(const store::Event&) override { enqueue(std::string(kName)); }

  Task<Result<void>> reconcile(std::string) override {
    store::RecordPtr record = store().get(kKey);
    Value object = record ? parse_stored(*record)
                          : Value::object({{"apiVersion", "v1"},
                                           {"kind", "ConfigMap"},
                                           {"metadata", Value::object({{"name", kName}})}});
    // What others have added stays; what this server says is put right. Other servers on the same
    // store say it too, in their words.
    const bool is_shared = !store().is_always_fresh();
    Value data = object["data"].is_object() ? object["data"] : Value::object();
    bool is_same = record != nullptr;
    for (const auto& [key, own] : facts_) {
      const std::string text = is_shared && data.has(key)
                                   ? with_ours(std::string(data[key].as_string()), own)
                                   : own;
      is_same = is_same && data[key].as_string() == text;
      data.set(key, text);
    }
    if (is_same) co_return Result<void>();
    object.set("data", std::move(data));
    const bool is_new = record == nullptr;
    Loopback::Reply reply = co_await api().send(
        is_new ? "POST" : "PUT",
        is_new ? std::string(kSystemConfigMaps) : cat(kSystemConfigMaps, "/", kName),
        std::move(object));
    co_return outcome(reply);
  }

  const AuthenticationFacts facts_;
};

}  // namespace

std::unique_ptr<Controller> authentication_publisher(ControllerContext context,
                                                     AuthenticationFacts facts) {
  return std::make_unique<AuthenticationPublisher>(std::move(context), std::move(facts));
}

}  // namespace cardea::rest

// Requests that nobody would write by hand, and two things that must hold for each of them: nothing
// is stored, and nothing is shown, that a fresh look at the grants of the sender would refuse.
//
// Every object of the world holds a word of its own, so that an answer shows which objects it
// speaks of, whatever its format. `CARDEA_MUTATED_REQUESTS` asks for more requests.
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "base/strings.h"
#include "http/request_parser.h"
#include "json/print.h"
#include "rest/testing/test_server.h"

namespace cardea::rest {
namespace {

using authz::Decision;
using json::Value;

// --- the grants ---------------------------------------------------------------------------------

struct Grant {
  std::string user, verb, group, resource, subresource, space, name;  // empty space, name: any
  bool only_team_x = false;  // objects of that team alone, before and after
};

class Grants : public authz::Authorizer {
 public:
  std::string_view name() const override { return "grants"; }
  std::optional<Decision> authorize(const authz::Attributes& a) const override {
    if (!a.is_resource_request) return Decision::no_opinion();
    bool on_condition = false;
    for (const Grant& g : grants) {
      if (g.user != a.user.name || g.verb != a.verb || g.group != a.api_group ||
          g.resource != a.resource || g.subresource != a.subresource ||
          (!g.space.empty() && g.space != a.namespace_name) ||
          (!g.name.empty() && g.name != a.name))
        continue;
      if (!g.only_team_x) return Decision::allow();
      on_condition = true;
    }
    if (!on_condition) return Decision::no_opinion();
    return authz::conditional_on(
        {.conditions = {{.effect = authz::Condition::Effect::kAllow, .id = "team-x"}}});
  }
  Task<Decision> evaluate(std::shared_ptr<const authz::Conditions>,
                          const authz::ConditionData& data) const override {
    const bool is_of_x = (!data.object || data.object->is_null() || is_of_team_x(*data.object)) &&
                         (!data.old_object || is_of_team_x(*data.old_object));
    co_return is_of_x && (data.object || data.old_object) ? Decision::allow()
                                                          : Decision::no_opinion();
  }
  static bool is_of_team_x(const Value& object) {
    return object["metadata"]["labels"]["team"].as_string() == "x";
  }

  std::vector<Grant> grants;
};

// --- one request over a connection that is not there --------------------------------------------

class Captured : public http::Stream {
 public:
  bool write(http::Piece piece) override {
    std::lock_guard lock(mutex_);
    text_ += piece.bytes;
    return true;
  }
  void finish() override {}
  void abort() override {}
  std::size_t pending_bytes() const override { return 0; }
  void when_drained(net::Callback callback) override {
    if (net::Loop* loop = net::Loop::current()) loop->post(std::move(callback));
  }
  std::string text() const {
    std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

class Conversation : public http::Exchange {
 public:
  explicit Conversation(net::Loop& loop) : Exchange(loop) {}
  void respond(http::Response response) override {
    status = response.status;
    for (const auto& [name, value] : response.headers) shown += cat(name, ": ", value, "\n");
    shown += response.body.text();
    answered.set_value();
  }
  std::shared_ptr<http::Stream> stream(http::Response head) override {
    status = head.status;
    shown += head.body.text();
    answered.set_value();
    return captured;
  }
  void on_close(net::Callback callback) override { leave = std::move(callback); }
  int status = 0;
  std::string shown;
  std::shared_ptr<Captured> captured = std::make_shared<Captured>();
  net::Callback leave;
  std::promise<void> answered;
};

class TokenIsName : public authn::Authenticator {
 public:
  std::optional<authn::Outcome> authenticate(const authn::Credentials& c) const override {
    if (!c.token.starts_with("user-"))
      return authn::Outcome(fail(Error::of(Reason::kUnauthorized, "no such token")));
    return authn::Outcome(
        authn::Identity{.user = {.name = std::string(c.token)}, .authenticator = "test"});
  }
};

// --- the world ----------------------------------------------------------------------------------

struct Kind {
  std::string group, version, resource, kind, content;  // content: members of the object, as JSON
  bool namespaced = true;
  std::vector<std::string> subresources;

  std::string path(std::string_view space) const {
    const std::string root = group.empty() ? cat("/api/", version)
                                           : cat("/apis/", group, "/", version);
    return namespaced ? cat(root, "/namespaces/", space, "/", resource) : cat(root, "/", resource);
  }
};

constexpr std::string_view kPodSpec = R"("spec":{"containers":[{"name":"c","image":"i"}]})";
constexpr std::string_view kWorkload =
    R"("spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":)"
    R"({"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}})";

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kKinds = {
      {"", "v1", "configmaps", "ConfigMap", R"("data":{"a":"1"})", true, {}},
      {"", "v1", "secrets", "Secret", R"("stringData":{"a":"1"})", true, {}},
      {"",
       "v1",
       "pods",
       "Pod",
       std::string(kPodSpec),
       true,
       {"status", "ephemeralcontainers", "binding", "eviction", "log", "exec", "proxy", "resize"}},
      {"",
       "v1",
       "serviceaccounts",
       "ServiceAccount",
       R"("automountServiceAccountToken":false)",
       true,
       {"token"}},
      {"apps",
       "v1",
       "deployments",
       "Deployment",
       std::string(kWorkload),
       true,
       {"status", "scale"}},
      {"coordination.k8s.io",
       "v1",
       "leases",
       "Lease",
       R"("spec":{"holderIdentity":"h"})",
       true,
       {}},
      {"",
       "v1",
       "nodes",
       "Node",
       R"("spec":{"podCIDR":"10.1.0.0/24"})",
       false,
       {"status", "proxy"}},
      {"storage.k8s.io",
       "v1",
       "storageclasses",
       "StorageClass",
       R"("provisioner":"p")",
       false,
       {}}};
  return kKinds;
}

constexpr std::string_view kSpaces[] = {"a", "b"};
constexpr std::string_view kNames[] = {"one", "two"};
constexpr std::string_view kUsers[] = {"user-ann", "user-bob", "user-eve"};

// One object of the world.
struct Thing {
  const Kind* kind;
  std::string space, name, word;
  bool is_of_team_x;
};

class World {
 public:
  World() {
    for (std::string_view space : kSpaces)
      make("/api/v1/namespaces", cat(R"({"metadata":{"name":")", space, R"("}})"));
    for (const Kind& kind : kinds())
      for (std::string_view space : kSpaces) {
        if (!kind.namespaced && space != kSpaces[0]) continue;
        for (std::string_view name : kNames) add(kind, kind.namespaced ? space : "", name);
      }
    auto watch = server_.store().watch("/registry/", server_.store().current_revision(),
                                       [this](std::span<const store::EventPtr> events) {
                                         std::lock_guard lock(mutex_);
                                         changes_.insert(changes_.end(), events.begin(),
                                                         events.end());
                                       });
    CARDEA_CHECK(watch.has_value());
    watch_ = std::move(*watch);
  }

  const std::vector<Thing>& things() const { return things_; }
  std::vector<Grant>& grants() { return grants_->grants; }
  net::Loop& loop() { return server_.request_loop(); }
  Gateway& gateway() { return *gateway_; }

  // Which objects were changed since this was asked last. They are put back.
  std::vector<store::EventPtr> take_changes() {
    std::vector<store::EventPtr> out;
    {
      std::lock_guard lock(mutex_);
      out.swap(changes_);
    }
    for (auto at = out.rbegin(); at != out.rend(); ++at) put_back(**at);
    std::lock_guard lock(mutex_);
    changes_.clear();
    return out;
  }
  const Thing* thing_of_key(std::string_view key) const {
    auto at = by_key_.find(key);
    return at == by_key_.end() ? nullptr : &things_[at->second];
  }
  // The kind, namespace and name that a key of the store stands for.
  std::optional<Thing> place_of_key(std::string_view key) const {
    for (const Kind& kind : kinds()) {
      const std::string& prefix = resource_of(kind).storage_prefix;
      if (!key.starts_with(prefix)) continue;
      const std::string_view rest = key.substr(prefix.size());
      const auto slash = rest.find('/');
      if (kind.namespaced != (slash != rest.npos)) continue;
      return Thing{&kind, std::string(kind.namespaced ? rest.substr(0, slash) : ""),
                   std::string(kind.namespaced ? rest.substr(slash + 1) : rest), "", false};
    }
    return std::nullopt;
  }

 private:
  const catalog::Resource& resource_of(const Kind& kind) const {
    return *catalog_->find(kind.group, kind.version, kind.resource);
  }
  void make(const std::string& path, const std::string& body) {
    const auto reply = server_.send("POST", path, body);
    CARDEA_CHECK(reply.status == 201);
  }
  void add(const Kind& kind, std::string_view space, std::string_view name) {
    const bool is_of_team_x = things_.size() % 2 == 0;
    Thing thing{&kind, std::string(space), std::string(name),
                cat("word", things_.size(), "of", kind.resource), is_of_team_x};
    make(kind.path(space),
         cat(R"({"metadata":{"name":")", name, R"(","labels":{"team":")", is_of_team_x ? "x" : "y",
             R"("},"annotations":{"word":")", thing.word, R"("}},)", kind.content, "}"));
    by_key_[cat(resource_of(kind).storage_prefix, space, space.empty() ? "" : "/",
                name)] = things_.size();
    things_.push_back(std::move(thing));
  }
  void put_back(const store::Event& event) {
    const std::string key(event.record->key());
    store::Txn txn;
    if (event.previous && !event.previous->deleted())
      txn.ops.push_back(store::Put{key, std::string(event.previous->value())});
    else
      txn.ops.push_back(store::Delete{key});
    CARDEA_CHECK(store::commit_sync(server_.store_below(), std::move(txn)).has_value());
  }

  std::shared_ptr<Grants> grants_ = std::make_shared<Grants>();
  TestServer server_{{}, {grants_}};
  std::shared_ptr<const catalog::Catalog> catalog_ = catalog::Catalog::builtin();
  authn::AuthenticatorChain authenticators_{{std::make_shared<TokenIsName>()}};
  std::unique_ptr<Gateway> gateway_ = server_.gateway_with(authenticators_);
  std::vector<Thing> things_;
  std::map<std::string, std::size_t, std::less<>> by_key_;
  std::mutex mutex_;
  std::vector<store::EventPtr> changes_;
  std::unique_ptr<store::Watch> watch_;
};

// --- the judge: what a sender may do, read from the grants alone --------------------------------

class Judge {
 public:
  Judge(const std::vector<Grant>& grants, std::string_view user) : grants_(grants), user_(user) {}

  // Whether the sender holds this on such an object; `x`: objects of team x are concerned, and only
  // those.
  bool may(std::string_view verb, const Thing& t, std::string_view subresource, bool x) const {
    return std::ranges::any_of(grants_, [&](const Grant& g) {
      return g.user == user_ && g.verb == verb && g.group == t.kind->group &&
             g.resource == t.kind->resource && g.subresource == subresource &&
             (g.space.empty() || g.space == t.space) &&
             (g.name.empty() || g.name == t.name || verb == "create") && (!g.only_team_x || x);
    });
  }
  // Whoever writes an object gets it as the answer.
  bool may_see(const Thing& t) const {
    for (const char* verb : {"get", "list", "watch"})
      if (may(verb, t, "", false)) return true;
    return may_change(t, "", t.is_of_team_x) || may_delete(t, t.is_of_team_x) ||
           std::ranges::any_of(t.kind->subresources, [&](const std::string& subresource) {
             return may("get", t, subresource, false) || may_change(t, subresource, t.is_of_team_x);
           });
  }
  bool may_delete(const Thing& t, bool x) const {
    return may("delete", t, "", x) || may("deletecollection", t, "", x) ||
           may("create", t, "eviction", x);
  }
  bool may_label(const Thing& t, bool x) const {
    return may("granular:labels", t, "", x) ||
           std::ranges::any_of(t.kind->subresources, [&](const std::string& subresource) {
             return may("granular:labels", t, subresource, x);
           });
  }
  bool may_change(const Thing& t, std::string_view subresource, bool x) const {
    return may("update", t, subresource, x) || may("patch", t, subresource, x);
  }
  // Empty, or what the sender had no right to.
  std::string flaw_of(const Thing& t, const Value& before, const Value& after) const {
    const bool x = (before.is_null() || Grants::is_of_team_x(before)) &&
                   (after.is_null() || Grants::is_of_team_x(after));
    if (before.is_null()) return may("create", t, "", x) ? "" : "created";
    if (after.is_null()) return may_delete(t, x) ? "" : "deleted";
    if (may_change(t, "", x)) return "";
    if (after["metadata"].has("deletionTimestamp") && may_delete(t, x)) return "";
    // A part of the object: whatever else it has must be as it was.
    if (t.kind->resource == "pods" &&
        (may_change(t, "ephemeralcontainers", x) || may_change(t, "resize", x) ||
         may("create", t, "binding", x)))
      return "";
    // As in Kubernetes, the status of an object carries its metadata.
    if (may_change(t, "status", x) && differs_only_in(without(before, "metadata", ""),
                                                      without(after, "metadata", ""), "status", ""))
      return "";
    if (may_change(t, "scale", x) && differs_only_in(before, after, "spec", "replicas")) return "";
    if (may_label(t, x) && differs_only_in(before, after, "metadata", "labels")) return "";
    return "changed";
  }

 private:
  static Value without(Value object, std::string_view part, std::string_view member) {
    for (const char* of_server : {"managedFields", "resourceVersion", "generation"})
      object.member("metadata").erase(of_server);
    if (member.empty())
      object.erase(part);
    else if (object.has(part))
      object.member(part).erase(member);
    return object;
  }
  static bool differs_only_in(const Value& before, const Value& after, std::string_view part,
                              std::string_view member) {
    return without(before, part, member) == without(after, part, member);
  }

  const std::vector<Grant>& grants_;
  std::string_view user_;
};

// --- the requests -------------------------------------------------------------------------------

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool in(std::size_t n) { return below(n) == 0; }
  template <typename List>
  auto one_of(const List& list) -> decltype(list[0]) {
    return list[below(std::size(list))];
  }

 private:
  std::mt19937_64 random_;
};

Grant random_grant(Chance& chance) {
  constexpr const char* kVerbs[] = {"get",     "list",  "watch",  "create",
                                    "update",  "patch", "delete", "deletecollection",
                                    "granular"};
  const Kind& kind = chance.one_of(kinds());
  Grant g{.user = std::string(chance.one_of(kUsers)),
          .verb = chance.one_of(kVerbs),
          .group = kind.group,
          .resource = kind.resource,
          .subresource = {},
          .space = {},
          .name = {}};
  if (!kind.subresources.empty() && chance.in(3)) g.subresource = chance.one_of(kind.subresources);
  if (kind.namespaced && !chance.in(4)) g.space = chance.one_of(kSpaces);
  const bool is_of_one = g.verb != "create" && g.verb != "list" && g.verb != "watch";
  if (chance.in(is_of_one ? 2 : 9)) g.name = chance.one_of(kNames);
  g.only_team_x = chance.in(3) && g.verb != "granular";
  return g;
}

std::string object_text(const Kind& kind, std::string_view name, std::string_view team,
                        std::string_view more) {
  return cat(R"({"apiVersion":")", kind.group, kind.group.empty() ? "" : "/", kind.version,
             R"(","kind":")", kind.kind, R"(","metadata":{"name":")", name,
             R"(","labels":{"team":")", team, R"("})", more, "},", kind.content, "}");
}

std::string random_body(Chance& chance, const Kind& kind, std::string_view space,
                        std::string_view name) {
  std::string more;
  if (chance.in(3)) more += cat(R"(,"namespace":")", space, R"(")");
  if (chance.in(6)) more += R"(,"generateName":"made-")";
  if (chance.in(6)) more += R"(,"finalizers":["example.com/f"])";
  if (chance.in(8)) more += R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
  if (chance.in(8)) more += R"(,"resourceVersion":"1")";
  std::string body = object_text(kind, name, chance.in(2) ? "x" : "y", more);
  if (chance.in(8)) body = cat(R"({"kind":"List","apiVersion":"v1","items":[)", body, "]}");
  if (chance.in(8)) body = R"({"target":{"name":"n1"},"spec":{"replicas":7}})";
  if (chance.in(6)) body = R"({"metadata":{"labels":{"team":"x"}}})";
  if (chance.in(8)) body = R"([{"op":"replace","path":"/metadata/labels/team","value":"x"}])";
  if (chance.in(8)) body = R"([{"op":"copy","from":"/metadata","path":"/metadata/annotations/c"}])";
  if (chance.in(6)) body = R"({"status":{"phase":"Running","replicas":3}})";
  if (chance.in(10) && !body.empty()) body.erase(chance.below(body.size()), 1 + chance.below(9));
  if (chance.in(10)) body = "";
  return body;
}

std::string mangled(Chance& chance, std::string path) {
  constexpr const char* kInserts[] = {"/",       "//", "/./",     "/../",   "%2F",
                                      "%2e%2e/", ":",  ":80",     "http:",  ";",
                                      "%00",     "*",  "/status", "/scale", "/watch"};
  for (std::size_t n = chance.in(5) ? 1 + chance.below(2) : 0; n > 0; --n) {
    const std::size_t at = chance.below(path.size() + 1);
    if (chance.in(3) && at < path.size())
      path.erase(at, 1);
    else if (chance.in(4) && at < path.size())
      path[at] = static_cast<char>(path[at] ^ 0x20);
    else
      path.insert(at, chance.one_of(kInserts));
  }
  return path;
}

struct Sent {
  std::string user, text;
  bool is_valid = true;  // false: no credentials, or somebody else's name without permission
};

Sent random_request(Chance& chance) {
  constexpr const char* kMethods[] = {"GET",    "GET",  "POST",    "PUT", "PATCH", "PATCH",
                                      "DELETE", "HEAD", "OPTIONS", "get", "TRACE"};
  constexpr const char* kTypes[] = {"application/json",
                                    "application/merge-patch+json",
                                    "application/json-patch+json",
                                    "application/strategic-merge-patch+json",
                                    "application/apply-patch+yaml",
                                    "application/yaml",
                                    "application/vnd.kubernetes.protobuf",
                                    "text/plain"};
  constexpr const char* kAccepts[] = {
      "application/json",
      "application/yaml",
      "application/vnd.kubernetes.protobuf",
      "application/json;as=Table;v=v1;g=meta.k8s.io",
      "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
      "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
      "application/vnd.kubernetes.protobuf;stream=watch",
      "*/*"};
  constexpr const char* kQueries[] = {
      "watch=true",
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
      "limit=1",
      "fieldSelector=metadata.name%3Done",
      "fieldSelector=metadata.name%3Dtwo",
      "fieldSelector=metadata.namespace%3Db",
      "labelSelector=team%3Dx",
      "dryRun=All",
      "fieldManager=m&force=true",
      "fieldManager=m",
      "resourceVersion=0",
      "includeObject=Object",
      "gracePeriodSeconds=0",
      "propagationPolicy=Foreground",
      "orphanDependents=true",
      "fieldValidation=Ignore",
      "pretty=true",
      "timeoutSeconds=1",
      "command=ls&container=c",
      "path=/x"};
  const Kind& kind = chance.one_of(kinds());
  const std::string_view space = chance.one_of(kSpaces), name = chance.one_of(kNames);
  // First a request that makes sense ...
  const std::string subresource = !kind.subresources.empty() && chance.in(3)
                                      ? chance.one_of(kind.subresources)
                                      : std::string();
  const bool is_of_one = !subresource.empty() || !chance.in(3);
  std::string_view method = chance.one_of(kMethods);
  std::string path = kind.path(space);
  if (is_of_one) path += cat("/", name);
  if (!subresource.empty()) path += cat("/", subresource);
  std::string body;
  if (method == "PATCH")
    body = R"({"metadata":{"labels":{"team":"x","n":"1"}}})";
  else if (method == "POST" || method == "PUT")
    body = object_text(kind, is_of_one ? name : "new", chance.in(2) ? "x" : "y", "");
  if (subresource == "scale")
    body = cat(R"({"metadata":{"name":")", name, R"("},"spec":{"replicas":7}})");
  if (subresource == "eviction") body = cat(R"({"metadata":{"name":")", name, R"("}})");
  std::string_view type = method == "PATCH" ? kTypes[1] : kTypes[0];
  if (method == "PATCH" && chance.in(4)) {
    type = kTypes[4];
    body = object_text(kind, name, "x", "");
  }
  // ... then what makes none.
  if (chance.in(8)) method = chance.one_of(kMethods);
  if (chance.in(8)) type = chance.one_of(kTypes);
  if (chance.in(4))
    body = random_body(chance, kind, chance.one_of(kSpaces), chance.in(3) ? "new" : name);
  if (chance.in(12)) path = cat("/api/v1/", kind.resource);
  if (chance.in(12)) path.insert(path.find("v1") + 2, "/watch");
  path = mangled(chance, std::move(path));
  std::string query;
  for (std::size_t n = chance.in(2) ? chance.below(3) : 0; n > 0; --n)
    query += cat(query.empty() ? "?" : "&", chance.one_of(kQueries));
  if (type == kTypes[4] && !chance.in(4)) query += cat(query.empty() ? "?" : "&", "fieldManager=m");
  Sent sent{.user = std::string(chance.one_of(kUsers)), .text = {}};
  std::string headers;
  if (chance.in(20)) {
    sent.is_valid = false;
    headers += chance.in(2) ? "Authorization: Bearer nobody\r\n" : "";
  } else {
    headers += cat("Authorization: Bearer ", sent.user, "\r\n");
  }
  if (chance.in(12)) {
    constexpr const char* kOthers[] = {
        "Impersonate-User: user-ann",
        "Impersonate-Group: system:masters",
        "Impersonate-User: user-bob\r\nImpersonate-Group: system:masters",
        "Impersonate-Uid: 1",
        "Impersonate-Extra-a: b",
        "impersonate-user: system:admin"};
    sent.is_valid = false;
    headers += cat(chance.one_of(kOthers), "\r\n");
  }
  if (chance.in(8)) headers += "X-HTTP-Method-Override: DELETE\r\n";
  if (chance.in(8)) headers += "X-Remote-User: system:admin\r\nX-Remote-Group: system:masters\r\n";
  sent.text = cat(method, " ", path, query, " HTTP/1.1\r\nHost: h\r\n", headers,
                  "Accept: ", chance.one_of(kAccepts), "\r\nContent-Type: ", type,
                  "\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  return sent;
}

// --- the check ----------------------------------------------------------------------------------

struct Seen {
  int status = 0;
  std::string text;
};

// Sends it as the HTTP server would: first the head, then the whole. Nothing: it is no request.
std::optional<Seen> converse(World& world, const std::string& text) {
  auto exchange = std::make_shared<Conversation>(world.loop());
  http::RequestParser parser;
  std::string body;
  std::string_view input = text;
  for (auto event = parser.next(input, exchange->request());
       event != http::RequestParser::Event::kEnd; event = parser.next(input, exchange->request())) {
    if (event == http::RequestParser::Event::kError ||
        event == http::RequestParser::Event::kNeedMore)
      return std::nullopt;
    if (event == http::RequestParser::Event::kBody) body += parser.body();
  }
  world.loop().post([&world, exchange, body = std::move(body)] {
    if (world.gateway().wants_body(exchange))
      exchange->request().body = body;
    else
      exchange->request().body_withheld = true;
    world.gateway().handle(exchange);
  });
  auto answered = exchange->answered.get_future();
  if (answered.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
    ADD_FAILURE() << "no answer to " << text;
    return std::nullopt;
  }
  // What a watch shows first comes in further turns of the loop; then its client leaves.
  for (int turn = 0; turn < 4; ++turn) {
    std::promise<void> passed;
    world.loop().post([&] {
      if (turn == 3 && exchange->leave) std::exchange(exchange->leave, nullptr)();
      passed.set_value();
    });
    passed.get_future().wait();
  }
  return Seen{exchange->status, exchange->shown + exchange->captured->text()};
}

Value parsed_or_null(const store::RecordPtr& record) {
  if (!record || record->deleted()) return Value();
  auto value = json::parse(record->value());
  return value ? std::move(*value) : Value();
}

TEST(MutatedRequests, NothingIsWrittenOrShownThatAFreshDecisionWouldRefuse) {
  const char* more = std::getenv("CARDEA_MUTATED_REQUESTS");
  const std::size_t count = more ? std::strtoull(more, nullptr, 10) : 20'000;
  World world;
  Chance chance(more ? std::random_device()() : 1);
  std::map<int, std::size_t> statuses;
  std::size_t written = 0, shown = 0;
  for (std::size_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    if (i % 200 == 0) {
      world.grants().clear();
      for (std::size_t n = 0; n < 1'000; ++n) {
        Grant g = random_grant(chance);
        world.grants().push_back(g);
        if (g.verb != "granular") continue;
        g.verb = "granular:labels";
        world.grants().push_back(std::move(g));
      }
    }
    const Sent sent = random_request(chance);
    const std::optional<Seen> seen = converse(world, sent.text);
    const Judge judge(world.grants(), sent.is_valid ? std::string_view(sent.user) : "nobody");
    if (seen) ++statuses[seen->status];
    for (const Thing& thing : world.things()) {
      if (!seen || !seen->text.contains(thing.word)) continue;
      ++shown;
      EXPECT_TRUE(judge.may_see(thing)) << sent.text << "\nshows " << thing.word << ":\n"
                                        << seen->text;
    }
    for (const store::EventPtr& change : world.take_changes()) {
      ++written;
      const auto place = world.place_of_key(change->record->key());
      ASSERT_TRUE(place) << sent.text << "\nwrote " << change->record->key();
      const std::string flaw = judge.flaw_of(*place, parsed_or_null(change->previous),
                                             parsed_or_null(change->record));
      EXPECT_EQ(flaw, "") << sent.text << "\nwithout permission: " << change->record->key()
                          << "\nstatus " << (seen ? seen->status : 0);
    }
  }
  // Requests that are all refused would prove little.
  EXPECT_GT(written, count / 100);
  EXPECT_GT(shown, count / 100);
  for (int status : {200, 201, 400, 401, 403, 404, 405, 409, 415, 422})
    EXPECT_GT(statuses[status], 0u) << "no request was answered with " << status;
  if (more) {
    for (const auto& [status, times] : statuses) std::printf("%d: %zu\n", status, times);
    std::printf("%zu requests, %zu changes, %zu objects shown\n", count, written, shown);
  }
}

}  // namespace
}  // namespace cardea::rest

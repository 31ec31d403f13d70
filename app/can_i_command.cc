#include "app/can_i_command.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "authz/webhook/kubeconfig.h"
#include "base/strings.h"
#include "http/client.h"
#include "http/url.h"
#include "json/parse.h"
#include "json/print.h"
#include "net/dialer.h"

namespace cardea::app {
namespace {

using json::Value;

constexpr char kUsage[] =
    "Usage:\n"
    "  cardea can-i VERB RESOURCE[.VERSION[.GROUP]][/SUBRESOURCE] [NAME] [flags]\n"
    "  cardea can-i VERB /PATH [flags]\n"
    "\n"
    "Prints `yes`, `no`, or `yes, if` with each condition; exits with 0, 1 or 3, and with 2 when it cannot ask.\n"
    "\n"
    "Flags:\n"
    "  -n, --namespace NAME   ask about this namespace (default: the whole cluster)\n"
    "      --as USER          ask in the name of another user\n"
    "      --as-group GROUP   and of this group (may be repeated)\n"
    "      --kubeconfig FILE  how to reach the server (default: $KUBECONFIG, else ~/.kube/config)\n"
    "      --context NAME     which of its contexts (default: the current one)\n"
    "  -q, --quiet            print nothing\n";

struct Options {
  std::vector<std::string> words;
  std::string space, user, kubeconfig, context;
  std::vector<std::string> groups;
  bool quiet = false, help = false;
};

std::string read_options(int argc, char** argv, Options& out) {
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i], value;
    if (!flag.starts_with('-')) {
      out.words.push_back(flag);
      continue;
    }
    if (flag == "-q" || flag == "--quiet") {
      out.quiet = true;
      continue;
    }
    if (flag == "-h" || flag == "--help") {
      out.help = true;
      continue;
    }
    if (auto equals = flag.find('='); equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      return cat("`", flag, "` needs a value");
    }
    if (flag == "-n" || flag == "--namespace") out.space = value;
    else if (flag == "--as") out.user = value;
    else if (flag == "--as-group") out.groups.push_back(value);
    else if (flag == "--kubeconfig") out.kubeconfig = value;
    else if (flag == "--context") out.context = value;
    else return cat("unknown flag `", flag, "`");
  }
  if (out.help) return "";
  if (out.words.size() < 2 || out.words.size() > 3) return "a verb and a resource are wanted";
  if (!out.groups.empty() && out.user.empty()) return "`--as-group` needs `--as`";
  return "";
}

std::string default_kubeconfig() {
  if (const char* path = std::getenv("KUBECONFIG"); path && *path) return path;
  const char* home = std::getenv("HOME");
  return cat(home ? home : "", "/.kube/config");
}

// Calls one server and waits.
class Server {
 public:
  static Result<std::unique_ptr<Server>> make(authz::Upstream upstream, const Options& options) {
    auto tls = net::TlsClient::make(upstream.tls);
    if (!tls) return fail(tls.error());
    return std::unique_ptr<Server>(new Server(std::move(upstream), *tls, options));
  }

  Result<Value> call(std::string method, const std::string& path, const Value* body = nullptr) {
    http::Call call{.method = std::move(method), .url = base_ + path, .timeout = std::chrono::seconds(30)};
    if (!upstream_.tls_server_name.empty())
      if (auto url = http::parse_url(upstream_.server); url && url->tls) {
        call.connect_host = url->host;
        call.connect_port = url->port;
        call.url = cat("https://", upstream_.tls_server_name, ":", url->port, path);
      }
    if (body) call.body = json::print(*body);
    call.headers.add("content-type", "application/json");
    call.headers.add("accept", "application/json");
    call.headers.add("user-agent", "cardea-can-i");
    if (!upstream_.token.empty()) call.headers.add("authorization", "Bearer " + upstream_.token);
    else if (!upstream_.username.empty()) call.headers.add("authorization", "Basic " + base64(cat(upstream_.username, ":", upstream_.password)));
    if (!options_.user.empty()) call.headers.add("impersonate-user", options_.user);
    for (const std::string& g : options_.groups) call.headers.add("impersonate-group", g);
    std::promise<Result<http::Answer>> promise;
    client_.send(std::move(call), [&promise](Result<http::Answer> a) { promise.set_value(std::move(a)); });
    Result<http::Answer> answer = promise.get_future().get();
    if (!answer) return fail(answer.error());
    auto document = json::parse(answer->body);
    if (answer->status >= 200 && answer->status < 300 && document) return document;
    std::string_view said = document ? (*document)["message"].as_string() : "";
    return fail(internal_error(cat("the server answered with status ", answer->status, said.empty() ? "" : ": ", said)));
  }

 private:
  Server(authz::Upstream upstream, std::shared_ptr<const net::TlsClient> tls, const Options& options)
      : upstream_(std::move(upstream)), options_(options), base_(upstream_.server), client_(loops_.at(0), dialer_, std::move(tls)) {
    while (base_.ends_with('/')) base_.pop_back();
  }

  authz::Upstream upstream_;
  const Options& options_;
  std::string base_;
  net::Loops loops_{1};
  net::Dialer dialer_;
  http::Client client_;
};

struct Target {
  std::string group, version, resource, subresource;
};

const Value* named(const Value& list, std::string_view name) {
  for (const Value& r : list["resources"].items())
    if (r["name"].as_string() == name || r["singularName"].as_string() == name) return &r;
  for (const Value& r : list["resources"].items())
    for (const Value& s : r["shortNames"].items())
      if (s.as_string() == name) return &r;
  return nullptr;
}

// Finds the version to ask about: conditions are about objects of one version.
Result<Target> find_target(Server& server, std::string_view word) {
  Target out;
  auto slash = word.find('/');
  if (slash != std::string_view::npos) out.subresource = word.substr(slash + 1);
  std::string_view name = word.substr(0, slash), group;
  auto dot = name.find('.');
  bool has_group = dot != std::string_view::npos;
  if (has_group) {
    group = name.substr(dot + 1);
    name = name.substr(0, dot);
  }
  out.resource = name;
  if (!has_group) {
    auto core = server.call("GET", "/api/v1");
    if (!core) return fail(core.error());
    if (const Value* r = named(*core, name)) return Target{"", "v1", std::string((*r)["name"].as_string()), out.subresource};
  }
  auto groups = server.call("GET", "/apis");
  if (!groups) return fail(groups.error());
  for (const Value& g : (*groups)["groups"].items()) {
    std::string_view group_name = g["name"].as_string();
    for (const Value& v : g["versions"].items()) {
      std::string_view version = v["version"].as_string();
      bool preferred = v["groupVersion"] == g["preferredVersion"]["groupVersion"];
      bool wanted = !has_group ? preferred : (group == group_name && preferred) || group == cat(version, ".", group_name);
      if (!wanted) continue;
      auto list = server.call("GET", cat("/apis/", v["groupVersion"].as_string()));
      if (!list) continue;
      if (const Value* r = named(*list, name)) return Target{std::string(group_name), std::string(version), std::string((*r)["name"].as_string()), out.subresource};
    }
  }
  return fail(bad_request(cat("the server has no resource `", word, "`")));
}

void print_conditions(const Value& set) {
  for (std::string_view effect : {"Deny", "NoOpinion", "Allow"})
    for (const Value& c : set["conditions"].items()) {
      if (c["effect"].as_string() != effect) continue;
      std::string_view word = effect == "Allow" ? "allowed if" : effect == "Deny" ? "denied if" : "left to others if";
      std::string text(c["condition"].as_string());
      std::printf("  %s %s\n", std::string(word).c_str(), text.empty() ? cat("`", c["id"].as_string(), "` holds").c_str() : text.c_str());
      std::printf("    %s: %s", std::string(set["authorizerName"].as_string()).c_str(), std::string(c["id"].as_string()).c_str());
      if (std::string_view d = c["description"].as_string(); !d.empty()) std::printf(": %s", std::string(d).c_str());
      std::printf("\n");
    }
}

bool can_allow(const Value& chain) {
  for (const Value& set : chain.items()) {
    if (set["allowed"].as_bool()) return true;
    for (const Value& c : set["conditions"].items())
      if (c["effect"].as_string() == "Allow") return true;
  }
  return false;
}

int show(const Value& status, bool quiet) {
  const Value& chain = status["conditionsChain"];
  bool allowed = status["allowed"].as_bool();
  bool perhaps = !allowed && can_allow(chain);
  if (!quiet) {
    std::puts(allowed ? "yes" : perhaps ? "yes, if" : "no");
    if (!allowed)
      for (const Value& set : chain.items()) {
        print_conditions(set);
        std::string name(set["authorizerName"].as_string());
        if (set["allowed"].as_bool()) std::printf("  else allowed by %s\n", name.c_str());
        if (set["denied"].as_bool()) std::printf("  else denied by %s\n", name.c_str());
      }
    if (std::string_view reason = status["reason"].as_string(); !allowed && !reason.empty()) std::printf("  %s\n", std::string(reason).c_str());
    if (std::string_view error = status["evaluationError"].as_string(); !error.empty()) std::fprintf(stderr, "warning: %s\n", std::string(error).c_str());
  }
  return allowed ? 0 : perhaps ? 3 : 1;
}

int cannot_ask(const std::string& why) {
  std::fprintf(stderr, "cardea can-i: %s\n", why.c_str());
  return 2;
}

}  // namespace

int can_i_command(int argc, char** argv) {
  Options options;
  if (std::string wrong = read_options(argc, argv, options); !wrong.empty()) {
    std::fprintf(stderr, "cardea can-i: %s\n%s", wrong.c_str(), kUsage);
    return 2;
  }
  if (options.help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  auto upstream = authz::read_kubeconfig(options.kubeconfig.empty() ? default_kubeconfig() : options.kubeconfig, options.context);
  if (!upstream) return cannot_ask(upstream.error().message);
  auto server = Server::make(std::move(*upstream), options);
  if (!server) return cannot_ask(server.error().message);
  Value spec = Value::object({{"conditionalAuthorization", Value::object({{"mode", "HumanReadable"}})}});
  if (options.words[1].starts_with('/')) {
    spec.set("nonResourceAttributes", Value::object({{"verb", options.words[0]}, {"path", options.words[1]}}));
  } else {
    auto target = find_target(**server, options.words[1]);
    if (!target) return cannot_ask(target.error().message);
    Value attributes = Value::object({{"verb", options.words[0]}, {"group", target->group}, {"version", target->version}, {"resource", target->resource}});
    if (!target->subresource.empty()) attributes.set("subresource", target->subresource);
    if (!options.space.empty()) attributes.set("namespace", options.space);
    if (options.words.size() == 3) attributes.set("name", options.words[2]);
    spec.set("resourceAttributes", std::move(attributes));
  }
  Value review = Value::object({{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SelfSubjectAccessReview"}, {"spec", std::move(spec)}});
  auto answer = (*server)->call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review);
  if (!answer) return cannot_ask(answer.error().message);
  return show((*answer)["status"], options.quiet);
}

}  // namespace cardea::app

#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "json/value.h"
#include "net/dialer.h"
#include "upstream/kubeconfig.h"

namespace cardea::app {

class CommandLine;

// The server that a command calls, and the credentials for it.
struct ServerChoice {
  std::string kubeconfig;  // empty: $KUBECONFIG, else ~/.kube/config
  std::string context;     // empty: the current one
  std::string user;        // the user to impersonate; empty: none
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::string> extra;  // KEY=VALUE
};

// Declares the flags that name the server of a command.
void declare_server(CommandLine& line, ServerChoice& choice);
// And those that name the user for whom it is asked.
void declare_user(CommandLine& line, ServerChoice& choice);
// What is wrong with these flags together; empty when nothing is.
std::string problem_of(const ServerChoice& choice);

// Calls one server and waits for its answers. For commands: one thread, one question after the
// other.
class KubeClient {
 public:
  static Result<std::unique_ptr<KubeClient>> make(const ServerChoice& choice);

  // Anything but a document with a status of 200 to 299 is an error with the server's message.
  Result<json::Value> call(std::string method, const std::string& path,
                           const json::Value* body = nullptr);

  // Hands the bytes of an answer to `take` as they come, however many; an error of `take` ends the
  // call. The answer was whole when this returns without an error.
  using Take = std::function<Result<void>(std::string_view)>;
  Result<void> download(std::string method, const std::string& path, Take take);

  // The same with a review: the document that the server answers.
  Result<json::Value> review(std::string_view group_version, std::string_view kind,
                             json::Value spec);

  // The namespace of the context, as kubectl uses it.
  std::string_view space() const {
    if (upstream_.space.empty()) return "default";
    return upstream_.space;
  }

 private:
  http::Call make_call(std::string method, const std::string& path) const;
  KubeClient(upstream::Endpoint upstream, std::shared_ptr<const net::TlsClient> tls,
             std::unique_ptr<net::Dialer> dialer, const ServerChoice& choice);

  upstream::Endpoint upstream_;
  http::Headers for_user_;  // impersonation
  std::string base_;
  net::Loops loops_{1};
  const std::unique_ptr<net::Dialer> dialer_;
  http::Client client_;
};

// One resource of a server, in one version.
struct Target {
  std::string group, version, resource, subresource, kind;
  bool namespaced = true;
};

// The resource that `deployments`, `deploy.apps`, `widgets.v1.example.com` or `pods/status`
// names on a server, in the preferred version unless the name has one. Names are plural,
// singular or short.
Result<Target> find_target(KubeClient& server, std::string_view word);

}  // namespace cardea::app

#include "app/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace cardea::app {

std::variant<ServeOptions, int> parse_serve_options(int argc, char** argv) {
  ServeOptions o;
  CLI::App app("Runs a Kubernetes-compatible API server.", "cardea serve");
  app.set_help_flag("-h,--help", "show this and exit");
  app.add_option("--data-dir", o.data_dir, "where objects, certificates and admin.kubeconfig are kept")->capture_default_str();
  app.add_option("--bind-address", o.bind_address, "the address to listen on")->capture_default_str();
  app.add_option("--secure-port", o.secure_port, "the port to serve HTTPS on")->capture_default_str();
  app.add_option("--tls-cert-file", o.tls_cert_file, "the server's certificate (PEM); made when absent");
  app.add_option("--tls-private-key-file", o.tls_private_key_file, "the key of --tls-cert-file");
  app.add_option("--client-ca-file", o.client_ca_file, "who may sign client certificates (PEM), beside the data directory's own CA");
  app.add_option("--token-auth-file", o.token_auth_file, "static tokens: lines of token,user,uid,\"group,group\"");
  app.add_option("--authorization-mode", o.authorization_modes, "authorizers in order")->delimiter(',')->capture_default_str();
  app.add_option("--enable-admission-plugins", o.enable_admission_plugins, "plugins beside the default ones")->delimiter(',');
  app.add_option("--disable-admission-plugins", o.disable_admission_plugins, "default plugins to leave out")->delimiter(',');
  app.add_option("--controllers", o.controllers, "built-in controllers to run; * for all, -name to leave one out, empty for none")->delimiter(',')->expected(0, -1);
  app.add_option("--service-cluster-ip-range", o.service_cluster_ip_range, "where cluster IPs come from")->capture_default_str();
  app.add_option("--service-node-port-range", o.service_node_port_range, "where node ports come from")->capture_default_str();
  app.add_option("--allow-privileged", o.allow_privileged, "whether privileged containers are admitted")->capture_default_str();
  app.add_option("--anonymous-auth", o.anonymous_auth, "whether requests without credentials are system:anonymous")->capture_default_str();
  app.add_option("--v", o.verbosity, "how much to log")->capture_default_str();
  app.add_option("--insecure-bench-port", o.insecure_bench_port, "serve plain HTTP on loopback, for benchmarks");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "cardea serve: %s\n", e.what());
    return 2;
  }
  return o;
}

}  // namespace cardea::app

#include <future>

#include "base/protobuf.h"
#include "base/strings.h"
#include "http/client.h"
#include "net/unix_dialer.h"
#include "rest/at_rest/kms_service.h"
#include "store/etcd/channel.h"

namespace cardea::rest {
namespace {

using Annotations = KmsService::Annotations;

constexpr std::string_view kScheme = "unix://";
constexpr std::size_t kLargestMessage = 1u << 20;
enum GrpcStatus { kOk = 0, kDeadlineExceeded = 4, kAborted = 10, kUnavailable = 14 };

Error unavailable(std::string_view why) {
  return Error::of(Reason::kServiceUnavailable, std::string(why));
}

void put_annotations(ProtobufMessage& out, int field, const Annotations& annotations) {
  for (const auto& [name, value] : annotations) {
    ProtobufMessage entry;
    entry.text(1, name);
    entry.text(2, value);
    out.message(field, entry);
  }
}

bool read_annotation(std::string_view entry, Annotations& out) {
  std::string_view name, value;
  ProtobufFields in(entry);
  while (in.next()) {
    if (in.field() == 1) name = in.bytes();
    if (in.field() == 2) value = in.bytes();
  }
  out.insert_or_assign(std::string(name), std::string(value));
  return !in.malformed();
}

// The message of an answer, or why there is none.
Result<std::string> message_of(const http::Answer& answer) {
  if (answer.status != 200) return fail(unavailable(cat("HTTP status ", answer.status)));
  // An error without a message comes as a head alone.
  const http::Headers& from = answer.trailers.has("grpc-status") ? answer.trailers : answer.headers;
  const auto code = parse_int(from.get("grpc-status"));
  if (!code) return fail(unavailable("an answer without a gRPC status"));
  if (*code != kOk) {
    const std::string_view said = from.get("grpc-message");
    const std::string text = cat(percent_decode(said).value_or(std::string(said)), " (gRPC status ",
                                 *code, ")");
    const bool may_pass = *code == kUnavailable || *code == kDeadlineExceeded || *code == kAborted;
    return fail(may_pass ? unavailable(text) : bad_request(text));
  }
  store::etcd::Frames frames(kLargestMessage);
  frames.add(answer.body);
  std::string_view message;
  if (!frames.next(message)) return fail(unavailable("an answer without a message"));
  return std::string(message);
}

class KmsClient final : public KmsService {
 public:
  KmsClient(std::string path, std::chrono::milliseconds timeout)
      : timeout_(timeout),
        dialer_(std::move(path)),
        client_(loops_.at(0), dialer_, nullptr, options(timeout)) {}

  Result<Status> status() override {
    auto message = call("Status", {});
    if (!message) return fail(message.error());
    Status out;
    ProtobufFields in(*message);
    while (in.next()) {
      if (in.field() == 1) out.version = in.bytes();
      if (in.field() == 2) out.health = in.bytes();
      if (in.field() == 3) out.key_id = in.bytes();
    }
    if (in.malformed()) return fail(unavailable("a malformed answer"));
    return out;
  }

  Result<Encrypted> encrypt(std::string_view plaintext, std::string_view uid) override {
    ProtobufMessage request;
    request.text(1, plaintext);
    request.text(2, uid);
    auto message = call("Encrypt", std::move(request));
    if (!message) return fail(message.error());
    Encrypted out;
    bool is_good = true;
    ProtobufFields in(*message);
    while (in.next()) {
      if (in.field() == 1) out.ciphertext = in.bytes();
      if (in.field() == 2) out.key_id = in.bytes();
      if (in.field() == 3) is_good &= read_annotation(in.bytes(), out.annotations);
    }
    if (in.malformed() || !is_good) return fail(unavailable("a malformed answer"));
    return out;
  }

  Result<std::string> decrypt(const Encrypted& encrypted, std::string_view uid) override {
    ProtobufMessage request;
    request.text(1, encrypted.ciphertext);
    request.text(2, uid);
    request.text(3, encrypted.key_id);
    put_annotations(request, 4, encrypted.annotations);
    auto message = call("Decrypt", std::move(request));
    if (!message) return fail(message.error());
    std::string out;
    ProtobufFields in(*message);
    while (in.next())
      if (in.field() == 1) out = in.bytes();
    if (in.malformed()) return fail(unavailable("a malformed answer"));
    return out;
  }

 private:
  static http::ClientOptions options(std::chrono::milliseconds timeout) {
    return {.max_body = kLargestMessage + 64,
            .max_shared = 1,
            .connect_timeout = timeout,
            .plain_http2 = true};
  }

  Result<std::string> call(std::string_view method, ProtobufMessage request) {
    http::Call call{.method = "POST",
                    .url = cat("http://localhost/v2.KeyManagementService/", method),
                    .headers = {{"content-type", "application/grpc"},
                                {"te", "trailers"},
                                {"user-agent", "cardea"},
                                {"grpc-timeout", cat(timeout_.count(), "m")}},
                    .body = store::etcd::framed(std::move(request).take()),
                    .timeout = timeout_,
                    .may_repeat = true,
                    .connect_host = {}};
    std::promise<Result<http::Answer>> promise;
    client_.send(std::move(call),
                 [&promise](Result<http::Answer> answer) { promise.set_value(std::move(answer)); });
    Result<http::Answer> answer = promise.get_future().get();
    if (!answer) return fail(unavailable(answer.error().message));
    return message_of(*answer);
  }

  const std::chrono::milliseconds timeout_;
  net::UnixDialer dialer_;
  net::Loops loops_{1};
  http::Client client_;
};

}  // namespace

Result<std::unique_ptr<KmsService>> make_kms_client(std::string_view endpoint,
                                                    std::chrono::milliseconds timeout) {
  std::string_view path = endpoint.starts_with(kScheme) ? endpoint.substr(kScheme.size()) : "";
  // "unix:///@name" is a name in the abstract namespace.
  if (path.starts_with("/@")) path.remove_prefix(1);
  if (path.size() < 2 || !(path.starts_with('/') || path.starts_with('@')))
    return fail(bad_request(cat("`", endpoint,
                                "` is not the URL of a socket such as "
                                "unix:///run/kms.sock")));
  return std::make_unique<KmsClient>(std::string(path), timeout);
}

}  // namespace cardea::rest

#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "http/exchange.h"

struct z_stream_s;

namespace cardea::http {

// Compresses bytes into the format of gzip, as fast as it can rather than as small as it can. No
// I/O.
class Gzip {
 public:
  Gzip();
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  // Appends to `out` what is ready; it may be nothing before `finish`.
  void add(std::string_view bytes, std::string& out);
  void finish(std::string& out);

 private:
  void run(int flush, std::string& out);
  std::unique_ptr<z_stream_s> stream_;
};

// Is an answer of this size worth compressing for a client that sent these headers? The rule is
// kube-apiserver's: more than 128 KiB, and the word `gzip` without a weight in Accept-Encoding.
bool wants_gzip(const Headers& request, std::size_t size);

// Answers an exchange with the compressed body. A large body is compressed in parts, one for each
// turn of the loop and only as fast as the client reads, so that others do not wait. Any thread.
void respond_compressed(Exchange& exchange, Response response);

}  // namespace cardea::http

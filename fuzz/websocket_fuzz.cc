// rooms: http
// Feeds the reader of WebSocket frames, as a server and as a client. However the bytes are cut into
// portions, messages, control frames and errors must come out the same, and nothing may be held
// beyond a control frame.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/websocket.h"

namespace {

using cardea::http::FrameReader;

std::string outcome(std::string_view bytes, std::size_t portion, FrameReader::Peer peer) {
  constexpr std::uint64_t kMost = 10'000;
  FrameReader reader(peer, kMost);
  std::string seen;
  std::uint64_t size = 0;
  while (!bytes.empty()) {
    // A copy of exactly this size, so that a read beyond it is noticed.
    const std::string fresh(bytes.substr(0, portion));
    bytes.remove_prefix(fresh.size());
    std::string_view input = fresh;
    for (bool more = true; more;) {
      switch (reader.next(input)) {
        case FrameReader::Event::kNeedMore:
          if (!input.empty()) std::abort();
          more = false;
          break;
        case FrameReader::Event::kData:
          if (reader.payload().size() > fresh.size()) std::abort();
          seen += reader.payload();
          size += reader.payload().size();
          if (size > kMost) std::abort();
          if (!reader.is_last()) break;
          seen += reader.is_text() ? "[text]" : "[binary]";
          size = 0;
          break;
        case FrameReader::Event::kPing:
        case FrameReader::Event::kPong:
        case FrameReader::Event::kClose:
          if (reader.payload().size() > 125) std::abort();
          seen.append("[control]").append(reader.payload());
          break;
        case FrameReader::Event::kError:
          return seen + std::to_string(static_cast<int>(reader.close_code()));
      }
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto peer : {FrameReader::Peer::kClient, FrameReader::Peer::kServer}) {
    const std::string whole = outcome(bytes, size + 1, peer);
    if (outcome(bytes, 1, peer) != whole || outcome(bytes, 5, peer) != whole) std::abort();
  }
  return 0;
}

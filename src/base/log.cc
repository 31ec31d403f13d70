#include "base/log.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/strings.h"

namespace cardea {
namespace {

constexpr std::string_view kNames[] = {"error", "warning", "info", "debug", "debug"};

// `text` on one line: each control character, and each byte beyond ASCII of a text that is no
// UTF-8, by its number in the form that `number` prints. JSON also escapes quotes.
std::string escaped(std::string_view text, const char* number, bool escapes_quotes) {
  const bool is_utf8 = is_valid_utf8(text);
  std::string out;
  char buffer[8];
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f || (byte > 0x7f && !is_utf8)) {
      std::snprintf(buffer, sizeof buffer, number, byte);
      out += buffer;
    } else {
      if (escapes_quotes && (c == '"' || c == '\\')) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string json_string(std::string_view text) {
  return cat("\"", escaped(text, "\\u%04x", true), "\"");
}

std::string text_line(std::string_view time, std::string_view level, std::string_view message,
                      const Log::Fields& fields) {
  std::string line = cat(time, " ", level, " ", escaped(message, "\\x%02x", false));
  for (const Log::Field& f : fields)
    line += cat(" ", escaped(f.key, "\\x%02x", false), "=", quoted(f.value));
  return line;
}

std::string json_line(std::string_view time, std::string_view level, std::string_view message,
                      const Log::Fields& fields) {
  std::string line = cat(R"({"time":")", time, R"(","level":")", level, R"(","message":)",
                         json_string(message));
  for (const Log::Field& f : fields)
    line += cat(",", json_string(f.key), ":", json_string(f.value));
  return line + "}";
}

}  // namespace

void Log::write(LogLevel level, std::string_view message, const Fields& fields) const {
  if (!has(level)) return;
  std::string time = rfc3339_micro(clock_.now());
  std::string_view name = kNames[static_cast<std::size_t>(level)];
  std::string line = format_ == LogFormat::kJson ? json_line(time, name, message, fields)
                                                 : text_line(time, name, message, fields);
  line += '\n';
  // A log that cannot be written stops nothing.
  while (::write(to_, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

std::function<void(const std::string&)> Log::lines(LogLevel level) const {
  if (!has(level)) return nullptr;
  return [this, level](const std::string& line) { write(level, line); };
}

}  // namespace cardea

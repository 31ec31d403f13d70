#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cardea {

// Concatenates text and integers.
template <typename... Parts>
std::string cat(const Parts&... parts) {
  auto size = [](const auto& part) -> std::size_t {
    if constexpr (std::is_integral_v<std::decay_t<decltype(part)>>)
      return sizeof part * 3;  // enough digits, and more than a char needs
    else
      return std::string_view(part).size();
  };
  std::string out;
  out.reserve((size(parts) + ... + 0));
  auto add = [&out](const auto& part) {
    using P = std::decay_t<decltype(part)>;
    if constexpr (std::is_same_v<P, char>)
      out.push_back(part);
    else if constexpr (std::is_integral_v<P>)
      out += std::to_string(part);
    else
      out += std::string_view(part);
  };
  (add(parts), ...);
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator);  // "" gives one empty
                                                                             // part
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);  // ASCII white space
std::string lower(std::string_view text);      // ASCII
bool equals_ignoring_case(std::string_view a, std::string_view b);
bool is_valid_utf8(std::string_view text);
std::optional<std::int64_t> parse_int(std::string_view text);  // the whole text, decimal

// Text as Go's %q prints it: in double quotes, with \n, \", \\ and \u escapes.
std::string quoted(std::string_view text);

// A float as Go's %v prints it: 0.5, 100000, 1e+06.
std::string go_float(double number);

std::optional<std::string> percent_decode(std::string_view text);  // nullopt on a bad escape

std::string base64(std::string_view bytes);
std::optional<std::string> base64_decode(std::string_view text);  // standard alphabet, padded
std::string base64_url(std::string_view bytes);  // RFC 4648 section 5, without padding
std::optional<std::string> base64_url_decode(std::string_view text);  // the same; left-over bits
                                                                      // must be zero

// A hash for string-keyed maps that also finds by string_view.
struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

}  // namespace cardea

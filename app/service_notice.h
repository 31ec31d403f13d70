#pragma once
#include <string_view>

namespace cardea::app {

// Tells the program that started the server (systemd with `Type=notify`, or one that speaks its
// protocol) how far the server is: one datagram with `state`, such as "READY=1", to the socket that
// $NOTIFY_SOCKET names: a path, or an abstract name that begins with `@`.
//
// Returns whether the datagram was sent. Without the variable nothing is sent, and a socket that is
// gone is no reason to stop serving. Call it from any thread.
bool notify_starter(std::string_view state);

}  // namespace cardea::app

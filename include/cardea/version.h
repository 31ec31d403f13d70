#pragma once

// The version of the release that this copy of libcardea comes from.
#define CARDEA_VERSION_MAJOR 0
#define CARDEA_VERSION_MINOR 1
#define CARDEA_VERSION_PATCH 0
#define CARDEA_VERSION "0.1.0"

// The number of this interface. Everything in the namespace cardea::v1 and everything that c.h
// declares keeps its name, its meaning and its binary form as long as the number stays; additions
// do not change it. It is the number in the name of the shared library: libcardea.so.1.
#define CARDEA_INTERFACE 1

// What libcardea.so shows to the outside.
#define CARDEA_EXPORT __attribute__((visibility("default")))

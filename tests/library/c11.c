/* The C interface from C: what cardea/c.h promises must be true for a C compiler too. */
#include <cardea/c.h>
#include <stdio.h>

static const char* const kPolicies =
    "apiVersion: access.cardea.dev/v1alpha1\n"
    "kind: ClusterAccessPolicy\n"
    "metadata: {name: jane}\n"
    "spec: {effect: Allow, subjects: [{kind: User, name: jane}]}\n";

static int may(const cardea_engine* engine, const char* user) {
  cardea_request* request = cardea_request_new();
  cardea_decision* decision;
  int allowed;
  cardea_request_set(request, CARDEA_USER, user);
  cardea_request_set(request, CARDEA_VERB, "get");
  cardea_request_set(request, CARDEA_RESOURCE, "pods");
  decision = cardea_engine_ask(engine, request, 0);
  allowed = cardea_decision_allowed(decision);
  cardea_decision_free(decision);
  cardea_request_free(request);
  return allowed;
}

int main(void) {
  char* error = NULL;
  cardea_engine* engine = cardea_engine_new(0, NULL);
  if (cardea_engine_load(engine, kPolicies, &error) != 1) {
    fprintf(stderr, "%s\n", error);
    cardea_string_free(error);
    return 1;
  }
  printf("jane %s, joe %s\n", may(engine, "jane") ? "may" : "may not",
         may(engine, "joe") ? "may" : "may not");
  cardea_engine_free(engine);
  return 0;
}

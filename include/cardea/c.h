#ifndef CARDEA_C_H
#define CARDEA_C_H

/* libcardea for C, and for languages that can call C. engine.h, decision.h, fields.h and cel.h say
 * what the functions mean; this page says who owns what.
 *
 * Texts are UTF-8 and end with a zero byte. A text that is given is borrowed for the call. A text
 * that is returned as `const char*` is borrowed too: it lives as long as the handle it was asked
 * of, unchanged. A text that is returned as `char*`, or through a `char**`, belongs to the caller,
 * who frees it with cardea_string_free.
 *
 * Handles are freed by the function of their name, which takes NULL too. A handle that is given as
 * `const` may be used by several threads at once, and so may an engine.
 *
 * What can fail takes `char** error`, which may be NULL. On failure it gets a message that belongs
 * to the caller; on success it gets NULL. A NULL where a handle or text is needed is an error like
 * any other, never a crash and never an allow. No exception leaves these functions.
 */

#include <stddef.h>
#include <stdint.h>

#include "cardea/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cardea_engine cardea_engine;
typedef struct cardea_request cardea_request;
typedef struct cardea_change cardea_change;
typedef struct cardea_decision cardea_decision;
typedef struct cardea_judgement cardea_judgement;
typedef struct cardea_program cardea_program;
typedef struct cardea_bindings cardea_bindings;
typedef struct cardea_residual cardea_residual;

/* The version of the library that runs, "0.1.0"; lives forever. */
CARDEA_EXPORT const char* cardea_version(void);
CARDEA_EXPORT void cardea_string_free(char* text);

/* --- the engine ---------------------------------------------------------------------------- */

/* NULL when memory ran out. `masters` other than 0: the group system:masters may do everything.
 * `master_namespace` NULL: "master". */
CARDEA_EXPORT cardea_engine* cardea_engine_new(int masters, const char* master_namespace);
CARDEA_EXPORT void cardea_engine_free(cardea_engine* engine);

/* The number of documents that were taken, or removed; -1 on failure: then nothing changed. */
CARDEA_EXPORT long cardea_engine_load(cardea_engine* engine, const char* documents, char** error);
CARDEA_EXPORT long cardea_engine_remove(cardea_engine* engine, const char* documents, char** error);

/* --- questions ----------------------------------------------------------------------------- */

/* A field that is not set is empty, the version "v1". */
enum cardea_request_field {
  CARDEA_USER = 0,
  CARDEA_UID = 1,
  CARDEA_VERB = 2,
  CARDEA_GROUP = 3,
  CARDEA_API_VERSION = 4,
  CARDEA_RESOURCE = 5,
  CARDEA_SUBRESOURCE = 6,
  CARDEA_NAMESPACE = 7,
  CARDEA_NAME = 8,
  CARDEA_FIELD_SELECTOR = 9,
  CARDEA_LABEL_SELECTOR = 10,
  CARDEA_PATH = 11
};
CARDEA_EXPORT cardea_request* cardea_request_new(void);
CARDEA_EXPORT void cardea_request_free(cardea_request* request);
/* 1, or 0 when there is no such field or something is NULL. */
CARDEA_EXPORT int cardea_request_set(cardea_request* request, int field, const char* value);
CARDEA_EXPORT int cardea_request_add_group(cardea_request* request, const char* group);
CARDEA_EXPORT int cardea_request_add_extra(cardea_request* request, const char* key,
                                           const char* value);

/* What is about to happen to an object; texts are JSON or YAML. */
enum cardea_change_field {
  CARDEA_OPERATION = 0,
  CARDEA_OBJECT = 1,
  CARDEA_OLD_OBJECT = 2,
  CARDEA_OPTIONS = 3,
  CARDEA_NAMESPACE_OBJECT = 4
};
CARDEA_EXPORT cardea_change* cardea_change_new(void);
CARDEA_EXPORT void cardea_change_free(cardea_change* change);
CARDEA_EXPORT int cardea_change_set(cardea_change* change, int field, const char* value);
CARDEA_EXPORT int cardea_change_set_dry_run(cardea_change* change, int dry_run);

/* --- decisions ----------------------------------------------------------------------------- */

enum cardea_outcome {
  CARDEA_DENY = 0,
  CARDEA_ALLOW = 1,
  CARDEA_NO_OPINION = 2,
  CARDEA_CONDITIONAL = 3
};

/* The decision belongs to the caller. NULL only when memory ran out. `conditions` 0: a conditional
 * answer is folded, for callers who have no object. Whatever is wrong with the question is told by
 * cardea_decision_error. */
CARDEA_EXPORT cardea_decision* cardea_engine_ask(const cardea_engine* engine,
                                                 const cardea_request* request, int conditions);
/* The second phase, as a decision of its own. Without a change it is failed closed. */
CARDEA_EXPORT cardea_decision* cardea_decision_settle(const cardea_decision* decision,
                                                      const cardea_change* change);
CARDEA_EXPORT void cardea_decision_free(cardea_decision* decision);

/* NULL denies. */
CARDEA_EXPORT int cardea_decision_outcome(const cardea_decision* decision);
CARDEA_EXPORT int cardea_decision_allowed(const cardea_decision* decision); /* 1 or 0 */
CARDEA_EXPORT const char* cardea_decision_reason(const cardea_decision* decision);
CARDEA_EXPORT const char* cardea_decision_error(const cardea_decision* decision); /* "": none */

enum cardea_condition_field {
  CARDEA_CONDITION_AUTHORIZER = 0,
  CARDEA_CONDITION_ID = 1,
  CARDEA_CONDITION_EFFECT = 2, /* "Allow", "Deny", "NoOpinion" */
  CARDEA_CONDITION_TYPE = 3,
  CARDEA_CONDITION_EXPRESSION = 4,
  CARDEA_CONDITION_DESCRIPTION = 5
};
CARDEA_EXPORT size_t cardea_decision_condition_count(const cardea_decision* decision);
/* NULL when there is no such condition or field. */
CARDEA_EXPORT const char* cardea_decision_condition(const cardea_decision* decision, size_t index,
                                                    int field);

/* Why a request is decided as it is, in lines for a person; NULL on failure. */
CARDEA_EXPORT char* cardea_engine_explain(const cardea_engine* engine,
                                          const cardea_request* request, char** error);

/* --- field permissions --------------------------------------------------------------------- */

/* What a change takes, as JSON: [{"field", "coveredBy": [], "needed": [], "unnamed"}]. */
CARDEA_EXPORT char* cardea_engine_field_demands(const cardea_engine* engine,
                                                const cardea_request* request,
                                                const cardea_change* change, char** error);
/* Whether the user may make it. NULL on failure, which is no permission. */
CARDEA_EXPORT cardea_judgement* cardea_engine_judge_fields(const cardea_engine* engine,
                                                           const cardea_request* request,
                                                           const cardea_change* change,
                                                           char** error);
CARDEA_EXPORT void cardea_judgement_free(cardea_judgement* judgement);
CARDEA_EXPORT int cardea_judgement_allowed(const cardea_judgement* judgement); /* NULL: 0 */
CARDEA_EXPORT const char* cardea_judgement_reason(const cardea_judgement* judgement);
CARDEA_EXPORT const char* cardea_judgement_field(const cardea_judgement* judgement);
CARDEA_EXPORT const char* cardea_judgement_missing_verb(const cardea_judgement* judgement);

/* --- CEL ----------------------------------------------------------------------------------- */

#define CARDEA_USUAL_COST_LIMIT UINT64_C(1000000)

/* `variables`: "name type" texts, "object dyn", in an array of `count`; "name" alone is of type
 * dyn. NULL on failure. */
CARDEA_EXPORT cardea_program* cardea_program_compile(const char* expression,
                                                     const char* const* variables, size_t count,
                                                     char** error);
CARDEA_EXPORT void cardea_program_free(cardea_program* program);
CARDEA_EXPORT const char* cardea_program_type(const cardea_program* program);

CARDEA_EXPORT cardea_bindings* cardea_bindings_new(void);
CARDEA_EXPORT void cardea_bindings_free(cardea_bindings* bindings);
CARDEA_EXPORT int cardea_bindings_set(cardea_bindings* bindings, const char* variable,
                                      const char* json);

/* The value as CEL; NULL on failure. `bindings` NULL: none. `cost` may be NULL. */
CARDEA_EXPORT char* cardea_program_evaluate(const cardea_program* program,
                                            const cardea_bindings* bindings, uint64_t cost_limit,
                                            uint64_t* cost, char** error);
/* What is left while `unknown` is not known; NULL on failure. */
CARDEA_EXPORT cardea_residual* cardea_program_partially_evaluate(const cardea_program* program,
                                                                 const cardea_bindings* bindings,
                                                                 const char* const* unknown,
                                                                 size_t unknown_count,
                                                                 uint64_t cost_limit, char** error);
CARDEA_EXPORT void cardea_residual_free(cardea_residual* residual);
CARDEA_EXPORT int cardea_residual_is_value(const cardea_residual* residual);
CARDEA_EXPORT const char* cardea_residual_text(const cardea_residual* residual);
CARDEA_EXPORT char* cardea_residual_evaluate(const cardea_residual* residual,
                                             const cardea_bindings* bindings, uint64_t cost_limit,
                                             uint64_t* cost, char** error);

#ifdef __cplusplus
}
#endif

#endif

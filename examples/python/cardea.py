"""libcardea for Python: a thin layer of ctypes over its C interface (cardea/c.h).

    engine = Engine()
    engine.load(open("policies.yaml").read())
    decision = engine.ask(user="jane", verb="create", resource="persistentvolumeclaims", namespace="shop")
    decision = decision.settle(object=json.dumps(claim))

An error is an exception, or a decision that does not allow; it is never an allow.
"""
import ctypes
import ctypes.util
import os

_FIELDS = ["user", "uid", "verb", "group", "version", "resource", "subresource", "namespace", "name",
           "field_selector", "label_selector", "path"]
_CHANGE = ["operation", "object", "old_object", "options", "namespace_object"]
_CONDITION = ["authorizer", "id", "effect", "type", "expression", "description"]
OUTCOMES = ["Deny", "Allow", "NoOpinion", "Conditional"]
COST_LIMIT = 1_000_000

_text, _handle, _owned = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p


def _load_library():
    library = ctypes.CDLL(os.environ.get("CARDEA_LIBRARY") or ctypes.util.find_library("cardea") or "libcardea.so.1")
    error = ctypes.POINTER(_owned)
    texts = ctypes.POINTER(_text)
    for name, result, arguments in [
        ("cardea_string_free", None, [_owned]),
        ("cardea_engine_new", _handle, [ctypes.c_int, _text]),
        ("cardea_engine_free", None, [_handle]),
        ("cardea_engine_load", ctypes.c_long, [_handle, _text, error]),
        ("cardea_engine_remove", ctypes.c_long, [_handle, _text, error]),
        ("cardea_engine_ask", _handle, [_handle, _handle, ctypes.c_int]),
        ("cardea_engine_explain", _owned, [_handle, _handle, error]),
        ("cardea_engine_judge_fields", _handle, [_handle, _handle, _handle, error]),
        ("cardea_request_new", _handle, []),
        ("cardea_request_free", None, [_handle]),
        ("cardea_request_set", ctypes.c_int, [_handle, ctypes.c_int, _text]),
        ("cardea_request_add_group", ctypes.c_int, [_handle, _text]),
        ("cardea_request_add_extra", ctypes.c_int, [_handle, _text, _text]),
        ("cardea_change_new", _handle, []),
        ("cardea_change_free", None, [_handle]),
        ("cardea_change_set", ctypes.c_int, [_handle, ctypes.c_int, _text]),
        ("cardea_decision_free", None, [_handle]),
        ("cardea_decision_settle", _handle, [_handle, _handle]),
        ("cardea_decision_outcome", ctypes.c_int, [_handle]),
        ("cardea_decision_reason", _text, [_handle]),
        ("cardea_decision_error", _text, [_handle]),
        ("cardea_decision_condition_count", ctypes.c_size_t, [_handle]),
        ("cardea_decision_condition", _text, [_handle, ctypes.c_size_t, ctypes.c_int]),
        ("cardea_judgement_free", None, [_handle]),
        ("cardea_judgement_allowed", ctypes.c_int, [_handle]),
        ("cardea_judgement_reason", _text, [_handle]),
        ("cardea_program_compile", _handle, [_text, texts, ctypes.c_size_t, error]),
        ("cardea_program_free", None, [_handle]),
        ("cardea_program_evaluate", _owned, [_handle, _handle, ctypes.c_uint64, _handle, error]),
        ("cardea_program_partially_evaluate", _handle,
         [_handle, _handle, texts, ctypes.c_size_t, ctypes.c_uint64, error]),
        ("cardea_bindings_new", _handle, []),
        ("cardea_bindings_free", None, [_handle]),
        ("cardea_bindings_set", ctypes.c_int, [_handle, _text, _text]),
        ("cardea_residual_free", None, [_handle]),
        ("cardea_residual_text", _text, [_handle]),
    ]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_c = _load_library()


class Error(Exception):
    """What the library could not do."""


def _taken(owned):
    """The text of the library's that belongs to us now."""
    try:
        return ctypes.cast(owned, _text).value.decode()
    finally:
        _c.cardea_string_free(owned)


def _call(function, *arguments):
    """Calls what can fail; its failure is an exception."""
    error = _owned()
    result = function(*arguments, ctypes.byref(error))
    if error.value:
        raise Error(_taken(error.value))
    return result


class _Handle:
    """Owns what the library gave. Passed as it is, so that it lives as long as the call."""

    def __init__(self, pointer, free):
        self._as_parameter_, self._free = pointer, free

    def __del__(self):
        self._free(self)


def _texts(items):
    return (_text * len(items))(*[i.encode() for i in items])


def _request(groups=(), extra=None, **fields):
    request = _Handle(_c.cardea_request_new(), _c.cardea_request_free)
    for name, value in fields.items():
        if name not in _FIELDS:
            raise TypeError(f"a request has no {name}")
        _c.cardea_request_set(request, _FIELDS.index(name), value.encode())
    for group in groups:
        _c.cardea_request_add_group(request, group.encode())
    for key, values in (extra or {}).items():
        for value in values:
            _c.cardea_request_add_extra(request, key.encode(), value.encode())
    return request


def _change(**fields):
    change = _Handle(_c.cardea_change_new(), _c.cardea_change_free)
    for name, value in fields.items():
        if name not in _CHANGE:
            raise TypeError(f"a change has no {name}")
        _c.cardea_change_set(change, _CHANGE.index(name), value.encode())
    return change


class Decision:
    def __init__(self, pointer):
        self._handle = _Handle(pointer, _c.cardea_decision_free)

    outcome = property(lambda self: OUTCOMES[_c.cardea_decision_outcome(self._handle)])
    allowed = property(lambda self: self.outcome == "Allow")
    reason = property(lambda self: _c.cardea_decision_reason(self._handle).decode())
    error = property(lambda self: _c.cardea_decision_error(self._handle).decode())

    @property
    def conditions(self):
        d = self._handle
        return [{name: _c.cardea_decision_condition(d, i, field).decode() for field, name in enumerate(_CONDITION)}
                for i in range(_c.cardea_decision_condition_count(d))]

    def settle(self, **change):
        return Decision(_c.cardea_decision_settle(self._handle, _change(**change)))


class Engine:
    def __init__(self, masters=False, master_namespace=None):
        name = master_namespace.encode() if master_namespace else None
        self._handle = _Handle(_c.cardea_engine_new(int(masters), name), _c.cardea_engine_free)

    def load(self, documents):
        return _call(_c.cardea_engine_load, self._handle, documents.encode())

    def remove(self, documents):
        return _call(_c.cardea_engine_remove, self._handle, documents.encode())

    def ask(self, conditions=True, **request):
        return Decision(_c.cardea_engine_ask(self._handle, _request(**request), int(conditions)))

    def explain(self, **request):
        return _taken(_call(_c.cardea_engine_explain, self._handle, _request(**request)))

    def judge_fields(self, request, change):
        """(whether the user may make the change, why)"""
        judgement = _Handle(_call(_c.cardea_engine_judge_fields, self._handle, _request(**request),
                                  _change(**change)), _c.cardea_judgement_free)
        return (_c.cardea_judgement_allowed(judgement) == 1,
                _c.cardea_judgement_reason(judgement).decode())


class Program:
    def __init__(self, expression, variables=()):
        self._handle = _Handle(_call(_c.cardea_program_compile, expression.encode(), _texts(variables),
                                     len(variables)), _c.cardea_program_free)

    @staticmethod
    def _bindings(values):
        bindings = _Handle(_c.cardea_bindings_new(), _c.cardea_bindings_free)
        for name, json_text in values.items():
            _c.cardea_bindings_set(bindings, name.encode(), json_text.encode())
        return bindings

    def evaluate(self, cost_limit=COST_LIMIT, **values):
        return _taken(_call(_c.cardea_program_evaluate, self._handle, self._bindings(values),
                            cost_limit, None))

    def partially_evaluate(self, unknown, cost_limit=COST_LIMIT, **values):
        residual = _Handle(_call(_c.cardea_program_partially_evaluate, self._handle,
                                 self._bindings(values), _texts(unknown), len(unknown), cost_limit),
                           _c.cardea_residual_free)
        return _c.cardea_residual_text(residual).decode()

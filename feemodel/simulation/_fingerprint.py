"""Describe everything that determines the result of an experiment, to find out whether a stored result can be used.

The description of an array has the type, the shape and the SHA-256 hash of the elements. The description of an object
has the class and the fields. The description of a function has the code, the defaults and the closure. If the code of a
function names an object from one of the user's own modules, the object is described too. An installed package is
described by its version, and this package by its source code.
"""

import copyreg
import dis
import functools
import hashlib
import importlib
import importlib.metadata
import itertools
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import xarray as xr

from feemodel import __version__
from feemodel._compiled import _sources
from feemodel._records import array_digest
from feemodel.errors import InvalidInput
from feemodel.simulation._axes import is_frozen

PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, type(Ellipsis), type(NotImplemented))
#: Built-in functions that give access to any object by a name computed at run time.
UNTRACEABLE = {"eval", "exec", "globals", "locals", "__import__", "import_module"}
#: Built-in functions and attributes that give access to any attribute of a module by a name computed at run time.
DYNAMIC_LOOKUPS = {"getattr", "vars", "hasattr", "__dict__"}
MAX_LISTED = 32  # a collection with more items than this is described by a digest
MAX_SHOWN = 80  # maximum number of characters of a value in a description
IGNORED_CLASS_ATTRIBUTES = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__dataclass_fields__",
    "__dataclass_params__", "__abstractmethods__", "_abc_impl", "__firstlineno__", "__static_attributes__",
    "__parameters__", "__orig_bases__", "__match_args__", "__protocol_attrs__", "_is_protocol",
}  # fmt: skip
INSTALLED = ("site-packages", "dist-packages")


def description(**parts: Any) -> dict[str, str]:
    """Return a description of each part of an experiment as text; equal experiments have equal descriptions.

    Raises `InvalidInput` for a value that cannot be described.

    >>> description(rate=1.5, steps=[1, 2])
    {'rate': '1.5', 'steps': 'list of 2', 'steps[0]': '1', 'steps[1]': '2'}
    """
    found = _Description()
    for name, value in parts.items():
        try:
            found.add(name, value)
        except RecursionError:
            raise _not_described(name, value, "it is nested too deeply") from None
    return found.parts


def package_source(module: str) -> str:
    """Return a digest of a module of this package and of the modules of this package that the module imports.

    >>> package_source("feemodel.errors") == package_source("feemodel.errors")
    True
    """
    return f"{__version__} {_sources(module)}"


def _not_described(path: str, value: Any, reason: str) -> InvalidInput:
    remedy = "use lists, arrays or a dataclass, or omit `finished`"
    expected = f"finished parts cannot be recognized with this value ({reason}); {remedy}"
    return InvalidInput(path, expected, value)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… {_sha(text.encode())}"


def installed(module: str) -> str | None:
    """Return the name and version of the package that contains a module, or `None` for one of the user's own modules.

    >>> installed("numpy") == f"numpy {np.__version__}", installed("__main__")
    (True, None)
    """
    top = module.partition(".")[0]
    if top == "__main__":  # a script or a notebook is the user's own module, even if an installed tool runs it
        return None
    if top == "feemodel":
        return f"feemodel {package_source(module)}"
    loaded = sys.modules.get(module) or sys.modules.get(top)
    file = getattr(loaded, "__file__", None)
    if file is None:
        known = top in sys.stdlib_module_names or top in sys.builtin_module_names
        return f"Python {sys.version.split()[0]}" if known else None
    parts = Path(file).parts
    if any(folder in parts for folder in INSTALLED):
        version = getattr(sys.modules.get(top), "__version__", None)
        try:
            return f"{top} {version or importlib.metadata.version(top)}"
        except importlib.metadata.PackageNotFoundError:
            return f"{top} {_sha(Path(file).read_bytes())}"
    stdlib = Path(functools.__file__).parent
    return f"Python {sys.version.split()[0]}" if stdlib in Path(file).parents else None


class _Description:
    """Descriptions of values by path, such as "steps[0]"; a repeated object is described by its first path."""

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        # Keep a reference to each object, because Python could otherwise delete the object and give the same id to
        # another object.
        self._paths_by_id: dict[int, tuple[str, Any]] = {}

    def add(self, path: str, value: Any) -> None:
        if type(value) in PLAIN:
            self.parts[path] = _shown(value)
        elif isinstance(value, (np.ndarray, np.generic)):
            self._array(path, value)
        elif isinstance(value, np.random.SeedSequence):
            self.parts[path] = _shown((value.entropy, value.spawn_key, value.pool_size))
        elif isinstance(value, (xr.Dataset, xr.DataArray)):
            self._labelled(path, value)
        elif self._first(path, value):
            self._object(path, value)

    def _first(self, path: str, value: Any) -> bool:
        if id(value) in self._paths_by_id:
            self.parts[path] = f"as {self._paths_by_id[id(value)][0]}"
            return False
        self._paths_by_id[id(value)] = path, value
        return True

    def _object(self, path: str, value: Any) -> None:
        table: Any = sys.modules.get("pandas")
        compiled = getattr(value, "gufunc_builder", value)  # function made by `numba.guvectorize`
        if hasattr(compiled, "targetoptions"):  # the function was compiled by `njit`, `vectorize` or `guvectorize`
            self.parts[path] = f"compiled with {compiled.targetoptions} {getattr(value, 'signature', '')}".rstrip()
            self.add(f"{path} function", value.__wrapped__)
        elif isinstance(value, FunctionType):
            self._function(path, value)
        elif isinstance(value, MethodType):
            self.parts[path] = f"method of {type(value.__self__).__qualname__}"
            self.add(f"{path} function", value.__func__)
            self.add(f"{path} object", value.__self__)
        elif isinstance(value, (staticmethod, classmethod)) or hasattr(value, "cache_info"):
            self.parts[path] = type(value).__name__
            self.add(f"{path} function", value.__wrapped__)
        elif isinstance(value, property):
            self._items(path, "property", {"get": value.fget, "set": value.fset})
        elif isinstance(value, functools.partial):
            self._items(path, "partial", {"of": value.func, "with": value.args, "keywords": value.keywords})
        elif isinstance(value, ModuleType):
            self._module(path, value, ())
        elif isinstance(value, Enum):
            self._items(path, f"{type(value).__qualname__}.{value.name}", {"value": value.value})
        elif isinstance(value, type):
            self._class(path, value)
        elif isinstance(value, np.ufunc):
            self._ufunc(path, value)
        elif isinstance(value, BuiltinFunctionType):
            self._builtin(path, value)
        elif table is not None and isinstance(value, (table.DataFrame, table.Series, table.Index)):
            self._table(path, value, value.items() if isinstance(value, table.DataFrame) else [("", value)])
        elif is_frozen(value) and hasattr(value, "dist"):
            self._distribution(path, value)
        else:
            self._collection(path, value)

    def _collection(self, path: str, value: Any) -> None:
        kind = type(value)
        if isinstance(value, Mapping) and (kind is dict or installed(kind.__module__) is not None):
            self._items(path, f"{kind.__qualname__} of {len(value)}", {_shown(key): one for key, one in value.items()})
        elif kind in (list, tuple):
            self._items(path, f"{kind.__name__} of {len(value)}", dict(enumerate(value)))
        elif kind in (set, frozenset):
            described = [sorted(description(element=one).items()) for one in value]
            self.parts[path] = f"{kind.__name__} of {len(value)}, {_sha(repr(sorted(described)).encode())}"
        else:
            self._instance(path, value)

    def _items(self, path: str, kind: str, items: Mapping[Any, Any]) -> None:
        self.parts[path] = kind
        before = len(self.parts)
        for name, one in items.items():
            self.add(f"{path}[{name}]", one)
        if len(items) > MAX_LISTED:
            inside = [*self.parts.items()][before:]
            self.parts = dict([*self.parts.items()][:before])
            self.parts[path] = f"{kind}, {_sha(repr(inside).encode())}"

    def _array(self, path: str, value: Any) -> None:
        if isinstance(value, np.ma.MaskedArray):
            self._items(path, "masked array", {"data": value.data, "mask": np.ma.getmaskarray(value)})
            return
        array = np.asarray(value)
        if array.dtype.hasobject:
            self._items(path, f"array {array.dtype} {array.shape}", dict(enumerate(array.ravel().tolist())))
        else:
            self.parts[path] = f"array {array_digest(array)}"

    def _labelled(self, path: str, value: Any) -> None:
        self.parts[path] = type(value).__name__
        if isinstance(value, xr.DataArray):
            self.add(f"{path} values", value.variable.to_numpy())
            self.add(f"{path} dimensions", [*map(str, value.dims)])
        variables = (
            value.variables if isinstance(value, xr.Dataset) else {n: c.variable for n, c in value.coords.items()}
        )
        for name in sorted(variables, key=str):
            self.add(f"{path}.{name}", variables[name].to_numpy())
            self.add(f"{path}.{name} dimensions", [*map(str, variables[name].dims)])
        self.add(f"{path} attributes", {str(name): value.attrs[name] for name in value.attrs})

    def _table(self, path: str, value: Any, columns: Iterable[tuple[Any, Any]]) -> None:
        """Describe a pandas DataFrame, Series or Index."""
        index = getattr(value, "index", None)
        described = [(_shown(name), column.to_numpy()) for name, column in columns]
        names = [_shown(name) for name in (value if index is None else index).names] + [
            _shown(getattr(value, "name", ""))
        ]
        labels = [] if index is None else index.to_numpy()
        self._items(path, type(value).__name__, {"names": names, "index": labels, "values": described})

    def _distribution(self, path: str, value: Any) -> None:
        """Describe a frozen SciPy distribution, but not the global random state to which the distribution refers."""
        of = vars(value.dist) if hasattr(value.dist, "__dict__") else {}
        own = {
            name: one for name, one in of.items() if not callable(one) and name not in ("_random_state", "_ctor_param")
        }
        self.add(f"{path} class", type(value.dist))
        described = {"name": getattr(value.dist, "name", ""), "args": value.args, "keywords": value.kwds, "of": own}
        self._items(path, "distribution", described)

    def _ufunc(self, path: str, value: np.ufunc) -> None:
        special: Any = sys.modules.get("scipy.special")
        for home in (np, special):
            if getattr(home, value.__name__, None) is value:
                self.parts[path] = f"{value.__name__} of {installed(home.__name__)}"
                return
        raise _not_described(path, value, "the code of a ufunc created from a function cannot be read")

    def _builtin(self, path: str, value: Any) -> None:
        owner = value.__self__
        self.parts[path] = f"{value.__module__}.{value.__qualname__}"
        if owner is not None and not isinstance(owner, ModuleType):
            self.add(f"{path} object", owner)
            return
        version = installed(value.__module__ or "builtins")
        if version is None:
            file = getattr(sys.modules.get(value.__module__), "__file__", None)
            if file is None:
                raise _not_described(path, value, "its code cannot be read")
            version = _sha(Path(file).read_bytes())
        self.parts[path] += f" of {version}"

    def _module(self, path: str, value: ModuleType, names: Any) -> None:
        version = installed(value.__name__)
        self.parts[path] = f"module {value.__name__} {version or ''}".rstrip()
        if version is None:
            for name in sorted(names or [one for one in vars(value) if not one.startswith("__")]):
                if name in vars(value):
                    self._named(f"{value.__name__}.{name}", vars(value)[name], names)

    def _named(self, path: str, value: Any, names: Any) -> None:
        """Describe the object to which a name in code refers.

        If the object is a module, describe only the attributes that the code may use.
        """
        if path in self.parts:
            return
        if isinstance(value, ModuleType):
            self._module(path, value, set() if DYNAMIC_LOOKUPS & set(names) else names)
        else:
            self.add(path, value)

    def _function(self, path: str, value: FunctionType) -> None:
        home = value.__globals__.get("__name__") or value.__module__ or ""
        version = installed(home)
        named: Any = sys.modules.get(home)
        for name in value.__qualname__.split("."):
            named = getattr(named, name, None)
        if version is not None and named is value:
            self.parts[path] = f"{home}.{value.__qualname__} of {version}"
            return
        code = value.__code__
        names = _names(code)
        unseen = UNTRACEABLE & names | ({"sys.modules"} if {"sys", "modules"} <= names else set())
        if version is None and unseen:
            raise _not_described(path, value, f"its code calls {min(unseen)}, which may use any object")
        self.parts[path] = f"{home}.{value.__qualname__} {_sha(repr(_instructions(code, value.__doc__)).encode())}"
        self.add(f"{path} defaults", [value.__defaults__, value.__kwdefaults__])
        for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
            try:
                held = cell.cell_contents
            except ValueError:  # the variable has no value yet
                continue
            self._named(f"{path} closure {name}", held, names)
        for name, held in vars(value).items():
            if name != "__wrapped__":
                self.add(f"{path}.{name}", held)
        if version is not None:
            return
        whole = _used_whole(code)
        for name in sorted(names & value.__globals__.keys()):
            self._named(f"{home}.{name}", value.__globals__[name], set() if name in whole else names)
        for module, level in _imports(code):
            package = value.__globals__.get("__package__") if level else None
            try:
                found = importlib.import_module("." * level + module, package)
            except ImportError as error:
                raise _not_described(path, value, f"it imports {module}: {error}") from None
            self._named(found.__name__, found, names)

    def _class(self, path: str, value: type) -> None:
        version = installed(value.__module__)
        self.parts[path] = f"{value.__module__}.{value.__qualname__} {version or ''}".rstrip()
        if version is not None:
            return
        for base in value.__mro__[1:]:
            if base is not object:
                self.add(f"{path} base {base.__qualname__}", base)
        for name in sorted(vars(value).keys() - IGNORED_CLASS_ATTRIBUTES):
            held = vars(value)[name]
            if isinstance(held, functools.cached_property):
                held = held.func
            if type(held).__name__ not in ("member_descriptor", "getset_descriptor", "wrapper_descriptor"):
                self.add(f"{path}.{name}", held)

    def _instance(self, path: str, value: Any) -> None:
        kind = type(value)
        own, implemented_in_c = installed(kind.__module__) is None, _is_implemented_in_c(kind)
        self.parts[path] = kind.__qualname__
        self.add(f"{path} class", kind)
        if is_dataclass(value) or own:
            names = {one.name for one in fields(value)} if is_dataclass(value) else set()
            names |= vars(value).keys() if hasattr(value, "__dict__") else set()
            for base in kind.__mro__:
                slots = vars(base).get("__slots__", ())
                names |= {slots} if isinstance(slots, str) else set(slots)
            cached = {name for name in names if isinstance(getattr(kind, name, None), functools.cached_property)}
            for name in sorted(names - cached - {"__dict__", "__weakref__"}):
                if hasattr(value, name):
                    self.add(f"{path}.{name}", getattr(value, name))
            if not implemented_in_c:
                return
        try:
            reduced = value.__reduce_ex__(4)
        except Exception as error:  # the code of the object may raise any exception
            raise _not_described(path, value, f"a {kind.__name__}: {error}") from None
        if isinstance(reduced, str):
            self.parts[path] += f" {reduced}"
            return
        made, arguments, *state = reduced
        if made is not copyreg._reconstructor or not own:  # type: ignore[attr-defined]
            self.add(f"{path} made by", made)
        for number, one in enumerate([arguments, *state[:1], *(list(each) for each in state[1:3] if each is not None)]):
            self.add(f"{path} state {number}", [each for each in one if each is not kind] if number == 0 else one)


def _is_implemented_in_c(kind: type) -> bool:
    heap = 1 << 9  # Py_TPFLAGS_HEAPTYPE
    return any(base is not object and not base.__flags__ & heap for base in kind.__mro__)


def _codes(code: CodeType) -> list[CodeType]:
    return [code, *(one for each in code.co_consts if isinstance(each, CodeType) for one in _codes(each))]


def _names(code: CodeType) -> set[str]:
    return {name for one in _codes(code) for name in one.co_names}


def _used_whole(code: CodeType) -> set[str]:
    """Return the global names that the code uses at least once without an attribute after the name."""
    found = set()
    for one in _codes(code):
        steps = [
            step for step in dis.get_instructions(one) if step.opname not in ("EXTENDED_ARG", "PUSH_NULL", "CACHE")
        ]
        for step, following in itertools.zip_longest(steps, steps[1:]):
            attribute = following is not None and following.opname in ("LOAD_ATTR", "LOAD_METHOD")
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and not attribute:
                found.add(str(step.argval))
    return found


def _imports(code: CodeType) -> list[tuple[str, int]]:
    """Return the name of each module that the code imports, with the number of dots of a relative import."""
    found = []
    for one in _codes(code):
        constants: list[Any] = []
        for step in dis.get_instructions(one):
            if step.opname == "IMPORT_NAME":
                found.append((str(step.argval), int(constants[-2])))
            elif step.opname.startswith(("LOAD_CONST", "LOAD_SMALL_INT")):
                constants.append(step.argval)
    return found


def _instructions(code: CodeType, documentation: str | None = None) -> list[Any]:
    """Return the instructions of a code object without line numbers and docstring; sets are sorted."""
    constants = list(code.co_consts)
    if documentation is not None and constants[:1] == [documentation]:
        constants = constants[1:]
    described: list[Any] = [code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, code.co_flags]
    described += [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_exceptiontable.hex()]
    for one in constants:
        if isinstance(one, CodeType):
            described.append(_instructions(one))
        else:
            described.append(repr(sorted(map(repr, one)) if isinstance(one, frozenset) else one))
    return described

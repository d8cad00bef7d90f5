"""Value types that cost nothing to import.

`enum`, `typing` and `dataclasses` take 3 to 13 ms to import, more than the whole hook may (docs/adr/0006).
A type checker sees the standard classes; at run time two small stand-ins with the same behaviour as far as
this package uses it (tests/unit/test_records.py compares them with the originals).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import Enum as Choice
    from typing import NamedTuple as Record
    from typing import assert_never
else:
    from _collections import _tuplegetter

    class _ChoiceType(type):
        """Metaclass of `Choice`: every upper-case string attribute becomes a single member."""

        def __new__(cls, name, bases, namespace):
            words = {k: v for k, v in namespace.items() if k.isupper() and isinstance(v, str)}
            for key in words:
                del namespace[key]
            made = super().__new__(cls, name, bases, namespace)
            members = {}
            for key, word in words.items():
                member = object.__new__(made)
                object.__setattr__(member, "name", key)
                object.__setattr__(member, "value", word)
                members[word] = member
                type.__setattr__(made, key, member)
            type.__setattr__(made, "_members", members)
            return made

        def __call__(cls, value):
            if isinstance(value, cls):
                return value
            try:
                return cls._members[value]
            except (KeyError, TypeError):
                raise ValueError(f"{value!r} is not a valid {cls.__name__}") from None

        def __iter__(cls):
            return iter(cls._members.values())

        def __len__(cls):
            return len(cls._members)

        def __contains__(cls, value):
            return isinstance(value, cls) or value in cls._members

        def __setattr__(cls, name, value):
            raise AttributeError(f"cannot reassign member {name!r}")

    class Choice(metaclass=_ChoiceType):
        __slots__ = ("name", "value")

        def __str__(self):
            return self.value

        def __repr__(self):
            return f"{type(self).__name__}.{self.name}"

        def __setattr__(self, name, value):
            raise AttributeError(f"{type(self).__name__} members are frozen")

        def __reduce__(self):
            return (type(self), (self.value,))

    class Record(tuple):
        """A frozen record: a tuple whose class annotations name the fields, defaults at the end."""

        __slots__ = ()
        _fields = ()
        _defaults = ()

        def __init_subclass__(cls):
            names = tuple(cls.__dict__.get("__annotations__", ()))
            cls._defaults = tuple(cls.__dict__[n] for n in names if n in cls.__dict__)
            cls._fields = names
            for index, name in enumerate(names):
                setattr(cls, name, _tuplegetter(index, name))

        def __new__(cls, *args, **kwargs):
            fields = cls._fields
            missing = len(fields) - len(args)
            if not kwargs:
                if not missing:
                    return tuple.__new__(cls, args)
                if 0 < missing <= len(cls._defaults):
                    return tuple.__new__(cls, args + cls._defaults[-missing:])
            if missing < 0:
                raise TypeError(f"{cls.__name__} takes {len(fields)} values, got {len(args)}")
            rest = []
            first_default = len(fields) - len(cls._defaults)
            for index in range(len(args), len(fields)):
                name = fields[index]
                if name in kwargs:
                    rest.append(kwargs.pop(name))
                elif index >= first_default:
                    rest.append(cls._defaults[index - first_default])
                else:
                    raise TypeError(f"{cls.__name__} needs {name!r}")
            if kwargs:
                raise TypeError(f"{cls.__name__} has no field {next(iter(kwargs))!r}")
            return tuple.__new__(cls, (*args, *rest))

        def __setattr__(self, name, value):
            raise AttributeError(f"{type(self).__name__} is frozen")

        def __eq__(self, other):
            return type(self) is type(other) and tuple.__eq__(self, other)

        def __ne__(self, other):
            return not self == other

        def __hash__(self):
            return hash((type(self).__name__, tuple.__hash__(self)))

        def __repr__(self):
            body = ", ".join(f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({body})"

        def __getnewargs__(self):
            return tuple(self)

        def _replace(self, **kwargs):
            values = [kwargs.pop(n, v) for n, v in zip(self._fields, self, strict=True)]
            if kwargs:
                raise ValueError(f"{type(self).__name__} has no field {next(iter(kwargs))!r}")
            return tuple.__new__(type(self), values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

    def assert_never(value):
        """Unreachable by typing; reached only by our own bug."""
        raise AssertionError(f"unhandled case: {value!r}")


__all__ = ["Choice", "Record", "assert_never"]

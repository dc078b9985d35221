"""A collection whose objects are one pydantic model: the bodies of the REST API are derived from it. For plugins.

This is the short way to a collection. Where the bodies differ from the stored objects, write a
`mastio.plugin.collection.Serializer`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo

from mastio.exchange.errors import BadRequest
from mastio.plugin.collection import Collection, Secret, Secrets, Serializer
from mastio.plugin.fields import Answer, Body, Name
from mastio.plugin.fields import Secret as SecretText


class Object(BaseModel):
    """The base class of such objects. Each has a name; every other member is checked by its type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Name


O = TypeVar("O", bound=Object)  # noqa: E741 - an object


def make_collection(
    model: type[O], *, name: str, noun: str, nouns: str, secret: str | None = None, **more: Any
) -> Collection[O]:
    """The collection of `model`. `more`: other members of `Collection`.

    `secret` names a member of type `str | None` that is kept sealed. No answer has it: answers have `<secret>_set`. A
    patch with null removes it. An object whose secret cannot be had counts as damaged: it is not used, and is to be
    removed. Raises `ValueError` for a secret that is no member.
    """
    if secret is not None and secret not in model.model_fields:
        raise ValueError(f"{model.__name__} has no member {secret}")
    secrets = None if secret is None else _secrets_of(model, secret)
    return Collection(
        name=name, noun=noun, nouns=nouns, row=model, serializer=_make_serializer(model, secret), secrets=secrets,
        transient=frozenset(), **more,
    )  # fmt: skip


def _secrets_of(model: type[O], member: str) -> Secrets[O]:
    def take(item: O) -> tuple[O, Secret]:
        return item.model_copy(update={member: None}), Secret(getattr(item, member))

    def put(item: O, secret: Secret) -> O:
        if secret.is_lost:  # the object would be used, or written back, without it
            raise ValueError("the secret cannot be had")
        return item.model_copy(update={member: secret.value})

    return Secrets(take, put)


def _make_serializer(model: type[O], secret: str | None) -> type[Serializer[O]]:
    members: dict[str, Any] = {
        name: (_as_sent(field.rebuild_annotation()), _default_of(field))
        for name, field in model.model_fields.items()
        if name != "name"
    }
    shown = {name: one for name, one in members.items() if name != secret}
    title = model.__name__
    answered: dict[str, Any] = {name: (annotation, ...) for name, (annotation, _) in shown.items()}
    if secret is not None:
        members = {**shown, secret: (SecretText | None, None)}
        answered[f"{secret}_set"] = (bool, ...)
    patched: dict[str, Any] = {name: (annotation | None, None) for name, (annotation, _) in members.items()}
    doc = model.__doc__

    class ModelSerializer(Serializer[O]):
        body = create_model(f"{title}Body", __base__=Body, __doc__=doc, name=(Name, ...), **members)
        put = create_model(f"{title}Put", __base__=Body, __doc__=doc, name=(Name | None, None), **members)
        patch = create_model(f"{title}Patch", __base__=Body, __doc__=doc, **patched)
        answer = create_model(f"{title}Answer", __base__=Answer, __doc__=doc, name=(str, ...), **answered)

        def make(self, name: str, body: Any) -> O:
            return _validate(model, {**body.model_dump(mode="json"), "name": name})

        def change(self, present: O, patch: Any) -> O:
            given = patch.model_dump(mode="json", exclude_unset=True)
            kept = {name: value for name, value in given.items() if value is not None or name == secret}
            return _validate(model, {**present.model_dump(mode="json"), **kept})

        async def show(self, rows: Sequence[O]) -> list[Answer]:
            return [self._show(row) for row in rows]

        def _show(self, row: O) -> Answer:
            values: dict[str, Any] = row.model_dump()
            if secret is not None:
                values[f"{secret}_set"] = values.pop(secret) is not None
            return self.answer.model_validate(values)

    return cast(type[Serializer[O]], ModelSerializer)


def _default_of(field: FieldInfo) -> Any:
    """The default of a member in a body, with the constraints of its field."""
    return list(field.default) if isinstance(field.default, tuple | frozenset) else field


def _as_sent(annotation: Any) -> Any:
    """The type of a member in a body: JSON has lists, and nothing else of their kind."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return Annotated[(_as_sent(arguments[0]), *annotation.__metadata__)]
    return list[arguments[0]] if origin in (tuple, frozenset, set) else annotation  # type: ignore[valid-type]


def _validate(model: type[O], values: Mapping[str, Any]) -> O:
    """Raises `BadRequest` (invalid_body), without what was sent."""
    try:
        return model.model_validate_json(orjson.dumps(values))
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        message = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
        raise BadRequest(f"{where}: {message[:1].lower()}{message[1:]}.", code="invalid_body") from None

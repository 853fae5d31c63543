"""Models nothing: arrays as compiled code sees them, a pointer and a shape, and tables of them behind one pointer.
Leaves out ownership, whoever calls the compiled function keeps the arrays alive, and negative indices; wrong ones are
noticed with NUMBA_BOUNDSCHECK=1 only, as in Numba's own arrays."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import intrinsic, make_attribute_wrapper

__all__ = ["borrow"]


class View(types.Type):
    """A C-ordered array of records or numbers. Numba's own arrays carry an owner, whose references are counted at each
    call, and strides; that and handing on a dozen of them took half of a simulation's time."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"View({dtype}, {ndim})")


class Table(types.Type):
    """A named tuple of views and tables, in the stack frame of the function that borrowed it."""

    def __init__(self, fields: tuple[str, ...], members: tuple[Any, ...]) -> None:
        self.fields, self.members = fields, members
        super().__init__(f"Table({dict(zip(fields, members, strict=True))})")


@register_default(View)
class ViewModel(models.StructModel):
    def __init__(self, manager: Any, view: View) -> None:
        super().__init__(manager, view, [("data", types.CPointer(view.dtype)),
                                         ("shape", types.UniTuple(types.intp, view.ndim))])


@register_default(Table)
class TableModel(models.PrimitiveModel):
    def __init__(self, manager: Any, table: Table) -> None:
        layout = ir.LiteralStructType([manager.lookup(member).get_value_type() for member in table.members])
        super().__init__(manager, table, layout.as_pointer())


make_attribute_wrapper(View, "shape", "shape")


def _borrowed(owned: Any) -> Any:
    """The type of what ``borrow`` gives."""
    if isinstance(owned, types.Array):
        assert owned.layout == "C", owned
        return View(owned.dtype, owned.ndim)
    if isinstance(owned, types.BaseNamedTuple):
        return Table(owned.fields, tuple(_borrowed(member) for member in owned.types))
    return owned


def _borrow(context: Any, builder: Any, owned: Any, value: Any) -> Any:
    if isinstance(owned, types.Array):
        array = context.make_array(owned)(context, builder, value)
        view = cgutils.create_struct_proxy(_borrowed(owned))(context, builder)
        view.data, view.shape = array.data, array.shape
        return view._getvalue()
    if isinstance(owned, types.BaseNamedTuple):
        frame = cgutils.alloca_once(builder, context.get_value_type(_borrowed(owned)).pointee)
        for i, member in enumerate(owned.types):
            place = builder.gep(frame, [cgutils.int32_t(0), cgutils.int32_t(i)])
            builder.store(_borrow(context, builder, member, builder.extract_value(value, i)), place)
        return frame
    return value


@intrinsic
def borrow(typing_context, owned):
    """An array as a view; a named tuple as a table of views, which lives as long as the calling function runs."""

    def generate(context, builder, signature, arguments):
        return _borrow(context, builder, owned, arguments[0])

    return _borrowed(owned)(owned), generate


@infer_getattr
class TableAttribute(AttributeTemplate):
    key = Table

    def generic_resolve(self, table: Table, name: str) -> Any:
        return table.members[table.fields.index(name)] if name in table.fields else None


@lower_getattr_generic(Table)
def _member(context: Any, builder: Any, table: Table, pointer: Any, name: str) -> Any:
    return builder.load(builder.gep(pointer, [cgutils.int32_t(0), cgutils.int32_t(table.fields.index(name))]))


def _indices(index: Any) -> tuple[Any, ...]:
    return tuple(index) if isinstance(index, types.BaseTuple) else (index,)


def _selected(view: View, index: Any) -> Any:
    """The type of ``view[index]``; None where the index does not fit."""
    indices = _indices(index)
    if len(indices) > view.ndim or not all(isinstance(each, types.Integer) for each in indices):
        return None
    return view.dtype if len(indices) == view.ndim else View(view.dtype, view.ndim - len(indices))


@infer_global(operator.getitem)
class GetItem(AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        view, index = arguments
        selected = _selected(view, index) if isinstance(view, View) else None
        return signature(selected, view, index) if selected is not None else None


@infer_global(operator.setitem)
class SetItem(AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        view, index, _ = arguments
        if isinstance(view, View) and _selected(view, index) == view.dtype:
            return signature(types.none, view, index, view.dtype)
        return None


@infer_global(len)
class Length(AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        return signature(types.intp, *arguments) if isinstance(arguments[0], View) else None


def _place(context: Any, builder: Any, view: View, value: Any, index: Any, chosen: Any, *,
           checked: bool = True) -> tuple[Any, list[Any]]:
    """(pointer to ``view[index]``, lengths of the dimensions that are left)."""
    proxy = cgutils.create_struct_proxy(view)(context, builder, value)
    lengths, indices = cgutils.unpack_tuple(builder, proxy.shape, view.ndim), _indices(index)
    each = cgutils.unpack_tuple(builder, chosen, len(indices)) if isinstance(index, types.BaseTuple) else [chosen]
    offset = context.get_constant(types.intp, 0)
    for i, length in enumerate(lengths):
        offset = builder.mul(offset, length)
        if i < len(each):
            number = context.cast(builder, each[i], indices[i], types.intp)
            if checked and config.BOUNDSCHECK:
                cgutils.do_boundscheck(context, builder, number, length, i)
            offset = builder.add(offset, number)
    return builder.gep(proxy.data, [offset]), lengths[len(each):]


@lower_builtin(operator.getitem, View, types.Any)
def _get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    view, index = signature.args
    pointer, lengths = _place(context, builder, view, arguments[0], index, arguments[1])
    if lengths:
        part = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        part.data, part.shape = pointer, cgutils.pack_array(builder, lengths)
        return part._getvalue()
    return context.unpack_value(builder, view.dtype, pointer)


@lower_builtin(operator.setitem, View, types.Any, types.Any)
def _set(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    view, index, _ = signature.args
    pointer, _ = _place(context, builder, view, arguments[0], index, arguments[1])
    context.pack_value(builder, view.dtype, arguments[2], pointer)
    return context.get_dummy_value()


@lower_builtin(len, View)
def _length(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    proxy = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
    return builder.extract_value(proxy.shape, 0)


@intrinsic
def prefetch(typing_context, view, index):
    """Begin to load ``view[index]`` into the host's caches; changes nothing."""

    def generate(context, builder, signature, arguments):
        pointer, _ = _place(context, builder, view, arguments[0], index, arguments[1], checked=False)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, *[ir.IntType(32)] * 3])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        flags = [cgutils.int32_t(value) for value in (0, 3, 1)]  # read, keep, data
        builder.call(function, [builder.bitcast(pointer, cgutils.voidptr_t), *flags])
        return context.get_dummy_value()

    return types.none(view, index), generate

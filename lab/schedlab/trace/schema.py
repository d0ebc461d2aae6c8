# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of Perfetto's trace format that is written: names and numbers of fields, as its documentation lists them."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

_PACKAGE = "perfetto.protos"
_KINDS = {"double": 1, "int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9, "uint32": 13}

# Enumerations are plain numbers on the wire.
TASK_STATE = {"created": 1, "runnable": 2, "running": 3, "sleeping": 4, "dead": 7}
COUNTER_OF_THINGS = 2
INSTANT, COUNTER = 3, 4
FRESH_STATE = 1  # of a sequence: nothing before this packet is needed to read it

# message: field: (number, kind), where * means repeated
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "TracePacket": {
        "timestamp": (8, "uint64"),
        "trusted_packet_sequence_id": (10, "uint32"),
        "track_event": (11, "TrackEvent"),
        "sequence_flags": (13, "uint32"),
        "track_descriptor": (60, "TrackDescriptor"),
        "generic_kernel_task_state_event": (117, "GenericKernelTaskStateEvent"),
        "generic_kernel_process_tree": (122, "GenericKernelProcessTree"),
    },
    "GenericKernelTaskStateEvent": {
        "cpu": (1, "int32"),
        "comm": (2, "string"),
        "tid": (3, "int64"),
        "state": (4, "int32"),
        "prio": (5, "int32"),
    },
    "GenericKernelProcessTree": {"processes": (1, "*KernelProcess"), "threads": (2, "*KernelThread")},
    "KernelProcess": {"pid": (1, "int64"), "ppid": (2, "int64"), "cmdline": (3, "string")},
    "KernelThread": {
        "tid": (1, "int64"),
        "pid": (2, "int64"),
        "comm": (3, "string"),
        "is_main_thread": (4, "bool"),
    },
    "TrackDescriptor": {
        "uuid": (1, "uint64"),
        "name": (2, "string"),
        "parent_uuid": (5, "uint64"),
        "counter": (8, "CounterDescriptor"),
    },
    "CounterDescriptor": {"unit": (3, "int32"), "unit_name": (6, "string")},
    "TrackEvent": {
        "debug_annotations": (4, "*DebugAnnotation"),
        "type": (9, "int32"),
        "track_uuid": (11, "uint64"),
        "name": (23, "string"),
        "counter_value": (30, "int64"),
    },
    "DebugAnnotation": {
        "uint_value": (3, "uint64"),
        "int_value": (4, "int64"),
        "string_value": (6, "string"),
        "name": (10, "string"),
    },
}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="schedlab/perfetto.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            many, kind = kind.startswith("*"), kind.removeprefix("*")
            made = message.field.add(name=field, number=number, label=3 if many else 1)
            if kind in _KINDS:
                made.type = _KINDS[kind]  # type: ignore[assignment]
            else:
                made.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
                made.type_name = f".{_PACKAGE}.{kind}"
    return file


def _classes() -> dict[str, type[Message]]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{n}")) for n in _MESSAGES}


CLASSES = _classes()
TracePacket = CLASSES["TracePacket"]

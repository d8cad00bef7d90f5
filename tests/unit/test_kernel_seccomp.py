"""The filters, read by an interpreter of our own for every machine and every table of numbers."""

from __future__ import annotations

import sys

import pytest

from ringfence.kernel import libc, seccomp

ALLOW = 0x7FFF0000
I386, ARM = 0x40000003, 0x40000028
X86_64 = 0xC000003E


def judge(program, arch, number, args=(0,) * 6):
    """What the kernel would do with a call: the errno it is refused with, 0 if it passes (linux/filter.h)."""
    order = sys.byteorder
    data = (
        number.to_bytes(4, order)
        + arch.to_bytes(4, order)
        + bytes(8)
        + b"".join(a.to_bytes(8, order) for a in args)
    )
    code = [program[i : i + 8] for i in range(0, len(program), 8)]
    at, accumulator = 0, 0
    while True:
        op, yes, no = int.from_bytes(code[at][:2], order), code[at][2], code[at][3]
        k = int.from_bytes(code[at][4:], order)
        at += 1
        if op == 0x20:
            accumulator = int.from_bytes(data[k : k + 4], order)
        elif op == 0x54:
            accumulator &= k
        elif op == 0x15:
            at += yes if accumulator == k else no
        elif op == 0x05:
            at += k
        elif op == 0x06:
            return 0 if k == ALLOW else k & 0xFFFF
        else:
            raise AssertionError(f"unknown instruction {op:#x}")


@pytest.mark.parametrize("machine", seccomp._ARCHES)
@pytest.mark.parametrize("name", [*libc._OLD_NAMES, *libc._UNIFIED])
def test_a_named_call_is_refused_and_its_neighbours_pass(name, machine):
    program = seccomp.assemble((seccomp.Refusal(name, 38),), machine)
    native, compat, numbers = seccomp._ARCHES[machine]
    number = libc.number_on(machine, name)
    assert judge(program, native, number) == 38
    assert judge(program, native, number + 1) == judge(program, native, number - 1) == 0
    if compat:
        number = numbers.get(name, number)
        assert judge(program, compat, number) == 38
        assert judge(program, compat, number + 1) == 0
    assert judge(program, 0x1234, number) == 0


def test_several_calls_each_with_its_errno():
    names = ("unshare", "mount", "open_tree", "setns")
    refusals = tuple(seccomp.Refusal(name, index + 1) for index, name in enumerate(names))
    program = seccomp.assemble(refusals, "x86_64")
    for index, name in enumerate(names):
        assert judge(program, X86_64, libc.number_on("x86_64", name)) == index + 1
    assert judge(program, X86_64, libc.number_on("x86_64", "prctl")) == 0


@pytest.mark.parametrize(
    ("arch", "number"),
    [(X86_64, 16), (X86_64, 16 | 0x40000000), (X86_64, 514 | 0x40000000), (X86_64, 514), (I386, 54)],
    ids=["native", "x32 bit", "x32 number", "x32 number without its bit", "i386"],
)
def test_terminal_input_through_every_table(arch, number):
    program = seccomp.assemble(seccomp.TERMINAL_INPUT, "x86_64")
    for request in (seccomp.TIOCSTI, seccomp.TIOCLINUX):
        assert judge(program, arch, number, (0, request, 0, 0, 0, 0)) == 1
        # The kernel reads 32 bits of it; more must not get by.
        assert judge(program, arch, number, (0, request | 1 << 32, 0, 0, 0, 0)) == 1
    for request in (0x5401, 0, 0x5413):  # TCGETS, nothing, TIOCGWINSZ
        assert judge(program, arch, number, (0, request, 0, 0, 0, 0)) == 0
    assert judge(program, arch, number, (seccomp.TIOCSTI, 0, seccomp.TIOCSTI, 0, 0, 0)) == 0


def test_a_later_call_is_judged_after_one_with_arguments():
    refusals = (*seccomp.TERMINAL_INPUT, seccomp.Refusal("mount", 38))
    program = seccomp.assemble(refusals, "aarch64")
    assert judge(program, 0xC00000B7, 40) == 38
    assert judge(program, ARM, 21) == 38
    assert judge(program, ARM, 54, (0, seccomp.TIOCSTI, 0, 0, 0, 0)) == 1


def test_what_no_filter_can_be():
    with pytest.raises(KeyError):
        seccomp.assemble((seccomp.Refusal("no_such_call", 1),), "x86_64")
    with pytest.raises(KeyError):
        seccomp.assemble((), "pdp11")
    with pytest.raises(ValueError, match="longer"):
        seccomp.assemble((seccomp.Refusal("ioctl", 1, 1, tuple(range(3000))),), "x86_64")

"""Which devices and kernel files a fenced program keeps.

Every mount is made `nodev`, or root (and whoever is in the group `disk`) would write the disk itself: a
read-only mount does not stop writing to a device node. What programs need is copied before that and put back.
"""

from __future__ import annotations

DEVICES: tuple[str, ...] = (
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    # Graphics and virtualisation: memory of the device, never a file of ours.
    "/dev/dri",
    "/dev/kfd",
    "/dev/accel",
    "/dev/kvm",
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/nvidia-uvm-tools",
    "/dev/nvidia-modeset",
    *(f"/dev/nvidia{index}" for index in range(8)),
)

PROC_FIXED: tuple[str, ...] = (
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/driver",
    "/proc/scsi",
    "/proc/acpi",
    "/proc/mtrr",
    "/proc/asound",
    "/proc/tty",
    "/proc/pressure",
)
"""What root could write in /proc to act on the machine (`core_pattern` names a program to run as root). They
stay read-only for everyone; the rest of /proc is per process and stays writable: without `/proc/self/uid_map`
no browser can build its own sandbox."""


def process_folders(name: str) -> bool:
    """Whether a name in /proc belongs to one process (a number, or the links to the caller's own)."""
    return name.isdigit() or name in ("self", "thread-self")

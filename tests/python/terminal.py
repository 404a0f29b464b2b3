"""Runs a command on a terminal of some columns, and prints what it shows: terminal.py COLUMNS COMMAND…"""

import fcntl
import os
import pty
import struct
import sys
import termios

columns, command = int(sys.argv[1]), sys.argv[2:]
# The size is set before the command begins.
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
child = os.fork()
if child == 0:
    os.close(master)
    os.login_tty(slave)
    os.execvp(command[0], command)
os.close(slave)
shown = b""
while True:
    try:
        part = os.read(master, 1 << 16)
    except OSError:  # The command has ended.
        break
    if not part:
        break
    shown += part
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
sys.exit(code)

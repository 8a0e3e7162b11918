import os
import threading

import pytest

from agent_tui_core.messages import new_id


def test_an_id_is_32_digits_and_never_comes_twice() -> None:
    found: list[str] = []

    def make() -> None:
        found.extend(new_id() for _ in range(5_000))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 20_000
    assert all(len(key) == 32 and int(key, 16) >= 0 for key in found)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_process_makes_other_ids_than_its_parent() -> None:
    new_id()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, new_id().encode())
        os._exit(0)
    os.waitpid(pid, 0)
    theirs = os.read(read, 64).decode()
    os.close(read)
    os.close(write)
    assert theirs not in {new_id() for _ in range(200)}

"""Process groups: their names and ranks, and the order in which they are made and forgotten."""
import os

default = None
groups = {}  # name -> ranks


def _update_default_pg(pg):
    global default
    default = pg


def init_process_group(backend="nccl", **more):
    if default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    _update_default_pg(object())
    groups["0"] = list(range(int(os.environ["WORLD_SIZE"])))


def new_group(ranks):
    groups[str(len(groups))] = list(ranks)


def destroy_process_group():
    if default is None:
        raise AssertionError("the default process group is not there")
    _update_default_pg(None)
    groups.clear()


def get_pg_count():
    return len(groups)


def _get_all_pg_configs():
    return [
        {"pg_name": name, "pg_desc": "default_pg" if name == "0" else "undefined", "backend_config": "cuda:nccl", "pg_size": len(ranks), "ranks": ranks}
        for name, ranks in groups.items()
    ]

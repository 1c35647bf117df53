# flagos-trace: the part that every Python process under `flagos-trace record` runs.
#
# site.py imports this file because its folder stands first in PYTHONPATH. It takes
# that folder out of sys.path, waits for torch (and, with --step-mark, for one more
# module) with a finder on sys.meta_path, and hands over to the sitecustomize that
# the interpreter would have imported without us. Nothing else happens in a process
# that never imports torch, and nothing heavier than os and sys is imported. What
# runs once torch is there is kept as a string below, so that such a process does not
# even compile it.
import atexit
import os
import sys

_PID = os.getpid()
_FOLDER = os.path.dirname(__file__)
_later = None  # namespace of the second part, once it runs


def _second_part():
    """The namespace of the second part; it is compiled when first asked for."""
    global _later
    if _later is None:
        code = compile("\n" * _LATER_LINE + _LATER, __file__, "exec")
        names = {"__name__": "_flagos_trace", "__file__": __file__}
        exec(code, names)
        _later = names
    return _later


class _Finder:
    """Finds nothing itself: it only notices that an awaited module has been imported."""

    def __init__(self, awaited):
        self.awaited = awaited

    def find_spec(self, name, path=None, target=None):
        if name not in self.awaited:
            try:
                self.catch_up()
            except Exception:
                pass
            return None
        if os.getpid() != _PID:  # a forked child is left alone
            return None
        spec = None
        for finder in list(sys.meta_path):
            if finder is self:
                continue
            find = getattr(finder, "find_spec", None)
            if find is None:
                return None  # a finder of the old kind: the interpreter knows how to ask it, we do not
            spec = find(name, path, target)
            if spec is not None:
                break
        try:
            self.watch(name, spec)
        except Exception:
            pass
        return spec

    def catch_up(self):
        """A hook in front of us may load torch with a loader of its own, which tells us nothing: then the next import
        of anything behind it does. A module that loads lazily is not touched, for that would load it."""
        for name in list(self.awaited):
            module = sys.modules.get(name)
            if type(module) is not type(sys):
                continue
            spec = module.__dict__.get("__spec__")
            if spec is None or spec.loader_state is not None or getattr(spec, "_initializing", False):
                continue
            if os.getpid() == _PID:
                _imported(name)

    def watch(self, name, spec):
        """Makes the loader tell us when the module's code has run. The loader stays what it is, but for an
        attribute that is gone before that code starts: __loader__, __spec__, reload and pickle see no difference."""
        loader = getattr(spec, "loader", None)
        if loader is None:
            return
        run = loader.exec_module

        def exec_module(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            try:
                run(module)
            except Exception as error:
                _failed(name, error)
                raise
            _imported(name)

        # Tracebacks of a failing import leave out importlib's frames; ours has to go with them.
        exec_module.__code__ = exec_module.__code__.replace(co_filename=_IMPORTLIB)
        loader.exec_module = exec_module


_IMPORTLIB = "<frozen importlib._bootstrap_external>"


def _imported(name):
    try:
        if _finder is not None:
            _finder.awaited.discard(name)
            if not _finder.awaited and _finder in sys.meta_path:
                sys.meta_path.remove(_finder)
        _second_part()["imported"](name)
    except Exception:
        pass


def _failed(name, error):
    try:
        _second_part()["import_failed"](name, error)
    except Exception:
        pass


def _at_exit():
    try:
        if "torch" in sys.modules and _finder is not None and "torch" in _finder.awaited and os.getpid() == _PID:
            _second_part()["missed"]()
        if _later is not None:
            _later["at_exit"]()
    except Exception:
        pass


def _install():
    """Hooks the import of torch; returns the finder, or None if nothing is to be recorded here."""
    if not os.environ.get("FLAGOS_TRACE_DIR") or "torch" in sys.modules:
        return None
    awaited = {"torch"}
    mark = os.environ.get("FLAGOS_TRACE_STEP_MARK", "").partition(":")[0]
    if mark:
        awaited.add(mark)
    finder = _Finder(awaited)
    if sys.version_info < (3, 8):  # what follows is written for newer ones; at the end they are told of
        atexit.register(_at_exit)
        return finder if sys.version_info >= (3, 6) else None
    sys.meta_path.insert(0, finder)
    # Registered before anything of the program's, so that it runs after all of it.
    atexit.register(_at_exit)
    return finder


def _leave_path():
    """Takes our folder out of sys.path, where it was put for this one import."""
    if _FOLDER in sys.path:
        sys.path.remove(_FOLDER)
        sys.path_importer_cache.pop(_FOLDER, None)


# The second part and the line that it starts in.
_LATER = ""
_LATER_LINE = 0

_finder = None
try:
    _leave_path()
    _finder = _install()
except Exception:
    pass

# The next sitecustomize, imported as site.py imports it: its errors go to site.py, and where there is none, site.py
# meets the error that it would have met and passes over it, which also takes this module out of sys.modules.
if sys.modules.get("sitecustomize") is not None and sys.modules["sitecustomize"].__dict__ is globals():
    if _FOLDER not in sys.path:  # else it would be this file again
        del sys.modules["sitecustomize"]
        import sitecustomize  # noqa: F401

"""A user's Function: its forward runs below an operator."""
from torch._C._engine import RecordFunction


class Context:
    pass


class Function:
    @classmethod
    def apply(cls, *args):
        op = RecordFunction(cls.__name__).begin()
        try:
            return cls.forward(Context(), *args)
        finally:
            op.end()

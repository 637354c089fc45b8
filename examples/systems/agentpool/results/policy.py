import asyncio
from pathlib import Path


def none(**kwargs):
    return None


def text(tool_name, **kwargs):
    return f"about {tool_name}"


def give(value, **kwargs):
    return value


def raises(**kwargs):
    raise ValueError("the policy is away")


def key_error(tool_input, **kwargs):
    return tool_input["no such key"]


def lacks_kwargs(tool_name):
    return False


def lacks_a_key(nobody_gives_this, **kwargs):
    return False


def tell(**kwargs):
    return " ".join(f"{key}={value}" for key, value in sorted(kwargs.items()))


async def later(tool_name, **kwargs):
    await asyncio.sleep(0)
    return {"decision": "deny", "reason": f"{tool_name}, later"}


class Policy:
    @staticmethod
    def static(**kwargs):
        return "static"

    def method(self, **kwargs):
        return "a method"


THE = Policy()


def unencodable(**kwargs):
    return {"decision": "deny", "reason": "no", "policy": THE}


def an_object(**kwargs):
    return THE

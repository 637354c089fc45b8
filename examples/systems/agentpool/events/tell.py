"""Replies with its input."""

import json
import sys


def text(event):
    return " ".join(f"{key}={json.dumps(value)}" for key, value in sorted(event.items()))


def call(**event):
    return text(event)


if __name__ == "__main__":
    print(text(json.load(sys.stdin)))

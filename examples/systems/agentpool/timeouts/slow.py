import asyncio
import time


def sleeps(**kwargs):
    time.sleep(2)


async def waits(**kwargs):
    await asyncio.sleep(60)

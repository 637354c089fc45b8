async def record_usage(tool_name, duration_ms, **kwargs):
    return f"{tool_name} took {duration_ms} ms"

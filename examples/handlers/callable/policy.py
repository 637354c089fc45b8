from hookwire import state


def review(tool_input, limit):
    amount = tool_input.get("amount", 0)
    if amount > limit:
        return {"decision": "deny", "reason": f"{amount} is more than {limit}"}
    # Returning nothing is no opinion.


async def at_most(tool_name, most):
    count = await state.aio.increment(f"calls of {tool_name}")
    if count > most:
        return {"decision": "ask", "reason": f"call {count} of {tool_name} in this session"}

def check_allowed(prompt, agent_name, **kwargs):
    if "password" in prompt:
        return {"decision": "deny", "reason": f"{agent_name} doesn't hand out passwords"}

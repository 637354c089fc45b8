def raises(**kwargs):
    raise ValueError("e")

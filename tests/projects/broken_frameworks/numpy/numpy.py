raise ImportError("not today")

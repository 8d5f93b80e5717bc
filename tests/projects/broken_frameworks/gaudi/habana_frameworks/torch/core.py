def mark_step():
    pass

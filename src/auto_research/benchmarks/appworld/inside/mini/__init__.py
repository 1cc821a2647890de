"""appworld-mini: a small world of people and apps, and tasks in it, all made up from a seed."""

"""One module a paper: its citation, its equations, and the operators that follow them."""

"""How far results and derivatives are from exact ones, over the whole range of each dtype; see README.md."""

"""A study that is kept by a server: the same methods, results and errors, over HTTP."""

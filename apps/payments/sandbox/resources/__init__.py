"""One module for each kind of object; each handler takes (ctx, params, ids of the path) and returns JSON."""

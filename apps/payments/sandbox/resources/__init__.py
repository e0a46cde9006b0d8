"""One module for each kind of object; a handler takes (ctx, params, ids) and returns JSON."""

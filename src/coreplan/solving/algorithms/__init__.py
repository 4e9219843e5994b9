"""The solvers, one module each; :func:`coreplan.solve` is the way in."""

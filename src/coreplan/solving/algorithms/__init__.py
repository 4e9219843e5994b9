"""The algorithms, one module each; call them through :func:`coreplan.solve`."""

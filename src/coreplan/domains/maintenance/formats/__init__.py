"""The files of maintenance problems."""

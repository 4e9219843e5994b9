"""The file formats of maintenance problems: ``mpp/1``, ``schedule/1``, ``calendar/1``."""

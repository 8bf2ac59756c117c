"""Run as `python -I <this folder>` by the Python of an environment; commands come on standard input, as JSON lines."""

import gc

from probe import network

# What is imported stays: looking for garbage in it takes a tenth of the import's time.
gc.disable()
network.block()

from probe.server import serve  # noqa: E402 -- nothing may be imported that could call out before the network is blocked

serve()

"""Run as `python -I <this folder>` by the Python of an environment; commands come on standard input, as JSON lines."""

from probe import network

network.block()

from probe.server import serve  # noqa: E402 -- nothing may be imported that could call out before the network is blocked

serve()

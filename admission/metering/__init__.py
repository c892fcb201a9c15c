"""What a shoot costs and what bounds it, as pure functions of decoded objects: no I/O, no asyncio."""

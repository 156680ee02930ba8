#!/usr/bin/env python3
"""A relay that holds every byte for a while each way, for networks whose kernel has no netem.

    relay.py ADDRESS PORT TARGET TARGET_PORT DELAY_MS
"""
import asyncio
import sys


async def pass_on(reader, writer, delay):
    """Bytes leave in the order in which they came, each `delay` after it came; an end likewise."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue(maxsize=256)

    async def leave():
        while True:
            due, data = await queue.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not data:
                break
            writer.write(data)
            await writer.drain()
        writer.close()

    leaving = asyncio.create_task(leave())
    try:
        while data := await reader.read(1 << 16):
            await queue.put((loop.time() + delay, data))
    except OSError:
        pass
    await queue.put((loop.time() + delay, b""))
    await leaving


async def serve(client_reader, client_writer, target, delay):
    try:
        reader, writer = await asyncio.open_connection(*target)
        await asyncio.gather(pass_on(client_reader, writer, delay), pass_on(reader, client_writer, delay), return_exceptions=True)
    except OSError:
        pass
    client_writer.close()


async def main(address, port, target, target_port, delay_ms):
    server = await asyncio.start_server(lambda r, w: serve(r, w, (target, int(target_port)), int(delay_ms) / 1000), address, int(port))
    print("relay %d" % server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""Links between the programs of a story, which can be cut in each direction, slowed down and made lossy. User space, loopback only.

A link stands for the way from one node to a port of another. Nothing tells the programs that a link is cut: bytes wait, as they do behind a
firewall that drops packets. Loss is what TCP makes of it: a part comes later, by the time of a retransmission.
"""
import asyncio
import random
import re
import threading

RETRANSMISSION = 0.25
SENDER = re.compile(rb"x-server-from: ([0-9a-f]+)", re.I)  # how members of etcd name themselves to each other


class Network:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.cut = set()    # (from, to): no byte goes that way
        self.delay = {}     # (from, to): seconds
        self.loss = {}      # (from, to): of parts, 0 to 1
        self.names = {}     # of members, by the id that they send
        self.changed = None
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.changed = asyncio.Condition()
        self.loop.run_forever()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        async def end():
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
        asyncio.run_coroutine_threadsafe(end(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)

    def link(self, source, target, to_port, port=0):
        """The port at which `source` reaches `to_port` of `target`. None: who sends is read from what it sends."""
        async def open_link():
            server = await asyncio.start_server(lambda r, w: self.carry(source, target, to_port, r, w), "127.0.0.1", port)
            return server.sockets[0].getsockname()[1]
        return asyncio.run_coroutine_threadsafe(open_link(), self.loop).result(10)

    async def carry(self, source, target, to_port, reader, writer):
        try:
            first = await reader.read(65536)
            if source is None:
                said = SENDER.search(first)
                source = self.names.get(said[1].decode(), "?") if said else "?"
            await self.passable(source, target)
            there, back = await asyncio.open_connection("127.0.0.1", to_port)
        except OSError:
            writer.close()
            return
        both = [asyncio.ensure_future(self.pump(first, reader, back, source, target)), asyncio.ensure_future(self.pump(b"", there, writer, target, source))]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        # The end of one direction is the end of the connection, unless the way is cut: then nobody hears of it.
        await self.passable(source, target)
        await self.passable(target, source)
        for task in both:
            task.cancel()
        for end in (writer, back):
            end.close()

    async def pump(self, data, reader, writer, source, target):
        try:
            while True:
                if data:
                    pause = self.delay.get((source, target), 0)
                    if self.chance.random() < self.loss.get((source, target), 0):
                        pause += RETRANSMISSION
                    if pause:
                        await asyncio.sleep(pause)
                    await self.passable(source, target)
                    writer.write(data)
                    await writer.drain()
                data = await reader.read(65536)
                if not data:
                    return
        except OSError:
            return

    async def passable(self, source, target):
        async with self.changed:
            await self.changed.wait_for(lambda: (source, target) not in self.cut)

    def set(self, change):
        """Calls `change` where the links are, and lets those go on that may."""
        async def apply():
            async with self.changed:
                change()
                self.changed.notify_all()
        asyncio.run_coroutine_threadsafe(apply(), self.loop).result(10)

    def heal(self):
        def change():
            self.cut.clear()
            self.delay.clear()
            self.loss.clear()
        self.set(change)

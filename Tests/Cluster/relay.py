"""A relay between nodes and a NATS server, for this kernel has no netem: `relay.py ADDRESS PORT TO_ADDRESS TO_PORT`.

Lines of standard input change it: `delay SECONDS` holds each piece back, `loss PART` holds that part of the pieces back
for as long as TCP takes to send them again, and ends a connection now and then; `clear` is neither.
"""
import asyncio
import random
import sys

# How long TCP waits at least until it sends again.
AGAIN = (0.2, 0.8)
ENDS = 0.02


class Relay:
    delay, loss = 0.0, 0.0

    async def serve(self, address, port, to):
        self.to = to
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        await asyncio.start_server(self._accept, address, port, limit=1 << 20)
        print("ready", flush=True)
        while line := (await reader.readline()).split():
            if line[0] == b"clear":
                self.delay = self.loss = 0.0
            else:
                setattr(self, line[0].decode(), float(line[1]))

    async def _accept(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.wait_for(asyncio.open_connection(*self.to), 5)
        except (OSError, asyncio.TimeoutError):
            return writer.close()
        both = [asyncio.ensure_future(self._pass(reader, far_writer)), asyncio.ensure_future(self._pass(far_reader, writer))]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        far_writer.close()
        writer.close()

    async def _pass(self, reader, writer):
        try:
            while piece := await reader.read(65536):
                if self.delay:
                    await asyncio.sleep(self.delay)
                if self.loss and random.random() < self.loss:
                    if random.random() < ENDS:
                        return
                    await asyncio.sleep(random.uniform(*AGAIN))
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass


if __name__ == "__main__":
    asyncio.run(Relay().serve(sys.argv[1], int(sys.argv[2]), (sys.argv[3], int(sys.argv[4]))))

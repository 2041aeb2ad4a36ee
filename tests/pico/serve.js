// Sockets at the USB ports of Picos.

import net from 'node:net';

const MOMENT = 5e6;

/** Listens until standard input ends. Simulated time does not run ahead of a host's patience. */
export async function serve(bench, paths) {
  const servers = paths.map((path, i) => {
    const server = net.createServer((socket) => {
      const { usb } = bench.picos[i];
      socket.on('data', (bytes) => usb.send(bytes));
      socket.on('error', () => {});
      usb.onBytes = (bytes) => socket.write(Buffer.from(bytes));
    });
    server.listen(path);
    return server;
  });
  await Promise.all(servers.map((server) => new Promise((done) => server.once('listening', done))));
  let open = true;
  process.stdin.on('end', () => (open = false)).resume();
  console.log('serving');
  const [began, start] = [bench.now, process.hrtime.bigint()];
  while (open) {
    const ahead = bench.now - began - Number(process.hrtime.bigint() - start);
    if (ahead < 0) bench.run(bench.now + MOMENT);
    await new Promise((done) => setTimeout(done, ahead < 0 ? 0 : 1));
  }
  servers.forEach((server) => server.close());
}

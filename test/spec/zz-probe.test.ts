import { it } from "vitest";
import { startService, call } from "../support/service.ts";
import { manualClock } from "../support/manual-clock.ts";
import { rawConnection } from "./raw-http.ts";
import { endWith, handWorker, submitted, statusOf } from "./hand-worker.ts";
it("probe", async () => {
  const clock = manualClock();
  const t0 = performance.now();
  const s = await startService({ endpoints: { a: {} }, clock });
  console.log("start", performance.now() - t0);
  for (const text of ["GET /healthz HTTP/1.1\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: foo\r\n\r\n", "NONSENSE\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: x\r\nA: " + "b".repeat(20000) + "\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n","GET /healthz HTTP/1.0\r\n\r\n", "POST /v2/a/run HTTP/1.1\r\nHost: x\r\nAuthorization: test-key-0123456789\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /healthz HTTP/3.7\r\nHost: a\r\n\r\n"]) {
    const c = await rawConnection(s.url);
    c.write(text);
    console.log(JSON.stringify(text.slice(0, 60)), await Promise.race([c.answer().catch((e) => String(e)), new Promise(r => setTimeout(r, 500, "none"))]));
    c.socket.destroy();
  }
  const w = await handWorker(s, "a");
  const id = await submitted(s, "a");
  const t1 = performance.now();
  console.log(await w.takeThis(id), await statusOf(s, "a", id));
  await w.done(id, { output: 1 });
  console.log(await statusOf(s, "a", id), performance.now() - t1);
  const t2 = performance.now();
  await clock.advance(60_000);
  console.log("advance 60s", performance.now() - t2);
  const t3 = performance.now();
  await endWith(s, clock);
  console.log("end", performance.now() - t3);
});

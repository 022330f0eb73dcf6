/** Tails, bounds and removal of worker logs. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { boundLog, logPath, pruneLogs, tail } from "./process-output.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-logs-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The tail of a log with this content. */
function tailOf(content: string | Buffer): string {
  const path = join(folder, "log");
  writeFileSync(path, content);
  return tail(path);
}

describe("tail", () => {
  it("is the whole of a short log, and nothing without one", () => {
    expect(tailOf("one\ntwo\n")).toBe("one\ntwo");
    expect(tailOf("x".repeat(2000))).toBe("x".repeat(2000));
    expect(tail(join(folder, "absent"))).toBe("");
  });

  it("begins with a whole line where it can, and is the end of a longer one", () => {
    expect(tailOf(`${"a".repeat(1500)}\n${"b".repeat(1500)}\n`)).toBe("b".repeat(1500));
    expect(tailOf(`start ${"c".repeat(5000)}`)).toBe("c".repeat(2000));
    expect(tailOf(`${"x\n".repeat(9000)}end`)).toMatch(/^x\nx[^]*x\nend$/);
  });

  it("holds no NUL and no half characters", () => {
    expect(tailOf("a\0b")).toBe("ab");
    const emoji = tailOf("🦀".repeat(4000) + "x");
    expect(emoji.isWellFormed()).toBe(true);
    expect(emoji.length).toBeLessThanOrEqual(2000);
    expect(tailOf(Buffer.from([0xff, 0x61]))).toBe("\ufffda");
  });
});

describe("boundLog", () => {
  it("sets a log aside only beyond its bound", () => {
    const path = join(folder, "log");
    writeFileSync(path, "12345");
    expect(boundLog(path, 5)).toBe(false);
    expect(boundLog(path, 4)).toBe(true);
    expect(readFileSync(path, "utf8")).toBe("");
    expect(readFileSync(`${path}.old`, "utf8")).toBe("12345");
    expect(boundLog(join(folder, "absent"), 4)).toBe(false);
  });
});

describe("pruneLogs", () => {
  it("removes the oldest logs of ended workers, with what was set aside, and no other file", async () => {
    for (const [index, id] of ["oldest", "running", "older", "newest"].entries()) {
      for (const path of [logPath(folder, id), `${logPath(folder, id)}.old`]) {
        writeFileSync(path, "");
        utimesSync(path, 1000 + index, 1000 + index);
      }
    }
    writeFileSync(join(folder, "notes.log"), "");
    await pruneLogs(folder, ["running"], 1);
    const ids = ["newest", "running"].flatMap((id) => [`worker-${id}.log`, `worker-${id}.log.old`]);
    expect(new Set(readdirSync(folder))).toEqual(new Set(["notes.log", ...ids]));
    await pruneLogs(join(folder, "absent"), []);
  });

  it("keeps a worker's id inside the folder", () => {
    expect(logPath("/logs", "../../etc/x")).toBe("/logs/worker-..%2F..%2Fetc%2Fx.log");
  });
});

/** Settings of an endpoint: defaults, every bound on both sides, all faults at once. */
import { describe, expect, it } from "vitest";
import { queueBound, readEndpoint, retentionOf } from "./endpoint.ts";
import type { Endpoint } from "./endpoint.ts";

function fields(raw: unknown, id = "e"): string[] {
  const read = readEndpoint(id, raw);
  return read.ok ? [] : read.faults.map(({ field }) => field);
}

function endpoint(raw: object = {}): Endpoint {
  const read = readEndpoint("e", raw);
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  return read.endpoint;
}

describe("readEndpoint", () => {
  it("D27, D9, D16, D18: the defaults", () => {
    expect(endpoint()).toEqual({
      id: "e", name: "e", workersMin: 0, workersMax: 3, idleTimeout: 5, executionTimeoutMs: 600_000, scalerType: "QUEUE_DELAY", scalerValue: 4,
      launcher: { type: "external" }, env: {}, limits: {}, retention: { run: 1_800_000, runsync: 60_000, records: 604_800_000 }, leaseMs: 20_000, stopGraceMs: 5_000,
    });
  });

  it.each([
    ["workersMax", 0, 1000],
    ["idleTimeout", 1, 3600],
    ["executionTimeoutMs", 5001, Number.MAX_SAFE_INTEGER],
    ["scalerValue", 1, 1_000_000],
    ["leaseMs", 2000, 600_000],
    ["stopGraceMs", 0, 600_000],
  ] as const)("D27, D16: %s is a whole number from %d to %d", (key, low, high) => {
    expect(endpoint({ [key]: low })[key]).toBe(low);
    expect(endpoint({ [key]: high })[key]).toBe(high);
    for (const value of [low - 1, high + 1, low + 0.5, String(low), true, [], NaN]) expect(fields({ [key]: value }), String(value)).toEqual([key]);
  });

  it("D27: workersMin lies within 0 and workersMax", () => {
    expect(endpoint({ workersMin: 3 }).workersMin).toBe(3);
    expect(endpoint({ workersMin: 1000, workersMax: 1000 }).workersMin).toBe(1000);
    expect(fields({ workersMin: 4 })).toEqual(["workersMin"]);
    expect(fields({ workersMin: -1 })).toEqual(["workersMin"]);
    expect(fields({ workersMin: 1001, workersMax: 1000 })).toEqual(["workersMin"]);
  });

  it("D35: an id has 1 to 64 letters, digits, _ and -", () => {
    for (const id of ["a", "A_b-9", "x".repeat(64)]) expect(fields({}, id)).toEqual([]);
    for (const id of ["", "x".repeat(65), "a/b", "a b", "é", "a.b", "a\n"]) expect(fields({}, id), id).toEqual(["id"]);
  });

  it("D35: settings must be a mapping, and unknown ones are named", () => {
    for (const raw of [null, 7, "x", []]) expect(fields(raw)).toEqual([""]);
    expect(fields({ workerMax: 3, foo: 1 })).toEqual(["workerMax", "foo"]);
  });

  it("D27: name and scaler", () => {
    expect(endpoint({ name: "Thumbnails", scalerType: "REQUEST_COUNT" })).toMatchObject({ name: "Thumbnails", scalerType: "REQUEST_COUNT" });
    expect(fields({ name: 7 })).toEqual(["name"]);
    expect(fields({ name: "x".repeat(192) })).toEqual(["name"]);
    expect(fields({ scalerType: "queue_delay" })).toEqual(["scalerType"]);
  });

  it("D25: launchers", () => {
    expect(endpoint({ launcher: { type: "process", command: ["node", "w.js"], cwd: "/x" } }).launcher).toEqual({ type: "process", command: ["node", "w.js"], cwd: "/x" });
    expect(endpoint({ launcher: { type: "process", command: ["w"] } }).launcher).toEqual({ type: "process", command: ["w"] });
    for (const command of [undefined, [], "node w.js", ["node", 7]]) expect(fields({ launcher: { type: "process", command } })).toEqual(["launcher.command"]);
    expect(fields({ launcher: { type: "process", command: ["w"], cwd: 7 } })).toEqual(["launcher.cwd"]);
    expect(fields({ launcher: "process" })).toEqual(["launcher"]);
    for (const type of ["docker", "kubernetes", "lambda", undefined]) expect(fields({ launcher: { type } }), type).toEqual(["launcher.type"]);
  });

  it("D35: values of env are text", () => {
    expect(endpoint({ env: { A: "x", B: 7, C: true } }).env).toEqual({ A: "x", B: "7", C: "true" });
    expect(fields({ env: { A: null, B: {} } })).toEqual(["env.A", "env.B"]);
    expect(fields({ env: ["A=x"] })).toEqual(["env"]);
  });

  it("D9: retention per operation, 0 to a year", () => {
    expect(endpoint({ retention: { run: 0, records: 31_536_000_000 } }).retention).toEqual({ run: 0, runsync: 60_000, records: 31_536_000_000 });
    expect(fields({ retention: { run: -1, runsync: 31_536_000_001, records: 1.5, other: 1 } })).toEqual(["retention.run", "retention.runsync", "retention.records", "retention.other"]);
    expect(fields({ retention: 60 })).toEqual(["retention"]);
    const mine = endpoint({ retention: { run: 5, runsync: 6 } });
    expect([retentionOf(mine, "run"), retentionOf(mine, "runsync"), retentionOf(mine, "openai")]).toEqual([5, 6, 6]);
  });

  it("D35: every fault is named at once, with its bound", () => {
    const read = readEndpoint("b@d", { workersMax: -1, idleTimeout: 0, leaseMs: 1, launcher: {}, limits: 7, retention: { run: -1 }, bogus: 1 });
    if (read.ok) throw new Error("taken");
    expect(read.faults.map(({ field }) => field).toSorted()).toEqual(["bogus", "id", "idleTimeout", "launcher.type", "leaseMs", "limits", "retention.run", "workersMax"]);
    expect(read.faults.find(({ field }) => field === "leaseMs")?.message).toContain("from 2000 to 600000");
  });
});

describe("queueBound", () => {
  it.each([
    [{}, 1500],
    [{ workersMax: 0 }, 50],
    [{ workersMax: 1 }, 500],
    [{ limits: { queue: 7 } }, 7],
    [{ limits: { queue: 0 } }, 0],
    [{ limits: { queue: "off" } }, undefined],
    [{ limits: { queue: false } }, undefined],
    [{ limits: "off" }, undefined],
    [{ limits: false }, undefined],
  ] as const)("D23: of %j is %s", (raw, bound) => {
    expect(queueBound(endpoint(raw))).toBe(bound);
  });

  it("D35: limits are off or a mapping, the queue off or a whole number", () => {
    for (const limits of ["on", 7, [], true]) expect(fields({ limits })).toEqual(["limits"]);
    for (const queue of [-1, 1.5, "7", true]) expect(fields({ limits: { queue } })).toEqual(["limits.queue"]);
  });
});

/** Flags, environment and file become a configuration, or the full list of what is wrong. */
import { describe, expect, it } from "vitest";
import { loadConfig } from "./config.ts";
import type { Config } from "./config.ts";

interface Told {
  flags?: Record<string, string>;
  env?: Record<string, string>;
  files?: Record<string, string>;
}

function load({ flags = {}, env = {}, files = {} }: Told): ReturnType<typeof loadConfig> {
  return loadConfig({ flags, env, cwd: "/srv", readFile: (path) => files[path] });
}

function config(told: Told): Config {
  const loaded = load(told);
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  return loaded.config;
}

function problems(told: Told): string[] {
  const loaded = load(told);
  return loaded.ok ? [] : loaded.problems;
}

describe("loadConfig", () => {
  it("D34: the defaults need no file", () => {
    expect(config({})).toEqual({
      host: "127.0.0.1", port: 8080, storePath: "/srv/data/sluice.db", endpoints: [], publicUrl: undefined, apiKey: undefined, secret: undefined, drainMs: 30_000,
    });
  });

  it("D34: flags win over the environment, the environment over the file", () => {
    const files = { "/srv/a.yaml": "publicUrl: http://file.test", "/srv/b.yaml": "publicUrl: http://b.test/" };
    const env = { SLUICE_HOST: "0.0.0.0", SLUICE_PORT: "1", SLUICE_STORE: "sqlite:e.db", SLUICE_CONFIG: "a.yaml", SLUICE_DRAIN_TIMEOUT: "2", SLUICE_PUBLIC_URL: "https://env.test/x/" };
    expect(config({ env, files })).toMatchObject({ host: "0.0.0.0", port: 1, storePath: "/srv/e.db", drainMs: 2000, publicUrl: "https://env.test/x" });
    const flags = { host: "::1", port: "0", store: "sqlite:/abs/f.db", config: "b.yaml", "drain-timeout": "0", "public-url": "http://flag.test" };
    expect(config({ env, flags, files })).toMatchObject({ host: "::1", port: 0, storePath: "/abs/f.db", drainMs: 0, publicUrl: "http://flag.test" });
    expect(config({ flags: { config: "b.yaml" }, files }).publicUrl).toBe("http://b.test");
  });

  it("D34: an empty variable is one that is not set", () => {
    expect(config({ env: { SLUICE_PORT: "", SLUICE_HOST: "", SLUICE_API_KEY: "", SLUICE_SECRET: "" } })).toMatchObject({ port: 8080, host: "127.0.0.1", apiKey: undefined, secret: undefined });
  });

  it("D30, D22: key and secret come from the environment alone", () => {
    expect(config({ env: { SLUICE_API_KEY: "12345678", SLUICE_SECRET: "s" } })).toMatchObject({ apiKey: "12345678", secret: "s" });
    for (const key of ["1234567", "12345 78", "12345678\n"]) expect(problems({ env: { SLUICE_API_KEY: key } }), key).toEqual([expect.stringContaining("SLUICE_API_KEY")]);
    expect(problems({ env: { SLUICE_API_KEY: "short" } }).join()).not.toContain("short");
  });

  it("D35: endpoints come from sluice.yaml in the working directory", () => {
    const files = { "/srv/sluice.yaml": "endpoints:\n  thumbnail:\n    workersMax: 2\n  bare:\n" };
    expect(config({ files }).endpoints.map(({ id, workersMax }) => [id, workersMax])).toEqual([["thumbnail", 2], ["bare", 3]]);
  });

  it("D35: the directory of a worker is relative to the file, and absolute afterwards", () => {
    const file = "endpoints:\n  a:\n    launcher: { type: process, command: [w] }\n  b:\n    launcher: { type: process, command: [w], cwd: sub }\n  c:\n    launcher: { type: process, command: [w], cwd: /abs }\n";
    const { endpoints } = config({ flags: { config: "deploy/x.yaml" }, files: { "/srv/deploy/x.yaml": file } });
    expect(endpoints.map(({ launcher }) => (launcher.type === "process" ? launcher.cwd : ""))).toEqual(["/srv/deploy", "/srv/deploy/sub", "/abs"]);
  });

  it("D34: a file that is named must be there; the default one need not", () => {
    expect(problems({ flags: { config: "none.yaml" } })).toEqual([expect.stringContaining("/srv/none.yaml")]);
    expect(problems({ env: { SLUICE_CONFIG: "none.yaml" } })).toHaveLength(1);
  });

  it.each<[string, string]>([
    ["not YAML", "endpoints: [\n"],
    ["a list", "- a\n"],
    ["text", "hello\n"],
    ["endpoints that are a list", "endpoints: [a]\n"],
    ["an unknown setting", "endpoint: {}\n"],
  ])("D34: a file that is %s is one problem, with its path", (_, text) => {
    expect(problems({ files: { "/srv/sluice.yaml": text } })).toEqual([expect.stringContaining("/srv/sluice.yaml")]);
  });

  it("D35: an empty file, and one with nothing under endpoints, are fine", () => {
    for (const text of ["", "# nothing\n", "endpoints:\n"]) expect(config({ files: { "/srv/sluice.yaml": text } }).endpoints).toEqual([]);
  });

  it.each([["-1"], ["65536"], ["80a"], ["1.5"], [" 80"], ["0x50"]])("D34: the port %j is refused with its bounds", (port) => {
    expect(problems({ flags: { port } })).toEqual([expect.stringMatching(/--port.*0 to 65535/)]);
  });

  it("D34: the ends of the bounds are inside", () => {
    expect(config({ flags: { port: "65535", "drain-timeout": "86400" } })).toMatchObject({ port: 65_535, drainMs: 86_400_000 });
    expect(problems({ flags: { "drain-timeout": "86401" } })).toEqual([expect.stringContaining("--drain-timeout")]);
  });

  it.each(["postgres://h/db", "postgresql://h/db", "sqlite:", "data.db", ""])("D34: the store %j is refused", (store) => {
    expect(problems({ flags: { store } })).toEqual([expect.stringContaining("--store")]);
  });

  it.each(["ftp://a.test", "a.test:80", "http://a.test/?x=1", "http://a.test/#x", "no"])("D35: the publicUrl %j is refused", (url) => {
    expect(problems({ flags: { "public-url": url } })).toEqual([expect.stringContaining("publicUrl")]);
    expect(problems({ files: { "/srv/sluice.yaml": JSON.stringify({ publicUrl: url }) } })).toHaveLength(1);
  });

  it("D34: every problem is listed at once, each with its field", () => {
    const files = { "/srv/c.yaml": "bogus: 1\npublicUrl: no\nendpoints:\n  'a b': {}\n  good: { workersMax: -1, leaseMs: 1 }\n" };
    const told = problems({ flags: { config: "c.yaml", port: "x", store: "y" }, env: { SLUICE_API_KEY: "short", SLUICE_DRAIN_TIMEOUT: "z" }, files });
    for (const field of ["'bogus'", "publicUrl must", "endpoints.a b", "endpoints.good.workersMax", "endpoints.good.leaseMs", "--port", "--store", "SLUICE_API_KEY", "--drain-timeout"]) {
      expect(told.filter((problem) => problem.includes(field)), field).toHaveLength(1);
    }
    expect(told).toHaveLength(9);
  });
});

/** `sluice serve`: runs the service until it is told to stop (D34). */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { systemClock } from "../clock.ts";
import { startApp } from "../compose.ts";
import type { App } from "../compose.ts";
import { loadConfig } from "../config.ts";
import { eventBus } from "../events.ts";
import { log } from "../log.ts";
import { CliError, readFlags } from "./command.ts";
import type { Command } from "./command.ts";

/**
 * How memory of short life is managed. Most of what a request makes is garbage a millisecond later: several threads
 * collecting it get into each other's way on a machine that has better to do, and much room for it only costs memory.
 */
const HEAP_FLAGS = ["--no-parallel-scavenge", "--max-semi-space-size=4"];

const FLAGS = {
  config: { value: "FILE", summary: "settings and endpoints (default sluice.yaml here, if there is one; SLUICE_CONFIG)" },
  host: { value: "ADDRESS", summary: "address to listen on (default 127.0.0.1; SLUICE_HOST)" },
  port: { value: "PORT", summary: "port to listen on, 0 for a free one (default 8080; SLUICE_PORT)" },
  store: { value: "STORE", summary: "where jobs are kept (default sqlite:./data/sluice.db; SLUICE_STORE)" },
  "public-url": { value: "URL", summary: "address under which workers reach this service (SLUICE_PUBLIC_URL)" },
  "drain-timeout": { value: "SECONDS", summary: "time for running jobs at a stop (default 30; SLUICE_DRAIN_TIMEOUT)" },
};

export const serve: Command = {
  name: "serve",
  summary: "run the service",
  async run(args) {
    const { help, flags, rest } = readFlags({ name: "serve", synopsis: "[--config sluice.yaml] [options]", flags: FLAGS, args });
    if (help) return 0;
    if (rest.length > 0) throw new CliError(`serve takes no argument '${rest[0]}'; see sluice serve --help.`);
    const loaded = loadConfig({ flags, env: process.env, cwd: process.cwd(), readFile });
    if (!loaded.ok) throw new CliError(["The configuration has problems:", ...loaded.problems.map((problem) => `- ${problem}`)].join("\n"));
    const events = eventBus();
    log({ events, clock: systemClock, write: (line) => process.stderr.write(line) });
    for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
    const asked = stopAsked();
    let app: App;
    try {
      app = await startApp(loaded.config, { clock: systemClock, events, env: process.env });
    } catch (error) {
      throw new CliError(`The service could not start: ${whyNot(error, loaded.config)}`, 1);
    }
    greet(app, loaded.config.endpoints[0]?.id);
    await asked;
    await app.stop();
    return 0;
  },
};

function greet({ url, firstKey, engine }: App, example: string | undefined): void {
  const lines = [`Sluice listens on ${url}`];
  if (firstKey !== undefined) lines.push(`API key, shown only this once: ${firstKey}`);
  const endpoint = example ?? [...engine.registry.all()][0]?.id;
  const key = firstKey ?? "$SLUICE_API_KEY";
  if (endpoint === undefined) lines.push("There is no endpoint yet: describe one in sluice.yaml and start again with --config sluice.yaml.");
  else lines.push("Try it:", `  curl -s ${url}/v2/${endpoint}/health -H 'Authorization: Bearer ${key}'`.replaceAll("'", '"'));
  process.stdout.write(`${lines.join("\n")}\n`);
}

function whyNot(error: unknown, { host, port }: { host: string; port: number }): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return `port ${port} on ${host} is in use. Choose another with --port, or 0 for a free one.`;
  if (code === "EACCES") return `listening on ${host}:${port} is not permitted: ${message}`;
  return message;
}

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
function stopAsked(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (): void => {
      if (asked) process.exit(130);
      asked = true;
      resolve();
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

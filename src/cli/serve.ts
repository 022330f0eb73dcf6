/** `sluice serve`: runs the service until it is told to stop (D34). */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { systemClock } from "../clock.ts";
import { startApp } from "../compose.ts";
import type { App } from "../compose.ts";
import { OPTIONS, loadConfig } from "../config.ts";
import type { Option } from "../config.ts";
import { eventBus } from "../events.ts";
import { log } from "../log.ts";
import { CliError, readFlags } from "./command.ts";
import type { Command, Flag } from "./command.ts";

/**
 * How memory of short life is managed. Most of what a request makes is garbage a millisecond later: several threads
 * collecting it get into each other's way on a machine that has better to do, and much room for it only costs memory.
 */
const HEAP_FLAGS = ["--no-parallel-scavenge", "--max-semi-space-size=4"];

/** Placeholders of the flags' values. */
const VALUES: Readonly<Record<string, string>> = { config: "FILE", host: "ADDRESS", port: "PORT", store: "STORE", "public-url": "URL", "drain-timeout": "SECONDS" };

const FLAGS: Readonly<Record<string, Flag>> = Object.fromEntries(
  Object.values<Option>(OPTIONS).flatMap(({ flag, env, schema }) => {
    if (flag === undefined) return [];
    const otherwise = schema.default === undefined ? "" : `default ${JSON.stringify(schema.default).replaceAll('"', "")}; `;
    return [[flag, { value: VALUES[flag] ?? "VALUE", summary: `${schema.description} (${otherwise}${env})` }]];
  }),
);

export const serve: Command = {
  name: "serve",
  summary: "run the service",
  synopsis: "[--config sluice.yaml] [options]",
  flags: FLAGS,
  async run(args) {
    const { help, flags, rest } = readFlags({ ...serve, args });
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
  const endpoint = example ?? [...engine.registry.all()][0]?.endpoint.id;
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

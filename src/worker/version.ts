import { readFileSync } from "node:fs";

/** The path is the same from `src/worker` and `dist/worker`. */
const packageFile = new URL("../../package.json", import.meta.url);

const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };
/** `sluice/<version>`: the `runpod_version` in pings and error records. */
export const kitVersion: string = `sluice/${version}`;

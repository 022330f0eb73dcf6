/** The package's version, as the kit names itself to the service. */
import { readFileSync } from "node:fs";

/** Two folders up both from `src/worker` and from `dist/worker`. */
const packageFile = new URL("../../package.json", import.meta.url);

/**
 * `sluice/<version>`: sent as `runpod_version` in pings and error records, so that a service can
 * tell this kit from the SDK.
 */
export const kitVersion: string = `sluice/${(JSON.parse(readFileSync(packageFile, "utf8")) as { version: string }).version}`;

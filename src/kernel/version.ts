import { readFileSync } from "node:fs";

/** The path is the same from `src` and `dist`. */
const packageFile = new URL("../../package.json", import.meta.url);

/** The package's version, such as `1.2.3`. */
export const version: string = (JSON.parse(readFileSync(packageFile, "utf8")) as { version: string }).version;

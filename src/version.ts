/** The version of the package, as the service names itself to others. */
import { readFileSync } from "node:fs";

/** One folder up both from `src` and from `dist`. */
const packageFile = new URL("../package.json", import.meta.url);

/** Such as `1.2.3`. */
export const version: string = (
	JSON.parse(readFileSync(packageFile, "utf8")) as { version: string }
).version;

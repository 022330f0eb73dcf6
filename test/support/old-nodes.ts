/** Older versions of Node on this machine. */
import { execFileSync } from "node:child_process";
import { delimiter, join } from "node:path";

/** Programs on PATH that are a Node before 24. */
export function oldNodes(): string[] {
	return (process.env["PATH"] ?? "")
		.split(delimiter)
		.map((each) => join(each, "node"))
		.filter((path) => {
			try {
				return Number(/^v(\d+)/.exec(execFileSync(path, ["--version"], { encoding: "utf8" }))?.[1]) < 24;
			} catch {
				return false;
			}
		});
}

import { spawn } from "node:child_process";
import { withoutSecrets } from "../../kernel/config/options.ts";

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
	darwin: ["open"],
	win32: ["cmd", "/c", "start", ""],
};

/** Opens `url` with `BROWSER` or the system's program. A failure is ignored: print the address as well. */
export function openBrowser(url: string): void {
	const env = withoutSecrets(process.env);
	const [file = "", ...args] = env["BROWSER"] ? [env["BROWSER"]] : (OPENERS[process.platform] ?? ["xdg-open"]);
	const child = spawn(file, [...args, url], { env, stdio: "ignore", detached: true });
	child.on("error", () => {});
	child.unref();
}
